// Package stream reads the finite sums of a problem as unbounded streams, to see what a method does
// where it cannot keep a table.
package stream

import (
	"math/bits"

	"stable/bilevel"
	"stable/mat"
)

// Problem is a problem whose samples come from unbounded streams. Of makes one.
type Problem struct {
	*bilevel.Completed
	upper, lower uint64
	xi, phi      []bilevel.Sample // scratch: terms
}

// Of returns p, which it keeps, with each finite sum read as an unbounded stream: any name is a
// sample, a term of the sum drawn uniformly with replacement by a hash of the name. Expectations,
// and so empty batches, are those of the sum. In the long run no method is better on it than
// observe.LocalLimit. Where p lacks an optional interface, see bilevel.Complete.
func Of(p bilevel.Problem) *Problem {
	s := &Problem{Completed: bilevel.Complete(p)}
	s.upper, s.lower = p.Streams()
	return s
}

// terms writes the terms that names stand for into buf, and returns it.
func terms(buf *[]bilevel.Sample, names []bilevel.Sample, size uint64) []bilevel.Sample {
	if size == 0 {
		return names
	}
	*buf = (*buf)[:0]
	for _, n := range names {
		// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), then ⌊size·z/2⁶⁴⌋.
		z := uint64(n) + 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		i, _ := bits.Mul64(z^z>>31, size)
		*buf = append(*buf, bilevel.Sample(i))
	}
	return *buf
}

func (s *Problem) up(xi []bilevel.Sample) []bilevel.Sample   { return terms(&s.xi, xi, s.upper) }
func (s *Problem) low(phi []bilevel.Sample) []bilevel.Sample { return terms(&s.phi, phi, s.lower) }

func (s *Problem) Streams() (upper, lower uint64) { return 0, 0 }

func (s *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return s.Completed.GradF(fx, fy, x, y, s.up(xi))
}

func (s *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return s.Completed.GradG(gy, x, y, s.low(phi))
}

func (s *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return s.Completed.GradXG(gx, x, y, s.low(phi))
}

func (s *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return s.Completed.CrossG(gxy, x, y, s.low(phi))
}

func (s *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return s.Completed.HessG(gyy, x, y, s.low(phi))
}

func (s *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.Completed.HessVecG(dst, x, y, v, s.low(phi))
}

func (s *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.Completed.CrossVecG(dst, x, y, v, s.low(phi))
}

func (s *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return s.Completed.ValueF(x, y, s.up(xi))
}

func (s *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return s.Completed.ValueG(x, y, s.low(phi))
}
