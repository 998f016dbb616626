package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/stream"
	"stable/bilevel/units"
)

// Problem is one drawn problem.
type Problem struct {
	Index              int
	Kind, Law, SetName string
	About              string
	Stream             bool
	Rate               float64 // of the rare events of the law; 0: none
	Set                bilevel.Set
	X0, Y0             []float64
	F0, Best           float64       // F(x⁰), and the least F found
	Star               Stationary    // where exact descent from x⁰ leads
	Limit              observe.Limit // there; of a stream
	NoLimit            string        // why it has none

	of     species
	set    bilevel.Set // in the units in which it was drawn, as Star and of are
	units  units.Units
	scaled bool
}

// Draw draws problem index of a seed: even ones are streams, odd ones sums. It draws again where
// g's mean is not strongly convex at x⁰, x⁰ is stationary, or the limit of 20,000 samples exceeds a
// thirtieth of F(x⁰) − F*.
func Draw(seed uint64, index int) (*Problem, error) {
	var err error
	for attempt := range uint64(100) {
		p, x0, y0, r := sketch(seed, index, attempt)
		if err = p.refer(x0); err == nil {
			return p, p.rescale(r, x0, y0)
		}
	}
	return nil, fmt.Errorf("zoo: seed %d, problem %d: 100 draws failed, the last: %w", seed, index, err)
}

// sketch draws a problem with its start, in the kind's units, without a reference.
func sketch(seed uint64, index int, attempt uint64) (p *Problem, x0, y0 []float64, r *rand.Rand) {
	r = rand.New(rand.NewPCG(seed, uint64(index)<<8|attempt))
	p = &Problem{Index: index, Stream: index%2 == 0}
	nf, ng := uint64(0), uint64(0)
	if !p.Stream {
		nf, ng = uint64(between(r, 20, 5000)), uint64(between(r, 20, 5000))
	}
	k := kinds[r.IntN(len(kinds))]
	p.of = k.draw(r, nf, ng)
	p.Kind, p.Law, p.Rate = k.name, p.of.law, p.of.rate
	dx, _ := p.of.Dims()
	reach := 0.0
	if p.SetName, p.set = "box of weights", p.of.boxed; p.set == nil {
		p.SetName, p.set, reach = drawSet(r, dx)
	}
	x0, y0 = p.start(r, reach)
	p.of.sum = p.of.fresh()
	return p, x0, y0, r
}

// start draws x⁰ in the set and y⁰, which is 0 in every other problem.
func (p *Problem) start(r *rand.Rand, reach float64) (x0, y0 []float64) {
	dx, dy := p.of.Dims()
	far := between(r, 0.1, 1000)
	if p.of.reach > 0 {
		reach, far = min(reach, p.of.reach), min(far, p.of.reach)
	}
	x0 = gaussians(r, dx, reach/math.Sqrt(float64(dx)))
	if b, ok := p.set.(bilevel.Box); ok {
		corner := r.IntN(3) == 0
		for i := range x0 {
			share := r.Float64()
			if corner {
				share = math.Round(share)
			}
			x0[i] = b.Lo[i] + share*(b.Hi[i]-b.Lo[i])
			if p.of.reach > 0 {
				x0[i] = min(max(x0[i], -p.of.reach), p.of.reach)
			}
		}
	}
	p.set.Project(x0, x0)
	y0 = make([]float64, dy)
	if r.IntN(2) == 0 {
		copy(y0, gaussians(r, dy, far/math.Sqrt(float64(dy))))
	}
	return x0, y0
}

// refer finds F(x⁰), a stationary point from there, and a stream's limit.
func (p *Problem) refer(x0 []float64) error {
	var err error
	if p.F0, err = p.of.Objective(nil, x0); err != nil {
		return err
	}
	if p.Star, err = p.of.descend(p.set, x0); err != nil {
		return err
	}
	p.Best = p.Star.F
	if !(p.F0-p.Best > 1e-6*math.Abs(p.Best)) {
		return fmt.Errorf("x⁰ is stationary")
	}
	if !p.Stream {
		return nil
	}
	if p.Limit, p.NoLimit = p.limit(p.Star); p.NoLimit != "" {
		return nil
	}
	if share := p.Limit.At(20000, 20000) / (p.F0 - p.Best); share > 1./30 {
		if p.of.noise == nil {
			return fmt.Errorf("x⁰ is within the noise")
		}
		*p.of.noise /= math.Sqrt(100 * share)
		p.Limit, p.NoLimit = p.limit(p.Star)
		if p.Limit.At(20000, 20000) > (p.F0-p.Best)/30 {
			return fmt.Errorf("x⁰ is within the noise")
		}
	}
	return nil
}

// limit is that of the samples at a stationary point, or why there is none.
func (p *Problem) limit(at Stationary) (observe.Limit, string) {
	of := p.of.sum
	if p.of.twin != nil {
		of = p.of.twin
	}
	l, err := observe.LocalLimit(of.fresh(), at.X, observe.LimitOptions{Set: p.set})
	switch {
	case err != nil:
		return l, err.Error()
	case l.Free == 0:
		return l, "no entry of x is free"
	}
	return l, ""
}

// rescale chooses units, in a third of the problems with a box or none.
func (p *Problem) rescale(r *rand.Rand, x0, y0 []float64) error {
	dx, dy := p.of.Dims()
	p.Set, p.X0, p.Y0 = p.set, x0, y0
	terms := "a stream"
	if u, l := p.of.Streams(); !p.Stream {
		terms = fmt.Sprintf("sums of %d and %d", u, l)
	} else if u > 0 {
		terms = fmt.Sprintf("streams of %d and %d rows", u, l)
	}
	foreign := ""
	_, box := p.set.(bilevel.Box)
	if _, space := p.set.(bilevel.Space); (box || space) && r.IntN(3) == 0 {
		p.scaled, foreign = true, ", units to 1e±6"
		p.units = units.Units{X: scales(r, dx, 12), Y: scales(r, dy, 12), F: between(r, 1e-3, 1e3), G: between(r, 1e-3, 1e3)}
		c, err := units.In(p.of.sum, p.units)
		if err != nil {
			return err
		}
		if p.Set, err = c.Set(p.set); err != nil {
			return err
		}
		p.X0, p.Y0 = make([]float64, dx), make([]float64, dy)
		c.X(p.X0, x0)
		c.Y(p.Y0, y0)
	}
	p.About = fmt.Sprintf("%s, law %s, %s, %d × %d, %s%s; %s", p.Kind, p.Law, terms, dx, dy, p.SetName, foreign, p.of.about)
	return nil
}

// Fresh returns the problem for one goroutine.
func (p *Problem) Fresh() bilevel.Problem {
	var q bilevel.Problem = p.of.fresh()
	if p.Stream {
		q = stream.Of(q)
	}
	if p.scaled {
		s, err := units.In(q, p.units)
		if err != nil {
			panic(err) // draw has tried
		}
		q = s
	}
	return q
}

// base writes x in the units in which the problem was drawn.
func (p *Problem) base(x []float64) []float64 {
	z := append([]float64(nil), x...)
	if p.scaled {
		for i := range z {
			z[i] /= p.units.X[i]
		}
		p.set.Project(z, z) // rounding
	}
	return z
}
