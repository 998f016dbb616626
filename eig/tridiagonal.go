package eig

import (
	"math"
	"slices"
)

// The functions of this file work on tridiagonal matrices T whose entries are of size 1: what is
// below pivMin counts as 0.
const pivMin = 0x1p-120

// negligible says whether the square e2 of the off-diagonal entry between the diagonal entries d0
// and d1 may be dropped.
func negligible(e2, d0, d1 float64) bool {
	return e2 <= eps*eps*math.Abs(d0*d1) || e2 <= pivMin
}

// qlCap bounds the QL steps to one eigenvalue; two are usual.
const qlCap = 60

// tridiagonalValues replaces d by the eigenvalues, ascending, of the symmetric tridiagonal matrix
// with diagonal d and squared off-diagonal entries e2, e2[i] between i and i+1, which it
// overwrites. norm bounds the matrix. It returns false if the iteration does not converge. About
// 1.1·n² steps, each as long as a division and three other operations.
//
// Source: the square-root-free QL of Pal, Walker and Kahan, LAPACK dsterf; Parlett, The Symmetric
// Eigenvalue Problem, section 8.15.
func tridiagonalValues(d, e2 []float64, norm float64) bool {
	n := len(d)
	if n > 1 && math.Abs(d[n-1]) < math.Abs(d[0]) {
		slices.Reverse(d) // QL wants the small end first
		slices.Reverse(e2[:n-1])
	}
	maybe := max(eps*eps*norm*norm, pivMin) // what is larger is not negligible
	for l := range n {
		for steps := 0; ; steps++ {
			m := l
			for m < n-1 && (e2[m] > maybe || !negligible(e2[m], d[m], d[m+1])) {
				m++
			}
			if m == l {
				break
			}
			if steps == qlCap {
				return false
			}
			qlStep(d[l:m+1], e2[l:m])
		}
	}
	slices.Sort(d)
	return true
}

// qlStep does one implicit step of QL with the shift from the leading 2 × 2 block. With γ and p
// from below, b = e²_i and r = p + b, a rotation is
//
//	c² = p/r, s² = b/r, γ' = c²·(d_i − σ) − s²·γ, p' = γ'²/c², d_{i+1} = γ + d_i − γ', e²_{i+1} = s²·r'
//
// where γ' and p' are written over common denominators: only one division is on the path from p to
// p'.
func qlStep(d, e2 []float64) {
	m := len(d) - 1
	root := math.Sqrt(e2[0])
	sigma := (d[1] - d[0]) / (2 * root)
	sigma = d[0] - root/(sigma+math.Copysign(math.Sqrt(sigma*sigma+1), sigma))
	gamma := d[m] - sigma
	p, s := gamma*gamma, 0.0
	lastP, lastR := 1.0, 1.0
	for i := m - 1; i >= 0; i-- {
		b := e2[i]
		r := p + b
		if i < m-1 {
			e2[i+1] = s * r
		}
		old := gamma
		if p > 0x1p-300 {
			u := p*(d[i]-sigma) - b*old
			s = b / r
			gamma = u / r
			lastP, lastR, p = p, r, u*u/(r*p)
		} else { // c = 0
			s, gamma = 1, -old
			lastP, lastR, p = 0, 1, lastP/lastR*b
		}
		d[i+1] = old + (d[i] - gamma)
	}
	e2[0] = s * p
	d[0] = sigma + gamma
}

// twisted holds the workspace of tridiagonal eigenvectors.
type twisted struct {
	plus, minus []float64 // pivots of the factorisations from the top and from the bottom
	up, down    []float64 // their multipliers
	u2          []float64
}

func (t *twisted) size(n int) {
	t.plus, t.minus = grow(t.plus, n), grow(t.minus, n)
	t.up, t.down = grow(t.up, n), grow(t.down, n)
	t.u2 = grow(t.u2, n)
}

// vector sets z to a unit eigenvector of the tridiagonal matrix (d, e), e[i] between i and i+1, for
// its eigenvalue lambda: the solution of (T − lambda·I)·z = gamma·e_r for the r with the smallest
// |gamma|, from factorisations that start at both ends and meet at r. About 4 divisions and 15
// other flops an entry.
//
// Source: Parlett and Dhillon, Linear Algebra Appl. 267 (1997), LAPACK dlar1v.
func (t *twisted) vector(z, d, e []float64, lambda float64) {
	n := len(z)
	d, e = d[:n], e[:n]
	plus, minus, up, down := t.plus[:n], t.minus[:n], t.up[:n], t.down[:n]
	p, q := d[0]-lambda, d[n-1]-lambda
	for i := range n - 1 {
		k := n - 1 - i
		if math.Abs(p) < pivMin {
			p = -pivMin
		}
		if math.Abs(q) < pivMin {
			q = -pivMin
		}
		f, g := e[i]/p, e[k-1]/q
		plus[i], up[i] = p, f
		minus[k], down[k] = q, g
		p = d[i+1] - lambda - e[i]*f
		q = d[k-1] - lambda - e[k-1]*g
	}
	plus[n-1], minus[0] = p, q

	// gamma_i = plus_i + minus_i − (d_i − lambda)
	r, least := 0, math.Inf(1)
	for i := range z {
		if g := math.Abs(plus[i] + (minus[i] - (d[i] - lambda))); g < least {
			r, least = i, g
		}
	}
	ssq := 1.0
	z[r] = 1
	v := 1.0
	for i := r - 1; i >= 0; i-- {
		v *= -up[i]
		z[i] = v
		ssq += v * v
	}
	v = 1
	for i := r + 1; i < n; i++ {
		v *= -down[i]
		z[i] = v
		ssq += v * v
	}
	scaleBy(z, 1/math.Sqrt(ssq))
}

// residual returns ‖T·z − lambda·z‖₂, NaN if z is not finite.
func residual(z, d, e []float64, lambda float64) float64 {
	n := len(z)
	d, e = d[:n], e[:n]
	ssq, left, v := 0.0, 0.0, z[0] // left is e[i−1]·z[i−1]
	for i := range n - 1 {
		next := z[i+1]
		r := (d[i]-lambda)*v + left + e[i]*next
		left = e[i] * v
		ssq += r * r
		v = next
	}
	r := (d[n-1]-lambda)*v + left
	return math.Sqrt(ssq + r*r)
}

// solve overwrites z with a solution of (T − lambda·I)·x = z, by elimination with row exchanges;
// pivots that vanish become eps. It is one step of inverse iteration (LAPACK dlagtf, dlagts).
func (t *twisted) solve(z, d, e []float64, lambda float64) {
	n := len(z)
	u0, u1, u2 := t.plus[:n], t.up[:n], t.u2[:n]
	p, s := d[0]-lambda, e[0] // the row that is being eliminated: p, s, 0
	for i := range n - 1 {
		below, diag, super := e[i], d[i+1]-lambda, 0.0
		if i+2 < n {
			super = e[i+1]
		}
		if math.Abs(p) >= math.Abs(below) {
			if math.Abs(p) < eps {
				p = eps
			}
			f := below / p
			u0[i], u1[i], u2[i] = p, s, 0
			p, s = diag-f*s, super
			z[i+1] -= f * z[i]
		} else {
			f := p / below
			u0[i], u1[i], u2[i] = below, diag, super
			p, s = s-f*diag, -f*super
			z[i], z[i+1] = z[i+1], z[i]-f*z[i+1]
		}
	}
	if math.Abs(p) < eps {
		p = eps
	}
	u0[n-1] = p
	for i := n - 1; i >= 0; i-- {
		v := z[i]
		if i+1 < n {
			v -= u1[i] * z[i+1]
		}
		if i+2 < n {
			v -= u2[i] * z[i+2]
		}
		z[i] = v / u0[i]
	}
}
