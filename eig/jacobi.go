package eig

import (
	"math"
	"slices"

	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

const (
	eps       = 0x1p-53 // unit roundoff
	maxSweeps = 60      // about ten are needed
)

// Jacobi is a decomposition A = V·Λ·Vᵀ by plane rotations.
type Jacobi struct {
	n, ld int
	unit  float64   // brings the largest entry of A (scaled) near 1
	a     []float64 // the strict lower triangle of VᵀAV (scaled)
	d     []float64 // the diagonal of VᵀAV; at the end the eigenvalues
	root  []float64 // √|d|
	w     []float64 // row and column p during the loop over q
	vt    mat.Dense // Vᵀ
	chol  chol.Cholesky
	want  bool // vectors are wanted
	known bool // vt belongs to d
}

// Factor computes all eigenvalues and eigenvectors of a, n × n. Where a Cholesky factorisation
// proves a positive definite, each eigenvalue, however small, has a relative error of about
// n·eps·κ(D⁻¹AD⁻¹), D = diag(√a_ii), which no tridiagonal method achieves.
//
// a is read only. Errors: ErrNotFinite, ErrNoConvergence (never seen). 7 sweeps at n = 14, 10 at
// n = 128, of up to 6n³ flops; half without vectors.
//
// Golub, Van Loan, Matrix Computations, section 8.5; Rutishauser, Numer. Math. 9 (1966); stopping
// rule: Demmel, Veselić, SIAM J. Matrix Anal. Appl. 13 (1992).
func (e *Jacobi) Factor(a *mat.Sym) error { return e.factor("eig: Jacobi.Factor", a, true) }

// FactorValues is Factor without eigenvectors, at half the cost.
func (e *Jacobi) FactorValues(a *mat.Sym) error {
	return e.factor("eig: Jacobi.FactorValues", a, false)
}

func (e *Jacobi) factor(name string, a *mat.Sym, vectors bool) error {
	refuse(kernel.Torn(a.N, a.N, a.Stride), name, kernel.MsgTorn)
	e.d, e.known, e.want = e.d[:0], false, vectors
	m, err := maxAbs(a)
	if err != nil {
		return err
	}
	e.reserve(a.N)
	scale := power(m, 960) // no sum overflows, and small entries have the range below
	e.unit = power(m*scale, 0)
	for i := range e.n {
		r := e.a[i*e.ld : i*e.ld+i+1]
		kernel.Scale(r, scale, a.Row(i))
		e.d[i] = r[i]
		e.root[i] = math.Sqrt(math.Abs(r[i]))
		if e.want {
			clear(e.vt.Row(i))
			e.vt.Row(i)[i] = 1
		}
	}
	return e.run(scale, e.chol.PosDef(&mat.Sym{N: e.n, Stride: e.ld, Data: e.a}, 0))
}

func (e *Jacobi) reserve(n int) {
	e.n, e.ld = n, stride(n)
	e.a = grow(e.a, n*e.ld)
	e.d, e.root, e.w = grow(e.d, n), grow(e.root, n), grow(e.w, n)
	if e.want {
		e.vt = mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: grow(e.vt.Data, n*e.ld)}
	}
}

// Values returns the eigenvalues, ascending, in e's memory; none after a failure.
func (e *Jacobi) Values() []float64 { return e.d }

// VectorsT returns Vᵀ, n × n, in e's memory. It panics after FactorValues or a failure.
func (e *Jacobi) VectorsT() *mat.Dense {
	refuse(!e.known, "eig: Jacobi.VectorsT", ": no vectors")
	return &e.vt
}

// run sweeps until every |a_pq| ≤ eps·√|a_pp·a_qq|, or eps·‖A‖_F/n where relative accuracy is
// impossible. The first three sweeps skip entries small beside a large off-diagonal part, which
// later rotations would undo (Rutishauser).
func (e *Jacobi) run(scale float64, posDef bool) error {
	off, norm := e.norms()
	n := float64(max(e.n, 1))
	floor := eps * norm / n
	tol := floor
	if posDef {
		tol = 0
	}
	for sweeps := 0; ; sweeps++ {
		if sweeps == maxSweeps {
			e.d = e.d[:0]
			return &NoConvergenceError{Sweeps: sweeps, OffNorm: off / scale}
		}
		if sweeps == maxSweeps/2 {
			tol = floor // positive definite by a hair: rounding may never let the rule hold
		}
		skip := tol
		if sweeps < 3 && off > 0.1*norm {
			skip = max(tol, 0.2*off/n)
		}
		if !e.sweep(skip) && skip == tol {
			break
		}
		off, _ = e.norms()
	}
	if e.want {
		ascend(e.d, &e.vt)
	} else {
		slices.Sort(e.d)
	}
	for i := range e.d {
		e.d[i] /= scale
	}
	e.known = e.want
	return nil
}

// sweep rotates each pair p < q above both thresholds, and reports whether there was one.
func (e *Jacobi) sweep(skip float64) (rotated bool) {
	n, ld, a, d, w := e.n, e.ld, e.a, e.d, e.w
	for p := range n - 1 {
		copy(w[:p], a[p*ld:p*ld+p])
		w[p] = 0
		for j := p + 1; j < n; j++ {
			w[j] = a[j*ld+p]
		}
		for q := p + 1; q < n; q++ {
			apq := w[q]
			if abs := math.Abs(apq); abs <= skip || abs <= eps*e.root[p]*e.root[q] {
				continue
			}
			rotated = true
			// t = tan φ is the smaller root of t² + 2θt = 1, θ = (a_qq − a_pp)/(2a_pq).
			theta := (d[q] - d[p]) / (2 * apq)
			t := math.Copysign(1/(math.Abs(theta)+math.Sqrt(1+theta*theta)), theta)
			if math.Abs(theta) > 0x1p500 {
				t = 0.5 / theta
			}
			c := 1 / math.Sqrt(1+t*t)
			s := t * c
			tau := s / (1 + c) // tan φ/2
			d[p] -= t * apq
			d[q] += t * apq
			e.root[p] = math.Sqrt(math.Abs(d[p]))
			e.root[q] = math.Sqrt(math.Abs(d[q]))

			kernel.Rotate(w[:q], a[q*ld:q*ld+q], s, tau) // entry p of both is 0 or stale
			for j := q + 1; j < n; j++ {
				g, h := w[j], a[j*ld+q]
				w[j] = g - s*(h+tau*g)
				a[j*ld+q] = h + s*(g-tau*h)
			}
			w[p], w[q] = 0, 0
			if e.want {
				kernel.Rotate(e.vt.Row(p), e.vt.Row(q), s, tau)
			}
		}
		copy(a[p*ld:p*ld+p], w[:p])
		for j := p + 1; j < n; j++ {
			a[j*ld+p] = w[j]
		}
	}
	return rotated
}

func (e *Jacobi) norms() (off, norm float64) {
	for i := range e.n {
		for _, v := range e.a[i*e.ld : i*e.ld+i] {
			v *= e.unit
			off += 2 * v * v
		}
	}
	norm = off
	for _, v := range e.d {
		v *= e.unit
		norm += v * v
	}
	return math.Sqrt(off) / e.unit, math.Sqrt(norm) / e.unit
}
