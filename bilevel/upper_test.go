package bilevel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/mat"
)

// upperModel is STABLE under an upper rule, from the equations, with full matrices: the estimates
// are those of paper, and direction is the rule.
type upperModel struct {
	p         paper
	w         *wavy
	hOld, inv [][]float64 // H_xy and H_yy⁻¹ of the last step
	xOld      []float64
	h, hLast  []float64 // h^k(x^k, y^k; ξ^k) and h^{k−1}(x^{k−1}, y^{k−1}; ξ^k)
}

// hyper is f_x − hxy·inv·f_y at (x, y; ξ).
func (u *upperModel) hyper(t *testing.T, hxy, inv [][]float64, x, y []float64, xi []Sample) []float64 {
	h, fy := make([]float64, u.w.Dx), make([]float64, u.w.Dy)
	require.NoError(t, u.w.GradF(h, fy, x, y, xi))
	for i, v := range bileveltest.Apply(hxy, bileveltest.Apply(inv, fy)) {
		h[i] -= v
	}
	return h
}

// upperBox is the feasible set of the runs that are followed.
var upperBox = UniformBox(3, -0.2, 0.4)

// step does step k; move returns the next x, before the box.
func (u *upperModel) step(t *testing.T, k int, beta, tau, mu float64, phi, xi []Sample, move func(x []float64) []float64) {
	x, y, xOld, yOld := u.p.x, u.p.y, u.p.xOld, u.p.yOld
	if k > 0 {
		u.hLast = u.hyper(t, u.hOld, u.inv, xOld, yOld, xi)
	}
	// The estimates and y by the paper's step with α = 0, and then the displacement of x on top.
	u.p.step(t, u.w, k, 0, beta, tau, mu, math.Inf(1), math.Inf(-1), math.Inf(1), phi, xi)
	u.hOld, u.inv = u.p.hxy, bileveltest.Invert(u.p.hyy)
	u.h = u.hyper(t, u.hOld, u.inv, x, y, xi)
	next := move(x)
	upperBox.Project(next, next)
	moved := make([]float64, len(x))
	for i := range x {
		moved[i] = next[i] - x[i]
	}
	for j := range u.p.y {
		for l := range u.p.y {
			for i := range x {
				u.p.y[j] -= u.inv[j][l] * u.hOld[i][l] * moved[i]
			}
		}
	}
	u.p.x, u.xOld = next, x
}

// Every rule against its equations, on a run in which the box and the eigenvalue truncation act;
// one ξ a step, at one point or at two.
func TestUpperFollowsThePapers(t *testing.T) {
	const mu = 0.9
	alpha, beta, tau := Power{C: 0.3, P: 0.5}, Constant(0.1), Power{C: 0.9, P: 0.5}
	weight, share := Power{C: 0.6, P: 0.1}, Power{C: 0.7, P: 0.2}
	var u *upperModel
	var d, m, v []float64
	for name, c := range map[string]struct {
		rule Upper
		move func(k int, x []float64) []float64
	}{
		"Momentum": {Momentum{Weight: weight}, func(k int, x []float64) []float64 {
			next := slices.Clone(x)
			for i := range x {
				next[i] -= alpha.At(k) * u.h[i]
				if k > 0 {
					next[i] += weight.At(k) * (x[i] - u.xOld[i])
				}
			}
			return next
		}},
		"STORM": {STORM{Tau: share}, func(k int, x []float64) []float64 {
			next := slices.Clone(x)
			for i := range x {
				if k == 0 {
					d[i] = u.h[i]
				} else {
					d[i] = u.h[i] + (1-share.At(k))*(d[i]-u.hLast[i])
				}
				next[i] -= alpha.At(k) * d[i]
			}
			return next
		}},
		"Adam": {Adam{Beta1: 0.8, Beta2: 0.95, Eps: 1e-3}, func(k int, x []float64) []float64 {
			next := slices.Clone(x)
			for i, h := range u.h {
				m[i] = 0.8*m[i] + 0.2*h
				v[i] = 0.95*v[i] + 0.05*h*h
				mHat, vHat := m[i]/(1-math.Pow(0.8, float64(k+1))), v[i]/(1-math.Pow(0.95, float64(k+1)))
				next[i] -= alpha.At(k) * mHat / (math.Sqrt(vHat) + 1e-3)
			}
			return next
		}},
	} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s,batch=%d", name, batch), func(t *testing.T) {
				w := newWavy(0.5)
				opt := Options{Set: upperBox, X0: []float64{0.1, -0.1, 0.2}, Y0: []float64{1, 0, -1, 2}, Seed: 3,
					UpperBatch: batch, LowerBatch: batch}
				s, err := New(w, STABLE{Alpha: alpha, Beta: beta, Tau: tau, Upper: c.rule, MuG: mu, InitBatch: 5,
					Plain: true}, opt)
				require.NoError(t, err)
				assert.Equal(t, "STABLE-"+name, s.Method().Name())
				u = &upperModel{w: newWavy(0.5), p: paper{x: opt.X0, y: opt.Y0}}
				d, m, v = make([]float64, 3), make([]float64, 3), make([]float64, 3)
				for k := range 60 {
					w.Log = []call{}
					require.NoError(t, s.Step())
					if name == "STORM" && k > 0 { // GradF at the old point comes first, with the ξ of the last call
						first, last := w.Log[0], w.Log[len(w.Log)-1]
						require.Equal(t, "GradF", first.Oracle)
						require.InDeltaSlice(t, u.p.xOld, first.X, 1e-11)
						require.InDeltaSlice(t, u.p.yOld, first.Y, 1e-11)
						require.Equal(t, last.Batch, first.Batch, "another ξ at the old point")
						w.Log = w.Log[1:]
					}
					phi, xi := samplesOf(t, w.Log, k, batch)
					u.step(t, k, beta.At(k), tau.At(k), mu, phi, xi, func(x []float64) []float64 { return c.move(k, x) })
					require.InDeltaSlice(t, u.p.x, s.X(), 1e-10, "x at step %d", k)
					require.InDeltaSlice(t, u.p.y, s.Y(), 1e-10, "y at step %d", k)
				}
				assert.Greater(t, u.p.clipped, 5, "the eigenvalue truncation hardly acted")
			})
		}
	}
}

// With the weight of SGD, a rule gives its bits; a rule costs no sample, and STORM one more GradF a
// step.
func TestUpperReducesToSGD(t *testing.T) {
	m := STABLE{Alpha: Constant(0.1), Beta: Constant(0.1), MuG: 0.3}
	opt := Options{Seed: 5, Set: UniformBox(3, -0.2, 0.4), UpperBatch: 2}
	after50 := func() []float64 {
		s, err := New(newWavy(0.3), m, opt)
		require.NoError(t, err)
		steps(t, s, 50)
		return slices.Concat(s.X(), s.Y())
	}
	want := after50()
	for _, rule := range []Upper{Momentum{Weight: Constant(0)}, STORM{Tau: Constant(1)}} {
		m.Upper = rule
		assert.Equal(t, want, after50(), m.Name())
	}
	for _, rule := range []Upper{Momentum{}, STORM{}, Adam{}} {
		m.Upper = rule
		assert.NotEqual(t, want, after50(), m.Name())
	}
	for _, rule := range []Upper{nil, Momentum{}, STORM{}, Adam{}} {
		m.Upper = rule
		s, err := New(newWavy(0.3), m, Options{UpperBatch: 2, LowerBatch: 3})
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, s.Step())
		}
		c := Counts{Xi: 40, Phi: 4 + 57, GradF: 40, GradG: 4 + 57, CrossG: 4 + 2*57, HessG: 4 + 2*57} // H⁰ takes dy = 4
		if rule == (STORM{}) {
			c.GradF += 38
		}
		assert.Equal(t, c, s.Counts(), m.Name())
	}
}

// Exact f_x and f_y keep the direction of STORM equal to the hypergradient estimate, for every τ
// and whatever noise moves H.
func TestUpperSTORMExact(t *testing.T) {
	s, err := New(newWavy(0.3),
		STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.3,
			Upper: STORM{Tau: Constant(0.01)}}, Options{UpperBatch: Full})
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, s.Step())
		m := s.it.stepper.(*stable)
		require.InDeltaSlice(t, m.h, m.rule.(*stormRule).d, 1e-11)
	}
}

// The projection of Adam is that of its metric: on a half-space its step is nearest in that metric,
// and in no other.
func TestUpperAdamMetric(t *testing.T) {
	set := HalfSpace{[]float64{1, 2, -1}, -1}
	s, err := New(newWavy(0.3),
		STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.3, Trust: math.Inf(1),
			Upper: Adam{}}, Options{Set: set})
	require.NoError(t, err)
	acted, want := 0, make([]float64, 3)
	for k := range 50 {
		x := slices.Clone(s.X())
		last := slices.Clone(x)
		require.NoError(t, s.Step())
		r := s.it.stepper.(*stable).rule.(*adamRule)
		for i := range x {
			x[i] -= 0.05 * r.m[i] / (1 - math.Pow(0.9, float64(k+1))) / r.a[i]
		}
		set.ProjectMetric(want, x, r.a)
		require.InDeltaSlice(t, want, s.X(), 1e-13)
		moved, mapped := 0.0, 0.0
		for i, old := range last {
			moved = math.Hypot(moved, s.X()[i]-old)
			mapped = math.Hypot(mapped, (s.X()[i]-old)*r.a[i]/0.05)
		}
		require.InEpsilon(t, mapped, moved/s.it.alpha, 1e-10)
		set.Project(want, x)
		if math.Abs(want[0]-s.X()[0]) > 1e-6 {
			acted++
		}
	}
	assert.Greater(t, acted, 10)
}

// weighed is all of R^dx, and fails a test that asks for a projection with a weight that is not
// finite.
type weighed struct {
	Space
	t *testing.T
}

func (s weighed) ProjectMetric(dst, x, w []float64) {
	require.Less(s.t, mat.NotFinite(w), 0, "projected with an infinite weight")
	copy(dst, x)
}

// A derivative whose square overflows would freeze its entry of x for good: it ends the run, before
// the projection.
func TestMetricOverflow(t *testing.T) {
	for i := range 3 {
		m := STABLE{Alpha: Constant(0.05), Beta: Constant(0.05), MuG: 0.3, Upper: Adam{}}
		f := &faulty{Problem: newWavy(0.1), Quantity: "f_x", After: 3, Fault: func(v []float64) error { v[i] = 1e200; return nil }}
		s, err := New(f, m, Options{Set: weighed{t: t}})
		require.NoError(t, err)
		for err == nil {
			err = s.Step()
		}
		var d *DivergedError
		require.ErrorAs(t, err, &d)
		assert.Contains(t, d.Quantity, "the metric")
		assert.Contains(t, d.Quantity, fmt.Sprintf("[%d]", i))
		assert.Positive(t, s.K())
	}
}

func TestUpperAllocate(t *testing.T) {
	for _, rule := range []Upper{Momentum{}, STORM{}, Adam{}} {
		s, err := New(quiet{Wavy: newWavy(0.5)},
			STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.3, Upper: rule}, Options{Set: Simplex{},
				LowerBatch: 2})
		require.NoError(t, err)
		step := func() {
			if err := s.Step(); err != nil {
				panic(err)
			}
		}
		for range 20 {
			step()
		}
		assert.Zero(t, testing.AllocsPerRun(50, step), rule.name())
	}
}

func TestUpperRefuses(t *testing.T) {
	a := Constant(0.1)
	for want, m := range map[string]STABLE{
		"STABLE.Alpha is nil":          {Upper: Adam{}},
		"Momentum.Weight at step 0":    {Alpha: a, Upper: Momentum{Weight: Constant(1.5)}},
		"STORM.Tau at step 0 is NaN":   {Alpha: a, Upper: STORM{Tau: Constant(math.NaN())}},
		"Adam.Beta1 is 1":              {Alpha: a, Upper: Adam{Beta1: 1}},
		"Adam.Beta2 is -0.5":           {Alpha: a, Upper: Adam{Beta2: -0.5}},
		"Adam.Eps is +Inf":             {Alpha: a, Upper: Adam{Eps: math.Inf(1)}},
		"Options.Set, a bilevel.onlyE": {Alpha: a, Upper: Adam{}},
	} {
		m.MuG = 1
		_, err := New(newWavy(0), m, Options{Set: onlyEuclid{UniformBox(3, -1, 1)}})
		require.ErrorIs(t, err, ErrOption, want)
		assert.ErrorContains(t, err, want)
	}
	for want, rule := range map[string]Upper{
		"STABLE-Momentum: Momentum.Weight at step 4 is NaN": Momentum{Weight: bileveltest.Turn{K: 4, V: math.NaN()}},
		"STABLE-STORM: STORM.Tau at step 4 is NaN":          STORM{Tau: bileveltest.Turn{K: 4, V: math.NaN()}},
		"STABLE-Momentum: Momentum.Weight at step 4 is 1.5": Momentum{Weight: bileveltest.Turn{K: 4, V: 1.5}},
		"STABLE-STORM: STORM.Tau at step 4 is 2":            STORM{Tau: bileveltest.Turn{K: 4, V: 2}},
		"STABLE-STORM: STORM.Tau at step 4 is -0.5":         STORM{Tau: bileveltest.Turn{K: 4, V: -0.5}},
	} {
		s, err := New(newWavy(0), STABLE{Alpha: a, MuG: 1, Upper: rule}, Options{})
		require.NoError(t, err)
		for range 4 {
			require.NoError(t, s.Step())
		}
		err = s.Step()
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
	}
}
