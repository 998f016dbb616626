package bilevel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/observe"
	"stable/bilevel/recast"
)

// rareFeatures are rows with four dense features and sixteen that are 0 in all but a few.
func rareFeatures(rng *rand.Rand, n int) *data.Data {
	d := &data.Data{Dim: 20, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64() / 2
		for j := range 20 {
			if v := rng.NormFloat64(); j < 4 || rng.IntN(40) == 0 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
				score += v / float64(j%4+1)
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
	}
	return d
}

// Weights of features that hardly ever occur have no gradient until one does. The first samples
// that know them must not stop the steps of all others.
func TestUntunedRareFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	rng := rand.New(rand.NewPCG(1, 'r'))
	p, err := hyperopt.New(rareFeatures(rng, 400), rareFeatures(rng, 400),
		hyperopt.Options{Form: hyperopt.Raw, Lo: 0.001, Hi: 1})
	require.NoError(t, err)
	best, err := p.Minimise()
	require.NoError(t, err)
	lo, hi := p.Box()
	worst := 0.0
	for seed := range uint64(6) {
		x0 := make([]float64, 20)
		for i := range x0 {
			x0[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
		}
		s, err := bilevel.New(recast.Stream(p.Clone()), bilevel.Untuned{MuG: p.StrongConvexity()},
			bilevel.Options{X0: x0, Y0: make([]float64, 20), Set: bilevel.Box{Lo: lo, Hi: hi}, Seed: seed})
		require.NoError(t, err)
		start, err := p.Objective(nil, x0)
		require.NoError(t, err)
		for range 4000 {
			require.NoError(t, s.Step())
		}
		end, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		worst = max(worst, (end-best.F)/(start-best.F))
	}
	require.Less(t, worst, 0.055) // 0.031; with the weights of bend and push that never let go 0.084
}

// cleaning is data hyper-cleaning: training row i has the weight sigmoid(x_i), and a third of the
// labels are noise. The training loss is a sum over rows, of which each knows one entry of x.
func cleaning(n int) auto.Losses {
	const d, m = 6, 200
	r := rand.New(rand.NewPCG(31, 1))
	z, t := make([][]float64, n+m), make([]float64, n+m)
	for i := range z {
		z[i] = make([]float64, d)
		for j := range z[i] {
			z[i][j] = r.NormFloat64()
		}
		t[i] = z[i][0] - 2*z[i][1] + 0.5*z[i][2] + z[i][3] + 0.5*r.NormFloat64()
		if i < n && i%3 == 0 {
			t[i] = 5 * r.NormFloat64()
		}
	}
	square := func(y auto.Vec, i int) auto.Num { return y.Dot(auto.Data(z[i])).Shift(-t[i]).Square() }
	return auto.Losses{
		Dx: n, Dy: d, Upper: m, Lower: uint64(n),
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num { return square(y, n+int(s)).Scale(0.5) },
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			i := int(s)
			return square(y, i).Mul(x.At(i).Sigmoid()).Add(y.SquaredNorm().Scale(0.01)).Scale(0.5)
		},
	}
}

// Entries of x that g learns of one by one, over the first pass, move in steps in which the others
// hardly do. What such a step changes must not stop the others when all are known.
func TestUntunedLearnsOfEntriesOneByOne(t *testing.T) {
	const n = 50
	p, err := auto.New(cleaning(n))
	require.NoError(t, err)
	o, err := observe.New(p, observe.Options{})
	require.NoError(t, err)
	worst := math.Inf(-1)
	for _, seed := range []uint64{0, 3} {
		s, err := bilevel.New(p, bilevel.Untuned{}, bilevel.Options{Set: bilevel.UniformBox(n, -6, 6), Seed: seed})
		require.NoError(t, err)
		for range 800 {
			require.NoError(t, s.Step())
		}
		at, err := o.At(s.X(), make([]float64, 6))
		require.NoError(t, err)
		worst = max(worst, at.Gap)
	}
	require.Less(t, worst, 0.13) // 0.117, the least is 0.1166; with q of all moves 0.947, the start 0.975
}
