package hyperopt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

func models(t *testing.T, f func(t *testing.T, p *Problem, rng *rand.Rand)) {
	for _, loss := range []Loss{Logistic, Squared, Softmax} {
		for _, o := range []Options{
			{Penalty: PerFeature},
			{Penalty: PerFeature, Form: Exp},
			{Penalty: PerFeature, PenaliseIntercept: true},
			{Penalty: PerRow, Ridge: 0.1},
		} {
			o.Loss = loss
			t.Run(fmt.Sprintf("loss=%d/penalty=%d/form=%d/%t", loss, o.Penalty, o.Form, o.PenaliseIntercept), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(loss)+4, uint64(o.Penalty))) // no row without an entry
				rows := func(n int) *data.Data { return data.WithBias(random(rng, n, 5, loss == Squared)) }
				if loss == Softmax {
					o.Flips = 0.2
					rows = func(n int) *data.Data { return threeClasses(data.WithBias(random(rng, n, 5, false))) }
				}
				p, err := New(rows(23), rows(17), o)
				require.NoError(t, err)
				f(t, p, rng)
			})
		}
	}
}

func threeClasses(d *data.Data) *data.Data {
	for i := range d.Label {
		d.Label[i] = float64((i + 2*int(d.Label[i]+1)) % 3)
	}
	return d
}

func TestModelsPassTheChecker(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, _ *rand.Rand) {
		lo, hi := p.Box()
		dx, dy := p.Dims()
		x, y := make([]float64, dx), make([]float64, dy)
		p.Start(x, y)
		r, err := check.Problem(p, check.Options{
			Set: bilevel.Box{Lo: lo, Hi: hi}, Center: x, ScaleX: 0.2, ScaleY: 0.3, MuG: p.StrongConvexity(),
		})
		require.NoError(t, err)
		assert.NoError(t, r.Err())
	})
}

func TestGradXG(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, rng *rand.Rand) {
		dx, dy := p.Dims()
		x, y := make([]float64, dx), make([]float64, dy)
		p.Start(x, y)
		for i := range y {
			y[i] = 0.5 * rng.NormFloat64()
		}
		gx := make([]float64, dx)
		for _, b := range batches {
			require.NoError(t, p.GradXG(gx, x, y, b))
			for i := range x {
				value := func(z []float64) float64 {
					v, err := p.ValueG(z, y, b)
					require.NoError(t, err)
					return v
				}
				assert.InDelta(t, slopeOf(value, x, i, 1e-3), gx[i], 1e-9)
			}
		}
		require.Error(t, p.GradXG(gx, x, y, []bilevel.Sample{23}))
	})
}

func TestModelBoundsHold(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, rng *rand.Rand) {
		dx, dy := p.Dims()
		lo, hi := p.Box()
		x, y, v := make([]float64, dx), make([]float64, dy), make([]float64, dy)
		for range 20 {
			for i := range x {
				x[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
			}
			for i := range y {
				y[i], v[i] = rng.NormFloat64(), rng.NormFloat64()
			}
			hv := make([]float64, dy)
			sample := []bilevel.Sample{bilevel.Sample(rng.IntN(17))}
			require.NoError(t, p.HessVecG(hv, x, y, v, sample))
			var vv, vhv float64
			for i := range v {
				vv += v[i] * v[i]
				vhv += v[i] * hv[i]
			}
			assert.GreaterOrEqual(t, vhv, p.StrongConvexity()*vv*(1-1e-14))
			assert.LessOrEqual(t, vhv, p.Smoothness()*vv*(1+1e-14))
			fx, fy := make([]float64, dx), make([]float64, dy)
			require.NoError(t, p.GradF(fx, fy, x, y, sample))
			norm := 0.0
			for _, e := range fy {
				norm = math.Hypot(norm, e)
			}
			assert.LessOrEqual(t, norm, p.GradFBound()*(1+1e-14))
			if p.perRow() {
				continue
			}
			require.NoError(t, p.Solution(y, x))
			gxy := mat.NewDense(dx, dy)
			require.NoError(t, p.CrossG(gxy, x, y, nil))
			assert.LessOrEqual(t, mat.NormFrob(gxy), p.CrossBound())
		}
	})
}

func TestModelsAllocateNothing(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, _ *rand.Rand) {
		dx, dy := p.Dims()
		x, y, v := make([]float64, dx), make([]float64, dy), make([]float64, dy)
		gx, grad := make([]float64, dx), make([]float64, dx)
		gxy, gyy := mat.NewDense(dx, dy), mat.NewSym(dy)
		p.Start(x, y)
		run := func() {
			for _, b := range batches {
				require.NoError(t, p.GradF(gx, v, x, y, b))
				require.NoError(t, p.GradG(v, x, y, b))
				require.NoError(t, p.CrossG(gxy, x, y, b))
				require.NoError(t, p.HessG(gyy, x, y, b))
				require.NoError(t, p.CrossVecG(gx, x, y, v, b))
				require.NoError(t, p.GradXG(gx, x, y, b))
				require.NoError(t, p.HessVecG(v, x, y, y, b))
			}
			_, err := p.Objective(grad, x)
			require.NoError(t, err)
		}
		run()
		assert.Zero(t, testing.AllocsPerRun(5, run))
	})
}

func TestPenaltyRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := random(rng, 20, 3, false)
	for want, o := range map[string]Options{
		"hyperopt: Options.Penalty: unknown penalty 9":                             {Penalty: 9},
		"hyperopt: Options.Loss: unknown loss 3":                                   {Loss: 3},
		"hyperopt: Options.Form: Exp is for weights of features; PerRow takes Raw": {Penalty: PerRow, Form: Exp},
		"hyperopt: Options.Ridge: -1, want a finite number > 0":                    {Penalty: PerRow, Ridge: -1},
		"hyperopt: Options.Lo: -1 does not give a weight ≥ 0":                      {Penalty: PerRow, Lo: -1, Hi: 1},
	} {
		_, err := New(d, d, o)
		assert.EqualError(t, err, want)
	}
	p, err := New(d, d, Options{Penalty: PerRow})
	require.NoError(t, err)
	assert.Panics(t, func() { p.Uniform(make([]float64, 20), 1) })
}

func TestRowBounds(t *testing.T) {
	d := &data.Data{Dim: 2, RowPtr: []int{0, 2, 3}, Col: []int32{0, 1, 0}, Val: []float64{3, 4, 1},
		Label: []float64{1, -1}}
	p, err := New(d, d, Options{Loss: Squared, Penalty: PerRow, Lo: 0, Hi: 0.8, Ridge: 0.1})
	require.NoError(t, err)
	assert.InDelta(t, 0.8*25+0.2, p.Smoothness(), 1e-14)
	p, err = New(d, d, Options{Penalty: PerRow, Lo: 0, Hi: 0.8})
	require.NoError(t, err)
	assert.InDelta(t, 0.8*25/4+0.02, p.Smoothness(), 1e-14)
	assert.InDelta(t, 5, p.CrossBound(), 1e-14)
}

func TestHyperCleaning(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	train, val := random(rng, 60, 4, false), random(rng, 200, 4, false)
	for i := range 15 {
		train.Label[i] = -train.Label[i]
	}
	p, err := New(train, val, Options{Penalty: PerRow, Lo: 0, Hi: 1, Ridge: 0.02})
	require.NoError(t, err)
	x, grad := make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i] = 0.5
	}
	first, err := p.Objective(grad, x)
	require.NoError(t, err)
	for range 200 {
		_, err := p.Objective(grad, x)
		require.NoError(t, err)
		for i, g := range grad {
			x[i] = min(max(x[i]-25*g, 0), 1)
		}
	}
	last, err := p.Objective(nil, x)
	require.NoError(t, err)
	assert.Less(t, last, 0.8*first)
	var turned, kept float64
	for i, v := range x {
		if i < 15 {
			turned += v / 15
		} else {
			kept += v / 45
		}
	}
	assert.Less(t, turned, 0.5*kept)
}
