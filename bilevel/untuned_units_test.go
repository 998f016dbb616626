package bilevel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// inUnits is a problem in other units: of each entry of x, of y, f and g.
type inUnits struct {
	*quadratic.Problem
	x       []float64 // an entry of x here is so much of the problem's
	y, f, g float64
	xo, yo  []float64
}

func newInUnits(p *quadratic.Problem, x []float64, y, f, g float64) *inUnits {
	dx, dy := p.Dims()
	return &inUnits{p, x, y, f, g, make([]float64, dx), make([]float64, dy)}
}

// to sets xo, yo to (x, y) in the problem's own units.
func (u *inUnits) to(x, y []float64) ([]float64, []float64) {
	for i, v := range x {
		u.xo[i] = v / u.x[i]
	}
	for j, v := range y {
		u.yo[j] = v / u.y
	}
	return u.xo, u.yo
}

func (u *inUnits) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.GradF(fx, fy, xo, yo, xi)
	for i := range fx {
		fx[i] *= u.f / u.x[i]
	}
	for j := range fy {
		fy[j] *= u.f / u.y
	}
	return err
}

func (u *inUnits) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.GradG(gy, xo, yo, phi)
	for j := range gy {
		gy[j] *= u.g / u.y
	}
	return err
}

func (u *inUnits) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.CrossG(gxy, xo, yo, phi)
	for i := range gxy.Rows {
		for j := range gxy.Row(i) {
			gxy.Row(i)[j] *= u.g / u.x[i] / u.y
		}
	}
	return err
}

func (u *inUnits) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.HessG(gyy, xo, yo, phi)
	mat.ScaleSym(gyy, u.g/u.y/u.y, gyy)
	return err
}

func (u *inUnits) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.HessVecG(dst, xo, yo, v, phi)
	for j := range dst {
		dst[j] *= u.g / u.y / u.y
	}
	return err
}

func (u *inUnits) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	xo, yo := u.to(x, y)
	err := u.Problem.CrossVecG(dst, xo, yo, v, phi)
	for i := range dst {
		dst[i] *= u.g / u.x[i] / u.y
	}
	return err
}

// On these problems scaling each entry of x by itself, y, f and g by powers of two, g by even ones,
// scales every iterate, bit for bit.
func TestUntunedUnits(t *testing.T) {
	const d = 4
	rng := rand.New(rand.NewPCG(1, 1))
	for name, o := range map[string]quadratic.Options{
		"stream":    noisy(0.5, quadratic.Options{Dx: d, Dy: d}),
		"sum":       noisy(0.5, quadratic.Options{Dx: d, Dy: d, Terms: 40}),
		"exact":     {Dx: d, Dy: d, LG: 100},
		"blind":     noisy(0.5, quadratic.Options{Dx: d, Dy: d, Blind: 2}),
		"nonconvex": noisy(2, quadratic.Options{Dx: d, Dy: d, Nonconvex: 1}),
		"tail":      noisy(0.5, quadratic.Options{Dx: d, Dy: d, Tail: 1.1}),
	} {
		for _, bounded := range []bool{false, true} {
			for _, far := range []float64{0, 1, 100} {
				t.Run(fmt.Sprintf("%s,bounds=%v,start=%g", name, bounded, far), func(t *testing.T) {
					p, err := quadratic.New(o)
					require.NoError(t, err)
					x0, y0 := make([]float64, d), make([]float64, d)
					for i := range x0 {
						x0[i], y0[i] = far*rng.NormFloat64(), far*rng.NormFloat64()
					}
					lo, hi := make([]float64, d), make([]float64, d)
					for i := range lo {
						lo[i], hi[i] = x0[i]-0.3, x0[i]+0.2*float64(i)
					}
					one := []float64{1, 1, 1, 1}
					plain := newInUnits(p, one, 1, 1, 1)
					scale := []float64{0x1p-13, 0x1p13, 1, 0x1p3}
					other := newInUnits(p.Clone(), scale, 0x1p-7, 0x1p9, 0x1p6)
					requireSameIn(t, plain, other, x0, y0, lo, hi, bounded)
				})
			}
		}
	}
}

// requireSameIn runs both problems side by side.
func requireSameIn(t *testing.T, plain, other *inUnits, x0, y0, lo, hi []float64, bounded bool) {
	start := func(u *inUnits) *bilevel.Solver {
		opt := bilevel.Options{Seed: 3, Y0: make([]float64, len(y0)), X0: make([]float64, len(x0)), Explode: 1e30}
		box := bilevel.UniformBox(len(x0), 0, 0)
		for i := range x0 {
			opt.X0[i], box.Lo[i], box.Hi[i] = x0[i]*u.x[i], lo[i]*u.x[i], hi[i]*u.x[i]
		}
		for j := range y0 {
			opt.Y0[j] = y0[j] * u.y
		}
		if bounded {
			opt.Set = box
		}
		s, err := bilevel.New(u, bilevel.Untuned{MuG: u.g / u.y / u.y}, opt)
		require.NoError(t, err)
		return s
	}
	a, b := start(plain), start(other)
	steps := 1000
	if testing.Short() {
		steps = 250
	}
	for k := range steps {
		require.NoError(t, a.Step())
		require.NoError(t, b.Step())
		for i, v := range a.X() {
			require.Equal(t, v, b.X()[i]/other.x[i], "x[%d] after step %d", i, k)
		}
		for j, v := range a.Y() {
			require.Equal(t, v, b.Y()[j]/other.y, "y[%d] after step %d", j, k)
		}
	}
}
