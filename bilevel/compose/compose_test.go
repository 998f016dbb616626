package compose

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// waves is a composition with noise in h, ∇h and f', made from the names of the samples: h_j = Σ_i b_ij(φ) sin(x_i) + ¼x_j, f = Σ log cosh(y_j − a_j(ξ)).
// Names are taken modulo 8, so that there is an exact value.
type waves struct {
	dx, dy       int
	outer, inner uint64
	log          []call
}

type call struct {
	oracle string
	at     []float64
	batch  []bilevel.Sample
}

func newWaves() *waves { return &waves{dx: 3, dy: 4, outer: 8, inner: 8} }

func (w *waves) Dims() (int, int)          { return w.dx, w.dy }
func (w *waves) Streams() (uint64, uint64) { return w.outer, w.inner }

func (w *waves) each(oracle string, at []float64, batch []bilevel.Sample, f func(rng *rand.Rand, weight float64)) {
	w.log = append(w.log, call{oracle, slices.Clone(at), slices.Clone(batch)})
	if len(batch) == 0 {
		batch = []bilevel.Sample{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, s := range batch {
		f(rand.New(rand.NewPCG(3, uint64(s)%8)), 1/float64(len(batch)))
	}
}

func (w *waves) Inner(h, x []float64, phi []bilevel.Sample) error {
	clear(h)
	w.each("h", x, phi, func(rng *rand.Rand, q float64) {
		for i, v := range x {
			for j := range h {
				h[j] += q * (math.Cos(float64(i+2*j)) + 0.3*rng.NormFloat64()) * math.Sin(v)
			}
			h[i] += q * v / 4
		}
	})
	return nil
}

func (w *waves) Gradients(dh *mat.Dense, x []float64, phi []bilevel.Sample) error {
	dh.Zero()
	w.each("∇h", x, phi, func(rng *rand.Rand, q float64) {
		for i, v := range x {
			for j := range w.dy {
				dh.Row(i)[j] += q * (math.Cos(float64(i+2*j)) + 0.3*rng.NormFloat64()) * math.Cos(v)
			}
			dh.Row(i)[i] += q / 4
		}
	})
	return nil
}

func (w *waves) Outer(df, y []float64, xi []bilevel.Sample) (f float64, err error) {
	clear(df)
	w.each("f", y, xi, func(rng *rand.Rand, q float64) {
		for j, v := range y {
			u := v - 1 - 0.5*rng.NormFloat64()
			f += q * math.Log(math.Cosh(u))
			if df != nil {
				df[j] += q * math.Tanh(u)
			}
		}
	})
	return f, nil
}

func portfolio(t testing.TB, assets, scenarios int) *MeanVariance {
	r := mattest.Dense(scenarios, assets, 9)
	for i := range scenarios {
		for j := range assets {
			r.Set(i, j, r.At(i, j)+0.1*float64(j+1))
		}
	}
	m, err := NewMeanVariance(r, 0.7)
	require.NoError(t, err)
	return m
}

// The adapted problems keep the contract: derivatives, exact values, batches, products, truth.
func TestAdaptedProblemsAreRight(t *testing.T) {
	for name, c := range map[string]Composition{
		"sum":           newWaves(),
		"simulator":     &waves{dx: 4, dy: 4},
		"mean variance": portfolio(t, 4, 12),
		"one asset":     portfolio(t, 1, 5),
	} {
		r, err := check.Problem(Adapt(c), check.Options{MuG: 1})
		require.NoError(t, err)
		assert.NoError(t, r.Err(), name)
		done := map[string]bool{}
		for _, p := range r.Passed {
			done[p.Check] = true
		}
		for _, want := range []string{check.Derivative, check.BatchMean, check.Unbiased, check.Product, check.Truth, check.Convexity} {
			assert.True(t, done[want], "%s: %s was not checked", name, want)
		}
	}
}

// STABLE on the adapted problem is the linearised SCSC, written here from its equations: H_yy = I, and J follows ∇h by (STABLE-H).
func TestSTABLEIsLinearisedSCSC(t *testing.T) {
	const alpha, beta, tau, lo, hi = 0.1, 0.3, 0.4, -0.5, 0.6
	c := newWaves()
	x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
	s, err := bilevel.New(Adapt(c), bilevel.STABLE{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(beta), Tau: bilevel.Constant(tau), MuG: 0.5,
		InitBatch: 2, Plain: true}, bilevel.Options{X0: x, Y0: y, Set: bilevel.UniformBox(3, lo, hi), Seed: 2})
	require.NoError(t, err)
	mirror := newWaves()
	j, now, old, h, df := mat.NewDense(3, 4), mat.NewDense(3, 4), mat.NewDense(3, 4), make([]float64, 4), make([]float64, 4)
	var xOld []float64
	x, y = slices.Clone(x), slices.Clone(y)
	for k := range 60 {
		c.log = nil
		require.NoError(t, s.Step())
		phi, xi := c.log[0].batch, c.log[len(c.log)-1].batch
		require.NoError(t, mirror.Gradients(now, x, phi))
		if k == 0 {
			require.Len(t, phi, 2)
			mat.Copy(j, now)
		} else {
			require.NoError(t, mirror.Gradients(old, xOld, phi))
			for i := range j.Data {
				j.Data[i] = (1-tau)*(j.Data[i]-old.Data[i]) + now.Data[i]
			}
		}
		_, err := mirror.Outer(df, y, xi)
		require.NoError(t, err)
		require.NoError(t, mirror.Inner(h, x, phi))
		next := slices.Clone(x)
		for i := range next {
			next[i] = min(max(x[i]-alpha*mat.Dot(j.Row(i), df), lo), hi)
		}
		for l := range y {
			y[l] -= beta * (y[l] - h[l])
			for i := range x {
				y[l] += j.At(i, l) * (next[i] - x[i])
			}
		}
		xOld, x = x, next
		require.InDeltaSlice(t, x, s.X(), 1e-12, "x at step %d", k)
		require.InDeltaSlice(t, y, s.Y(), 1e-12, "y at step %d", k)
	}
}

// method is what SCGD and SCSC have in common.
type method interface {
	Step() error
	X() []float64
	Y() []float64
	K() int
	Counts() bilevel.Counts
}

func makeMethod(t testing.TB, name string, c Composition, o Options) method {
	t.Helper()
	if name == "SCGD" {
		m, err := NewSCGD(c, o)
		require.NoError(t, err)
		return m
	}
	m, err := NewSCSC(c, o)
	require.NoError(t, err)
	return m
}

// SCGD and SCSC against their equations: what they ask, with which sample, and what they make of it.
func TestMethodsFollowTheirPapers(t *testing.T) {
	const lo, hi = -0.5, 0.6
	alpha, beta := bilevel.Power{C: 0.3, P: 0.75}, bilevel.Power{C: 0.9, P: 0.5}
	for _, name := range []string{"SCGD", "SCSC"} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(t *testing.T) {
				c, mirror := newWaves(), newWaves()
				x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
				m := makeMethod(t, name, c, Options{Alpha: alpha, Beta: beta, Set: bilevel.UniformBox(3, lo, hi), X0: x, Y0: y, Seed: 7, OuterBatch: batch, InnerBatch: batch})
				h, old, df, dh := make([]float64, 4), make([]float64, 4), make([]float64, 4), mat.NewDense(3, 4)
				xOld, boxed := x, 0
				x, y = slices.Clone(x), slices.Clone(y)
				for k := range 50 {
					c.log = nil
					require.NoError(t, m.Step())
					phi, xi := c.log[0].batch, c.log[len(c.log)-1].batch
					require.Len(t, phi, batch)
					require.Len(t, xi, batch)
					for _, l := range c.log[:len(c.log)-1] {
						require.Equal(t, phi, l.batch, "%s draws another φ", l.oracle)
					}
					require.NoError(t, mirror.Inner(h, x, phi))
					require.NoError(t, mirror.Inner(old, xOld, phi))
					b := beta.At(k)
					for j := range y {
						if name == "SCGD" {
							y[j] = (1-b)*y[j] + b*h[j]
						} else {
							y[j] = (1-b)*(y[j]+h[j]-old[j]) + b*h[j]
						}
					}
					require.NoError(t, mirror.Gradients(dh, x, phi))
					_, err := mirror.Outer(df, y, xi)
					require.NoError(t, err)
					xOld, x = x, slices.Clone(x)
					for i := range x {
						v := x[i] - alpha.At(k)*mat.Dot(dh.Row(i), df)
						if x[i] = min(max(v, lo), hi); x[i] != v {
							boxed++
						}
					}
					require.InDeltaSlice(t, x, m.X(), 1e-13)
					require.InDeltaSlice(t, y, m.Y(), 1e-13)
				}
				assert.Positive(t, boxed, "the box never acted")
				n := uint64(50 * batch)
				want := bilevel.Counts{Xi: n, Phi: n, GradF: n, GradG: n, CrossG: n}
				if name == "SCSC" {
					want.GradG = 2*n - uint64(batch)
				}
				assert.Equal(t, want, m.Counts())
				assert.Equal(t, 50, m.K())
			})
		}
	}
}

// The samples of a seed are those of a bilevel.Solver.
func TestSameSamplesAsSolver(t *testing.T) {
	for _, size := range []uint64{0, 8} {
		a, b := newWaves(), newWaves()
		a.inner, a.outer, b.inner, b.outer = size, size, size, size
		s, err := bilevel.New(Adapt(a), bilevel.STABLE{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1), MuG: 1, InitBatch: 3},
			bilevel.Options{Seed: 5, LowerBatch: 3, UpperBatch: 2})
		require.NoError(t, err)
		m := makeMethod(t, "SCGD", b, Options{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1), Seed: 5, InnerBatch: 3, OuterBatch: 2})
		for range 10 {
			a.log, b.log = nil, nil
			require.NoError(t, s.Step())
			require.NoError(t, m.Step())
			require.Equal(t, a.log[0].batch, b.log[0].batch)
			require.Equal(t, a.log[len(a.log)-1].batch, b.log[len(b.log)-1].batch)
		}
	}
}

// With exact oracles, ALSET with one inner step and one Neumann term at L = 1 is SCGD.
func TestALSETIsSCGD(t *testing.T) {
	alpha, beta := bilevel.Constant(0.2), bilevel.Power{C: 0.9, P: 0.5}
	x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
	s, err := bilevel.New(Adapt(newWaves()), bilevel.ALSET{Alpha: alpha, Beta: beta, Neumann: bilevel.Neumann{LG: 1, Terms: 1}},
		bilevel.Options{X0: x, Y0: y, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
	require.NoError(t, err)
	m := makeMethod(t, "SCGD", newWaves(), Options{Alpha: alpha, Beta: beta, X0: x, Y0: y, OuterBatch: bilevel.Full, InnerBatch: bilevel.Full})
	for range 50 {
		require.NoError(t, s.Step())
		require.NoError(t, m.Step())
		require.InDeltaSlice(t, s.X(), m.X(), 1e-12)
		require.InDeltaSlice(t, s.Y(), m.Y(), 1e-12)
	}
	assert.Equal(t, bilevel.Counts{Xi: 400, Phi: 400, GradF: 400, GradG: 400, CrossG: 400}, m.Counts())
}

// β = 1 leaves SCSC nothing to correct: it is SCGD, bit for bit, and draws the same samples.
func TestSCSCWithBetaOneIsSCGD(t *testing.T) {
	o := Options{Alpha: bilevel.Constant(0.2), Beta: bilevel.Constant(1), Seed: 3, X0: []float64{1, 2, 3}}
	a, b := makeMethod(t, "SCGD", newWaves(), o), makeMethod(t, "SCSC", newWaves(), o)
	for range 50 {
		require.NoError(t, a.Step())
		require.NoError(t, b.Step())
		require.Equal(t, a.X(), b.X())
		require.Equal(t, a.Y(), b.Y())
	}
}

// With exact oracles and y⁰ = h(x⁰), SCSC keeps y^{k+1} = h(x^k) for every β: gradient descent on F.
func TestExactSCSCIsGradientDescent(t *testing.T) {
	const alpha = 0.2
	p := Adapt(newWaves())
	x, y, grad := []float64{1, -0.5, 0.3}, make([]float64, 4), make([]float64, 3)
	require.NoError(t, p.Solution(y, x))
	m := makeMethod(t, "SCSC", newWaves(), Options{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(0.1), X0: x, Y0: y, OuterBatch: bilevel.Full, InnerBatch: bilevel.Full})
	for range 50 {
		require.NoError(t, m.Step())
		require.NoError(t, p.Solution(y, x))
		require.InDeltaSlice(t, y, m.Y(), 1e-12)
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		mat.Axpy(x, -alpha, grad)
		require.InDeltaSlice(t, x, m.X(), 1e-12)
	}
}

// The closed form is the zero of ∇F, and F there is the minimum.
func TestMeanVarianceOptimum(t *testing.T) {
	m := portfolio(t, 5, 40)
	x, want, err := m.Optimum()
	require.NoError(t, err)
	grad := make([]float64, 5)
	f, err := Adapt(m).Objective(grad, x)
	require.NoError(t, err)
	assert.InDelta(t, want, f, 1e-13)
	assert.Less(t, mat.Norm(grad), 1e-12)

	// F from its definition, −mean + λ·variance of the portfolio's returns.
	x = []float64{1, -2, 0.5, 3, 0.1}
	var mean, square float64
	for i := range 40 {
		v := mat.Dot(m.returns.Row(i), x)
		mean += v / 40
		square += v * v / 40
	}
	f, err = Adapt(m).Objective(nil, x)
	require.NoError(t, err)
	assert.InEpsilon(t, -mean+0.7*(square-mean*mean), f, 1e-12)

	_, _, err = portfolio(t, 3, 3).Optimum() // three scenarios span two directions
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	for _, bad := range []func() error{
		func() error { _, err := NewMeanVariance(nil, 1); return err },
		func() error { _, err := NewMeanVariance(mat.NewDense(2, 2), 0); return err },
		func() error {
			r := mat.NewDense(2, 2)
			r.Set(1, 0, math.NaN())
			_, err := NewMeanVariance(r, 1)
			return err
		},
	} {
		assert.ErrorIs(t, bad(), bilevel.ErrOption)
	}
	assert.Error(t, m.Inner(make([]float64, 2), x, []bilevel.Sample{40}), "a scenario that does not exist")
}

// STABLE, SCGD and SCSC find the portfolio: with exact oracles up to rounding, and with one scenario a step and falling step sizes to a hundredth of where
// they started.
func TestPortfolioConverges(t *testing.T) {
	m := portfolio(t, 4, 30)
	best, least, err := m.Optimum()
	require.NoError(t, err)
	for _, batch := range []int{bilevel.Full, 1} {
		steps, alpha, beta := 6000, bilevel.Schedule(bilevel.Constant(0.5)), bilevel.Schedule(bilevel.Constant(0.5))
		if batch == 1 {
			steps, alpha, beta = 40000, bilevel.Power{C: 40, K0: 200, P: 1}, bilevel.Power{C: 100, K0: 200, P: 1}
		}
		end := map[string][]float64{}
		for _, name := range []string{"SCGD", "SCSC"} {
			r := makeMethod(t, name, m, Options{Alpha: alpha, Beta: beta, Seed: 1, InnerBatch: batch})
			for range steps {
				require.NoError(t, r.Step())
			}
			end[name] = r.X()
		}
		s, err := bilevel.New(Adapt(m), bilevel.STABLE{Alpha: alpha, Beta: beta, Tau: beta, MuG: 1, Plain: true}, bilevel.Options{Seed: 1, LowerBatch: batch})
		require.NoError(t, err)
		r, err := s.Run(context.Background(), bilevel.Run{Steps: steps})
		require.NoError(t, err)
		end["STABLE"] = r.X
		for name, x := range end {
			f, err := Adapt(m).Objective(nil, x)
			require.NoError(t, err)
			t.Logf("%s, batch %d: F − F* = %.3g of %.3g", name, batch, f-least, -least)
			if batch == bilevel.Full {
				assert.InDeltaSlice(t, best, x, 1e-9, name)
			} else {
				assert.Less(t, f-least, 0.01*-least, name) // F(0) = 0
			}
		}
	}
}

// Over the simplex, where there is no closed form, STABLE and SCSC end where the optimality condition holds: ⟨∇F, e_i − x⟩ ≥ 0 for every corner.
func TestPortfolioOverSimplex(t *testing.T) {
	m := portfolio(t, 4, 30)
	set := bilevel.Simplex{}
	s, err := bilevel.New(Adapt(m), bilevel.STABLE{Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5), MuG: 1, Plain: true},
		bilevel.Options{Set: set, LowerBatch: bilevel.Full})
	require.NoError(t, err)
	_, err = s.Run(context.Background(), bilevel.Run{Steps: 3000})
	require.NoError(t, err)
	r := makeMethod(t, "SCSC", m, Options{Set: set, Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0.5), InnerBatch: bilevel.Full})
	for range 3000 {
		require.NoError(t, r.Step())
	}
	for name, x := range map[string][]float64{"STABLE": s.X(), "SCSC": r.X()} {
		grad := make([]float64, 4)
		_, err := Adapt(m).Objective(grad, x)
		require.NoError(t, err)
		for i, g := range grad {
			assert.GreaterOrEqual(t, g-mat.Dot(grad, x), -1e-9, "%s: corner %d", name, i)
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	good := Options{Alpha: bilevel.Constant(1), Beta: bilevel.Constant(1)}
	for want, spoil := range map[string]func(o *Options){
		"Options.Alpha is nil":     func(o *Options) { o.Alpha = nil },
		"Options.Beta is nil":      func(o *Options) { o.Beta = nil },
		"Options.OuterBatch is -2": func(o *Options) { o.OuterBatch = -2 },
		"Options.InnerBatch is -3": func(o *Options) { o.InnerBatch = -3 },
		"Options.X0 wants 3":       func(o *Options) { o.X0 = []float64{1} },
		"Options.Y0 wants 4":       func(o *Options) { o.Y0 = []float64{1, 2, 3, math.NaN()} },
		"Box has 2":                func(o *Options) { o.Set = bilevel.UniformBox(2, 0, 1) },
	} {
		o := good
		spoil(&o)
		_, err := NewSCGD(newWaves(), o)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
		_, err = NewSCSC(newWaves(), o)
		assert.ErrorContains(t, err, want)
	}
	_, err := NewSCSC(nil, good)
	assert.ErrorIs(t, err, bilevel.ErrOption)
	for want, spoil := range map[string]func(o *Options){
		"Alpha at step 0 is +Inf": func(o *Options) { o.Alpha = bilevel.Constant(math.Inf(1)) },
		"Beta at step 0 is 1.5":   func(o *Options) { o.Beta = bilevel.Constant(1.5) },
	} {
		o := good
		spoil(&o)
		m := makeMethod(t, "SCSC", newWaves(), o)
		err := m.Step()
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

// A step that explodes is refused, and nothing moves.
func TestDivergence(t *testing.T) {
	for _, name := range []string{"SCGD", "SCSC"} {
		m := makeMethod(t, name, portfolio(t, 3, 10), Options{Alpha: bilevel.Constant(1e200), Beta: bilevel.Constant(1)})
		var err error
		for err == nil && m.K() < 10 {
			x := slices.Clone(m.X())
			if err = m.Step(); err != nil {
				assert.Equal(t, x, m.X())
			}
		}
		assert.ErrorIs(t, err, bilevel.ErrDiverged)
	}
}

func TestStepsDoNotAllocate(t *testing.T) {
	c := portfolio(t, 6, 20)
	o := Options{Alpha: bilevel.Power{C: 0.01, P: 0.5}, Beta: bilevel.Power{C: 1, P: 0.5}, InnerBatch: 4}
	for _, name := range []string{"SCGD", "SCSC"} {
		m := makeMethod(t, name, c, o)
		require.NoError(t, m.Step())
		assert.Zero(t, testing.AllocsPerRun(50, func() { _ = m.Step() }), name)
	}
	s, err := bilevel.New(Adapt(c), bilevel.STABLE{Alpha: o.Alpha, Beta: o.Beta, MuG: 1}, bilevel.Options{LowerBatch: 4})
	require.NoError(t, err)
	require.NoError(t, s.Step())
	assert.Zero(t, testing.AllocsPerRun(50, func() { _ = s.Step() }), "STABLE")
}

// How far y lags behind h(x) while x travels, with exact oracles and y⁰ = h(x⁰): SCGD by the order of α, STABLE, whose correction is the tangent of h, by the
// order of α², SCSC not at all. This is what lets the two keep one timescale.
func TestLag(t *testing.T) {
	const beta = 0.5
	p := Adapt(newWaves())
	x0, y0, h := []float64{1.5, -2, 2.5}, make([]float64, 4), make([]float64, 4)
	require.NoError(t, p.Solution(y0, x0))
	lag := func(name string, alpha float64) (worst float64) {
		var step func() error
		var x, y func() []float64
		if name == "STABLE" {
			s, err := bilevel.New(Adapt(newWaves()), bilevel.STABLE{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(beta), MuG: 1, Plain: true},
				bilevel.Options{X0: x0, Y0: y0, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
			require.NoError(t, err)
			step, x, y = s.Step, s.X, s.Y
		} else {
			m := makeMethod(t, name, newWaves(), Options{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(beta), X0: x0, Y0: y0, OuterBatch: bilevel.Full, InnerBatch: bilevel.Full})
			step, x, y = m.Step, m.X, m.Y
		}
		for range int(1 / alpha) {
			at := slices.Clone(x()) // SCGD and SCSC track h of the last iterate, STABLE that of the present one
			require.NoError(t, step())
			if name == "STABLE" {
				at = x()
			}
			require.NoError(t, p.Solution(h, at))
			mat.Axpy(h, -1, y())
			worst = max(worst, mat.Norm(h))
		}
		return worst
	}
	order := func(name string) float64 { return math.Log2(lag(name, 1./64) / lag(name, 1./128)) }
	assert.InDelta(t, 1, order("SCGD"), 0.1)
	assert.InDelta(t, 2, order("STABLE"), 0.1)
	assert.Less(t, lag("SCSC", 1./64), 1e-12)
	assert.Greater(t, lag("SCGD", 1./64), 1e-3)
}

// infinite is waves with an infinite derivative of f at call number 3.
type infinite struct {
	*waves
	calls *int
}

func (w infinite) Outer(df, y []float64, xi []bilevel.Sample) (float64, error) {
	f, err := w.waves.Outer(df, y, xi)
	if *w.calls++; *w.calls == 3 {
		df[0] = math.Inf(1)
	}
	return f, err
}

// A feasible set does not hide a step that is infinite.
func TestInfiniteStepInABox(t *testing.T) {
	for _, name := range []string{"SCGD", "SCSC"} {
		m := makeMethod(t, name, infinite{newWaves(), new(int)}, Options{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.5), Set: bilevel.UniformBox(3, -1, 1)})
		require.NoError(t, m.Step())
		require.NoError(t, m.Step())
		x := slices.Clone(m.X())
		require.ErrorIs(t, m.Step(), bilevel.ErrDiverged)
		assert.Equal(t, x, m.X())
	}
}
