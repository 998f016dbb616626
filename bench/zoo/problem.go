package zoo

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/stream"
	"stable/bilevel/units"
	"stable/mat"
)

type label struct {
	Index                     int
	Kind, Law, SetName, About string
	Stream                    bool
	Rate                      float64 // of the rare events of the law; 0: none
}

// problem's runIn, x0 and y0 are in the units of a run, the rest in the kind's.
type problem struct {
	label
	of      species
	exact   *upper
	set     bilevel.Set
	f0      float64
	best    float64       // the least F that is known
	star    stationary    // where exact descent from x⁰ leads
	limit   observe.Limit // there; of a stream
	noLimit string        // why it has none

	units  units.Units // no X: the kind's
	runIn  bilevel.Set
	x0, y0 []float64
}

// draw draws problem index of a seed: even ones are streams, odd ones sums. It draws again where
// g's mean is not strongly convex at x⁰, x⁰ is stationary, or the limit of 20,000 samples exceeds a
// thirtieth of F(x⁰) − F*.
func draw(seed uint64, index int) (*problem, error) {
	var err error
	for attempt := range uint64(100) {
		p, x0, y0, r := sketch(seed, index, attempt)
		if err = p.refer(x0); err == nil {
			p.rescale(r, x0, y0)
			return p, nil
		}
	}
	return nil, fmt.Errorf("zoo: seed %d, problem %d: 100 draws failed, the last: %w", seed, index, err)
}

// sketch draws a problem, its start, in the kind's units, without a reference.
func sketch(seed uint64, index int, attempt uint64) (p *problem, x0, y0 []float64, r *rand.Rand) {
	r = rand.New(rand.NewPCG(seed, uint64(index)<<8|attempt))
	nf, ng, stream := uint64(0), uint64(0), index%2 == 0
	if !stream {
		nf, ng = uint64(between(r, 20, 5000)), uint64(between(r, 20, 5000))
	}
	k := pick(r, kinds...)
	p = &problem{of: k.draw(r, nf, ng)}
	p.label = label{Index: index, Kind: k.name, Law: p.of.law.name, SetName: "box of weights", Stream: stream, Rate: p.of.law.rate}
	reach := 0.0
	if p.set = p.of.boxed; p.set == nil {
		p.SetName, p.set, reach = drawSet(r, p.of.dx)
	}
	x0, y0 = p.start(r, reach)
	p.exact = upperOf(p.of.fresh())
	return p, x0, y0, r
}

func (p *problem) start(r *rand.Rand, reach float64) (x0, y0 []float64) {
	dx, dy, most := p.of.dx, p.of.dy, cmp.Or(p.of.reach, math.Inf(1))
	far := min(between(r, 0.1, 1000), most)
	x0 = gaussians(r, dx, min(reach, most)/math.Sqrt(float64(dx)))
	if b, ok := p.set.(bilevel.Box); ok {
		corner := r.IntN(3) == 0
		for i := range x0 {
			share := r.Float64()
			if corner {
				share = math.Round(share)
			}
			x0[i] = min(max(b.Lo[i]+share*(b.Hi[i]-b.Lo[i]), -most), most)
		}
	}
	p.set.Project(x0, x0)
	if r.IntN(2) == 0 {
		return x0, gaussians(r, dy, far/math.Sqrt(float64(dy)))
	}
	return x0, make(vector, dy)
}

func (p *problem) refer(x0 []float64) (err error) {
	if p.f0, err = p.exact.at(x0); err != nil {
		return err
	}
	if p.star, err = p.exact.descend(p.set, x0); err != nil {
		return err
	}
	p.best = p.star.F
	if !(p.f0-p.best > 1e-6*math.Abs(p.best)) {
		return errors.New("x⁰ is stationary")
	}
	if !p.Stream {
		return nil
	}
	for again := p.of.noise != nil; ; again = false {
		if p.limit, p.noLimit = p.limitAt(p.star); p.noLimit != "" {
			return nil
		}
		share := p.limit.At(20000, 20000) / (p.f0 - p.best)
		switch {
		case !(share > 1./30):
			return nil
		case !again:
			return errors.New("x⁰ is within the noise")
		}
		*p.of.noise /= math.Sqrt(100 * share)
	}
}

func (p *problem) limitAt(at stationary) (observe.Limit, string) {
	of := cmp.Or(p.of.twin, p.of.sum)
	l, err := observe.LocalLimit(of.fresh(), at.X, observe.LimitOptions{Set: p.set})
	switch {
	case err != nil:
		return l, err.Error()
	case l.Free == 0:
		return l, "no entry of x is free"
	}
	return l, ""
}

func (p *problem) rescale(r *rand.Rand, x0, y0 []float64) {
	dx, dy := p.of.Dims()
	p.runIn, p.x0, p.y0 = p.set, x0, y0
	terms := "a stream"
	if u, l := p.of.Streams(); !p.Stream {
		terms = fmt.Sprintf("sums of %d and %d", u, l)
	} else if u > 0 {
		terms = fmt.Sprintf("streams of %d and %d rows", u, l)
	}
	foreign := ""
	_, box := p.set.(bilevel.Box)
	if _, space := p.set.(bilevel.Space); (box || space) && r.IntN(3) == 0 {
		foreign = ", units to 1e±6"
		p.units = units.Units{X: scales(r, dx, 12), Y: scales(r, dy, 12), F: between(r, 1e-3, 1e3), G: between(r, 1e-3, 1e3)}
		c := kit.Must(units.In(p.of.sum, p.units))
		p.runIn = kit.Must(c.Set(p.set))
		p.x0, p.y0 = make(vector, dx), make(vector, dy)
		c.X(p.x0, x0)
		c.Y(p.y0, y0)
	}
	p.About = fmt.Sprintf("%s, law %s, %s, %d × %d, %s%s; %s", p.Kind, p.Law, terms, dx, dy, p.SetName, foreign, p.of.about)
}

func (p *problem) fresh() bilevel.Problem {
	var q bilevel.Problem = p.of.fresh()
	if p.Stream {
		q = stream.Of(q)
	}
	if p.units.X == nil {
		return q
	}
	return kit.Must(units.In(q, p.units))
}

func (p *problem) base(x []float64) []float64 {
	z := slices.Clone(x)
	for i, u := range p.units.X {
		z[i] /= u
	}
	if p.units.X != nil {
		p.set.Project(z, z) // rounding
	}
	return z
}

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

func drawn[T any](n int, draw func() T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = draw()
	}
	return list
}

func gaussians(r *rand.Rand, n int, scale float64) []float64 {
	return drawn(n, func() float64 { return scale * r.NormFloat64() })
}

func scales(r *rand.Rand, d int, decades float64) []float64 {
	return drawn(d, func() float64 { return math.Pow(10, decades*(r.Float64()-0.5)) })
}

type reflection []float64

func (w reflection) apply(v []float64) { mat.Axpy(v, -2*mat.Dot(w, v), w) }

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
