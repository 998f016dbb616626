package eig

import (
	"math"
	"slices"
)

// Entries of T have size 1; numbers below pivMin count as 0.
const (
	pivMin     = 0x1p-120
	pivMinSize = (1023 - 120) << 53 // size(pivMin)
)

// qlCap bounds the QL steps for one eigenvalue; two are usual.
const qlCap = 60

// tridiagonalValues replaces d by the eigenvalues, ascending, of the tridiagonal matrix with
// squared off-diagonal e2, which it overwrites; norm bounds the matrix; false: no convergence. 1.1·n²
// rotations and 2n shifts by Wilkinson. Pal, Walker and Kahan, LAPACK dsterf; Parlett, The Symmetric
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
			if m == l+1 {
				t := shift(d[l], d[m], e2[l])
				d[l], d[m], e2[l] = d[l]-t, d[m]+t, 0
				break
			}
			qlStep(d[l:m+1], e2[l:m+1], d[l]-shift(d[l], d[l+1], e2[l]))
		}
	}
	slices.Sort(d)
	return true
}

func negligible(e2, d0, d1 float64) bool { return e2 <= eps*eps*math.Abs(d0*d1) || e2 <= pivMin }

// qlStep is one implicit QL step with shift sigma. With γ and p from below, b = e²_i and r = p + b,
//
//	c² = p/r,  s² = b/r,  γ' = c²·(d_i − σ) − s²·γ,  p' = γ'²/c²,
//	d_{i+1} = γ + d_i − γ',  e²_{i+1} = s²·r'
//
// with a single division from p to p'.
func qlStep(d, e2 []float64, sigma float64) {
	m := len(d) - 1
	e2 = e2[:m+1]
	gamma := d[m] - sigma
	p, s := gamma*gamma, 0.0
	lastP, lastR := 1.0, 1.0
	for i := m - 1; i >= 0; i-- {
		b := e2[i]
		r := p + b
		e2[i+1] = s * r
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

// shift returns t: d0 − t is the eigenvalue closer to d0 of (d0, e; e, d1), d1 + t the other.
func shift(d0, d1, e2 float64) float64 {
	half := (d1 - d0) / 2
	root := math.Sqrt(float64(half*half) + e2)
	if math.Signbit(half) { // known before the root is
		root = -root
	}
	return e2 / (half + root)
}

// abreast is the number of twisted factorisations side by side, to overlap divisions.
const abreast = 4

type twisted struct {
	plus     [][abreast]float64 // pivots from the top
	up, down [][abreast]float64 // multipliers from the top and from the bottom
	meet     [abreast]int       // where these meet
}

func (t *twisted) size(n int) {
	if cap(t.plus) < n {
		t.plus, t.up = make([][abreast]float64, n), make([][abreast]float64, n)
		t.down = make([][abreast]float64, n)
	}
}

// twist factors T − lambda·I, T = (d, e), for each lambda from both ends to the r of least |gamma_r|:
//
//	plus_{i+1} = d_{i+1} − lambda − e_i²/plus_i,  minus_{i−1} = d_{i−1} − lambda − e_{i−1}²/minus_i,
//	gamma_i = plus_i + minus_i − (d_i − lambda)
//
// 4 divisions, 12 flops an entry. Parlett, Dhillon, Linear Algebra Appl. 267 (1997); LAPACK dlar1v.
func (t *twisted) twist(d, e []float64, lambda [abreast]float64) {
	n := len(d)
	e = e[:n]
	plus, up, down := t.plus[:n], t.up[:n], t.down[:n]
	l0, l1, l2, l3 := lambda[0], lambda[1], lambda[2], lambda[3]
	p0, p1, p2, p3 := d[0]-l0, d[0]-l1, d[0]-l2, d[0]-l3
	for i := range n - 1 {
		p0, p1, p2, p3 = pivot(p0), pivot(p1), pivot(p2), pivot(p3)
		next, off := d[i+1], e[i]
		f0, f1, f2, f3 := off/p0, off/p1, off/p2, off/p3
		plus[i] = [abreast]float64{p0, p1, p2, p3}
		up[i] = [abreast]float64{f0, f1, f2, f3}
		p0, p1, p2, p3 = next-l0-off*f0, next-l1-off*f1, next-l2-off*f2, next-l3-off*f3
	}
	plus[n-1] = [abreast]float64{p0, p1, p2, p3}
	q0, q1, q2, q3 := d[n-1]-l0, d[n-1]-l1, d[n-1]-l2, d[n-1]-l3
	r0, r1, r2, r3 := n-1, n-1, n-1, n-1 // |gamma| is |plus| at the last row, |minus| at the first
	g0, g1, g2, g3 := size(p0), size(p1), size(p2), size(p3)
	for i := n - 2; i >= 0; i-- {
		q0, q1, q2, q3 = pivot(q0), pivot(q1), pivot(q2), pivot(q3)
		diag, off := d[i], e[i]
		f0, f1, f2, f3 := off/q0, off/q1, off/q2, off/q3
		down[i+1] = [abreast]float64{f0, f1, f2, f3}
		p := &plus[i]
		q0, q1, q2, q3 = diag-l0-off*f0, diag-l1-off*f1, diag-l2-off*f2, diag-l3-off*f3
		// gamma, with −e²/minus for the difference
		g0, r0 = nearer(g0, r0, p[0]-off*f0, i)
		g1, r1 = nearer(g1, r1, p[1]-off*f1, i)
		g2, r2 = nearer(g2, r2, p[2]-off*f2, i)
		g3, r3 = nearer(g3, r3, p[3]-off*f3, i)
	}
	t.meet = [abreast]int{r0, r1, r2, r3}
}

func nearer(g uint64, r int, gamma float64, i int) (uint64, int) {
	if s := size(gamma); s <= g {
		return s, i
	}
	return g, r
}

func pivot(p float64) float64 {
	if size(p) < pivMinSize {
		return -pivMin
	}
	return p
}

// vector solves (T − lambda·I)·z = gamma_r·e_r, z_r = 1, from a lane's factors, and returns gamma_r
// and zᵀz: |gamma_r|/‖z‖ is the residual, lambda + gamma_r/zᵀz the Rayleigh quotient.
func (t *twisted) vector(z, e []float64, lane int) (gamma, ssq float64) {
	r := t.meet[lane]
	up, down := t.up[:len(z)], t.down[:len(z)]
	gamma = t.plus[r][lane]
	if r+1 < len(z) {
		gamma -= e[r] * down[r+1][lane]
	}
	ssq = 1
	v := 1.0
	z[r] = 1
	for i := r - 1; i >= 0; i-- {
		v *= -up[i][lane]
		z[i] = v
		ssq += v * v
	}
	v = 1
	for i := r + 1; i < len(z); i++ {
		v *= -down[i][lane]
		z[i] = v
		ssq += v * v
	}
	return gamma, ssq
}

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
