package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
)

// krylov finds the few eigenvalues of A below mu, and their eigenvectors, by a Lanczos process: with A itself, which sees first what is far
// below mu, or with (A − mu·I)⁻¹, which sees first what is near. That none is missing is proved by a Cholesky factorisation, or by the count in inertia.
type krylov struct {
	inertia
	lanczos

	norm float64   // ‖A‖_F
	av   mat.Dense // V·A, then residuals
	tmp  mat.Dense
	g    mat.Sym // V·A·Vᵀ
	jac  Jacobi
	lift mat.Sym
	chol chol.Cholesky
}

// The orders from which the process is tried with A, and with its inverse. BenchmarkRoutes measures them.
const (
	productFrom = 48
	inverseFrom = 100
)

// krylovMost is the number of eigenvalues of a matrix of order n up to which the Krylov route is tried.
func krylovMost(n int) int { return min(n/16, 16) }

// promising tells whether A may have few eigenvalues below mu, by its diagonal.
func promising(a *mat.Sym, mu float64) bool {
	k := 0
	for i := range a.N {
		if a.Data[i*a.Stride+i] < mu {
			k++
		}
	}
	return 4*k <= a.N
}

// rayleigh replaces the rows of v by eigenvectors of A, v·A·vᵀ diagonal, and puts the eigenvalues into lambda. It returns false if a
// residual is too large, or an eigenvalue is not below mu.
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
	return s.tri.orthonormal(v)
}

// complete proves that lambda has all eigenvalues of A below mu: with these lifted to mu + ‖A‖_F, A is positive definite.
func (s *krylov) complete(v *mat.Dense, lambda []float64, a *mat.Sym, mu float64) bool {
	resizeSym(&s.lift, a.N)
	mat.CopySym(&s.lift, a)
	mat.Copy(&s.tmp, v)
	for i, l := range lambda {
		scaleBy(s.tmp.Row(i), math.Sqrt(mu-l+s.norm))
	}
	addGram(&s.lift, &s.tmp)
	return s.chol.PosDef(&s.lift, mu)
}
