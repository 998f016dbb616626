package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

const (
	eps       = 0x1p-53 // unit roundoff
	maxSweeps = 60      // about ten are needed
)

// Jacobi holds an eigen-decomposition A = V·Λ·Vᵀ made by plane rotations. The zero value is ready
// for use.
type Jacobi struct {
	n, ld  int       // order and distance of rows
	size   float64   // largest entry of A (scaled)
	a      []float64 // the strict lower triangle of VᵀAV (scaled)
	d      []float64 // the diagonal of VᵀAV; at the end the eigenvalues, ascending
	root   []float64 // √|d|
	w      []float64 // row and column p during the loop over q
	vt     mat.Dense // Vᵀ: eigenvectors in rows
	buf    []float64 // for V0ᵀ·A
	chol   chol.Cholesky
	sort   sorter
	want   bool // vectors are wanted
	known  bool // vt belongs to d
	rotate int
}

// JacobiReport says what a decomposition cost.
type JacobiReport struct {
	Sweeps    int     // passes over all pairs (p, q); the last one finds nothing to rotate
	Rotations int     // plane rotations applied
	OffNorm   float64 // Frobenius norm of the off-diagonal part that was dropped
}

// Factor computes all eigenvalues and eigenvectors of a, n × n, by cyclic Jacobi rotations.
//
// The residual ‖AV − VΛ‖_F and the loss of orthogonality ‖VᵀV − I‖_F are small multiples of
// n·eps·‖A‖_F and n·eps. Where a is positive definite (a Cholesky factorisation decides), pairs are
// rotated until |a_pq| ≤ eps·√(a_pp·a_qq): each eigenvalue, however small, then has a relative
// error of about n·eps·κ(D⁻¹AD⁻¹) with D = diag(√a_ii). No tridiagonal method achieves this.
//
// a is read only. Errors: ErrNotFinite, ErrNoConvergence (never seen). Nothing is allocated at an
// order seen before. 7 sweeps at n = 14, 10 at n = 128, of 6n³ flops each if every pair is rotated;
// half of that without vectors.
//
// Source: Golub and Van Loan, Matrix Computations, section 8.5; Rutishauser, Numer. Math. 9 (1966);
// the stopping rule is that of Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13 (1992).
func (e *Jacobi) Factor(a *mat.Sym) (JacobiReport, error) {
	return e.factor("eig: Jacobi.Factor", a, true)
}

// FactorValues is Factor without eigenvectors, at half the cost.
func (e *Jacobi) FactorValues(a *mat.Sym) (JacobiReport, error) {
	return e.factor("eig: Jacobi.FactorValues", a, false)
}

func (e *Jacobi) factor(name string, a *mat.Sym, vectors bool) (JacobiReport, error) {
	if kernel.Torn(a.N, a.N, a.Stride) {
		panic(name + kernel.MsgTorn)
	}
	scale, err := e.start(a, vectors)
	if err != nil {
		return JacobiReport{}, err
	}
	return e.cold(a, scale)
}

// cold runs from the basis of the given a.
func (e *Jacobi) cold(a *mat.Sym, scale float64) (JacobiReport, error) {
	for i := range e.n {
		r := e.a[i*e.ld : i*e.ld+i+1]
		for j, v := range a.Row(i) {
			r[j] = v * scale
		}
		e.d[i] = r[i]
	}
	if e.want {
		e.vt.Zero()
		for i := range e.n {
			e.vt.Data[i*e.ld+i] = 1
		}
	}
	return e.run(scale, e.chol.PosDef(&mat.Sym{N: e.n, Stride: e.ld, Data: e.a}, 0))
}

// FactorFrom is Factor started from an orthogonal matrix v0, n × n, with a guess of the
// eigenvectors in its columns: the rotations work on V0ᵀ·A·V0. Where A has changed by 1 % since v0
// was exact, about half of the rotations remain. The product rounds at n·eps·‖A‖_F, so the small
// eigenvalues of a graded matrix lose their relative accuracy.
//
// V0 is v0, first made orthonormal to rounding, so that the vectors of each call can start the next
// without limit. If ‖v0ᵀ·v0 − I‖_F ≥ 1/2, v0 is ignored and the call is Factor.
//
// a and v0 are read only; v0 must not be memory of e, as VectorsT is. Errors as Factor, and
// ErrNotFinite for an entry of v0 that is NaN or beyond 2. It panics if the orders differ. Nothing
// is allocated at an order seen before. 8n³ flops more than Factor before the first sweep, all of
// them in matrix products.
//
// Source: Björck and Bowie, SIAM J. Numer. Anal. 8 (1971), for the orthonormal V0.
func (e *Jacobi) FactorFrom(a *mat.Sym, v0 *mat.Dense) (JacobiReport, error) {
	if v0.Rows != a.N || v0.Cols != a.N {
		panic("eig: Jacobi.FactorFrom: dimension mismatch")
	}
	if kernel.Torn(a.N, a.N, min(a.Stride, v0.Stride)) {
		panic("eig: Jacobi.FactorFrom" + kernel.MsgTorn)
	}
	if kernel.SameStart(v0.Data, e.vt.Data) {
		panic("eig: Jacobi.FactorFrom: v0 is memory of the Jacobi")
	}
	scale, err := e.start(a, true)
	if err != nil {
		return JacobiReport{}, err
	}
	n := e.n
	for i := range n {
		for j, v := range v0.Row(i) {
			if !(math.Abs(v) <= 2) {
				return JacobiReport{}, &NotFiniteError{I: i, J: j, Value: v}
			}
			e.vt.Data[j*e.ld+i] = v
		}
	}
	if !e.orthonormalize() {
		return e.cold(a, scale)
	}
	e.congruence(a, scale)
	return e.run(scale, false)
}

// start checks a, sizes the workspace and returns the scaling.
func (e *Jacobi) start(a *mat.Sym, vectors bool) (float64, error) {
	e.n, e.d, e.known = 0, e.d[:0], false
	m, err := maxAbs(a)
	if err != nil {
		return 0, err
	}
	e.want = vectors
	e.reserve(a.N)
	scale := room(m)
	e.size = m * scale
	return scale, nil
}

// reserve makes room for a matrix of order n.
func (e *Jacobi) reserve(n int) {
	e.n, e.ld = n, stride(n)
	e.a = grow(e.a, n*e.ld)
	e.d, e.root, e.w = grow(e.d, n), grow(e.root, n), grow(e.w, n)
	e.sort.reserve(n)
	if e.want {
		e.vt = mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: grow(e.vt.Data, n*e.ld)}
	}
}

// Values returns the eigenvalues, ascending, in e's own memory: they are overwritten by the next
// factorisation. After a failure there are none.
func (e *Jacobi) Values() []float64 { return e.d }

// VectorsT returns Vᵀ, n × n, in e's own memory: row i is the unit eigenvector of Values()[i]. It
// panics after FactorValues or a failure.
func (e *Jacobi) VectorsT() *mat.Dense {
	if !e.known {
		panic("eig: Jacobi.VectorsT: no vectors")
	}
	return &e.vt
}
