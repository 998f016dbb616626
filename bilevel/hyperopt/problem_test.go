package hyperopt

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/mat"
	"stable/mat/mattest"
)

// Sums are those of the single rows, with the same bits for any workers, and stay inside of their views.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, c := range []struct {
		rows, dim int
		share     float64
		blocky    bool
		loss      Loss
	}{
		{5, 9, 1, false, 0}, {300, 7, 1, false, 0}, {300, 9, 0.3, false, 0}, {3*chunkRows + 77, 5, 0.6, false, Softmax},
		{8, 8, 1, true, 0}, {63, 9, 1, true, Softmax}, {64, 33, 1, true, 0}, {130, 20, 0.8, true, Softmax},
		{chunkRows + 700, 9, 0.9, true, 0},
	} {
		name, n := fmt.Sprintf("%+v", c), c.dim
		d := bileveltest.Rows(rng, c.rows, c.dim, c.share, false)
		require.Equal(t, c.blocky, blocky(d), name)
		if c.loss == Softmax {
			n, d = 3*n, threeClasses(d)
		}
		x := slices.Repeat([]float64{0.5}, c.dim)
		y := mattest.List(n, func(int) float64 { return rng.NormFloat64() })
		all := mattest.List(c.rows, func(i int) bilevel.Sample { return bilevel.Sample(i) })
		sums := func(workers int, b []bilevel.Sample) []float64 {
			p := bileveltest.Must(New(d, d, Options{Workers: workers, Loss: c.loss}))
			f, gy, hv, h := make([]float64, 1+c.dim), make([]float64, n), make([]float64, n), mat.Sym{N: n, Stride: n + 3,
				Data: slices.Repeat([]float64{math.NaN()}, n*(n+3))}
			require.NoError(t, p.GradG(gy, x, y, b))
			require.NoError(t, p.HessG(&h, x, y, b))
			require.NoError(t, p.HessVecG(hv, x, y, gy, b))
			gy = append(gy, hv...)
			f[0] = bileveltest.Must(p.Objective(f[1:], x))
			for i := range n {
				gy = append(gy, h.Row(i)[:i+1]...)
				for _, v := range h.Data[i*h.Stride+i+1 : (i+1)*h.Stride] {
					require.True(t, math.IsNaN(v), "%s: beside the lower triangle", name)
				}
			}
			if workers == 1 {
				assert.Zero(t, testing.AllocsPerRun(3, func() {
					require.NoError(t, p.HessG(&h, x, y, b))
					_ = bileveltest.Must(p.Objective(nil, x))
				}), name)
			}
			return append(gy, f...)
		}
		one := sums(1, nil)
		for _, workers := range []int{2, 3, 9} {
			assert.Equal(t, one, sums(workers, nil), "%s, %d workers", name, workers)
		}
		assert.InDeltaSlice(t, sums(1, all), one, 1e-12, name)
	}
}

func TestNewRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	good := bileveltest.Rows(rng, 10, 3, 0.6, false)
	edit := func(f func(d *data.Data)) *data.Data {
		d := good.Subset([]int{0, 1, 2, 3, 4, 5})
		f(d)
		return d
	}
	one := edit(func(d *data.Data) { d.Label = []float64{1, 1, 1, 1, 1, 1} })
	none := &data.Data{RowPtr: []int{0, 0, 0}, Label: []float64{-1, 1}}
	for want, c := range map[string]struct {
		train, val *data.Data
		opt        Options
	}{
		"no training rows":            {nil, good, Options{}},
		"0 features":                  {none, none, Options{}},
		"feature but the intercept":   {data.WithBias(none), data.WithBias(none), Options{}},
		"Options.Loss":                {good, good, Options{Loss: 3}},
		"Options.Form":                {good, good, Options{Form: -1}},
		"Options.Lo: 0":               {good, good, Options{Lo: 0, Hi: 1}},
		"Options.Lo: NaN":             {good, good, Options{Lo: math.NaN(), Hi: 1}},
		"Options.Lo: -800":            {good, good, Options{Form: Exp, Lo: -800, Hi: 1}},
		"Options.Hi: 0":               {good, good, Options{Lo: 0.5}},
		"Options.Hi: 800":             {good, good, Options{Form: Exp, Lo: 1, Hi: 800}},
		"Options.Workers":             {good, good, Options{Workers: -1}},
		"no validation rows":          {good, &data.Data{Dim: 3, RowPtr: []int{0}}, Options{}},
		"features to train on":        {good, edit(func(d *data.Data) { d.Dim = 4 }), Options{}},
		"all training rows (6) are":   {one, good, Options{}},
		"all validation rows (6) are": {good, one, Options{}},
		"label 2":                     {good, edit(func(d *data.Data) { d.Label[3] = 2 }), Options{}},
		"label is not finite":         {good, edit(func(d *data.Data) { d.Label[3] = math.NaN() }), Options{Loss: Squared}},
		"classes":                     {edit(func(d *data.Data) { d.Classes = []string{"a", "b"} }), edit(func(d *data.Data) { d.Classes = []string{"b", "a"} }), Options{}},
		"columns must ascend":         {good, edit(func(d *data.Data) { d.Col[len(d.Col)-1] = 3 }), Options{}},
		"value is not finite":         {good, edit(func(d *data.Data) { d.Val[0] = math.Inf(1) }), Options{}},
		"RowPtr does not ascend":      {good, edit(func(d *data.Data) { d.RowPtr[2] = len(d.Col) + 5 }), Options{}},
		"Col and Val":                 {good, edit(func(d *data.Data) { d.Val = d.Val[1:] }), Options{}},
		"feature names":               {good, edit(func(d *data.Data) { d.Features = []string{"a"} }), Options{}},
		"RowPtr must have one entry":  {good, edit(func(d *data.Data) { d.RowPtr = d.RowPtr[1:] }), Options{}},
		"Options.Penalty: unknown":    {good, good, Options{Penalty: 9}},
		"Exp is for weights of":       {good, good, Options{Penalty: PerRow, Form: Exp}},
		"Options.Ridge: 1 is for":     {good, good, Options{Ridge: 1}},
		"Options.Ridge: -1":           {good, good, Options{Penalty: PerRow, Ridge: -1}},
		"does not give a weight ≥ 0":  {good, good, Options{Penalty: PerRow, Lo: -1, Hi: 1}},
	} {
		_, err := New(c.train, c.val, c.opt)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, strings.Contains(err.Error(), "Options."), errors.Is(err, bilevel.ErrOption), want)
	}
	p := bileveltest.Must(New(good, good, Options{Workers: 3}))
	gy, x := make([]float64, 3), []float64{1, 1, 1}
	assert.ErrorContains(t, p.GradG(gy, x, x, []bilevel.Sample{10}), "sample 10")
	rows := bileveltest.Must(New(good, good, Options{Penalty: PerRow}))
	assert.Panics(t, func() { rows.Uniform(make([]float64, 10), 1) })
	assert.PanicsWithValue(t, "hyperopt: GradG: dimension mismatch", func() { _ = p.GradG(gy[:2], x, x, nil) })
}

func TestDefaultsAgree(t *testing.T) {
	data := bileveltest.Rows(rand.New(rand.NewPCG(7, 8)), 10, 2, 0.6, false)
	raw := bileveltest.Must(New(data, data, Options{}))
	exp := bileveltest.Must(New(data, data, Options{Form: Exp}))
	assert.Equal(t, 0.02, raw.StrongConvexity())
	assert.InDelta(t, 0.02, exp.StrongConvexity(), 1e-16)
	x, u, y := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	raw.Start(x, y)
	exp.Start(u, y)
	assert.InDelta(t, x[0], math.Exp(u[0])/2, 1e-16)
	assert.InDelta(t, 0.1, x[0], 1e-16)
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
	d := &data.Data{Dim: 2, RowPtr: []int{0, 1, 2, 3}, Col: []int32{0, 1, 0}, Val: []float64{1, 1, -3}, Label: []float64{1, 1, 1}}
	y := []float64{2, 0}
	assert.InDelta(t, 1.0/3, Accuracy(d, y), 1e-15)                           // predictions 2, 0 and −6: a zero counts as −1
	assert.InDelta(t, 1.0/3, Accuracy(d, []float64{2, 0, 1, 3, 0, 0}), 1e-15) // classes 0, 1, 2
	assert.InDelta(t, (0.5+0.5+24.5)/3, Squared.Mean(d, y), 1e-15)
	assert.InDelta(t, (math.Log1p(math.Exp(-2))+math.Ln2+math.Log1p(math.Exp(6)))/3, Logistic.Mean(d, y), 1e-15)
	assert.Panics(t, func() { Accuracy(d, y[:1]) })
	assert.PanicsWithValue(t, "hyperopt: Accuracy: dimension mismatch", func() { Accuracy(&data.Data{}, y) })
	assert.Panics(t, func() { Squared.Mean(d, y[:1]) })
}

func TestNoSolution(t *testing.T) {
	data := bileveltest.Rows(rand.New(rand.NewPCG(7, 9)), 10, 2, 0.6, false)
	p := bileveltest.Must(New(data, data, Options{}))
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1e3} {
		_, err := p.Objective(nil, []float64{bad, 1})
		assert.ErrorIs(t, err, implicit.ErrNoSolution)
	}
	data.Dim = maxDense + 1
	p = bileveltest.Must(New(data, data, Options{}))
	_, err := p.Objective(nil, make([]float64, data.Dim))
	assert.ErrorIs(t, err, implicit.ErrNoSolution)
}

// Where a class is nearly sure, 1 − p has no cancellation.
func TestSureClass(t *testing.T) {
	d := &data.Data{Dim: 1, RowPtr: []int{0, 1, 2, 3}, Col: make([]int32, 3), Val: []float64{2, 2, 2}, Label: []float64{0, 1, 2}, Classes: []string{"a", "b", "c"}}
	gyy, x, y, fy, p := mat.NewSym(3), []float64{1e-30}, []float64{20, 0, -500}, make([]float64, 3), bileveltest.Must(New(d, d, Options{Loss: Softmax}))
	require.NoError(t, p.HessG(gyy, x, y, nil))
	require.NoError(t, p.GradF(make([]float64, 1), fy, x, y, []bilevel.Sample{0}))
	loss := bileveltest.Must(p.ValueF(x, y, []bilevel.Sample{0}))
	assert.InEpsilonSlice(t, []float64{4, -2, 1}, []float64{gyy.At(0, 0) * math.Exp(40), fy[0] * math.Exp(40), loss * math.Exp(40)}, 1e-12)
}

func TestFreeIntercept(t *testing.T) {
	d := bileveltest.Rows(rand.New(rand.NewPCG(7, 9)), 40, 3, 0.6, false)
	for i := range d.Label {
		d.Label[i] = math.Copysign(1, float64(i-37)) // 3 of 40
	}
	d = data.WithBias(d)
	for free, want := range map[bool]float64{true: math.Log(3. / 37), false: 0} {
		p, _, y := solved(t, d, Options{Lo: 1, Hi: 1e6, PenaliseIntercept: !free}, 1e6)
		assert.InDelta(t, want, y[3], 2e-3)
		assert.Equal(t, free, p.dx == 3)
		assert.Equal(t, free, p.StrongConvexity() < 1)
	}
	d = threeClasses(d)
	p, _, y := solved(t, d, Options{Loss: Softmax, Lo: 1, Hi: 1e6}, 1e6)
	assert.InDeltaSlice(t, p.base, []float64{y[3], y[7], y[11]}, 1e-4)
	assert.InDelta(t, 1, math.Exp(y[3])+math.Exp(y[7])+math.Exp(y[11]), 1e-4)
}

func solved(t *testing.T, d *data.Data, o Options, lambda float64) (p *Problem, x, y []float64) {
	p = bileveltest.Must(New(d, d, o))
	x, y = make([]float64, p.dx), make([]float64, p.dy())
	p.Uniform(x, lambda)
	require.NoError(t, p.Solution(y, x))
	return p, x, y
}

// Where rows are separable and on far scales, and where y* is 0 and g_yy all rounding.
func TestSolutionAtItsLimits(t *testing.T) {
	d := &data.Data{Dim: 2, RowPtr: []int{0, 2, 4, 5, 6}, Col: []int32{0, 1, 0, 1, 0, 1},
		Val: []float64{1e3, 1, -1e3, 2, 1e-3, -1e5}, Label: []float64{1, -1, 1, -1}}
	for _, lambda := range []float64{1e-12, 1e-6, 1} {
		p, x, y := solved(t, d, Options{Lo: 1e-12, Hi: 1}, lambda)
		gy := make([]float64, 2)
		require.NoError(t, p.GradG(gy, x, y, nil))
		assert.LessOrEqual(t, mat.Norm(gy), 1e-12*p.truth.unit)
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 5 + rng.IntN(60)
		d := bileveltest.Rows(rng, n, 1+rng.IntN(12), 0.6, false)
		d = data.Join(d, d)
		for i := range d.Label {
			d.Label[i] = float64(1 - 2*(i/n))
		}
		_, _, y := solved(t, d, Options{Loss: Loss(seed % 2)}, 0.01)
		assert.Less(t, mat.Norm(y), 1e-12)
	}
}
