package units

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/quadratic"
	"stable/bilevel/stream"
	"stable/mat"
	"stable/mat/mattest"
)

func sum(t testing.TB) *quadratic.Problem {
	return bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 2, Terms: 12,
		SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}))
}

func foreign() Units {
	return Units{
		X: []float64{1e-2, 3, 50}, Y: []float64{2, 0.1, 7, 1}, F: 5, G: 0.3,
		ShiftX: []float64{1, -2, 30}, ShiftY: []float64{0, 4, 0, -1},
	}
}

func TestDerivatives(t *testing.T) {
	scaled := bileveltest.Must(In(sum(t), foreign()))
	for name, p := range map[string]bilevel.Problem{"units": scaled, "stream": stream.Of(scaled)} {
		r := bileveltest.Must(check.Problem(p, check.Options{}))
		assert.NoError(t, r.Err(), "%s: %v", name, r)
	}
}

func TestNoAllocation(t *testing.T) {
	s := bileveltest.Must(In(sum(t), foreign()))
	p := stream.Of(s)
	x, y := mattest.Vec(3, 1), mattest.Vec(4, 2)
	fx, fy := make([]float64, 3), make([]float64, 4)
	gxy, gyy := mat.NewDense(3, 4), mat.NewSym(4)
	batch := []bilevel.Sample{3, 99}
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		_ = p.GradF(fx, fy, x, y, batch)
		_ = p.GradG(fy, x, y, batch)
		_ = p.CrossG(gxy, x, y, batch)
		_ = p.HessG(gyy, x, y, batch)
		_ = p.HessVecG(fy, x, y, y, batch)
		_ = p.CrossVecG(fx, x, y, y, batch)
		_, _ = p.Objective(fx, x)
	}))
}

func TestSets(t *testing.T) {
	s := bileveltest.Must(In(sum(t), foreign()))
	b := bileveltest.Must(s.Set(bilevel.UniformBox(3, -1, 2)))
	assert.Equal(t, bilevel.Box{Lo: []float64{0.99, -5, -20}, Hi: []float64{1.02, 4, 130}}, b)
	assert.Equal(t, bilevel.Space{}, bileveltest.Must(s.Set(nil)))
	b = bileveltest.Must(s.Set(bilevel.NonNegative{}))
	assert.Equal(t, []float64{1, -2, 30}, b.(bilevel.Box).Lo)
	_, err := s.Set(bilevel.Simplex{})
	assert.ErrorIs(t, err, bilevel.ErrOption)
	_, err = s.Set(bilevel.UniformBox(2, 0, 1))
	assert.ErrorIs(t, err, bilevel.ErrOption)

	q, x, y := sum(t), []float64{1, 2, 3}, []float64{4, 5, 6, 7}
	same := bileveltest.Must(In(q, Units{}))
	same.X(x, x)
	same.Y(y, y)
	assert.Equal(t, [][]float64{{1, 2, 3}, {4, 5, 6, 7}}, [][]float64{x, y})
	assert.Equal(t, bileveltest.Must(q.ValueG(x, y, nil)), bileveltest.Must(same.ValueG(x, y, nil)))
}

func TestBadUnitsAreNamed(t *testing.T) {
	for name, u := range map[string]Units{
		"X": {X: []float64{1, 0, 1}}, "Y": {Y: []float64{1}}, "F": {F: -1}, "G": {G: math.Inf(1)},
		"ShiftX": {ShiftX: []float64{0, 0, math.NaN()}}, "ShiftY": {ShiftY: []float64{1}},
	} {
		_, err := In(sum(t), u)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, "Units."+name)
	}
	_, err := In(nil, Units{})
	require.ErrorIs(t, err, bilevel.ErrOption)
}

type promise struct {
	*quadratic.Problem
	s float64
}

func (p promise) ConvexityAt([]float64) float64 { return p.s }

func TestPromise(t *testing.T) {
	q, x := sum(t), make([]float64, 3)
	for _, s := range []float64{1 - 1e-9, 0, -1} {
		p := bileveltest.Must(In(promise{q, s}, foreign()))
		want := 0.3 * s / 49
		if s < 0 {
			want = 0.3 * s / 0.01
		}
		assert.InDelta(t, want, p.ConvexityAt(x), 1e-12)
		for _, p := range []bilevel.Problem{p, stream.Of(p)} {
			r := bileveltest.Must(check.Problem(p, check.Options{}))
			assert.NoError(t, r.Err())
			assert.Contains(t, r.Passed, check.Pass{Check: check.Convexity, Oracle: "ConvexityAt", Count: 6})
		}
	}
	p := bileveltest.Must(In(struct{ bilevel.Problem }{q}, foreign()))
	assert.Equal(t, math.Inf(-1), p.ConvexityAt(x))
}
