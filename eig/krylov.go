package eig

import (
	"stable/mat"
	"stable/mat/kernel"
)

// krylov finds a few eigenpairs far below mu by a Lanczos process with A.
type krylov struct {
	lanczos lanczos
	full    full
	norm    float64   // of T
	r       []float64 // a residual
	probe   probe
	most    int // the order that there is memory for
}

const (
	krylovFrom = 48  // the order from which the process is tried (BenchmarkRoutes)
	fullMost   = 224 // up to here, vectors of 512 bits multiply by both triangles faster
)

func krylovMost(n int) int { return min(n/16, 16) }

// promises says whether a try pays: a large order with a diagonal that allows few eigenvalues below
// mu. It makes the room for any length of the process, so that memory does not depend on the
// matrix.
func (s *krylov) promises(a *mat.Sym, mu float64) bool {
	n := a.N
	if n < krylovFrom {
		return false
	}
	if n > s.most {
		s.most = n
		s.lanczos.reserve(n, krylovMost(n), n/2)
		s.probe.reserve(n)
		s.r = grow(s.r, n)
		if fullPays(n) {
			s.full.Data = grow(s.full.Data, n*n)
		}
	}
	k := 0
	for i := range n {
		if a.Data[i*a.Stride+i] < mu {
			k++
		}
	}
	return 4*k <= n
}

func fullPays(n int) bool { return kernel.Lanes() == 8 && n <= fullMost }

func (s *krylov) operator(a *mat.Sym) operator {
	if !fullPays(a.N) {
		return product{a}
	}
	resize(&s.full.Dense, a.N, a.N)
	mat.CopyFull(&s.full.Dense, a)
	return &s.full
}

// ritz writes the eigenpairs found to z and lambda, and reports whether they are accurate.
func (s *krylov) ritz(x operator, z *mat.Dense, lambda []float64) bool {
	all := s.lanczos.q.View(0, 0, s.lanczos.s.Cols, z.Cols)
	mat.Mul(z, &s.lanczos.s, &all)
	copy(lambda, s.lanczos.theta)
	s.norm = s.lanczos.norm()
	return s.invariant(x, z, lambda)
}

// invariant reports, by a product with one combination of the rows, whether v is orthonormal and
// A·vᵀ = vᵀ·Λ.
func (s *krylov) invariant(x operator, v *mat.Dense, lambda []float64) bool {
	if !s.probe.orthonormal(v) {
		return false
	}
	s.r = grow(s.r, v.Cols)
	x.apply(s.r, s.probe.image)
	for i, u := range s.probe.u[:v.Rows] {
		mat.Axpy(s.r, -u*lambda[i], v.Row(i))
	}
	return mat.Norm(s.r) <= 4*eps*float64(v.Cols)*s.norm
}
