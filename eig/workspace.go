package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// maxAbs returns max |a|, or an error that names the first entry that is not finite.
func maxAbs(a *mat.Sym) (float64, error) {
	m := uint64(0)
	for i := range a.N {
		for _, v := range a.Data[i*a.Stride:][:i+1] {
			m = max(m, size(v))
		}
	}
	if v := math.Float64frombits(m >> 1); v <= math.MaxFloat64 {
		return v, nil
	}
	i, j := 0, 0
	for size(a.Data[i*a.Stride+j]) <= size(math.MaxFloat64) {
		if j++; j > i {
			i, j = i+1, 0
		}
	}
	return 0, &NotFiniteError{I: i, J: j, Value: a.Data[i*a.Stride+j]}
}

// size orders float64s by magnitude, NaN last.
func size(v float64) uint64 { return math.Float64bits(v) << 1 }

// power returns the power of two that brings m, or a tiny m as far as possible, near 2^exp.
func power(m float64, exp int) float64 {
	_, e := math.Frexp(m)
	return math.Ldexp(1, max(-1000, min(exp-e, 1023)))
}

// stride is the distance of rows of length n: an odd number of cache lines, to spread columns over the cache.
func stride(n int) int {
	if n < 32 {
		return n
	}
	return (n+7)/16*16 + 8
}

func resize(d *mat.Dense, rows, cols int) {
	*d = mat.Dense{Rows: rows, Cols: cols, Stride: cols, Data: grow(d.Data, rows*cols)}
}

func resizeSym(s *mat.Sym, n int) { *s = mat.Sym{N: n, Stride: n, Data: grow(s.Data, n*n)} }

func refuse(when bool, name, why string) {
	if when {
		panic(name + why)
	}
}

// grow returns x with length n, not cleared.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// normalize scales x to length 1, unless it is 0, and returns what it had.
func normalize(x []float64) float64 {
	length := mat.Norm(x)
	if !(length > 0 && length <= math.MaxFloat64) {
		return 0
	}
	kernel.Scale(x, 1/length, x)
	return length
}

// ascend sorts d, and the rows of v with it, by fewest exchanges.
func ascend(d []float64, v *mat.Dense) {
	if slices.IsSorted(d) {
		return
	}
	for i := range d {
		least := i
		for j := i + 1; j < len(d); j++ {
			if d[j] < d[least] {
				least = j
			}
		}
		if least == i {
			continue
		}
		d[i], d[least] = d[least], d[i]
		x, y := v.Row(i), v.Row(least)
		for j, g := range x {
			x[j], y[j] = y[j], g
		}
	}
}
