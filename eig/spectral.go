package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// spectral finds eigenvalues of A = Q·T·Qᵀ from the tridiagonal T, and eigenvectors by a twisted
// factorisation each or, where eigenvalues are too close, by QL.
type spectral struct {
	reduction
	twisted
	e2     []float64 // squares of e
	values []float64 // eigenvalues of scale·A; ascending within each block of T
	ends   []int     // ends[b] is one past the last row of block b of T
	todo   []int     // for guess
	scale  float64
	norm   float64 // ‖T‖_∞ ≥ ‖T‖₂
	drop   float64 // off-diagonal entries up to this size are rounding
}

func (s *spectral) factor(a *mat.Sym, m float64) {
	s.scale = power(m, 0)
	s.reserve(a.N)
	s.reduce(a, s.scale)
	s.split()
}

// load is factor for a tridiagonal matrix.
func (s *spectral) load(d, e []float64) {
	s.reserve(len(d))
	copy(s.d, d)
	copy(s.e, e)
	s.e[len(e)] = 0
	m := 0.0
	for i, v := range s.d {
		m = max(m, math.Abs(v), math.Abs(s.e[i]))
	}
	s.scale = power(m, 0)
	kernel.Scale(s.d, s.scale, s.d)
	kernel.Scale(s.e, s.scale, s.e)
	s.split()
}

func (s *spectral) reserve(n int) {
	if s.n == n {
		return
	}
	s.reduction.reserve(n)
	s.e2, s.values = grow(s.e2, n), grow(s.values, n)
	s.ends = slices.Grow(s.ends[:0], n)
	s.todo = slices.Grow(s.todo[:0], n)[:n]
	s.twisted.size(n)
}

func (s *spectral) noConvergence() error {
	return &NoConvergenceError{Sweeps: qlCap, OffNorm: mat.Norm(s.e) / s.scale}
}

// split cuts T where an off-diagonal entry is within its rounding.
func (s *spectral) split() {
	norm, left := 0.0, 0.0
	for i, right := range s.e {
		if sum := math.Abs(s.d[i]) + math.Abs(left) + math.Abs(right); sum > norm {
			norm = sum
		}
		left = right
	}
	s.norm = norm
	s.ends = s.ends[:0]
	s.drop = max(4*eps*math.Sqrt(float64(s.n))*norm, pivMin)
	for i, e := range s.e {
		if math.Abs(e) <= s.drop {
			s.ends = append(s.ends, i+1)
			s.e[i] = 0
		}
		s.e2[i] = s.e[i] * s.e[i]
	}
}

// eigenvalues reports whether it found all: they ascend in each block.
func (s *spectral) eigenvalues() bool {
	first := 0
	for _, end := range s.ends {
		values := s.values[first:end]
		copy(values, s.d[first:end])
		if !tridiagonalValues(values, s.e2[first:end], s.norm) {
			return false
		}
		first = end
	}
	return true
}

func (s *spectral) below(dst []float64, mu float64) []float64 {
	for _, v := range s.values {
		if v /= s.scale; v < mu {
			dst = append(dst, v)
		}
	}
	return dst
}

// block is an unreduced block of T, some of its eigenvalues, ascending, and a row of z for each.
type block struct {
	d, e   []float64
	lambda []float64
	z      mat.Dense
}

// vectors writes eigenvectors of T for the eigenvalues below mu, or for the others, to the rows of
// z, k × n, and those of A to lambda. QL needs n² scratch, unless all are wanted; false without, or
// if it does not converge.
func (s *spectral) vectors(z *mat.Dense, lambda []float64, mu float64, below bool, scratch []float64) bool {
	if len(s.ends) > 1 {
		for i := range z.Rows {
			clear(z.Row(i))
		}
	}
	unit := 1 / s.scale
	row, first := 0, 0
	for _, end := range s.ends {
		values, k := s.values[first:end], 0
		for k < len(values) && values[k]*unit < mu {
			k++
		}
		if values = values[k:]; below {
			values = s.values[first : first+k]
		}
		k = len(values)
		b := block{s.d[first:end], s.e[first:end], lambda[row : row+k], z.View(row, first, k, end-first)}
		if !s.byTwisted(&b, values, mu, below) && !s.byQL(&b, values, below, scratch) {
			return false
		}
		row += k
		first = end
	}
	kernel.Scale(lambda, unit, lambda)
	return true
}

func (s *spectral) byTwisted(b *block, values []float64, mu float64, below bool) bool {
	copy(b.lambda, values)
	if !s.pairs(b) {
		return false
	}
	for i, v := range b.lambda {
		// A vector may belong to another eigenvalue of its cluster, not to one beyond mu.
		if (v/s.scale < mu) != below && math.Abs(v-values[i]) > s.rounding() {
			return false
		}
	}
	return true
}

func (s *spectral) byQL(b *block, values []float64, below bool, scratch []float64) bool {
	m, k := len(b.d), len(values)
	q, first := b.z, 0
	if k < m {
		if len(scratch) < m*m {
			return false
		}
		q = mat.Dense{Rows: m, Cols: m, Stride: m, Data: scratch}
	}
	d, e := s.w[:m], s.y[:m]
	copy(d, b.d)
	copy(e, b.e)
	if !qlVectors(&q, d, e, s.drop) {
		return false
	}
	if k < m {
		if !below {
			first = m - k
		}
		q = q.View(first, 0, k, m)
		mat.Copy(&b.z, &q)
	}
	copy(b.lambda, values)
	return true
}

// improve is vectors for roughly known eigenvalues, which Rayleigh quotients correct.
func (s *spectral) improve(z *mat.Dense, lambda []float64, mu float64) bool {
	kernel.Scale(lambda, s.scale, lambda)
	ok := s.pairs(&block{s.d, s.e, lambda, *z})
	for i := range lambda {
		lambda[i] /= s.scale
		ok = ok && lambda[i] < mu
	}
	return ok
}

// near is the distance over norm below which vectors are made orthogonal; others are to eps/near.
const near = 0x1p-4

// pairs computes the vectors of b, and reports whether they are orthonormal eigenvectors.
func (s *spectral) pairs(b *block) bool {
	s.guess(b)
	rounding := s.rounding()
	for k, v := range b.lambda {
		if !(s.separate(b, k) > 0.7 && residual(b.z.Row(k), b.d, b.e, v) <= rounding) {
			return false
		}
	}
	return true
}

func (s *spectral) rounding() float64 { return 4 * eps * float64(s.n) * s.norm }

// guess computes each vector; Rayleigh quotients replace inaccurate eigenvalues, up to twice.
func (s *spectral) guess(b *block) {
	todo := s.todo[:len(b.lambda)]
	for k := range todo {
		todo[k] = k
	}
	tol := 8 * eps * s.norm
	for try := 0; len(todo) > 0; try++ {
		again := todo[:0]
		for len(todo) > 0 {
			group := todo[:min(abreast, len(todo))]
			todo = todo[len(group):]
			var v [abreast]float64
			for i, k := range group {
				v[i&(abreast-1)] = b.lambda[k]
			}
			s.twist(b.d, b.e, v)
			for i, k := range group {
				x := b.z.Row(k)
				gamma, ssq := s.vector(x, b.e, i)
				length := math.Sqrt(ssq)
				if try < 2 && !(math.Abs(gamma) <= tol*length) {
					b.lambda[k] += gamma / ssq
					again = append(again, k)
					continue
				}
				kernel.Scale(x, 1/length, x)
			}
		}
		todo = again
	}
}

// separate makes row k of length 1, orthogonal to earlier rows of near eigenvalues, and returns what was left.
func (s *spectral) separate(b *block, k int) float64 {
	x := b.z.Row(k)
	i := k - 1
	for ; i >= 0 && b.lambda[k]-b.lambda[i] <= near*s.norm; i-- {
		y := b.z.Row(i)
		mat.Axpy(x, -mat.Dot(x, y), y)
	}
	if i == k-1 {
		return 1
	}
	return normalize(x)
}
