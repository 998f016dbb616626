package eig

import (
	"math"
	"slices"

	"stable/mat"
)

// spectral finds eigenvalues of A = Q·T·Qᵀ from the tridiagonal T, and the requested eigenvectors
// by a twisted factorisation each.
type spectral struct {
	reduction
	twisted
	off    []float64 // off-diagonal of T: off[i] between i and i+1; 0 where T splits
	e2     []float64
	values []float64 // eigenvalues of scale·A; ascending within each block of T, not over all
	ends   []int     // ends[b] is one past the last row of block b of T
	todo   []int     // for guess
	scale  float64
	norm   float64 // max over the rows of T of the sum of absolute values, ≥ ‖T‖₂
	drop   float64 // off-diagonal entries up to this size are rounding
	ql     rotations
	probe  probe
}

func (s *spectral) reserve(n int) {
	if s.n == n {
		return
	}
	s.reduction.reserve(n)
	s.off, s.e2, s.values = grow(s.off, n), grow(s.e2, n), grow(s.values, n)
	s.ends = slices.Grow(s.ends[:0], n)
	s.todo = slices.Grow(s.todo[:0], n)[:n]
	s.ql.reserve(n)
	s.twisted.size(n)
	s.probe.reserve(n)
}

func (s *spectral) factor(a *mat.Sym, m float64) {
	s.scale = power(m)
	s.reserve(a.N)
	s.reduce(a, s.scale)
	s.split()
}

// load is factor for the tridiagonal matrix (d, e), e[i] between i and i+1.
func (s *spectral) load(d, e []float64) {
	m := 0.0
	for _, v := range d {
		m = max(m, math.Abs(v))
	}
	for _, v := range e {
		m = max(m, math.Abs(v))
	}
	s.scale = power(m)
	s.reserve(len(d))
	for i, v := range d {
		s.d[i] = v * s.scale
	}
	for i, v := range e {
		s.e[i+1] = v * s.scale
	}
	s.split()
}

// split cuts T where an off-diagonal entry is within its rounding.
func (s *spectral) split() {
	n := s.n
	norm, left := 0.0, 0.0
	for i, d := range s.d {
		right := 0.0
		if i+1 < n {
			right = s.e[i+1]
		}
		s.off[i] = right
		if sum := math.Abs(d) + math.Abs(left) + math.Abs(right); sum > norm {
			norm = sum
		}
		left = right
	}
	s.norm = norm
	s.ends = s.ends[:0]
	s.drop = max(4*eps*math.Sqrt(float64(n))*s.norm, pivMin)
	for i, e := range s.off {
		if math.Abs(e) <= s.drop {
			s.ends = append(s.ends, i+1)
			s.off[i] = 0
		}
		s.e2[i] = s.off[i] * s.off[i]
	}
}

// fewDivisor: up to n/fewDivisor eigenvalues go by bisection, more by QL; BenchmarkRoutes measures
// it.
const fewDivisor = 12

// few reports whether bisection should find the eigenvalues of scale·A below mu.
func (s *spectral) few(mu float64) bool {
	if math.IsInf(mu, 1) {
		return false
	}
	k, first := 0, 0
	for _, end := range s.ends {
		k += sturm(s.d[first:end], s.e2[first:end], mu)
		first = end
	}
	return k*fewDivisor <= s.n
}

// eigenvalues computes all eigenvalues, or those below mu with +Inf for the others; false if QL
// does not converge.
func (s *spectral) eigenvalues(mu float64) bool {
	mu *= s.scale
	few := s.few(mu)
	first := 0
	for _, end := range s.ends {
		d, e2, values := s.d[first:end], s.e2[first:end], s.values[first:end]
		if few {
			lowest(values, d, e2, mu, s.norm)
		} else {
			copy(values, d)
			if !tridiagonalValues(values, e2, s.norm) {
				return false
			}
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

// near is the distance, relative to the spectrum, below which vectors are made orthogonal
// explicitly; others are to about eps/near.
const near = 0x1p-4

// vectors writes eigenvectors of T for the eigenvalues below mu, or for the others, to the rows of
// z, k × n, and those of A to lambda: by twisted factorisations, or by QL, which needs n² scratch
// unless all are wanted. False where neither can vouch for them.
func (s *spectral) vectors(z *mat.Dense, lambda []float64, mu float64, below bool, scratch []float64) bool {
	w := wanted{mu, 1 / s.scale, below}
	if !s.byTwisted(z, lambda, w) && !s.byQL(z, lambda, w, scratch) {
		return false
	}
	if !s.probe.orthonormal(z) {
		return false
	}
	scaleBy(lambda, w.unit)
	return true
}

type wanted struct {
	mu, unit float64 // unit is 1/scale
	below    bool
}

func (w wanted) has(v float64) bool { return (v*w.unit < w.mu) == w.below }

func (w wanted) of(values []float64) []float64 {
	i, j := 0, len(values)
	for i < j && !w.has(values[i]) {
		i++
	}
	for i < j && !w.has(values[j-1]) {
		j--
	}
	return values[i:j]
}

// byTwisted is vectors by twisted factorisations; it declines where eigenvalues are too close.
func (s *spectral) byTwisted(z *mat.Dense, lambda []float64, w wanted) bool {
	if len(s.ends) > 1 {
		for i := range z.Rows {
			clear(z.Row(i))
		}
	}
	row, first := 0, 0
	for _, end := range s.ends {
		values := w.of(s.values[first:end])
		k := len(values)
		b := block{d: s.d[first:end], off: s.off[first:end], lambda: lambda[row : row+k], z: *z}
		if len(s.ends) > 1 {
			b.z = z.View(row, first, k, end-first)
		}
		copy(b.lambda, values)
		if !s.pairs(&b) {
			return false
		}
		for i, v := range b.lambda {
			// A vector may belong to another eigenvalue of its cluster, not to one beyond mu.
			if !w.has(v) && math.Abs(v-values[i]) > s.rounding() {
				return false
			}
		}
		row += k
		first = end
	}
	return true
}

func (s *spectral) byQL(z *mat.Dense, lambda []float64, w wanted, scratch []float64) bool {
	row, first := 0, 0
	for _, end := range s.ends {
		values := w.of(s.values[first:end])
		m, k := end-first, len(values)
		q := mat.Dense{Rows: m, Cols: m, Stride: m, Data: scratch}
		switch {
		case k == 0:
			first = end
			continue
		case k == m:
			q = z.View(row, first, m, m)
		case len(scratch) < m*m:
			return false
		}
		if !s.ql.vectors(&q, s.d[first:end], s.off[first:end], s.drop) {
			return false
		}
		skip := 0
		if !w.below {
			skip = m - k
		}
		for i := range k {
			x := z.Row(row + i)
			clear(x[:first])
			copy(x[first:end], q.Row(skip+i))
			clear(x[end:])
		}
		copy(lambda[row:], values)
		row += k
		first = end
	}
	return true
}

// improve is vectors for roughly known eigenvalues below mu, which Rayleigh quotients correct.
func (s *spectral) improve(z *mat.Dense, lambda []float64, mu float64) bool {
	for i := range lambda {
		lambda[i] *= s.scale
	}
	b := block{d: s.d, off: s.off, lambda: lambda, z: *z}
	if !s.pairs(&b) {
		return false
	}
	for i := range lambda {
		if lambda[i] /= s.scale; !(lambda[i] < mu) {
			return false
		}
	}
	return s.probe.orthonormal(z)
}

// block is an unreduced block of T, its ascending eigenvalues, and a row of z for each.
type block struct {
	d, off []float64
	lambda []float64
	z      mat.Dense
}

func (s *spectral) pairs(b *block) bool {
	s.guess(b)
	rounding := s.rounding()
	for k, v := range b.lambda {
		apart := k == 0 || v-b.lambda[k-1] > near*s.norm
		if apart && residual(b.z.Row(k), b.d, b.off, v) <= rounding {
			continue
		}
		if !s.part(b, k) {
			return false
		}
	}
	return true
}

// guess computes each vector separately; Rayleigh quotients replace inaccurate eigenvalues, up to
// twice.
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
			s.twist(b.d, b.off, v)
			for i, k := range group {
				x := b.z.Row(k)
				gamma, ssq := s.vector(x, b.off, i)
				length := math.Sqrt(ssq)
				if try < 2 && !(math.Abs(gamma) <= tol*length) {
					b.lambda[k] += gamma / ssq
					again = append(again, k)
					continue
				}
				scaleBy(x, 1/length)
			}
		}
		todo = again
	}
}

// part makes vector k orthogonal to the earlier ones and reports whether it is an eigenvector.
func (s *spectral) part(b *block, k int) bool {
	x, v := b.z.Row(k), b.lambda[k]
	left := s.separate(b, k)
	if left > 0.7 && residual(x, b.d, b.off, v) <= s.rounding() {
		return true
	}
	// Inverse iteration in the complement of the earlier vectors; the shift is off by a little more
	// than rounding, so that a cluster grows at one rate.
	for try := range 4 {
		shift := v + float64(8*try+8)*eps*s.norm
		if try > 0 || left < 0.01 {
			for j := range x {
				x[j] = math.Mod(float64(j+1)*(0.6180339887498949+float64(try)), 1) - 0.5
			}
			normalize(x)
		}
		for range 3 {
			s.separate(b, k)
			s.solve(x, b.d, b.off, shift)
			normalize(x)
		}
		s.separate(b, k)
		if !(s.separate(b, k) > 0.9) {
			continue
		}
		b.lambda[k] = rayleigh(x, b.d, b.off)
		if residual(x, b.d, b.off, b.lambda[k]) <= s.rounding() {
			return true
		}
	}
	return false
}

func (s *spectral) rounding() float64 { return 4 * eps * float64(s.n) * s.norm }

// separate makes row k of b.z orthogonal to earlier rows with a near eigenvalue, by Gram-Schmidt,
// normalises it, and returns the length that was left.
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

func rayleigh(z, d, e []float64) float64 {
	sum, last := 0.0, 0.0
	for i, v := range z {
		sum += v * (d[i]*v + 2*last)
		last = e[i] * v
	}
	return sum
}
