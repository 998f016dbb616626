package bilevel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// Rows are carried along: where the noise of a term does not depend on the point and the estimate
// is right, they foresee it exactly, however far the point has gone since the last visit.
func TestRowsAreCarried(t *testing.T) {
	const terms, d = 6, 2
	rng := rand.New(rand.NewPCG(1, 9))
	noise := mat.NewDense(terms, d)
	sum := make([]float64, d)
	for i := range terms {
		for j := range d {
			noise.Row(i)[j] = rng.NormFloat64()
			sum[j] += noise.Row(i)[j] / terms
		}
	}
	for _, n := range []int{1, 2, 3} {
		r, b := newRows(terms, d, n), newBends(terms, d, 1, n, true)
		z := make([]float64, d)
		at := func(z []float64, batch []Sample) []float64 {
			v := make([]float64, d)
			for _, i := range batch {
				for j := range v {
					v[j] += (3*z[j] + noise.Row(int(i))[j]) / float64(len(batch))
				}
			}
			return v
		}
		matrices := func(v []float64) sample {
			return sample{xy: &mat.Dense{Rows: d, Cols: 1, Stride: 1, Data: v}, yy: mat.SymOf(1, []float64{v[0] * v[1]})}
		}
		for k := range 40 * terms {
			batch := make([]Sample, n)
			for j := range batch {
				batch[j] = Sample((k*n + j) % terms)
			}
			z[0], z[1] = z[0]+rng.Float64(), z[1]-1
			r.ask(batch)
			b.begin(n)
			if k > 2*terms {
				want := at(make([]float64, d), batch)
				mat.Axpy(want, -1, sum)
				assert.InDeltaSlice(t, want, r.d, 1e-9, "step %d", k)
			}
			for _, i := range batch {
				now := at(z, []Sample{i})
				require.NoError(t, b.ask(nil, i))
				if k > 2*terms && n == 1 {
					assert.InDelta(t, noise.Row(int(i))[0]-sum[0], b.dxy.At(0, 0), 1e-9, "step %d", k)
				}
				r.visit(i, now[:1], now[1:])
				m := matrices(now)
				b.visit(i, nil, nil, m.xy, m.yy)
			}
			e := append([]float64(nil), sum...)
			mat.Axpy(e, 3, z)
			m := matrices(append([]float64(nil), e...))
			mat.Axpy(e, -1, r.base)
			r.carry(0, e)
			mat.AddScaled(m.xy, m.xy, -1, b.baseXY)
			mat.AddScaledSym(m.yy, m.yy, -1, b.baseYY)
			b.carry(m.xy, m.yy)
			r.end()
			b.end()
		}
	}
}

// One entry whose first change comes after steps without a gradient does not end the steps of all.
func TestBrakeOutlier(t *testing.T) {
	r := moverX{
		a: []float64{1, 1e12}, aNext: []float64{1, 1}, hOld: make([]float64, 2), q: []float64{1, 1}, turn: make([]float64, 2),
		span: make([]float64, 2), curved: &curvature{}, known: []bool{true, true},
	}
	m := &untuned{follower: &follower{x: make([]float64, 2)}, h: make([]float64, 2)}
	r.brake([]float64{1, 0}, m, 1)
	assert.Equal(t, 1.0, r.bend)
	assert.Equal(t, 2.0, r.push)
}
