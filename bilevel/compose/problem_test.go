package compose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/mat"
)

// waves is h_j = Σ_i b_ij(φ) sin(x_i) + ¼x_j, f = Σ log cosh(y_j − a_j(ξ)), names modulo 8.
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
	for s, w := range bilevel.Each(batch, 8) {
		f(rand.New(rand.NewPCG(3, uint64(s)%8)), w)
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
			done[p.Check], done[p.Oracle] = true, true
		}
		for _, want := range []string{check.Derivative, check.BatchMean, check.Unbiased, check.Product, check.Truth,
			check.Convexity, "ConvexityAt"} {
			assert.True(t, done[want], "%s: %s was not checked", name, want)
		}
	}
}
