package hyperopt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/mat"
)

func scaleOf(p *Problem) float64 {
	sum := 0.0
	for i, b := range p.train.Label {
		_, val := p.train.Row(i)
		sum += math.Abs(p.opt.Loss.first(0, b)) * mat.Norm(val)
	}
	return sum / float64(p.train.Rows())
}

func TestSolutionIsStationary(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		gy, cold := make([]float64, len(x)), make([]float64, len(x))
		require.NoError(t, p.Solution(cold, x))
		for _, far := range []float64{0, 1, 1e3, 1e200, math.Inf(1), math.NaN()} {
			for i := range y {
				y[i] = far * rng.NormFloat64()
			}
			require.NoError(t, p.Solution(y, x))
			require.NoError(t, p.GradG(gy, x, y, nil))
			assert.LessOrEqual(t, mat.Norm(gy), 1e-13*scaleOf(p))
			assert.InDeltaSlice(t, cold, y, 1e-13)
		}
	})
}

// Near y*(x), a sum of many rows seems to rise at the full step, by rounding alone.
func TestSolutionWhereRoundingHidesTheFall(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 'm'))
	rule := func(n int, seed uint64) *data.Data {
		rng := rand.New(rand.NewPCG(seed, 9))
		d := &data.Data{Dim: 3, RowPtr: []int{0}}
		for range n {
			score := rng.NormFloat64()
			for j := range 3 {
				v := rng.NormFloat64()
				score += v / float64(j+1)
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
			}
			d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
		}
		return d
	}
	resampled := func(d *data.Data) *data.Data {
		r := &data.Data{Dim: 3, RowPtr: []int{0}}
		for range 4000 {
			i := rng.IntN(d.Rows())
			col, val := d.Row(i)
			r.Col, r.Val = append(r.Col, col...), append(r.Val, val...)
			r.RowPtr, r.Label = append(r.RowPtr, len(r.Col)), append(r.Label, d.Label[i])
		}
		return r
	}
	train, val := rule(150, 3), rule(100, 4)
	p, err := New(train, val, Options{Lo: 1e-3, Hi: 3})
	require.NoError(t, err)
	start := make([]float64, 3)
	p.Uniform(start, 0.1)
	best, err := minimise(p, start)
	require.NoError(t, err)
	for range 4 {
		p, err := New(resampled(train), resampled(val), Options{Lo: 1e-3, Hi: 3})
		require.NoError(t, err)
		m, err := minimise(p, best.X)
		require.NoError(t, err)
		assert.Less(t, m.ProjGrad, 1e-8)
	}
}

func TestSeparableData(t *testing.T) {
	d := &data.Data{Dim: 2, RowPtr: []int{0, 2, 4, 5, 6}, Col: []int32{0, 1, 0, 1, 0, 1},
		Val: []float64{1e3, 1, -1e3, 2, 1e-3, -1e5}, Label: []float64{1, -1, 1, -1}}
	p, err := New(d, d, Options{Lo: 1e-12, Hi: 1})
	require.NoError(t, err)
	y, gy := make([]float64, 2), make([]float64, 2)
	for _, lambda := range []float64{1e-12, 1e-6, 1} {
		x := []float64{lambda, lambda}
		require.NoError(t, p.Solution(y, x))
		require.NoError(t, p.GradG(gy, x, y, nil))
		assert.LessOrEqual(t, mat.Norm(gy), 1e-12*scaleOf(p))
	}
}

func TestRidgeAgreesWithItsFormula(t *testing.T) {
	train := &data.Data{Dim: 1, RowPtr: []int{0, 1, 2}, Col: []int32{0, 0}, Val: []float64{1, 2}, Label: []float64{3, 1}}
	val := &data.Data{Dim: 1, RowPtr: []int{0, 1}, Col: []int32{0}, Val: []float64{2}, Label: []float64{1}}
	p, err := New(train, val, Options{Loss: Squared, Lo: 0.25, Hi: 3})
	require.NoError(t, err)
	y, grad := make([]float64, 1), make([]float64, 1)
	require.NoError(t, p.Solution(y, []float64{0.5}))
	want := 5.0 / 7
	assert.InDelta(t, want, y[0], 1e-15)
	f, err := p.Objective(grad, []float64{0.5})
	require.NoError(t, err)
	assert.InDelta(t, 0.5*(2*want-1)*(2*want-1), f, 1e-15)
	assert.InDelta(t, 2*(2*want-1)*(-4*want/7), grad[0], 1e-15) // dy*/dλ = −2n·y*/(Σa² + 2nλ)
	m, err := minimise(p, []float64{1})                         // y* = 1/2, where F is 0, at λ = 5/4
	require.NoError(t, err)
	assert.InDelta(t, 0, m.F, 1e-15)
	assert.InDelta(t, 1.25, m.X[0], 1e-7)
}

func minimise(p *Problem, x []float64) (*implicit.Minimum, error) {
	lo, hi := p.Box()
	return implicit.Minimise(p.Objective, x, implicit.Options{Lo: lo, Hi: hi})
}

func TestGradientAgreesWithDifferencesOfF(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		grad := make([]float64, len(x))
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		for i := range x {
			slope := slopeOf(func(z []float64) float64 {
				f, err := p.Objective(nil, z)
				require.NoError(t, err)
				return f
			}, x, i, 1e-3)
			assert.InDelta(t, slope, grad[i], 1e-9)
			assert.InEpsilon(t, slope, grad[i], 1e-6)
		}
	})
}

func TestObjectiveDependsOnXAlone(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		first, err := p.Objective(nil, x)
		require.NoError(t, err)
		far := make([]float64, len(x))
		p.Uniform(far, 1e-3)
		_, err = p.Objective(y, far)
		require.NoError(t, err)
		again, err := p.Objective(nil, x)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		other, err := p.Clone().Objective(nil, x)
		require.NoError(t, err)
		assert.Equal(t, first, other)
	})
}

func TestNoSolution(t *testing.T) {
	data := random(rand.New(rand.NewPCG(7, 9)), 10, 2, false)
	p, err := New(data, data, Options{})
	require.NoError(t, err)
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1e3} {
		_, err := p.Objective(nil, []float64{bad, 1})
		assert.ErrorIs(t, err, implicit.ErrNoSolution)
	}
	data.Dim = maxDense + 1
	p, err = New(data, data, Options{})
	require.NoError(t, err)
	_, err = p.Objective(nil, make([]float64, data.Dim))
	assert.ErrorIs(t, err, implicit.ErrNoSolution)
}

func TestFreeIntercept(t *testing.T) {
	d := random(rand.New(rand.NewPCG(7, 9)), 40, 3, false)
	for i := range d.Label {
		d.Label[i] = math.Copysign(1, float64(i-37)) // 3 of 40
	}
	d = data.WithBias(d)
	for free, want := range map[bool]float64{true: math.Log(3. / 37), false: 0} {
		p, err := New(d, d, Options{Lo: 1, Hi: 1e6, PenaliseIntercept: !free})
		require.NoError(t, err)
		x, y := make([]float64, p.dx), make([]float64, 4)
		p.Uniform(x, 1e6)
		require.NoError(t, p.Solution(y, x))
		assert.InDelta(t, want, y[3], 2e-3)
		assert.Equal(t, free, p.dx == 3)
		assert.Equal(t, free, p.StrongConvexity() < 1)
	}
	d = threeClasses(d)
	p, err := New(d, d, Options{Loss: Softmax, Lo: 1, Hi: 1e6})
	require.NoError(t, err)
	x, y := make([]float64, 3), make([]float64, 12)
	p.Uniform(x, 1e6)
	require.NoError(t, p.Solution(y, x))
	assert.InDeltaSlice(t, p.base, []float64{y[3], y[7], y[11]}, 1e-4)
	assert.InDelta(t, 1, math.Exp(y[3])+math.Exp(y[7])+math.Exp(y[11]), 1e-4)
	_, err = New(data.WithBias(&data.Data{RowPtr: []int{0, 0, 0}, Label: []float64{-1, 1}}), d, Options{})
	assert.Error(t, err)
}

func TestSolutionOfNothing(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 5 + rng.IntN(60)
		d := random(rng, n, 1+rng.IntN(12), false)
		d = data.Join(d, d)
		for i := range d.Label {
			d.Label[i] = float64(1 - 2*(i/n))
		}
		p, err := New(d, d, Options{Loss: Loss(seed % 2)})
		require.NoError(t, err)
		x, y := make([]float64, p.dx), make([]float64, d.Dim)
		p.Uniform(x, 0.01)
		require.NoError(t, p.Solution(y, x))
		assert.Less(t, mat.Norm(y), 1e-12)
	}
}
