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
func (s *stream) draw(n int) []Sample {
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
		if s.size == 0 {
			s.buf[i] = Sample(rng.Uint64())
		} else {
			s.buf[i] = Sample(rng.Uint64N(s.size))
		}
	}
	*s.count += uint64(n)
	return s.buf
}
