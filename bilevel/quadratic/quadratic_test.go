package quadratic

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// Variants are strongly convex and not, simulators and finite sums, of many shapes.
func Variants() map[string]Options {
	v := map[string]Options{}
	for _, d := range [][2]int{{1, 1}, {1, 4}, {5, 2}, {4, 4}, {7, 17}} {
		for _, w := range []float64{0, 1.5} {
			for _, terms := range []uint64{0, 20} {
				name := fmt.Sprintf("dx=%d/dy=%d/w=%v/terms=%d", d[0], d[1], w, terms)
				v[name] = Options{Dx: d[0], Dy: d[1], Seed: 3, Nonconvex: w, Terms: terms,
					SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}
			}
		}
	}
	base := Options{Dx: 5, Dy: 4, Seed: 3, SigmaFx: 0.5, SigmaFy: 0.6, SigmaGy: 0.7, SigmaGxy: 0.8, SigmaGyy: 0.9}
	for name, change := range map[string]func(o *Options){
		"saddle":     func(o *Options) { o.Saddle = true },
		"blind":      func(o *Options) { o.Blind = 2 },
		"rank one f": func(o *Options) { o.RankOneF = true },
		"rank one g": func(o *Options) { o.RankOneG, o.SigmaGyy = true, 0 },
		"tail":       func(o *Options) { o.Tail = 30 },
		"blind sum":  func(o *Options) { o.Blind, o.Terms = 2, 20 },
	} {
		o := base
		change(&o)
		v[name] = o
	}
	return v
}

func make1(t testing.TB, o Options) *Problem {
	t.Helper()
	p, err := New(o)
	require.NoError(t, err)
	return p
}

func point(p *Problem, seed uint64) (x, y []float64) {
	dx, dy := p.Dims()
	return mattest.Vec(dx, seed), mattest.Vec(dy, seed+1)
}

type answers struct {
	fx, fy, gy []float64
	gx         []float64
	gxy        *mat.Dense
	gyy        *mat.Sym
	f, g       float64
}

func ask(t testing.TB, p *Problem, x, y []float64, batch ...bilevel.Sample) answers {
	t.Helper()
	dx, dy := p.Dims()
	a := answers{fx: make([]float64, dx), fy: make([]float64, dy), gy: make([]float64, dy), gxy: mat.NewDense(dx, dy),
		gyy: mat.NewSym(dy), gx: make([]float64, dx)}
	require.NoError(t, p.GradF(a.fx, a.fy, x, y, batch))
	require.NoError(t, p.GradG(a.gy, x, y, batch))
	require.NoError(t, p.GradXG(a.gx, x, y, batch))
	require.NoError(t, p.CrossG(a.gxy, x, y, batch))
	require.NoError(t, p.HessG(a.gyy, x, y, batch))
	var err error
	a.f, err = p.ValueF(x, y, batch)
	require.NoError(t, err)
	a.g, err = p.ValueG(x, y, batch)
	require.NoError(t, err)
	return a
}

func (a answers) flat() []float64 {
	all := append(append(append([]float64{a.f, a.g}, a.fx...), a.fy...), a.gy...)
	all = append(all, a.gx...)
	all = append(all, a.gxy.Data...)
	for i := range a.gyy.N {
		all = append(all, a.gyy.Row(i)...)
	}
	return all
}

func TestInvalidOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]Options{
		"Dx": {Dx: -1}, "Dy": {Dy: -3}, "MuG": {MuG: -1}, "LG": {MuG: 2, LG: 1}, "MuP": {MuP: math.NaN()},
		"LP":         {LP: math.Inf(1)},
		"MuP and LP": {Nonconvex: 1, MuP: 1}, "CrossNorm": {CrossNorm: -1}, "Nonconvex": {Nonconvex: math.Inf(1)},
		"SigmaFx": {SigmaFx: -1}, "SigmaFy": {SigmaFy: math.NaN()}, "SigmaGy": {SigmaGy: -1},
		"SigmaGxy": {SigmaGxy: -1}, "SigmaGyy": {SigmaGyy: -1},
		"Terms": {Terms: 3}, "Saddle": {Saddle: true, Nonconvex: 1}, "Blind": {Dx: 3, Blind: 3}, "Tail": {Tail: 1},
		"RankOneF": {Saddle: true, RankOneF: true}, "SigmaGyy has": {RankOneG: true, SigmaGyy: 1},
		"Terms is": {RankOneG: true, Terms: 2}, "Tail is": {RankOneF: true, Tail: 3},
	} {
		p, err := New(o)
		assert.Nil(t, p)
		require.ErrorIs(t, err, bilevel.ErrOption, name)
		assert.ErrorContains(t, err, "quadratic: "+name+" ")
	}
	p, err := New(Options{Dy: 40, MuG: 1e-30, LG: 1}) // half of the spectrum is lost in rounding
	assert.Nil(t, p)
	assert.ErrorIs(t, err, chol.ErrNotPosDef)

	o := make1(t, Options{}).Options()
	assert.Equal(t, Options{Dx: 10, Dy: 10, MuG: 1, LG: 10, MuP: 1, LP: 10, CrossNorm: 1}, o)
}

func TestWrongLengthsPanic(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3})
	x, y := make([]float64, 2), make([]float64, 3)
	for name, f := range map[string]func(){
		"GradF":     func() { _ = p.GradF(y, y, x, y, nil) },
		"GradG":     func() { _ = p.GradG(y, y, y, nil) },
		"CrossG":    func() { _ = p.CrossG(mat.NewDense(3, 2), x, y, nil) },
		"HessG":     func() { _ = p.HessG(mat.NewSym(2), x, y, nil) },
		"HessVecG":  func() { _ = p.HessVecG(make([]float64, 3), x, y, x, nil) },
		"GradXG":    func() { _ = p.GradXG(y, x, y, nil) },
		"CrossVecG": func() { _ = p.CrossVecG(make([]float64, 3), x, y, y, nil) },
		"Solution":  func() { _ = p.Solution(x, x) },
	} {
		assert.PanicsWithValue(t, "quadratic: "+name+": dimension mismatch", f)
	}
}

func TestOraclesDoNotAllocate(t *testing.T) {
	for name, o := range Variants() {
		t.Run(name, func(t *testing.T) {
			p := make1(t, o)
			x, y := point(p, 81)
			a := ask(t, p, x, y)
			v, hv, grad := mattest.Vec(len(y), 1), make([]float64, len(y)), make([]float64, len(x))
			batch := []bilevel.Sample{3, 4}
			assert.Zero(t, testing.AllocsPerRun(10, func() {
				_ = p.GradF(a.fx, a.fy, x, y, batch)
				_ = p.GradG(a.gy, x, y, batch)
				_ = p.GradXG(a.gx, x, y, batch)
				_ = p.CrossG(a.gxy, x, y, batch)
				_ = p.HessG(a.gyy, x, y, batch)
				_ = p.HessVecG(hv, x, y, v, batch)
				_ = p.CrossVecG(grad, x, y, v, batch)
				_, _ = p.ValueF(x, y, batch)
				_, _ = p.ValueG(x, y, batch)
				_ = p.Solution(y, x)
				_, _ = p.Objective(grad, x)
			}))
		})
	}
}

func TestEachNoiseHasItsOwnOracles(t *testing.T) {
	for _, c := range []struct {
		o                       Options
		fx, fy, gy, gxy, gyy, f bool
	}{
		{Options{SigmaFx: 1}, true, false, false, false, false, true},
		{Options{SigmaFy: 1}, false, true, false, false, false, true},
		{Options{SigmaGy: 1}, false, false, true, false, false, false},
		{Options{SigmaGxy: 1}, false, false, true, true, false, false},
		{Options{SigmaGyy: 1}, false, false, true, false, true, false},
	} {
		p := make1(t, c.o)
		x, y := point(p, 91)
		exact, a := ask(t, p, x, y), ask(t, p, x, y, 1)
		assert.Equal(t, c.fx, distance(exact.fx, a.fx) > 0, c)
		assert.Equal(t, c.fy, distance(exact.fy, a.fy) > 0, c)
		assert.Equal(t, c.gy, distance(exact.gy, a.gy) > 0, c)
		assert.Equal(t, c.gxy, distance(exact.gxy.Data, a.gxy.Data) > 0, c)
		assert.Equal(t, c.gyy, distance(exact.gyy.Data, a.gyy.Data) > 0, c)
		assert.Equal(t, c.f, exact.f != a.f, c)
		assert.Equal(t, c.gy, exact.g != a.g, c)
	}
}

func TestNamesOutsideOfTheSumAreErrors(t *testing.T) {
	p := make1(t, Options{Dx: 2, Dy: 3, Terms: 20})
	x, y, v := make([]float64, 2), make([]float64, 3), make([]float64, 3)
	upper, lower := p.Streams()
	assert.Equal(t, []uint64{20, 20}, []uint64{upper, lower})
	batch := []bilevel.Sample{0, 20}
	_, errF := p.ValueF(x, y, batch)
	_, errG := p.ValueG(x, y, batch)
	for i, err := range []error{
		errF, errG,
		p.GradF(make([]float64, 2), make([]float64, 3), x, y, batch),
		p.GradG(make([]float64, 3), x, y, batch),
		p.CrossG(mat.NewDense(2, 3), x, y, batch),
		p.HessG(mat.NewSym(3), x, y, batch),
		p.HessVecG(make([]float64, 3), x, y, v, batch),
		p.CrossVecG(make([]float64, 2), x, y, v, batch),
	} {
		assert.ErrorContains(t, err, "sample 20 is outside of the finite sum of 20 terms", i)
	}
}
