package eig

import (
	"stable/mat"
	"stable/mat/kernel"
)

// krylov finds the few eigenvalues of A below mu, and their eigenvectors, by a Lanczos process. A
// process with A itself first finds eigenvalues far below mu; one with (A − mu·I)⁻¹ first finds
// those near mu. A Cholesky factorisation of P, or the count in inertia, proves that none is
// missing.
type krylov struct {
	inertia inertia
	lanczos lanczos

	full  full
	norm  float64   // ‖A‖_F or, after a process with A, a norm of T
	av    mat.Dense // V·A, then residuals
	tmp   mat.Dense
	g     mat.Sym // V·A·Vᵀ
	jac   Jacobi
	probe probe
	room  int // the order that there is room for
}

// reserve makes room for everything that matrices of order n may need, because how far a try comes
// before it declines differs between matrices.
func (s *krylov) reserve(n int) {
	if n <= s.room {
		return
	}
	s.room = n
	most := krylovMost(n)
	s.lanczos.reserve(n, most, n/2)
	s.av.Data, s.tmp.Data = grow(s.av.Data, most*n), grow(s.tmp.Data, most*n)
	s.probe.reserve(n)
	if fullPays(n) {
		s.full.Data = grow(s.full.Data, n*n)
	}
	if n >= inverseFrom {
		s.inertia.reserve(n)
		resizeSym(&s.g, most)
		s.g.Zero()
		_, _ = s.jac.Factor(&s.g) // of 0, for its workspace
	}
}

// The orders from which a process with A, and one with its inverse, is tried. BenchmarkRoutes
// measures them.
const (
	productFrom = 48
	inverseFrom = 100
)

// products runs a process with x = A, and returns the number of eigenvalues below mu.
func (s *krylov) products(x operator, n int, mu float64, most, limit int) (k int, ok bool) {
	return s.lanczos.run(x, n, mu, 0, most, limit)
}

// ritz writes the eigenpairs that products found to the rows of z and to lambda, and reports
// whether they are accurate.
func (s *krylov) ritz(x operator, z *mat.Dense, lambda []float64) bool {
	s.lanczos.vectors(z)
	s.lanczos.values(lambda)
	s.norm = s.lanczos.norm()
	return s.invariant(x, z, lambda)
}

// inverse runs a process with (A − mu·I)⁻¹, whose factorisation gives the number of eigenvalues
// below mu; m is the largest entry of a.
func (s *krylov) inverse(a *mat.Sym, mu, m float64, most, limit int) (k int, ok bool) {
	if k, ok = s.inertia.count(a, mu, m, most); !ok || k == 0 {
		return 0, false
	}
	_, ok = s.lanczos.run(&s.inertia, a.N, 0, k, k, limit)
	return k, ok
}

// refine is ritz for inverse, whose eigenvalues are not those of A.
func (s *krylov) refine(z *mat.Dense, lambda []float64, a *mat.Sym, mu float64) bool {
	s.lanczos.vectors(z)
	return s.rayleigh(z, lambda, a, mu)
}

// sure reports whether the factors that gave the count can be trusted.
func (s *krylov) sure() bool { return s.inertia.growth <= trusted*s.norm }

// krylovMost is the number of eigenvalues of a matrix of order n up to which the Krylov route is
// tried.
func krylovMost(n int) int { return min(n/16, 16) }

// promising reports whether A may have few eigenvalues below mu, by its diagonal.
func promising(a *mat.Sym, mu float64) bool {
	k := 0
	for i := range a.N {
		if a.Data[i*a.Stride+i] < mu {
			k++
		}
	}
	return 4*k <= a.N
}

// rayleigh replaces the rows of v by eigenvectors of A, which make v·A·vᵀ diagonal, and writes the
// eigenvalues to lambda. It returns false if a residual is too large, or an eigenvalue is not below
// mu.
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
	return s.probe.orthonormal(v)
}

// operator returns A as an operator, with both triangles where that pays.
func (s *krylov) operator(a *mat.Sym) operator {
	if !fullPays(a.N) {
		return product{a}
	}
	resize(&s.full.Dense, a.N, a.N)
	mat.CopyFull(&s.full.Dense, a)
	return &s.full
}

// invariant reports whether the rows of v are orthonormal and A·vᵀ = vᵀ·Λ: by one product, with a
// combination of the rows.
func (s *krylov) invariant(x operator, v *mat.Dense, lambda []float64) bool {
	if !s.probe.orthonormal(v) {
		return false
	}
	resize(&s.av, 1, v.Cols)
	r := s.av.Row(0)
	x.apply(r, s.probe.image)
	for i, u := range s.probe.u[:v.Rows] {
		mat.Axpy(r, -u*lambda[i], v.Row(i))
	}
	return mat.Norm(r) <= 4*eps*float64(v.Cols)*s.norm
}

// fullPays reports whether the products of a Lanczos process are faster with both triangles of a
// matrix of order n, by more than it takes to copy them: with vectors of 512 bits, up to 224.
func fullPays(n int) bool { return kernel.Lanes() == 8 && n <= 224 }
