package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

type law struct {
	name string
	rate float64 // of rare events; 0: none
	draw func(r *rand.Rand) float64
}

var gauss = law{"normal", 0, (*rand.Rand).NormFloat64}

func between(r *rand.Rand, lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// drawLaw draws a law of mean 0 and variance 1. Rare events have the value √((1 − p)/p), with
// probability p. The skewed laws bias whoever clips them.
func drawLaw(r *rand.Rand) law {
	switch r.IntN(4) {
	case 0:
		nu := pick(r, 2.1, 2.5, 3, 5)
		unit := math.Sqrt((nu - 2) / nu)
		return law{fmt.Sprintf("student %g", nu), 0, func(r *rand.Rand) float64 { return unit * student(r, nu) }}
	case 1:
		s := pick(r, 0.5, 1, 1.5)
		mean := math.Exp(s * s / 2)
		unit := 1 / (mean * math.Sqrt(math.Expm1(s*s)))
		return law{fmt.Sprintf("lognormal %g", s), 0,
			func(r *rand.Rand) float64 { return unit * (math.Exp(s*r.NormFloat64()) - mean) }}
	case 2:
		p := between(r, 1e-3, 1e-1)
		return rare(p, math.Sqrt((1-p)/p), -math.Sqrt(p/(1-p)))
	}
	return gauss
}

func rare(p, event, otherwise float64) law {
	return law{"rare", p, func(r *rand.Rand) float64 {
		if r.Float64() < p {
			return event
		}
		return otherwise
	}}
}

// drawSizes draws a law of the rows' sizes, of mean square about 1 but for heavy tails; one row of
// up to 1,000 may weigh most, for L_max/mean L to 1e3.
func drawSizes(r *rand.Rand) law {
	switch r.IntN(4) {
	case 0:
		nu := pick(r, 2.1, 3, 5)
		return law{fmt.Sprintf("student %g", nu), 0,
			func(r *rand.Rand) float64 { return math.Sqrt((nu-2)/nu) * math.Abs(student(r, nu)) }}
	case 1:
		s := pick(r, 0.5, 1)
		return law{fmt.Sprintf("lognormal %g", s), 0, func(r *rand.Rand) float64 { return math.Exp(s*r.NormFloat64() - s*s) }}
	case 2:
		p := between(r, 1e-3, 1e-1)
		return rare(p, math.Sqrt(0.5/p), math.Sqrt(0.5))
	}
	return law{"normal", 0, always1}
}

func always1(*rand.Rand) float64 { return 1 }

// student draws from Student's law (Bailey, Mathematics of Computation 62, 1994).
func student(r *rand.Rand, nu float64) float64 {
	for {
		u, v := 2*r.Float64()-1, 2*r.Float64()-1
		if w := u*u + v*v; w > 0 && w <= 1 {
			return u * math.Sqrt(nu*math.Expm1(-2/nu*math.Log(w))/w)
		}
	}
}

func poisson(r *rand.Rand, mean float64) (k int) {
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		k++
	}
	return k
}

func gaussians(r *rand.Rand, n int, scale float64) []float64 {
	v := make(vector, n)
	for i := range v {
		v[i] = scale * r.NormFloat64()
	}
	return v
}

func scales(r *rand.Rand, d int, decades float64) []float64 {
	s := make(vector, d)
	for i := range s {
		s[i] = math.Pow(10, decades*(r.Float64()-0.5))
	}
	return s
}

// reflection is the orthogonal I − 2wwᵀ.
type reflection []float64

func newReflection(r *rand.Rand, n int) reflection {
	w := gaussians(r, n, 1)
	times(w, 1/mat.Norm(w))
	return w
}

func (w reflection) apply(v []float64) { mat.Axpy(v, -2*mat.Dot(w, v), w) }

func times(v []float64, c float64) {
	for i := range v {
		v[i] *= c
	}
}

// dims is a length up to 60, short ones as often as long ones.
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
		reach = between(r, 0.1, 2)
		set = box(reach, reach/2)
	case "box wide":
		reach = between(r, 10, 1000)
		set = box(reach, 1)
	case "simplex":
		reach = between(r, 0.5, 5)
		set = bilevel.Simplex{Sum: reach}
	case "ball":
		reach = between(r, 0.3, 3)
		set = bilevel.Ball{Radius: reach}
	case "corner":
		reach = between(r, 0.1, 2)
		set = bilevel.UniformBox(d, -reach/4, reach)
	default:
		reach = between(r, 0.3, 1000)
		set = bilevel.Space{}
	}
	return name, set, reach
}
