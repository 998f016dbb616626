package bilevel

import (
	"math/rand/v2"

	"stable/bilevel/option"
)

// Full as a batch size asks for the exact value at every step instead of for samples.
const Full = option.Full

// stream draws the samples of one random variable, independently and uniformly: indices with
// replacement from a finite sum, or seeds of a simulator.
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

// drawOr is draw; if n is 0, it draws the usual number of samples.
func (s *stream) drawOr(n, usual int) []Sample {
	switch {
	case n == 0:
		n = usual
	case n < 0 && n != Full:
		panic("bilevel: Iteration: a negative number of samples")
	}
	return s.draw(n)
}

// draw returns a batch of n samples, valid until the next draw; an empty one (the exact value) if n
// is Full.
func (s *stream) draw(n int) []Sample { return s.drawIn(nil, n) }

// drawIn is draw, in passes where p is not nil.
func (s *stream) drawIn(p *passes, n int) []Sample {
	if n == Full {
		*s.count += batchSize(0, s.size)
		return nil
	}
	if cap(s.buf) < n {
		s.buf = make([]Sample, n)
	}
	s.buf = s.buf[:n]
	rng := rand.New(&s.pcg)
	for i := range s.buf {
		switch {
		case p != nil:
			s.buf[i] = p.draw(rng)
		case s.size == 0:
			s.buf[i] = Sample(rng.Uint64())
		default:
			s.buf[i] = Sample(rng.Uint64N(s.size))
		}
	}
	*s.count += uint64(n)
	return s.buf
}

// passes draws the terms of a finite sum in passes: in each one every term once, in an order of its
// own.
type passes struct {
	terms []Sample
	next  int // terms[:next] are drawn in this pass
}

func newPasses(size int) *passes {
	p := &passes{terms: make([]Sample, size)}
	for i := range p.terms {
		p.terms[i] = Sample(i)
	}
	return p
}

func (p *passes) draw(rng *rand.Rand) Sample {
	if p.next == len(p.terms) {
		p.next = 0
	}
	i, j := p.next, p.next+int(rng.Uint64N(uint64(len(p.terms)-p.next)))
	p.terms[i], p.terms[j] = p.terms[j], p.terms[i]
	p.next++
	return p.terms[i]
}

func (p *passes) State(t *State) {
	t.count(&p.next)
	for i := range p.terms {
		t.Uint((*uint64)(&p.terms[i]))
	}
	t.After(p.check)
}

// check refuses what is not an order of all terms.
func (p *passes) check() error {
	there := make([]bool, len(p.terms))
	for _, i := range p.terms {
		if i >= Sample(len(there)) || there[i] {
			return damaged("the order of a pass is none")
		}
		there[i] = true
	}
	if p.next > len(p.terms) {
		return damaged("a pass is longer than the sum")
	}
	return nil
}
