package saa

import (
	"errors"

	"stable/bilevel"
	"stable/mat"
)

// side is one of both kinds of samples: ξ with f, or φ with g.
type side struct {
	terms   uint64          // of the finite sum; 0: a stream
	order   *bilevel.Passes // of a sum
	past    *bilevel.Past   // of a stream
	draw    func(p *bilevel.Passes, n int) []bilevel.Sample
	batch   int  // that a step draws
	least   int  // the smaller batch, or that which is not Full: blocks hold multiples of it
	exact   bool // batches are Full
	beside  bool // a stream: terms of a known sum count as drawn, and are not asked
	hasMean bool // the empty batch gives the mean of the whole sum

	n     int                     // samples drawn, each of another draw
	goal  int                     // n at the end of the block
	used  int                     // of the pass that a step on a whole sum takes
	size  int                     // samples that are asked at once
	wait  []bilevel.Sample        // drawn, and not yet asked
	names [largest]bilevel.Sample // scratch
}

// left is the share of the variance of a sample that the mean of n still has: 1 on a stream, 1 − n/N
// on a sum of N terms drawn in passes.
func (s *side) left() float64 {
	switch {
	case s.whole():
		return 0
	case s.terms > 0:
		return 1 - float64(s.n)/float64(s.terms)
	}
	return 1
}

// aim sets the goal of the next block, in whole batches.
func (s *side) aim(n int) {
	if s.goal = s.n + max(1, (n-s.n+s.least-1)/s.least)*s.least; s.terms > 0 {
		s.goal = int(min(uint64(s.goal), s.terms))
	}
	s.size = min(max((s.goal-s.n)/8, 1), largest)
}

// take draws a step's new samples or, if again, its share of a pass over a known sum, and returns their number.
func (s *side) take(again bool) int {
	n := s.batch
	switch {
	case s.exact:
		s.draw(nil, bilevel.Full)
		s.n, s.used = 1, 1
		return 1
	case s.whole():
		if left := int(s.terms) - s.used; again && left > 0 {
			n = min(n, left)
			s.draw(s.order, n)
			s.used += n
			return n
		} else if s.beside {
			s.draw(s.order, n)
		}
	case s.n < s.goal:
		n = min(n, s.goal-s.n)
		s.wait = append(s.wait, s.draw(s.order, n)...)
		s.n += n
		return n
	}
	return 0
}

// ready says that the block or pass is complete.
func (s *side) ready(again bool) bool {
	switch {
	case s.exact:
		return s.used > 0
	case s.whole():
		return !again || s.used == int(s.terms)
	}
	return s.n >= s.goal
}

// each calls ask with groups of all samples so far and their weights. A nil group is the exact mean.
func (s *side) each(most int, ask func(group []bilevel.Sample, weight float64) error) error {
	if s.hasMean && s.whole() {
		err := ask(nil, float64(s.n))
		if s.exact || !errors.Is(err, bilevel.ErrNoExact) {
			return err
		}
		s.hasMean = false
	}
	n := min(s.n, most)
	size := min(max(n/64, 1), largest) // asked at once
	s.past.Rewind()
	for at := 0; at < n; at += size {
		k := min(size, n-at)
		group := s.group(at, k)
		if err := ask(group, float64(k)); err != nil {
			return err
		}
	}
	return nil
}

// mean calls ask with groups of the first samples, most at most, and writes the means of what that
// wrote to a and b into toA and toB.
func (s *side) mean(most int, toA, toB, a, b []float64, ask func(group []bilevel.Sample) error) error {
	clear(toA)
	clear(toB)
	total := 0.0
	err := s.each(most, func(group []bilevel.Sample, n float64) error {
		if err := ask(group); err != nil {
			return err
		}
		total += n
		mat.Axpy(toA, n, a)
		mat.Axpy(toB, n, b)
		return nil
	})
	for _, to := range [...][]float64{toA, toB} {
		for i := range to {
			to[i] /= max(total, 1)
		}
	}
	return err
}

// group returns the names at … at+k−1.
func (s *side) group(at, k int) []bilevel.Sample {
	switch {
	case s.terms == 0:
		return s.past.Next(k)
	case s.whole():
		for i := range k {
			s.names[i] = bilevel.Sample(at + i)
		}
		return s.names[:k]
	}
	return s.order.Drawn()[at : at+k]
}

func (s *side) whole() bool { return s.exact || s.terms > 0 && uint64(s.n) == s.terms }

func (s *side) State(t *bilevel.State) {
	s.order.State(t)
	each(t.Count, &s.n, &s.goal, &s.used, &s.size)
	t.Flag(&s.hasMean)
	n := len(s.wait)
	t.Count(&n)
	s.wait = s.wait[:cap(s.wait)]
	for i := range s.wait {
		t.Uint((*uint64)(&s.wait[i]))
	}
	t.After(func() error {
		if n > len(s.wait) || s.size < 1 {
			return errors.New("saa: a damaged block")
		}
		return nil
	})
	s.wait = s.wait[:min(n, cap(s.wait))]
}
