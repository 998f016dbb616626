package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
)

// krylov finds the few eigenvalues of A below mu, and their eigenvectors, by a Lanczos process with (A − mu·I)⁻¹.
type krylov struct {
	inertia

	basis mat.Dense // orthonormal Lanczos vectors in rows
	h     mat.Sym   // basis·B⁻¹·basisᵀ
	tri   spectral  // of h
	theta []float64
	st    mat.Dense // Ritz vectors of h in rows

	norm float64   // ‖A‖_F
	av   mat.Dense // V·A, then residuals
	tmp  mat.Dense
	g    mat.Sym // V·A·Vᵀ
	jac  Jacobi
	lift mat.Sym
	chol chol.Cholesky
	x, y []float64
}

const (
	krylovFrom = 100 // order from which this route is tried; BenchmarkRoutes measures it
	krylovMost = 12  // eigenvalues that are few
	krylovVecs = 72  // cap of the Lanczos process
)

// ritz runs the Lanczos process until k eigenvectors for negative eigenvalues have converged, and puts them into the rows of v.
func (s *krylov) ritz(v *mat.Dense, k int) bool {
	n, most := s.n, min(krylovVecs, s.n)
	resize(&s.basis, most+1, n)
	resizeSym(&s.h, most)
	s.theta = grow(s.theta, k)
	q := s.basis.Row(0)
	for j := range q {
		q[j] = math.Mod(float64(j+1)*0.6180339887498949, 1) - 0.5 // equidistributed
	}
	normalize(q)
	for m := 1; m <= most; m++ {
		next := s.basis.Row(m)
		s.solve(next, s.basis.Row(m-1))
		// Gram and Schmidt, twice; the coefficients make row m−1 of h.
		done := s.basis.View(0, 0, m, n)
		row := s.h.Row(m - 1)
		clear(row)
		s.y, s.x = grow(s.y, m), grow(s.x, n)
		for range 2 {
			mat.MulVec(s.y[:m], &done, next)
			mat.MulVecTrans(s.x, &done, s.y[:m])
			mat.Axpy(next, -1, s.x)
			mat.Axpy(row, 1, s.y[:m])
		}
		beta := normalize(next)
		if m >= 4*k+8 && m%4 == 0 && s.converged(m, k, beta) {
			mat.Mul(v, &s.st, &done)
			return true
		}
		if beta == 0 {
			return false
		}
	}
	return false
}

// converged tells whether h, of order m, has k negative eigenvalues whose Ritz vectors have residuals of the order of rounding: relative to
// the eigenvalue itself, or to all of h, below which the process cannot get.
func (s *krylov) converged(m, k int, beta float64) bool {
	h := s.h.View(0, m)
	size, err := maxAbs(&h)
	if err != nil {
		return false
	}
	s.tri.factor(&h, size)
	if !s.tri.eigenvalues(0) || s.tri.count(0) != k {
		return false
	}
	resize(&s.st, k, m)
	if !s.tri.vectors(&s.st, s.theta, 0, true) {
		return false
	}
	s.tri.back(&s.st)
	for i, theta := range s.theta {
		if !(beta*math.Abs(s.st.Row(i)[m-1]) <= eps*max(float64(s.n)*math.Abs(theta), size)) {
			return false
		}
	}
	return true
}

// rayleigh replaces the rows of v by eigenvectors of A, v·A·vᵀ diagonal, and puts the eigenvalues into lambda. It returns false if a
// residual is too large, an eigenvalue is not below mu, or one below mu is missing.
func (s *krylov) rayleigh(v *mat.Dense, lambda []float64, a *mat.Sym, mu float64) bool {
	k, n := v.Rows, v.Cols
	resize(&s.av, k, n)
	for i := range k {
		mat.MulVecSym(s.av.Row(i), a, v.Row(i))
	}
	resizeSym(&s.g, k)
	s.g.Zero()
	mat.AddMulTransBSym(&s.g, 1, v, &s.av)
	if _, err := s.jac.Factor(&s.g); err != nil {
		return false
	}
	copy(lambda, s.jac.Values())
	resize(&s.tmp, k, n)
	mat.Copy(&s.tmp, v)
	mat.Mul(v, s.jac.VectorsT(), &s.tmp)
	mat.Copy(&s.tmp, &s.av)
	mat.Mul(&s.av, s.jac.VectorsT(), &s.tmp)
	s.norm = mat.NormFrobSym(a)
	for i, l := range lambda {
		r := s.av.Row(i)
		mat.Axpy(r, -l, v.Row(i))
		if !(l < mu && mat.Norm(r) <= 4*eps*float64(n)*s.norm) {
			return false
		}
	}
	return s.tri.orthonormal(v) && (s.growth <= trusted*s.norm || s.complete(v, lambda, a, mu))
}

// complete proves that lambda has all eigenvalues of A below mu: with these lifted to mu + ‖A‖_F, A is positive definite.
func (s *krylov) complete(v *mat.Dense, lambda []float64, a *mat.Sym, mu float64) bool {
	resizeSym(&s.lift, a.N)
	mat.CopySym(&s.lift, a)
	mat.Copy(&s.tmp, v)
	for i, l := range lambda {
		scaleBy(s.tmp.Row(i), math.Sqrt(mu-l+s.norm))
	}
	mat.RankKTrans(&s.lift, 1, &s.tmp)
	return s.chol.PosDef(&s.lift, mu)
}
