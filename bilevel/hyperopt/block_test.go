package hyperopt

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

func filledRows(rng *rand.Rand, rows, dim int, share float64) *data.Data {
	d := &data.Data{Dim: dim, RowPtr: []int{0}}
	for i := range rows {
		for j := range dim {
			if rng.Float64() < share {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, rng.NormFloat64())
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, float64(2*(i%2)-1))
	}
	return d
}

func TestDenseSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, c := range []struct {
		rows, dim int
		share     float64
		blocky    bool
	}{
		{5, 9, 1, false}, {300, 7, 1, false}, {300, 9, 0.3, false},
		{8, 8, 1, true}, {63, 9, 1, true}, {64, 33, 1, true}, {130, 20, 0.8, true}, {chunkRows + 700, 9, 0.9, true},
	} {
		d := filledRows(rng, c.rows, c.dim, c.share)
		require.Equal(t, c.blocky, blocky(d), "%+v", c)
		p, err := New(d, d, Options{})
		require.NoError(t, err)
		x, y, v := make([]float64, c.dim), make([]float64, c.dim), make([]float64, c.dim)
		for j := range x {
			x[j], y[j], v[j] = 0.5, rng.NormFloat64(), rng.NormFloat64()
		}
		all := make([]bilevel.Sample, c.rows)
		for i := range all {
			all[i] = bilevel.Sample(i)
		}
		sums := func(p *Problem, batch []bilevel.Sample) *mat.Sym {
			h := mat.NewSym(c.dim)
			require.NoError(t, p.meanLower(h, sum{kind: hessian, data: d, y: y}, batch))
			return h
		}
		want, got := sums(p, all), sums(p, nil)
		assert.InDeltaSlice(t, want.Data, got.Data, 1e-13*(1+mat.MaxAbsSym(want)), "%+v", c)
		two, err := New(d, d, Options{Workers: 3})
		require.NoError(t, err)
		assert.Equal(t, got.Data, sums(two, nil).Data, "%+v", c)
		h := mat.NewSym(c.dim)
		assert.Zero(t, testing.AllocsPerRun(3, func() { require.NoError(t, p.HessG(h, x, y, nil)) }), "%+v", c)
		require.NoError(t, p.Solution(y, x))
		assert.Zero(t, testing.AllocsPerRun(3, func() {
			clear(y)
			require.NoError(t, p.Solution(y, x))
		}), "%+v", c)
	}
}
