package flow

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/quadratic"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// bent is a problem without noise whose constants are known over the whole space,
//
//	g = ½ yᵀA y − sin(x)ᵀB y + c Σ sin(x_i) sin(y_i) + c Σ cos(y_j),    A = diag(2, 3, …),
//	f = Σ log cosh(x_i − 1) + Σ log cosh(y_j + 1).
type bent struct {
	dx, dy int
	c      float64
	b      *mat.Dense
	v      []float64
	h      *mat.Sym
	factor chol.Cholesky
}

func newBent() *bent {
	p := &bent{dx: 2, dy: 3, c: 0.3, b: mattest.Dense(2, 3, 5), v: make([]float64, 3), h: mat.NewSym(3)}
	mat.Scale(p.b, 1/mat.NormFrob(p.b), p.b)
	return p
}

// constants are global: |∂²g_yy| ≤ 2c, |∂g_xy/∂y| ≤ c, and tanh is bounded by 1 with slope 1.
func (p *bent) constants() bilevel.Constants {
	return bilevel.Constants{
		Lfy: 1, Lgxy: p.c, Lgyy: 2 * p.c, Cgxy: mat.NormFrob(p.b) + p.c*math.Sqrt(2),
		Cfx: math.Sqrt(float64(p.dx)), Cfy: math.Sqrt(float64(p.dy)), MuG: 2 - 2*p.c,
	}
}

func (p *bent) Dims() (int, int)          { return p.dx, p.dy }
func (p *bent) Streams() (uint64, uint64) { return 0, 0 }

func (p *bent) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	for i, v := range x {
		fx[i] = math.Tanh(v - 1)
	}
	for j, v := range y {
		fy[j] = math.Tanh(v + 1)
	}
	return nil
}

func (p *bent) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	for j, v := range y {
		gy[j] = float64(j+2)*v - p.c*math.Sin(v)
		for i, u := range x {
			gy[j] -= math.Sin(u) * p.b.At(i, j)
		}
		if j < p.dx {
			gy[j] += p.c * math.Sin(x[j]) * math.Cos(v)
		}
	}
	return nil
}

func (p *bent) CrossG(gxy *mat.Dense, x, y []float64, _ []bilevel.Sample) error {
	for i, u := range x {
		for j, v := range y {
			gxy.Set(i, j, -math.Cos(u)*p.b.At(i, j))
			if i == j {
				gxy.Set(i, j, gxy.At(i, j)+p.c*math.Cos(u)*math.Cos(v))
			}
		}
	}
	return nil
}

func (p *bent) HessG(gyy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	for j, v := range y {
		h := float64(j+2) - p.c*math.Cos(v)
		if j < p.dx {
			h -= p.c * math.Sin(x[j]) * math.Sin(v)
		}
		gyy.Set(j, j, h)
	}
	return nil
}

// Solution is Newton's method; the modulus of g is so near its diagonal that it needs no damping from 0.
func (p *bent) Solution(y, x []float64) error {
	clear(y)
	for range 50 {
		_ = p.HessG(p.h, x, y, nil)
		_ = p.GradG(p.v, x, y, nil)
		if err := p.factor.Factor(p.h); err != nil {
			return err
		}
		p.factor.SolveVec(p.v, p.v)
		mat.Axpy(y, -1, p.v)
	}
	return nil
}

func (p *bent) Objective(grad, x []float64) (float64, error) {
	y, fx, fy, gxy := make([]float64, p.dy), make([]float64, p.dx), make([]float64, p.dy), mat.NewDense(p.dx, p.dy)
	if err := p.Solution(y, x); err != nil {
		return 0, err
	}
	f := 0.0
	for _, v := range x {
		f += math.Log(math.Cosh(v - 1))
	}
	for _, v := range y {
		f += math.Log(math.Cosh(v + 1))
	}
	if grad != nil {
		_ = p.GradF(fx, fy, x, y, nil)
		_ = p.CrossG(gxy, x, y, nil)
		p.factor.SolveVec(fy, fy)
		mat.MulVec(grad, gxy, fy)
		for i := range grad {
			grad[i] = fx[i] - grad[i]
		}
	}
	return f, nil
}

func TestBentIsWhatItSays(t *testing.T) {
	p := newBent()
	r, err := check.Problem(p, check.Options{ScaleX: 2, ScaleY: 2, MuG: p.constants().MuG})
	require.NoError(t, err)
	assert.NoError(t, r.Err())
}

// subject is a problem with its truth and its constants.
type subject struct {
	p interface {
		bilevel.Problem
		bilevel.Truth
	}
	c bilevel.Constants
}

func subjects(t testing.TB) map[string]subject {
	m := map[string]subject{"bent": {newBent(), newBent().constants()}}
	for name, o := range map[string]quadratic.Options{
		"quadratic":              {Dx: 3, Dy: 4, Seed: 1, MuG: 0.5, LG: 4},
		"steep":                  {Dx: 5, Dy: 2, Seed: 2, CrossNorm: 4},
		"quadratic lower, not F": {Dx: 3, Dy: 3, Seed: 3, Nonconvex: 1.5, CrossNorm: 2},
	} {
		p, err := quadratic.New(o)
		require.NoError(t, err)
		m[name] = subject{p, p.Constants(0)} // of which MaxAlpha uses what holds everywhere, because L is 0
	}
	return m
}

// start returns a point at a distance.
func start(s subject, seed uint64) (x, y []float64) {
	dx, dy := s.p.Dims()
	x, y = mattest.Vec(dx, seed), mattest.Vec(dy, seed+1000)
	for i := range x {
		x[i] *= 6
	}
	for j := range y {
		y[j] *= 6
	}
	return x, y
}

// Theorem 1, (C1): within the condition V falls at every step, from wherever the flow starts, until it is at rest.
func TestLyapunovFalls(t *testing.T) {
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			const beta = 2
			most, err := MaxAlpha(s.c, beta)
			require.NoError(t, err)
			for seed := range uint64(20) {
				x, y := start(s, seed)
				lg := max(s.c.Lg, 6)
				f, err := New(s.p, Options{Alpha: 0.99 * most, Beta: beta, H: 0.5 / (beta * lg), X0: x, Y0: y})
				require.NoError(t, err)
				last, err := f.Lyapunov()
				require.NoError(t, err)
				vx, vy := make([]float64, len(x)), make([]float64, len(y))
				for range 400 {
					require.NoError(t, f.Velocity(vx, vy, f.X(), f.Y()))
					if mat.Norm(vx)+mat.Norm(vy) < 1e-5 { // V − V(∞) is of the order of the square, which rounding hides
						break
					}
					require.NoError(t, f.Step())
					v, err := f.Lyapunov()
					require.NoError(t, err)
					require.Less(t, v, last, "seed %d, step %d", seed, f.K())
					last = v
				}
			}
		})
	}
}

// The condition is no accident of the proof: where g is quadratic and dx = dy = 1, V' = −αF'² − αJF'e − βAe² with J = B/A and e = y − y*(x), and is negative
// for all F' and e exactly if α < 4βA/J², twice the bound. Below that V falls from the worst start F' = −Je/2, and above it rises.
func TestLyapunovRisesBeyondTwiceTheBound(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{Dx: 1, Dy: 1, Seed: 4, MuG: 0.8, CrossNorm: 3})
	require.NoError(t, err)
	best, _ := p.Optimum()
	gxy, slope := mat.NewDense(1, 1), make([]float64, 1)
	require.NoError(t, p.CrossG(gxy, best, []float64{0}, nil))
	j := -gxy.At(0, 0) / 0.8
	_, err = p.Objective(slope, []float64{best[0] + 1}) // F″, because F is quadratic
	require.NoError(t, err)

	const beta, e = 1.0, 2.0
	x, y := []float64{best[0] - j*e/2/slope[0]}, make([]float64, 1)
	require.NoError(t, p.Solution(y, x))
	y[0] += e
	most, err := MaxAlpha(p.Constants(0), beta)
	require.NoError(t, err)
	require.InEpsilon(t, 2*beta*0.8/(j*j), most, 1e-12)
	change := func(alpha float64) float64 {
		f, err := New(p, Options{Alpha: alpha, Beta: beta, H: 1e-5, X0: x, Y0: y})
		require.NoError(t, err)
		before, err := f.Lyapunov()
		require.NoError(t, err)
		require.NoError(t, f.Step())
		after, err := f.Lyapunov()
		require.NoError(t, err)
		return (after - before) / 1e-5
	}
	for _, factor := range []float64{0.5, 1, 1.9, 2.1, 4} {
		alpha := factor * most
		want := alpha*j*j*e*e/4 - beta*0.8*e*e
		assert.InDelta(t, want, change(alpha), 1e-2*math.Abs(want), "α = %v of the bound", factor)
		assert.Equal(t, factor > 2, change(alpha) > 0, "α = %v of the bound", factor)
	}
}

// On the nonquadratic problem V rises outside of the condition, too: near a stationary point of F, with y away from y*(x), where the bound is left
// far enough behind. From the same starts it falls within the condition.
func TestLyapunovRisesOnBent(t *testing.T) {
	s := subjects(t)["bent"]
	most, err := MaxAlpha(s.c, 1)
	require.NoError(t, err)
	x0, y0 := start(s, 1)
	rest, err := New(s.p, Options{Alpha: 1, Beta: 1, H: 0.05, X0: x0, Y0: y0})
	require.NoError(t, err)
	for range 4000 {
		require.NoError(t, rest.Step())
	}
	for factor, want := range map[float64]bool{1: false, 1000: true} {
		rises := 0
		for seed := range uint64(40) {
			x, y := slices.Clone(rest.X()), slices.Clone(rest.Y())
			mat.Axpy(x, 0.03, mattest.Vec(2, seed))
			mat.Axpy(y, 3, mattest.Vec(3, seed+100))
			f, err := New(s.p, Options{Alpha: factor * most, Beta: 1, H: 1e-6, X0: x, Y0: y})
			require.NoError(t, err)
			before, err := f.Lyapunov()
			require.NoError(t, err)
			require.NoError(t, f.Step())
			after, err := f.Lyapunov()
			require.NoError(t, err)
			if after > before {
				rises++
			}
		}
		assert.Equal(t, want, rises > 0, "%d of 40 starts rise at %v times the bound", rises, factor)
	}
}

// Halving h divides the error by 2⁴ for Runge-Kutta and by 2 for Euler.
func TestOrder(t *testing.T) {
	for scheme, order := range map[Scheme]float64{RK4: 4, Euler: 1} {
		t.Run(scheme.String(), func(t *testing.T) {
			end := func(steps int) []float64 {
				f, err := New(newBent(), Options{Alpha: 1, Beta: 1, H: 2 / float64(steps), Scheme: scheme, X0: []float64{2, -1}, Y0: []float64{1, -2, 0.5}})
				require.NoError(t, err)
				for range steps {
					require.NoError(t, f.Step())
				}
				require.Equal(t, 2.0, f.T())
				return append(slices.Clone(f.X()), f.Y()...)
			}
			a, b, c := end(64), end(128), end(256)
			mat.Axpy(a, -1, b)
			mat.Axpy(b, -1, c)
			assert.InDelta(t, order, math.Log2(mat.Norm(a)/mat.Norm(b)), 0.1)
		})
	}
}

// Theorem 1, (C2): the velocity vanishes at (x*, y*(x*)), and nowhere else: not at another (x, y*(x)), where x' = −α∇F, and not at another y, where
// y' + g_yy⁻¹ g_xyᵀ x' = −β g_y ≠ 0.
func TestAtRestOnlyAtTheSolution(t *testing.T) {
	const alpha, beta = 0.7, 1.3
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			dx, dy := s.p.Dims()
			vx, vy, ys, grad := make([]float64, dx), make([]float64, dy), make([]float64, dy), make([]float64, dx)
			f, err := New(s.p, Options{Alpha: alpha, Beta: beta, H: 0.05})
			require.NoError(t, err)
			if q, ok := s.p.(*quadratic.Problem); ok {
				x, _ := q.Optimum()
				require.NoError(t, s.p.Solution(ys, x))
				require.NoError(t, f.Velocity(vx, vy, x, ys))
				assert.Less(t, mat.Norm(vx)+mat.Norm(vy), 1e-12)
			}
			for seed := range uint64(10) {
				x, y := start(s, seed)
				require.NoError(t, s.p.Solution(ys, x))
				require.NoError(t, f.Velocity(vx, vy, x, ys))
				_, err := s.p.Objective(grad, x)
				require.NoError(t, err)
				require.Greater(t, mat.Norm(grad), 1e-3)
				for i := range grad {
					assert.InDelta(t, -alpha*grad[i], vx[i], 1e-11*(1+mat.Norm(grad)))
				}
				require.NoError(t, f.Velocity(vx, vy, x, y))
				assert.Greater(t, mat.Norm(vx)+mat.Norm(vy), 1e-3)
			}
		})
	}
}

// From every start the flow settles, and where it settles ∇F = 0 and y = y*(x).
func TestSettlesAtStationaryPoints(t *testing.T) {
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			dx, dy := s.p.Dims()
			ys, grad := make([]float64, dy), make([]float64, dx)
			for seed := range uint64(5) {
				x, y := start(s, seed)
				f, err := New(s.p, Options{Alpha: 1, Beta: 1, H: 0.05, X0: x, Y0: y})
				require.NoError(t, err)
				for range 8000 {
					require.NoError(t, f.Step())
				}
				require.NoError(t, s.p.Solution(ys, f.X()))
				assert.InDeltaSlice(t, ys, f.Y(), 1e-9)
				_, err = s.p.Objective(grad, f.X())
				require.NoError(t, err)
				assert.Less(t, mat.Norm(grad), 1e-8, "seed %d", seed)
			}
		})
	}
}

// In a quadratic problem y − y*(x) decays by −β g_yy alone, whatever the rate of x: with the same β and two α, the same errors at the same times.
func TestCorrectionCarriesTheError(t *testing.T) {
	s := subjects(t)["quadratic"]
	x, y := start(s, 3)
	ys := make([]float64, len(y))
	var errs [2][]float64
	for i, alpha := range []float64{0.01, 1} {
		f, err := New(s.p, Options{Alpha: alpha, Beta: 1, H: 0.01, X0: x, Y0: y})
		require.NoError(t, err)
		for range 100 {
			require.NoError(t, f.Step())
		}
		require.NoError(t, s.p.Solution(ys, f.X()))
		errs[i] = slices.Clone(f.Y())
		mat.Axpy(errs[i], -1, ys)
		require.Greater(t, mat.Norm(errs[i]), 0.1)
	}
	assert.InDeltaSlice(t, errs[0], errs[1], 1e-11)
}

// One Euler step is the step of STABLE with exact oracles.
func TestEulerIsSTABLE(t *testing.T) {
	const h, alpha, beta = 0.1, 0.7, 1.5
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			x, y := start(s, 8)
			f, err := New(s.p, Options{Alpha: alpha, Beta: beta, H: h, Scheme: Euler, X0: x, Y0: y})
			require.NoError(t, err)
			m, err := bilevel.New(s.p, bilevel.STABLE{Alpha: bilevel.Constant(h * alpha), Beta: bilevel.Constant(h * beta), MuG: 1e-3, Plain: true},
				bilevel.Options{X0: x, Y0: y, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			for k := range 50 {
				require.NoError(t, f.Step())
				require.NoError(t, m.Step())
				require.InDeltaSlice(t, m.X(), f.X(), 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, m.Y(), f.Y(), 1e-10, "y at step %d", k)
			}
		})
	}
}

// MaxAlpha by hand: C_gxy/μ_g = 2, L_f = 1 + 2·3 + 3/2·(6 + 2·8) = 40, B_x = 2 + 2·3 = 8, L = (6 + 2·8)/2 = 11.
func TestMaxAlpha(t *testing.T) {
	c := bilevel.Constants{Lfx: 1, Lfy: 3, Lgxy: 6, Lgyy: 8, Cfx: 2, Cfy: 3, Cgxy: 4, MuG: 2}
	got, err := MaxAlpha(c, 5)
	require.NoError(t, err)
	assert.InEpsilon(t, 2*2*5.0/(40*40+2*8*11), got, 1e-15)
	got, err = MaxAlpha(bilevel.Constants{MuG: 1}, 1)
	require.NoError(t, err)
	assert.Equal(t, math.Inf(1), got)
	for want, f := range map[string]func(c *bilevel.Constants) float64{
		"beta is 0":          func(*bilevel.Constants) float64 { return 0 },
		"Constants.MuG is 0": func(c *bilevel.Constants) float64 { c.MuG = 0; return 1 },
		"Constants.Lgyy is NaN": func(c *bilevel.Constants) float64 {
			c.Lgyy = math.NaN()
			return 1
		},
	} {
		d := c
		_, err := MaxAlpha(d, f(&d))
		if err == nil {
			_, err = MaxAlpha(d, 1)
		}
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

func TestRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"Alpha is 0":  {Beta: 1, H: 1},
		"Beta is -1":  {Alpha: 1, Beta: -1, H: 1},
		"H is NaN":    {Alpha: 1, Beta: 1, H: math.NaN()},
		"Scheme is 7": {Alpha: 1, Beta: 1, H: 1, Scheme: 7},
		"X0 wants 2":  {Alpha: 1, Beta: 1, H: 1, X0: []float64{1}},
		"Y0 wants 3":  {Alpha: 1, Beta: 1, H: 1, Y0: []float64{1, 2, math.Inf(1)}},
	} {
		_, err := New(newBent(), o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// failing lets one oracle fail, or makes g_yy indefinite.
type failing struct {
	bilevel.Problem
	at string
}

func (p failing) fail(name string) error {
	if p.at == name {
		return fmt.Errorf("%s failed", name)
	}
	return nil
}

func (p failing) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	_ = p.Problem.GradF(fx, fy, x, y, xi)
	if p.at == "NaN" {
		fx[0] = math.NaN()
	}
	return p.fail("GradF")
}

func (p failing) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.GradG(gy, x, y, phi)
	return p.fail("GradG")
}

func (p failing) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.CrossG(gxy, x, y, phi)
	return p.fail("CrossG")
}

func (p failing) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	_ = p.Problem.HessG(gyy, x, y, phi)
	if p.at == "indefinite" {
		gyy.Set(1, 1, -1)
	}
	return p.fail("HessG")
}

// On an error nothing moves.
func TestErrors(t *testing.T) {
	for _, at := range []string{"GradF", "GradG", "CrossG", "HessG", "indefinite", "NaN"} {
		f, err := New(failing{newBent(), at}, Options{Alpha: 1, Beta: 1, H: 0.1, X0: []float64{1, 2}})
		require.NoError(t, err)
		err = f.Step()
		switch at {
		case "indefinite":
			assert.ErrorIs(t, err, chol.ErrNotPosDef)
		case "NaN":
			assert.ErrorIs(t, err, bilevel.ErrDiverged)
		default:
			assert.ErrorContains(t, err, at+" failed")
		}
		assert.Equal(t, []float64{1, 2}, f.X())
		assert.Zero(t, f.K())
		_, err = f.Lyapunov()
		assert.ErrorIs(t, err, ErrNoTruth)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	p, err := quadratic.New(quadratic.Options{})
	require.NoError(t, err)
	f, err := New(p, Options{Alpha: 0.1, Beta: 0.1, H: 0.1})
	require.NoError(t, err)
	require.NoError(t, f.Step())
	assert.Zero(t, testing.AllocsPerRun(20, func() { _ = f.Step() }))
}
