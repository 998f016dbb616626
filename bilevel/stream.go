package bilevel

import (
	"math/rand/v2"

	"stable/bilevel/option"
)

// Full as a batch size asks for the exact value.
const Full = option.Full

// stream draws indices of a finite sum, or seeds of a simulator, independently and uniformly.
type stream struct {
	size  uint64 // of the finite sum; 0: unbounded
	pcg   rand.PCG
	buf   []Sample
	count *uint64
}

func newStream(size, seed, id uint64, count *uint64) *stream {
	s := &stream{size: size, count: count}
	s.pcg.Seed(seed, id)
	return s
}

// draw returns n samples, the usual number for n = 0, none for Full; in passes of p if not nil.
func (s *stream) draw(p *Passes, n, usual int) []Sample {
	option.Default(&n, usual)
	switch {
	case n == Full:
		*s.count += batchSize(0, s.size)
		return nil
	case n < 0:
		panic("bilevel: Iteration: a negative number of samples")
	case p != nil && uint64(len(p.terms)) != s.size:
		panic("bilevel: Iteration: Passes over a sum of another size")
	}
	if cap(s.buf) < n {
		s.buf = make([]Sample, n)
	}
	s.buf = s.buf[:n]
	rng := rand.New(&s.pcg)
	for i := range s.buf {
		switch {
		case p != nil:
			s.buf[i] = p.next(rng)
		case s.size == 0:
			s.buf[i] = Sample(s.pcg.Uint64())
		default:
			s.buf[i] = Sample(rng.Uint64N(s.size))
		}
	}
	*s.count += uint64(n)
	return s.buf
}

// Passes draws the terms of a finite sum in passes, in each of them every term once, in random
// order. A method makes one in Start, passes it to Iteration.DrawXiIn or DrawPhiIn, and visits it
// in its State: 8 bytes for each term.
//
// The errors of all terms cancel over a pass, which helps a table or a running mean. But a
// recursion that relies on E[sample | past] = mean, as STORM does, is biased.
type Passes struct {
	terms []Sample
	done  int // terms[:done] are drawn in this pass
}

// NewPasses returns passes over a sum of so many terms, and nil, which draws independent samples,
// for 0, a stream without end.
func NewPasses(terms uint64) *Passes {
	if terms == 0 {
		return nil
	}
	p := &Passes{terms: make([]Sample, terms)}
	for i := range p.terms {
		p.terms[i] = Sample(i)
	}
	return p
}

func (p *Passes) next(rng *rand.Rand) Sample {
	if p.done == len(p.terms) {
		p.done = 0
	}
	i, j := p.done, p.done+int(rng.Uint64N(uint64(len(p.terms)-p.done)))
	p.terms[i], p.terms[j] = p.terms[j], p.terms[i]
	p.done++
	return p.terms[i]
}

// State visits where the pass stands.
func (p *Passes) State(t *State) {
	if p == nil {
		return
	}
	t.Count(&p.done)
	for i := range p.terms {
		t.Uint((*uint64)(&p.terms[i]))
	}
	t.After(p.check)
}

func (p *Passes) check() error {
	seen := make([]bool, len(p.terms))
	for _, i := range p.terms {
		if i >= Sample(len(seen)) || seen[i] {
			return damaged("the order of a pass is none")
		}
		seen[i] = true
	}
	if p.done > len(p.terms) {
		return damaged("a pass is longer than the sum")
	}
	return nil
}

// Drawn returns the terms that this pass has given so far, in their order: to be read only, valid
// until the next draw.
func (p *Passes) Drawn() []Sample {
	if p == nil {
		return nil
	}
	return p.terms[:p.done]
}

// Past gives the names that a run drew from a stream without Passes once more, in their order. It
// keeps none, but runs the generator again. A name given again is no new sample. Iteration.PastXi
// and PastPhi make it.
type Past struct {
	stream
	first rand.PCG
	given uint64
}

func newPast(size, seed, id uint64) *Past {
	p := &Past{stream: *newStream(size, seed, id, nil)}
	p.count, p.first = &p.given, p.pcg
	return p
}

// Rewind makes the first name the next one.
func (p *Past) Rewind() { p.pcg, p.given = p.first, 0 }

// Next returns the next n names, valid until the next call, and then those of samples to come. It
// allocates only where n is larger than ever before.
func (p *Past) Next(n int) []Sample { return p.draw(nil, n, n) }
