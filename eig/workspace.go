package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// maxAbs returns max |a|, or an error that names the first entry that is not finite.
func maxAbs(a *mat.Sym) (float64, error) {
	const sign = 1 << 63
	m := uint64(0) // without their signs, float64s are ordered as their bits, NaN last
	for i := range a.N {
		for _, v := range a.Row(i) {
			m = max(m, math.Float64bits(v)&^sign)
		}
	}
	if v := math.Float64frombits(m); v <= math.MaxFloat64 {
		return v, nil
	}
	for i := range a.N {
		for j, v := range a.Row(i) {
			if !(math.Abs(v) <= math.MaxFloat64) {
				return 0, &NotFiniteError{I: i, J: j, Value: v}
			}
		}
	}
	panic("eig: maxAbs: no such entry")
}

// power returns the power of two that brings m, or a subnormal m as far as possible, near 1.
func power(m float64) float64 {
	_, e := math.Frexp(m)
	return math.Ldexp(1, -max(-1023, min(e, 1000)))
}

// scaleFor returns the power of two that brings m near 2⁹⁶⁰: no sum overflows, and small entries
// have the range below.
func scaleFor(m float64) float64 {
	if m == 0 {
		return 1
	}
	_, e := math.Frexp(m)
	return math.Ldexp(1, min(960-e, 1000))
}

// grow returns x with length n, in its memory if it suffices, not cleared.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// stride returns the distance of rows of length n: an odd number of cache lines, so that a column
// spreads over the sets of the cache.
func stride(n int) int {
	if n < 32 {
		return n
	}
	return (n+7)/16*16 + 8
}

func resize(d *mat.Dense, rows, cols int) {
	*d = mat.Dense{Rows: rows, Cols: cols, Stride: cols, Data: grow(d.Data, rows*cols)}
}

func resizeSym(s *mat.Sym, n int) {
	*s = mat.Sym{N: n, Stride: n, Data: grow(s.Data, n*n)}
}

func scaleBy(x []float64, s float64) {
	for j := range x {
		x[j] *= s
	}
}

// normalize scales x to length 1, unless it is 0, and returns its length.
func normalize(x []float64) float64 {
	length := mat.Norm(x)
	if !(length > 0 && length <= math.MaxFloat64) {
		return 0
	}
	scaleBy(x, 1/length)
	return length
}

func addGram(s *mat.Sym, z *mat.Dense) {
	const few = 8 // up to which packing does not pay
	if z.Rows > few {
		mat.RankKTrans(s, 1, z)
		return
	}
	var buf [few]float64
	c := buf[:z.Rows]
	for i := range s.N {
		for r := range c {
			c[r] = -z.Data[r*z.Stride+i]
		}
		kernel.SubRows(s.Row(i), c, z.Data, z.Stride)
	}
}

type sorter struct {
	perm []int
	row  []float64
}

func (s *sorter) reserve(n int) {
	s.perm = slices.Grow(s.perm[:0], n)[:n]
	s.row = grow(s.row, n)
}

func (s *sorter) ascend(d []float64, v *mat.Dense) {
	if slices.IsSorted(d) {
		return
	}
	s.reserve(len(d))
	perm, row := s.perm, s.row
	for i := range perm {
		perm[i] = i
		// insertion, stable: perm[:i] is in order
		for j := i; j > 0 && d[perm[j]] < d[perm[j-1]]; j-- {
			perm[j], perm[j-1] = perm[j-1], perm[j]
		}
	}
	copy(row, d)
	for i, p := range perm {
		d[i] = row[p]
	}
	for i := range perm {
		if perm[i] < 0 || perm[i] == i {
			continue
		}
		copy(row, v.Row(i))
		k := i
		for perm[k] != i {
			from := perm[k]
			copy(v.Row(k), v.Row(from))
			perm[k], k = -1, from
		}
		copy(v.Row(k), row)
		perm[k] = -1
	}
}
