package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
)

// law is the law of a number of mean 0 and variance 1.
type law struct {
	name string
	rate float64 // of rare events; 0: none
	draw func(r *rand.Rand) float64
	twin bool // events are normal numbers too
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

func between(r *rand.Rand, lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// drawLaw draws a law. Rare events have the value √((1 − p)/p), with probability p. The skewed laws
// bias whoever clips them.
func drawLaw(r *rand.Rand) law {
	switch r.IntN(4) {
	case 0:
		nu := pick(r, 2.1, 2.5, 3, 5)
		unit := math.Sqrt((nu - 2) / nu)
		return law{fmt.Sprintf("student %g", nu), 0, func(r *rand.Rand) float64 { return unit * student(r, nu) }, false}
	case 1:
		s := pick(r, 0.5, 1, 1.5)
		mean := math.Exp(s * s / 2)
		unit := 1 / (mean * math.Sqrt(math.Expm1(s*s)))
		return law{fmt.Sprintf("lognormal %g", s), 0,
			func(r *rand.Rand) float64 { return unit * (math.Exp(s*r.NormFloat64()) - mean) }, false}
	case 2:
		p := between(r, 1e-3, 1e-1)
		return law{"rare", p, func(r *rand.Rand) float64 {
			if r.Float64() < p {
				return math.Sqrt((1 - p) / p)
			}
			return -math.Sqrt(p / (1 - p))
		}, false}
	}
	return law{"normal", 0, normal, false}
}

// student draws from Student's law (Bailey, Mathematics of Computation 62, 1994).
func student(r *rand.Rand, nu float64) float64 {
	for {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		if w := u*u + v*v; w > 0 && w <= 1 {
			return u * math.Sqrt(nu*math.Expm1(-2/nu*math.Log(w))/w)
		}
	}
}

func gaussians(r *rand.Rand, n int, scale float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = scale * r.NormFloat64()
	}
	return v
}

// reflection is the orthogonal I − 2wwᵀ.
type reflection []float64

func newReflection(r *rand.Rand, n int) reflection {
	w, size := gaussians(r, n, 1), 0.0
	for _, v := range w {
		size += v * v
	}
	for i := range w {
		w[i] /= math.Sqrt(size)
	}
	return w
}

func (w reflection) apply(v []float64) {
	dot := 0.0
	for i, a := range w {
		dot += a * v[i]
	}
	for i, a := range w {
		v[i] -= 2 * dot * a
	}
}

// dims is a length from 1 to 60, short ones as often as long ones.
func dims(r *rand.Rand, least int) int { return int(math.Round(between(r, float64(least), 60))) }

// drawSet draws a set around the origin; reach is how far points of an unbounded one are apart.
func drawSet(r *rand.Rand, d int) (name string, set bilevel.Set, reach float64) {
	box := func(width, centre float64) bilevel.Box {
		b := bilevel.UniformBox(d, 0, 0)
		for i := range d {
			c := centre * r.NormFloat64()
			b.Lo[i], b.Hi[i] = c-width/2, c+width/2
		}
		return b
	}
	switch name = pick(r, "space", "space", "box tight", "box wide", "simplex", "ball", "corner"); name {
	case "box tight":
		w := between(r, 0.1, 2)
		return name, box(w, w/2), w
	case "box wide":
		w := between(r, 10, 1000)
		return name, box(w, 1), w
	case "simplex":
		sum := between(r, 0.5, 5)
		return name, bilevel.Simplex{Sum: sum}, sum
	case "ball":
		radius := between(r, 0.3, 3)
		return name, bilevel.Ball{Radius: radius}, radius
	case "corner":
		w := between(r, 0.1, 2)
		return name, bilevel.UniformBox(d, -w/4, w), w
	}
	return name, bilevel.Space{}, between(r, 0.3, 1000)
}
