package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
)

// Route names the way that a Truncate took. Routes agree up to rounding.
type Route int

// The routes, from cheap to dear.
const (
	RouteClear  Route = iota // a Cholesky factorisation of A − mu·I proved that nothing is to be clipped
	RouteJacobi              // all eigenvectors by Jacobi rotations
)

func (r Route) String() string {
	return [...]string{"clear", "jacobi"}[r]
}

// Report tells what a Truncate did.
type Report struct {
	Clipped       int     // eigenvalues below mu
	MinEigenvalue float64 // the smallest eigenvalue of A where Clipped > 0; otherwise mu, a lower bound
	Change        float64 // ‖P − A‖_F
	Route         Route
}

// Truncator computes projections onto {X ⪰ mu·I}, and solves with the last one. The zero value is ready for use.
type Truncator struct {
	jac  Jacobi
	chol chol.Cholesky // for the certificate; then of P, once a solve has asked for it
	p    mat.Sym       // P
	have source
	mu   float64
	diff []float64 // |λ − mu| of the side that is multiplied back
	z    mat.Dense // eigenvectors of that side in rows, scaled by √diff
	y    []float64
}

// source says what SolveVec can work with.
type source int

const (
	nothing  source = iota
	product         // P in t.p
	factor          // its Cholesky factor in t.chol
	spectral        // the eigen-decomposition of A in t.jac
)

// Truncate sets dst = P, the projection of a onto {X ⪰ mu·I} in the Frobenius norm: with A = V·Λ·Vᵀ, P = V·max(Λ, mu)·Vᵀ.
//
// If a Cholesky factorisation proves that A − mu·I is positive definite, P is a, bit for bit. Otherwise P differs from
// the exact projection, and from a second projection of itself, by at most about n·eps·‖A‖_F, and its smallest eigenvalue is at
// least mu − O(n·eps·‖P‖_F); the routes differ from one another by no more.
//
// a is read, dst is written; dst may be a. Errors: ErrNotFinite (a, or mu, is NaN or infinite), ErrNoConvergence; dst is then as
// before. It panics if the orders differ. Nothing is allocated at an order seen before.
// n³/3 flops where nothing is to be clipped, otherwise a decomposition and up to n³/2.
//
// Source: Higham, Linear Algebra Appl. 103 (1988), theorem 2.1, shifted by mu; the paper's projection onto {X : X ⪰ μ_g·I}.
func (t *Truncator) Truncate(dst, a *mat.Sym, mu float64) (Report, error) {
	if dst.N != a.N {
		panic("eig: Truncator.Truncate: dimension mismatch")
	}
	t.have = nothing
	if math.IsNaN(mu) || math.IsInf(mu, 0) {
		return Report{}, &NotFiniteError{I: -1, J: -1, Value: mu}
	}
	t.mu = mu
	rep := Report{MinEigenvalue: mu, Route: RouteClear}
	if t.chol.PosDef(a, mu) {
		mat.CopySym(dst, a)
	} else {
		if _, err := t.jac.Factor(a); err != nil {
			return Report{}, err
		}
		mat.CopySym(dst, a)
		rep = t.multiplyBack(dst, t.jac.Values(), t.jac.VectorsT())
		rep.Route = RouteJacobi
		t.have = spectral
		return rep, nil
	}
	t.keep(dst)
	return rep, nil
}

// keep copies P for a later solve.
func (t *Truncator) keep(p *mat.Sym) {
	n := p.N
	t.p = mat.Sym{N: n, Stride: n, Data: grow(t.p.Data, n*n)}
	mat.CopySym(&t.p, p)
	t.have = product
}

// multiplyBack turns dst = A into P, from all eigenvalues of A and their eigenvectors in the rows of vt. It works on the smaller side:
//
//	P = A + Σ_{λ<mu} (mu − λ)·v·vᵀ = mu·I + Σ_{λ>mu} (λ − mu)·v·vᵀ.
func (t *Truncator) multiplyBack(dst *mat.Sym, values []float64, vt *mat.Dense) Report {
	n := dst.N
	k := 0
	for k < n && values[k] < t.mu {
		k++
	}
	t.diff = grow(t.diff, n)
	for i, v := range values {
		t.diff[i] = math.Abs(t.mu - v)
	}
	rep := Report{Clipped: k, MinEigenvalue: t.mu, Change: mat.Norm(t.diff[:k])}
	if k > 0 {
		rep.MinEigenvalue = values[0]
	}
	lo, hi := 0, k
	if k > n-k {
		lo, hi = k, n
		dst.Zero()
		mat.AddIdentity(dst, t.mu)
	}
	t.z = mat.Dense{Rows: hi - lo, Cols: n, Stride: n, Data: grow(t.z.Data, (hi-lo)*n)}
	for i := range t.z.Rows {
		s := math.Sqrt(t.diff[lo+i])
		z := t.z.Row(i)
		for j, v := range vt.Row(lo + i) {
			z[j] = s * v
		}
	}
	mat.RankKTrans(dst, 1, &t.z)
	return rep
}

// SolveVec sets dst = P⁻¹·b for the P of the last successful Truncate.
//
// It uses the eigen-decomposition if the route left one, 4n² flops; otherwise a Cholesky factor of P, which the first solve makes,
// n³/3, and the others find.
//
// b is read, dst is written; dst may be b. Errors: chol.ErrNotPosDef if P is not positive definite (mu > 0 makes it so), or if there
// is no P. It panics if a length is not n. Nothing is allocated at an order seen before.
func (t *Truncator) SolveVec(dst, b []float64) error {
	switch t.have {
	case nothing:
		return chol.ErrNotPosDef
	case product:
		if err := t.chol.Factor(&t.p); err != nil {
			return err
		}
		t.have = factor
		fallthrough
	case factor:
		t.chol.SolveVec(dst, b)
		return nil
	}
	// P⁻¹ = V·max(Λ, mu)⁻¹·Vᵀ
	values, vt := t.jac.Values(), t.jac.VectorsT()
	t.y = grow(t.y, len(values))
	mat.MulVec(t.y, vt, b)
	for i, v := range values {
		v = max(v, t.mu)
		if !(v > 0) {
			return &chol.NotPosDefError{Pivot: i, Value: v}
		}
		t.y[i] /= v
	}
	mat.MulVecTrans(dst, vt, t.y)
	return nil
}
