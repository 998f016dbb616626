package eig

import "stable/mat"

// TruncateBy is Truncate by one route, uncertified; ok is false where that declines.
func (t *Truncator) TruncateBy(r Route, dst, a *mat.Sym, mu float64) (rep Report, ok bool) {
	t.mu = mu
	if r == RouteKrylov {
		ok = t.byLanczos(a, a.N*4/5)
	} else {
		ok = t.byTridiagonal(a) == nil
	}
	if ok {
		mat.CopySym(dst, &t.p)
		rep = t.report(r)
	}
	return rep, ok
}

// Tridiagonal returns the eigenpairs below mu, all by QL if asked; ok is false where that declines.
func Tridiagonal(a *mat.Sym, mu float64, ql bool) (lambda []float64, z *mat.Dense, ok bool) {
	m, err := maxAbs(a)
	if err != nil {
		panic(err)
	}
	var s spectral
	s.factor(a, m)
	if !s.eigenvalues(mu) {
		return nil, nil, false
	}
	lambda = s.below(nil, mu)
	z = mat.NewDense(len(lambda), a.N)
	if ql {
		s.norm = 0 // no residual is small enough
	}
	ok = s.vectors(z, lambda, mu, true, make([]float64, a.N*a.N))
	s.back(z)
	return lambda, z, ok
}

// Steps returns the steps of the last Lanczos process.
func (t *Truncator) Steps() int { return t.kry.steps }
