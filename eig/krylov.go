package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
)

// krylov finds the few eigenvalues of A below mu, and their eigenvectors, by a Lanczos process: with (A − mu·I)⁻¹, which sees first what is
// near mu, or with A itself, which sees first what is far below. That none is missing follows from the count in inertia.
type krylov struct {
	inertia

	basis mat.Dense // orthonormal Lanczos vectors in rows
	h     mat.Sym   // basis·X·basisᵀ for the operator X
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

// krylovFrom is the order from which the Krylov route is tried. BenchmarkRoutes measures it.
const krylovFrom = 100

// krylovMost is the number of eigenvalues of a matrix of order n up to which the Krylov route is tried.
func krylovMost(n int) int { return min(n/16, 16) }

// krylovSteps caps a Lanczos process for k eigenvalues: beyond, the tridiagonal route is cheaper.
func krylovSteps(k int) int { return 4*k + 28 }

// ritz runs the Lanczos process with X = (A − mu·I)⁻¹, or X = A if direct, until eigenvectors for k eigenvalues of X below 0, or below mu,
// have converged, and puts them into the rows of v. It gives up at the cap, and soon where the process has not even seen k of them.
func (s *krylov) ritz(v *mat.Dense, k int, a *mat.Sym, mu float64, direct bool) bool {
	n, most := s.n, min(krylovSteps(k), s.n)
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
		if direct {
			mat.MulVecSym(next, a, s.basis.Row(m-1))
		} else {
			s.solve(next, s.basis.Row(m-1))
		}
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
		if m >= 4*k+8 && m%4 == 0 {
			seen, ok := s.converged(m, k, beta, mu, direct)
			if ok {
				mat.Mul(v, &s.st, &done)
			}
			if ok || seen < k {
				return ok
			}
		}
		if beta == 0 {
			return false
		}
	}
	return false
}

// converged returns the number of wanted eigenvalues of h, of order m, and whether there are k and their Ritz vectors have residuals of the
// order of rounding: relative to the eigenvalue, if that is one of the inverse, or to all of h, below which the process cannot get.
func (s *krylov) converged(m, k int, beta, mu float64, direct bool) (seen int, ok bool) {
	below := 0.0
	if direct {
		below = mu
	}
	h := s.h.View(0, m)
	size, err := maxAbs(&h)
	if err != nil {
		return 0, false
	}
	s.tri.factor(&h, size)
	if !s.tri.eigenvalues(below) {
		return 0, false
	}
	seen = s.tri.count(below)
	resize(&s.st, k, m)
	if seen != k || !s.tri.vectors(&s.st, s.theta, below, true) {
		return seen, false
	}
	s.tri.back(&s.st)
	for i, theta := range s.theta {
		tol := eps * max(float64(s.n)*math.Abs(theta), size)
		if direct {
			tol = eps * float64(s.n) * size
		}
		if !(beta*math.Abs(s.st.Row(i)[m-1]) <= tol) {
			return seen, false
		}
	}
	return seen, true
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
