package saa_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/mat"
)

// rare is g = ½‖y‖² − (x_0 + b)y_0 − m(x_1 + c)y_1 with m = w in one sample of w, else 0, and f =
// ½(y_0 − 1 − e_0)² + ½(y_1 − 2 − e_1)²; b, c, e ~ N(0, 0.3²). F = ½‖x − (1, 2)‖² for a stream.
type rare struct {
	w, dust     float64 // dust: m in the others
	terms, seed uint64
}

func (p *rare) draw(s bilevel.Sample, kind uint64) (m float64, n [2]float64) {
	rng := rand.New(rand.NewPCG(uint64(s)+p.seed<<32, kind))
	if m = p.dust; rng.Float64() < 1/p.w {
		m = p.w
	}
	return m, [2]float64{0.3 * rng.NormFloat64(), 0.3 * rng.NormFloat64()}
}

func (p *rare) Dims() (dx, dy int)             { return 2, 2 }
func (p *rare) Streams() (upper, lower uint64) { return p.terms, p.terms }

func (p *rare) each(batch []bilevel.Sample, visit func(s bilevel.Sample, w float64)) error {
	if len(batch) == 0 && p.terms == 0 {
		return bilevel.ErrNoExact
	}
	for s, w := range bilevel.Each(batch, int(p.terms)) {
		visit(s, w)
	}
	return nil
}

func (p *rare) GradF(fx, fy, _, y []float64, xi []bilevel.Sample) error {
	clear(fx)
	clear(fy)
	return p.each(xi, func(s bilevel.Sample, w float64) {
		_, e := p.draw(s, 'x')
		fy[0] += w * (y[0] - 1 - e[0])
		fy[1] += w * (y[1] - 2 - e[1])
	})
}

func (p *rare) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	clear(gy)
	return p.each(phi, func(s bilevel.Sample, w float64) {
		m, b := p.draw(s, 'y')
		gy[0] += w * (y[0] - x[0] - b[0])
		gy[1] += w * (y[1] - m*(x[1]+b[1]))
	})
}

func (p *rare) HessG(h *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	h.Zero()
	h.Set(0, 0, 1)
	h.Set(1, 1, 1)
	return nil
}

func (p *rare) CrossG(c *mat.Dense, _, _ []float64, phi []bilevel.Sample) error {
	c.Zero()
	return p.each(phi, func(s bilevel.Sample, w float64) {
		m, _ := p.draw(s, 'y')
		c.Row(0)[0] -= w
		c.Row(1)[1] -= w * m
	})
}

// Rare events of any weight diverge no run, as a stream and as a sum, with and without a box. From 40
// expected events on none ends above where it began, and a sum is solved in four passes.
func TestRareEvents(t *testing.T) {
	runs := uint64(20)
	if testing.Short() {
		runs = 5
	}
	for _, terms := range []uint64{0, 1000} {
		for _, set := range []bilevel.Set{bilevel.Space{}, bilevel.UniformBox(2, -10, 10)} {
			for _, w := range []float64{5, 30, 100, 600} {
				for seed := range runs {
					p := &rare{w: w, seed: seed + 1040, terms: terms}
					s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed + 40, Set: set},
						bilevel.Run{Xi: max(4000, uint64(40*w)), Phi: 24000})
					x := s.X()
					if terms > 0 {
						stationary(t, implicit.NewTruth(p), set, x, 1e-8)
						continue
					}
					f := (math.Pow(x[0]-1, 2) + math.Pow(x[1]-2, 2)) / 2
					assert.Less(t, f, 2.5, "weight %v, seed %d", w, seed)
				}
			}
		}
	}
}

// Where g_yy is next to 0, and y* the log of a rare event's rate, y does not leap, to where g_yy is e^300.
func TestRareCounts(t *testing.T) {
	count := func(s bilevel.Sample, side uint64, rate float64) float64 {
		return max(0, math.Copysign(1, rate-rand.New(rand.NewPCG(uint64(s), side)).Float64()))
	}
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 4000, Lower: 4000,
		F: func(_, y auto.Vec, s bilevel.Sample) auto.Num {
			return y.Exp().Sum().Sub(y.Scale(count(s, 78, 0.004)).Sum())
		},
		G: func(x, y auto.Vec, s bilevel.Sample) auto.Num {
			ridge := x.Exp().Sum().Mul(y.Shift(2).SquaredNorm()).Scale(1e-3)
			return y.Exp().Sum().Sub(y.Scale(count(s, 79, 0.008)).Sum()).Add(ridge)
		}}))
	for _, seed := range []uint64{0, 4, 5} {
		_, r := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed, Set: bilevel.UniformBox(1, -8, 8)}, bilevel.Run{Xi: 40000})
		assert.Equal(t, -8., r.X[0], "seed %d", seed)
	}
}

// By products, an entry does not move before samples tell what it does: from 10 expected events on no run
// ends above where it began, and before them none goes where rounding says.
func TestRareEventsByProducts(t *testing.T) {
	for _, w := range []float64{10, 30, 100, 300} {
		for seed := range uint64(30) {
			for n, dust := range map[float64]float64{1: 1e-18, 10: 0} {
				p := &rare{w: w, seed: seed, dust: dust}
				s, _ := solved(t, p, saa.ByProducts{}, bilevel.Options{Seed: seed, X0: []float64{0, 10 * dust}},
					bilevel.Run{Xi: uint64(n * w)})
				x := s.X()
				most := 2.5 + 100*(10-n)
				assert.Less(t, (math.Pow(x[0]-1, 2)+math.Pow(x[1]-2, 2))/2, most, "weight %v, seed %d", w, seed)
			}
		}
	}
}

func TestHeavyTails(t *testing.T) {
	const runs = 10
	p, err := quadratic.New(quadratic.Options{Seed: 7, CrossNorm: 3, Tail: 1.5,
		SigmaFx: 0.5, SigmaFy: 0.5, SigmaGy: 0.5, SigmaGxy: 0.5, SigmaGyy: 0.5})
	require.NoError(t, err)
	_, least := p.Optimum()
	mean := 0.0
	for seed := range uint64(runs) {
		s, _ := solved(t, p, saa.Newton{}, bilevel.Options{Seed: seed}, bilevel.Run{Xi: 2000, Phi: 2000})
		f, err := p.Objective(nil, s.X())
		require.NoError(t, err)
		mean += (f - least) / runs
	}
	assert.Less(t, mean, 0.03)
}
