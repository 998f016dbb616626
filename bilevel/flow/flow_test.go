package flow

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// bent has no noise, and constants that are known over the whole space,
//
//	g = ½ yᵀA y − sin(x)ᵀB y + κ Σ sin(x_i) sin(y_i) + κ Σ cos(y_j),    A = diag(2, 3, 4), ‖B‖ = 1,
//	f = Σ log cosh(x_i − 1) + Σ log cosh(y_j + 1).
type bent struct {
	*auto.Problem
	*implicit.Truth
}

const kappa = 0.3

func newBent(t testing.TB) bent {
	b := mattest.Dense(2, 3, 5)
	mat.Scale(b, 1/mat.NormFrob(b), b)
	logCosh := func(u auto.Vec) auto.Num { return u.Scale(2).Softplus().Sub(u).Shift(-math.Ln2).Sum() }
	p := bileveltest.Must(auto.New(auto.Losses{
		Dx: 2, Dy: 3, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return logCosh(x.Shift(-1)).Add(logCosh(y.Shift(1))) },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			g := y.WeightedSquares(auto.Data([]float64{2, 3, 4})).Scale(0.5).Add(y.Cos().Sum().Scale(kappa))
			for i := range 2 {
				g = g.Add(x.At(i).Sin().Mul(y.At(i).Sin().Scale(kappa).Sub(y.Dot(auto.Data(b.Row(i))))))
			}
			return g
		},
	}))
	return bent{p, implicit.NewTruth(p)}
}

// constants are global: |∂²g_yy| ≤ 2κ, |∂g_xy/∂y| ≤ κ.
func (bent) constants() theorem.Constants {
	return theorem.Constants{
		Lfy: 1, Lgxy: kappa, Lgyy: 2 * kappa, Cgxy: 1 + kappa*math.Sqrt2, Cfx: math.Sqrt2, Cfy: math.Sqrt(3), MuG: 2 - 2*kappa,
	}
}

type subject struct {
	p bilevel.Problem // and a bilevel.Truth
	c theorem.Constants
}

func subjects(t testing.TB) map[string]subject {
	m := map[string]subject{"bent": {newBent(t), bent{}.constants()}}
	for name, o := range map[string]quadratic.Options{
		"quadratic":              {Dx: 3, Dy: 4, Seed: 1, MuG: 0.5, LG: 4},
		"steep":                  {Dx: 5, Dy: 2, Seed: 2, CrossNorm: 4},
		"quadratic lower, not F": {Dx: 3, Dy: 3, Seed: 3, Nonconvex: 1.5, CrossNorm: 2},
	} {
		p := bileveltest.Must(quadratic.New(o))
		m[name] = subject{p, p.Constants(0)} // of which MaxAlpha uses what holds everywhere, because L is 0
	}
	return m
}

func start(s subject, seed uint64) (x, y []float64) {
	dx, dy := s.p.Dims()
	x, y = mattest.Vec(dx, seed), mattest.Vec(dy, seed+1000)
	mat.Axpy(x, 5, x)
	mat.Axpy(y, 5, y)
	return x, y
}

func TestOrder(t *testing.T) {
	end := func(steps int) []float64 {
		f := bileveltest.Must(New(newBent(t), Options{Alpha: 1, Beta: 1, H: 2 / float64(steps),
			X0: []float64{2, -1}, Y0: []float64{1, -2, 0.5}}))
		for range steps {
			require.NoError(t, f.Step())
		}
		require.Equal(t, 2.0, f.T())
		return append(slices.Clone(f.X()), f.Y()...)
	}
	a, b, c := end(64), end(128), end(256)
	mat.Axpy(a, -1, b)
	mat.Axpy(b, -1, c)
	assert.InDelta(t, 4, math.Log2(mat.Norm(a)/mat.Norm(b)), 0.1)
}

func TestEulerIsSTABLE(t *testing.T) {
	const h, alpha, beta = 0.1, 0.7, 1.5
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			x, y := start(s, 8)
			f := bileveltest.Must(New(s.p, Options{Alpha: alpha, Beta: beta, H: h}))
			vx, vy := make([]float64, len(x)), make([]float64, len(y))
			a, b := bilevel.Constant(h*alpha), bilevel.Constant(h*beta)
			m := bileveltest.Must(bilevel.New(s.p, bilevel.STABLE{Alpha: a, Beta: b, MuG: 1e-3, Plain: true},
				bilevel.Options{X0: x, Y0: y, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}))
			for k := range 50 {
				require.NoError(t, f.Velocity(vx, vy, x, y))
				mat.Axpy(x, h, vx)
				mat.Axpy(y, h, vy)
				require.NoError(t, m.Step())
				require.InDeltaSlice(t, m.X(), x, 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, m.Y(), y, 1e-10, "y at step %d", k)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"Alpha is 0":              {Beta: 1, H: 1},
		"Beta is -1":              {Alpha: 1, Beta: -1, H: 1},
		"H is NaN":                {Alpha: 1, Beta: 1, H: math.NaN()},
		"X0 has length 1, want 2": {Alpha: 1, Beta: 1, H: 1, X0: []float64{1}},
		"Y0 is +Inf at index 2":   {Alpha: 1, Beta: 1, H: 1, Y0: []float64{1, 2, math.Inf(1)}},
	} {
		_, err := New(newBent(t), o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	p := bileveltest.Must(quadratic.New(quadratic.Options{}))
	f := bileveltest.Must(New(p, Options{Alpha: 0.1, Beta: 0.1, H: 0.1}))
	require.NoError(t, f.Step())
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = f.Step() }))
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	fails := func([]float64) error { return broken }
	entry := func(v float64) func(row []float64) error {
		return func(row []float64) error {
			row[len(row)-2] = v
			return nil
		}
	}
	for _, c := range []struct {
		quantity string
		fault    func(v []float64) error
		want     error
	}{
		{"f_x", fails, broken}, {"g_y", fails, broken}, {"H_xy", fails, broken}, {"H_yy", fails, broken},
		{"H_yy", entry(-1e9), chol.ErrNotPosDef}, {"f_x", entry(math.Inf(1)), bilevel.ErrDiverged},
	} {
		p := &bileveltest.Faulty[bilevel.Sample]{Problem: newBent(t), Quantity: c.quantity, Fault: c.fault}
		f := bileveltest.Must(New(p, Options{Alpha: 1, Beta: 1, H: 0.1, X0: []float64{1, 2}, Y0: []float64{3, 4, 5}}))
		require.ErrorIs(t, f.Step(), c.want, c.quantity)
		assert.Equal(t, [][]float64{{1, 2}, {3, 4, 5}}, [][]float64{f.X(), f.Y()})
		assert.Zero(t, f.K())
		_, err := f.Lyapunov()
		assert.ErrorIs(t, err, bilevel.ErrMissing)
	}
	_, err := New(nil, Options{})
	assert.ErrorContains(t, err, "needs a problem")
	f := bileveltest.Must(New(bileveltest.Must(quadratic.New(quadratic.Options{})), Options{Alpha: 1, Beta: 1, H: 1e80}))
	assert.ErrorContains(t, f.Step(), "the state of the flow")
	assert.True(t, mat.NotFinite(f.Y()) < 0 && f.K() == 0)
}

func TestLyapunovFalls(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			const beta = 2
			most := bileveltest.Must(MaxAlpha(s.c, beta))
			for seed := range uint64(20) {
				x, y := start(s, seed)
				h := 0.5 / (beta * max(s.c.Lg, 6))
				f := bileveltest.Must(New(s.p, Options{Alpha: 0.99 * most, Beta: beta, H: h, X0: x, Y0: y}))
				last := bileveltest.Must(f.Lyapunov())
				vx, vy := make([]float64, len(x)), make([]float64, len(y))
				for range 400 {
					require.NoError(t, f.Velocity(vx, vy, f.X(), f.Y()))
					if mat.Norm(vx)+mat.Norm(vy) < 1e-5 { // V − V(∞) is of the order of the square, which rounding hides
						break
					}
					require.NoError(t, f.Step())
					v := bileveltest.Must(f.Lyapunov())
					require.Less(t, v, last, "seed %d, step %d", seed, f.K())
					last = v
				}
			}
		})
	}
}

// L_f = 1 + 2·3 + 3/2·(6 + 2·8) = 40, B_x = 2 + 2·3 = 8, L = (6 + 2·8)/2 = 11.
func TestMaxAlpha(t *testing.T) {
	c := theorem.Constants{Lfx: 1, Lfy: 3, Lgxy: 6, Lgyy: 8, Cfx: 2, Cfy: 3, Cgxy: 4, MuG: 2}
	got := bileveltest.Must(MaxAlpha(c, 5))
	assert.InEpsilon(t, 2*2*5.0/(40*40+2*8*11), got, 1e-15)
	got = bileveltest.Must(MaxAlpha(theorem.Constants{MuG: 1}, 1))
	assert.Equal(t, math.Inf(1), got)
	for want, bad := range map[string]struct {
		beta float64
		c    theorem.Constants
	}{
		"beta is 0": {0, c}, "Constants.MuG is 0": {1, theorem.Constants{}},
		"Constants.Lgyy is NaN": {1, theorem.Constants{MuG: 1, Lgyy: math.NaN()}},
		"sizes give NaN":        {1, theorem.Constants{MuG: 1e-200, Lfx: 1, Cgxy: 1e200}},
	} {
		_, err := MaxAlpha(bad.c, bad.beta)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}
