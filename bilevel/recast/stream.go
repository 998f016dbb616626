package recast

import (
	"math/bits"

	"stable/bilevel"
	"stable/mat"
)

// Streamed is a problem whose samples come from unbounded streams. Stream makes one.
type Streamed struct {
	in           completed
	upper, lower uint64
	xi, phi      []bilevel.Sample // scratch: indices
}

// Stream returns p, which it keeps, with each finite sum read as an unbounded stream: any name is a
// sample, a term of the sum drawn uniformly with replacement by a hash of the name. Expectations,
// and so empty batches, are those of the sum. A method cannot keep a table of such samples, and in
// the long run none is better than observe.LocalLimit.
func Stream(p bilevel.Problem) *Streamed {
	s := &Streamed{in: complete(p)}
	s.upper, s.lower = p.Streams()
	return s
}

// indices writes the terms that names stand for into buf, and returns it.
func indices(buf *[]bilevel.Sample, names []bilevel.Sample, size uint64) []bilevel.Sample {
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

func (s *Streamed) of(xi []bilevel.Sample) []bilevel.Sample     { return indices(&s.xi, xi, s.upper) }
func (s *Streamed) under(phi []bilevel.Sample) []bilevel.Sample { return indices(&s.phi, phi, s.lower) }

func (s *Streamed) Dims() (dx, dy int) { return s.in.Dims() }

// Streams returns 0 twice.
func (s *Streamed) Streams() (upper, lower uint64) { return 0, 0 }

func (s *Streamed) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return s.in.GradF(fx, fy, x, y, s.of(xi))
}

func (s *Streamed) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return s.in.GradG(gy, x, y, s.under(phi))
}

func (s *Streamed) ConvexityAt(x []float64) float64 { return s.in.ConvexityAt(x) }

func (s *Streamed) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return s.in.GradXG(gx, x, y, s.under(phi))
}

func (s *Streamed) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return s.in.CrossG(gxy, x, y, s.under(phi))
}

func (s *Streamed) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return s.in.HessG(gyy, x, y, s.under(phi))
}

func (s *Streamed) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.in.HessVecG(dst, x, y, v, s.under(phi))
}

func (s *Streamed) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.in.CrossVecG(dst, x, y, v, s.under(phi))
}

func (s *Streamed) Solution(y, x []float64) error { return s.in.Solution(y, x) }

func (s *Streamed) Objective(grad, x []float64) (float64, error) { return s.in.Objective(grad, x) }

func (s *Streamed) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return s.in.ValueF(x, y, s.of(xi))
}

func (s *Streamed) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return s.in.ValueG(x, y, s.under(phi))
}
