package compose

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat"
)

type options struct {
	Alpha, Beta            bilevel.Schedule
	Set                    bilevel.Set
	X0, Y0                 []float64
	Seed                   uint64
	OuterBatch, InnerBatch int
}

func newMethod(name string, c Composition, o options) (*bilevel.Solver, error) {
	var m bilevel.Method = SCGD{Alpha: o.Alpha, Beta: o.Beta}
	if name == "SCSC" {
		m = SCSC{Alpha: o.Alpha, Beta: o.Beta}
	}
	return bilevel.New(Adapt(c), m,
		bilevel.Options{Set: o.Set, X0: o.X0, Y0: o.Y0, Seed: o.Seed, UpperBatch: o.OuterBatch,
			LowerBatch: o.InnerBatch})
}

func makeMethod(t testing.TB, name string, c Composition, o options) *bilevel.Solver {
	t.Helper()
	s, err := newMethod(name, c, o)
	require.NoError(t, err)
	require.Equal(t, name, s.Method().Name())
	return s
}

func TestMethodsFollowTheirPapers(t *testing.T) {
	const lo, hi = -0.5, 0.6
	alpha, beta := bilevel.Power{C: 0.3, P: 0.75}, bilevel.Power{C: 0.9, P: 0.5}
	for _, name := range []string{"SCGD", "SCSC"} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/batch=%d", name, batch), func(t *testing.T) {
				c, mirror := newWaves(), newWaves()
				x, y := []float64{0.4, -0.3, 0.5}, []float64{1, 0, -1, 2}
				m := makeMethod(t, name, c,
					options{Alpha: alpha, Beta: beta, Set: bilevel.UniformBox(3, lo, hi), X0: x, Y0: y, Seed: 7,
						OuterBatch: batch, InnerBatch: batch})
				h, old, df, dh := make([]float64, 4), make([]float64, 4), make([]float64, 4), mat.NewDense(3, 4)
				xOld, boxed := x, 0
				x, y = slices.Clone(x), slices.Clone(y)
				for k := range 50 {
					c.log = nil
					require.NoError(t, m.Step())
					phi, xi := c.log[0].batch, []bilevel.Sample(nil)
					for _, l := range c.log {
						if l.oracle == "f" {
							xi = l.batch
							continue
						}
						require.Equal(t, phi, l.batch, "%s draws another φ", l.oracle)
					}
					require.Len(t, phi, batch)
					require.Len(t, xi, batch)
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
				want := bilevel.Counts{Xi: n, Phi: n, GradF: n, GradG: n, CrossVecG: n}
				if name == "SCSC" {
					want.GradG = 2*n - uint64(batch)
				}
				assert.Equal(t, want, m.Counts())
				assert.Equal(t, 50, m.K())
			})
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	good := options{Alpha: bilevel.Constant(1), Beta: bilevel.Constant(1)}
	for _, name := range []string{"SCGD", "SCSC"} {
		for want, spoil := range map[string]func(o *options){
			name + ".Alpha is nil":            func(o *options) { o.Alpha = nil },
			name + ".Beta is nil":             func(o *options) { o.Beta = nil },
			name + ".Alpha at step 0 is +Inf": func(o *options) { o.Alpha = bilevel.Constant(math.Inf(1)) },
			name + ".Beta at step 0 is 1.5":   func(o *options) { o.Beta = bilevel.Constant(1.5) },
		} {
			o := good
			spoil(&o)
			_, err := newMethod(name, newWaves(), o)
			require.ErrorIs(t, err, bilevel.ErrOption)
			assert.ErrorContains(t, err, want)
		}
		_, err := bilevel.New(plainProblem{Adapt(newWaves())}, makeMethod(t, name, newWaves(), good).Method(),
			bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, name+" takes a compositional problem")
	}
	for want, spoil := range map[string]func(o *options){
		"at step 2 are α = +Inf": func(o *options) { o.Alpha = bileveltest.Turn{K: 2, V: math.Inf(1)} },
		"Beta at step 2 is 1.5":  func(o *options) { o.Beta = bileveltest.Turn{K: 2, V: 1.5} },
	} {
		o := good
		spoil(&o)
		m := makeMethod(t, "SCSC", newWaves(), o)
		require.NoError(t, m.Step())
		require.NoError(t, m.Step())
		err := m.Step()
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

type plainProblem struct{ bilevel.Problem }
