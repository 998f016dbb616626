package hyperopt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

func random(rng *rand.Rand, n, dim int, regression bool) *data.Data {
	d := &data.Data{Name: "random", Dim: dim, RowPtr: []int{0}}
	for i := range n {
		t := 0.3 * rng.NormFloat64()
		for j := range dim {
			if rng.Float64() < 0.6 {
				v := rng.NormFloat64()
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
				t += v * float64(j%3-1)
			}
		}
		if !regression {
			t = math.Copysign(1, t)
			if i < 2 {
				t = float64(2*i - 1) // both classes
			}
		}
		d.Label, d.RowPtr = append(d.Label, t), append(d.RowPtr, len(d.Col))
	}
	return d
}

func forms(t *testing.T, opt Options, f func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64)) {
	for _, loss := range []Loss{Logistic, Squared} {
		for _, form := range []Form{Raw, Exp} {
			t.Run(fmt.Sprintf("loss=%d/form=%d", loss, form), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(2*int(loss)+int(form))))
				opt.Loss, opt.Form = loss, form
				p, err := New(random(rng, 23, 6, loss == Squared), random(rng, 17, 6, loss == Squared), opt)
				require.NoError(t, err)
				x, y := make([]float64, 6), make([]float64, 6)
				lo, hi := p.Box()
				for i := range x {
					x[i] = lo[i] + (hi[i]-lo[i])*(0.2+0.6*rng.Float64())
					y[i] = rng.NormFloat64()
				}
				f(t, p, rng, x, y)
			})
		}
	}
}

var batches = [][]bilevel.Sample{nil, {5}, {3, 16, 3, 0}}

func upper(p *Problem, y []float64, xi []bilevel.Sample) float64 {
	return meanLoss(p.opt.Loss, p.val, y, xi)
}

func lower(p *Problem, x, y []float64, phi []bilevel.Sample) float64 {
	v := meanLoss(p.opt.Loss, p.train, y, phi)
	for i := range y {
		reg := x[i]
		if p.opt.Form == Exp {
			reg = math.Exp(x[i]) / 2
		}
		v += reg * y[i] * y[i]
	}
	return v
}

func meanLoss(l Loss, d *data.Data, y []float64, batch []bilevel.Sample) float64 {
	if len(batch) == 0 {
		for i := range d.Rows() {
			batch = append(batch, bilevel.Sample(i))
		}
	}
	sum := 0.0
	for _, s := range batch {
		t := 0.0
		col, val := d.Row(int(s))
		for k, c := range col {
			t += val[k] * y[c]
		}
		b := d.Label[s]
		if l == Squared {
			sum += (t - b) * (t - b) / 2
		} else {
			sum += math.Log(1 + math.Exp(-b*t))
		}
	}
	return sum / float64(len(batch))
}

func slopeOf(f func(z []float64) float64, z []float64, i int, h float64) float64 {
	w := append([]float64(nil), z...)
	at := func(s float64) float64 {
		w[i] = z[i] + s
		return f(w)
	}
	return (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
}

func TestDerivativesAgreeWithDifferences(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		d := len(x)
		fx, fy, gy, up := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
		gxy, gyy := mat.NewDense(d, d), mat.NewSym(d)
		for _, b := range batches {
			require.NoError(t, p.GradF(fx, fy, x, y, b))
			require.NoError(t, p.GradG(gy, x, y, b))
			require.NoError(t, p.CrossG(gxy, x, y, b))
			require.NoError(t, p.HessG(gyy, x, y, b))
			for i := range d {
				assert.Zero(t, fx[i])
				assert.InDelta(t, slopeOf(func(z []float64) float64 { return upper(p, z, b) }, y, i, 1e-3), fy[i], 1e-9)
				assert.InDelta(t, slopeOf(func(z []float64) float64 { return lower(p, x, z, b) }, y, i, 1e-3), gy[i], 1e-9)
				for j := range d {
					grad := func(x, y []float64) float64 {
						require.NoError(t, p.GradG(up, x, y, b))
						return up[j]
					}
					assert.InDelta(t, slopeOf(func(z []float64) float64 { return grad(z, y) }, x, i, 1e-3), gxy.At(i, j), 1e-9)
					assert.InDelta(t, slopeOf(func(z []float64) float64 { return grad(x, z) }, y, i, 1e-3), gyy.At(i, j), 1e-9)
				}
			}
		}
	})
}

func oracles(t *testing.T, p *Problem, x, y []float64, b []bilevel.Sample) []float64 {
	d := len(x)
	all := make([]float64, 3*d+2*d*d)
	gxy := mat.Dense{Rows: d, Cols: d, Stride: d, Data: all[3*d : 3*d+d*d]}
	gyy := mat.Sym{N: d, Stride: d, Data: all[3*d+d*d:]}
	require.NoError(t, p.GradF(all[:d], all[d:2*d], x, y, b))
	require.NoError(t, p.GradG(all[2*d:3*d], x, y, b))
	require.NoError(t, p.CrossG(&gxy, x, y, b))
	require.NoError(t, p.HessG(&gyy, x, y, b))
	return all
}

func TestMeanOverAllSamplesIsExact(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		p.val = p.train // one stream length for both levels
		_, n := p.Streams()
		exact := oracles(t, p, x, y, nil)
		mean := make([]float64, len(exact))
		for s := range n {
			mat.Axpy(mean, 1/float64(n), oracles(t, p, x, y, []bilevel.Sample{bilevel.Sample(s)}))
		}
		assert.InDeltaSlice(t, exact, mean, 1e-13)
	})
}

func TestChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	data := random(rng, 3*chunkRows+77, 5, false)
	p, err := New(data, data, Options{})
	require.NoError(t, err)
	x, y := []float64{.1, .2, .3, .4, .5}, []float64{1, -1, .5, 0, 2}
	one := oracles(t, p, x, y, nil)
	f, err := p.Objective(nil, x)
	require.NoError(t, err)
	for _, workers := range []int{2, 3, 4, 9} {
		q, err := New(data, data, Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, one, oracles(t, q, x, y, nil), "%d workers", workers)
		g, err := q.Objective(nil, x)
		require.NoError(t, err)
		assert.Equal(t, f, g, "%d workers", workers)
	}
	all := make([]bilevel.Sample, data.Rows())
	for i := range all {
		all[i] = bilevel.Sample(i)
	}
	assert.InDeltaSlice(t, oracles(t, p, x, y, all), one, 1e-12)
}

func TestHessianStaysInsideItsView(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	data := random(rng, chunkRows+5, 4, false)
	p, err := New(data, data, Options{})
	require.NoError(t, err)
	x, y := []float64{.1, .2, .3, .4}, []float64{1, -1, .5, 0}
	tight := mat.NewSym(4)
	wide := mat.Sym{N: 4, Stride: 7, Data: make([]float64, 3*7+4)}
	for _, b := range [][]bilevel.Sample{nil, {1, 2}} {
		for i := range wide.Data {
			wide.Data[i] = math.NaN()
		}
		require.NoError(t, p.HessG(tight, x, y, b))
		require.NoError(t, p.HessG(&wide, x, y, b))
		for k, v := range wide.Data {
			if i, j := k/7, k%7; j <= i {
				assert.Equal(t, tight.At(i, j), v)
			} else {
				assert.True(t, math.IsNaN(v), "entry %d was written", k)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	good := random(rng, 10, 3, false)
	edit := func(f func(d *data.Data)) *data.Data {
		d := good.Subset([]int{0, 1, 2, 3, 4, 5})
		f(d)
		return d
	}
	for want, c := range map[string]struct {
		train, val *data.Data
		opt        Options
	}{
		"Options.Loss":              {good, good, Options{Loss: 7}},
		"Options.Form":              {good, good, Options{Form: -1}},
		"Options.Lo: 0":             {good, good, Options{Lo: 0, Hi: 1}},
		"Options.Lo: NaN":           {good, good, Options{Lo: math.NaN(), Hi: 1}},
		"Options.Lo: -800":          {good, good, Options{Form: Exp, Lo: -800, Hi: 1}},
		"Options.Hi: 0":             {good, good, Options{Lo: 0.5}},
		"Options.Hi: 800":           {good, good, Options{Form: Exp, Lo: 1, Hi: 800}},
		"Options.Workers":           {good, good, Options{Workers: -1}},
		"no validation rows":        {good, &data.Data{Dim: 3, RowPtr: []int{0}}, Options{}},
		"features to train on":      {good, edit(func(d *data.Data) { d.Dim = 4 }), Options{}},
		"all training rows (6) are": {edit(func(d *data.Data) { d.Label = []float64{1, 1, 1, 1, 1, 1} }), good, Options{}},
		"all validation rows (6) are of one class": {
			good, edit(func(d *data.Data) { d.Label = []float64{1, 1, 1, 1, 1, 1} }), Options{}},
		"label 2":                    {good, edit(func(d *data.Data) { d.Label[3] = 2 }), Options{}},
		"label is not finite":        {good, edit(func(d *data.Data) { d.Label[3] = math.NaN() }), Options{Loss: Squared}},
		"classes":                    {edit(func(d *data.Data) { d.Classes = []string{"a", "b"} }), edit(func(d *data.Data) { d.Classes = []string{"b", "a"} }), Options{}},
		"columns must ascend":        {good, edit(func(d *data.Data) { d.Col[len(d.Col)-1] = 3 }), Options{}},
		"value is not finite":        {good, edit(func(d *data.Data) { d.Val[0] = math.Inf(1) }), Options{}},
		"RowPtr does not ascend":     {good, edit(func(d *data.Data) { d.RowPtr[2] = len(d.Col) + 5 }), Options{}},
		"Col and Val":                {good, edit(func(d *data.Data) { d.Val = d.Val[1:] }), Options{}},
		"feature names":              {good, edit(func(d *data.Data) { d.Features = []string{"a"} }), Options{}},
		"RowPtr must have one entry": {good, edit(func(d *data.Data) { d.RowPtr = d.RowPtr[1:] }), Options{}},
	} {
		_, err := New(c.train, c.val, c.opt)
		assert.ErrorContains(t, err, want)
	}
	_, err := New(nil, good, Options{})
	assert.ErrorContains(t, err, "no training rows")
	none := &data.Data{RowPtr: []int{0, 0, 0}, Label: []float64{-1, 1}}
	_, err = New(none, none, Options{})
	assert.ErrorContains(t, err, "0 features")
	p, err := New(good, good, Options{Workers: 3})
	require.NoError(t, err)
	gy, x := make([]float64, 3), []float64{1, 1, 1}
	assert.ErrorContains(t, p.GradG(gy, x, x, []bilevel.Sample{10}), "sample 10")
	assert.PanicsWithValue(t, "hyperopt: GradG: dimension mismatch", func() { _ = p.GradG(gy[:2], x, x, nil) })
}

func TestDefaultsAgree(t *testing.T) {
	data := random(rand.New(rand.NewPCG(7, 8)), 10, 2, false)
	raw, err := New(data, data, Options{})
	require.NoError(t, err)
	exp, err := New(data, data, Options{Form: Exp})
	require.NoError(t, err)
	assert.Equal(t, 0.02, raw.StrongConvexity())
	assert.InDelta(t, 0.02, exp.StrongConvexity(), 1e-16)
	x, u, y := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	raw.Start(x, y)
	exp.Start(u, y)
	assert.InDelta(t, x[0], math.Exp(u[0])/2, 1e-16)
	assert.InDelta(t, 0.1, x[0], 1e-16)
	a, err := raw.Objective(nil, x)
	require.NoError(t, err)
	b, err := exp.Objective(nil, u)
	require.NoError(t, err)
	assert.InDelta(t, a, b, 1e-15)
}

func TestLossFunctionsAtTheirLimits(t *testing.T) {
	for _, m := range []float64{-1e300, -800, -40, -1e-9, 0, 1e-9, 40, 800, 1e300} {
		v, w := Logistic.valueFirst(m, 1)
		g, h := Logistic.first(m, 1), Logistic.second(m)
		assert.InEpsilon(t, 2+g, 2+w, 1e-15)
		assert.True(t, mat.IsFinite(v) && mat.IsFinite(g) && mat.IsFinite(h), "%v", m)
		mirror, w := Logistic.valueFirst(-m, -1)
		assert.Equal(t, v, mirror)
		assert.InEpsilon(t, 2+Logistic.first(-m, -1), 2+w, 1e-15)
		assert.InDelta(t, 1, Logistic.first(m, -1)-g, 1e-15) // σ(m) + σ(−m) = 1
		assert.GreaterOrEqual(t, v, max(0, -m))
		assert.InEpsilon(t, 1+max(0, -m), 1+v, 0.7)
	}
}

func TestMetrics(t *testing.T) {
	d := &data.Data{Dim: 2, RowPtr: []int{0, 1, 2, 3}, Col: []int32{0, 1, 0}, Val: []float64{1, 1, -3},
		Label: []float64{1, 1, 1}}
	y := []float64{2, 0}
	assert.InDelta(t, 1.0/3, Accuracy(d, y), 1e-15) // predictions 2, 0 and −6: a zero counts as −1
	assert.InDelta(t, (0.5+0.5+24.5)/3, Squared.Mean(d, y), 1e-15)
	assert.InDelta(t, (math.Log1p(math.Exp(-2))+math.Ln2+math.Log1p(math.Exp(6)))/3, Logistic.Mean(d, y), 1e-15)
	assert.Panics(t, func() { Accuracy(d, y[:1]) })
	assert.Panics(t, func() { Squared.Mean(d, y[:1]) })
}
