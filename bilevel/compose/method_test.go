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

func newMethod(name string, alpha, beta bilevel.Schedule) bilevel.Method {
	if name == "SCSC" {
		return SCSC{Alpha: alpha, Beta: beta}
	}
	return SCGD{Alpha: alpha, Beta: beta}
}

func newSolver(t testing.TB, m bilevel.Method, c Composition, o bilevel.Options) *bilevel.Solver {
	t.Helper()
	s, err := bilevel.New(Adapt(c), m, o)
	require.NoError(t, err)
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
				m := newSolver(t, newMethod(name, alpha, beta), c,
					bilevel.Options{Set: bilevel.UniformBox(3, lo, hi), X0: x, Y0: y, Seed: 7, UpperBatch: batch, LowerBatch: batch})
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
				assert.Equal(t, name, m.Method().Name())
			})
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	one := bilevel.Constant(1)
	for _, name := range []string{"SCGD", "SCSC"} {
		for want, m := range map[string]bilevel.Method{
			name + ".Alpha is nil":            newMethod(name, nil, one),
			name + ".Beta is nil":             newMethod(name, one, nil),
			name + ".Alpha at step 0 is +Inf": newMethod(name, bilevel.Constant(math.Inf(1)), one),
			name + ".Beta at step 0 is 1.5":   newMethod(name, one, bilevel.Constant(1.5)),
		} {
			_, err := bilevel.New(Adapt(newWaves()), m, bilevel.Options{})
			require.ErrorIs(t, err, bilevel.ErrOption)
			assert.ErrorContains(t, err, want)
		}
		_, err := bilevel.New(struct{ bilevel.Problem }{Adapt(newWaves())}, newMethod(name, one, one), bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, name+" takes a compositional problem")
	}
	for want, m := range map[string]bilevel.Method{
		"at step 2 are α = +Inf": newMethod("SCSC", bileveltest.Turn{K: 2, V: math.Inf(1)}, one),
		"Beta at step 2 is 1.5":  newMethod("SCSC", one, bileveltest.Turn{K: 2, V: 1.5}),
	} {
		r, err := newSolver(t, m, newWaves(), bilevel.Options{}).Run(t.Context(), bilevel.Run{Steps: 5})
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, 2, r.Steps)
	}
}
