package compose

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

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

// SCGD and SCSC against their equations: what they ask, with which sample, and what they make of
// it.
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
