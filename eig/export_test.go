package eig

import "stable/mat"

// TruncateBy is Truncate by one route, uncertified; ok is false where that declines.
func (t *Truncator) TruncateBy(r Route, dst, a *mat.Sym, mu float64) (rep Report, ok bool) {
	m, err := maxAbs(a)
	if err != nil {
		panic(err)
	}
	t.mu = mu
	switch r {
	case RouteTridiagonal:
		ok = t.byTridiagonal(a, m)
	case RouteKrylov:
		ok = t.byLanczos(a, a.N*4/5)
	case RouteJacobi:
		ok = t.byJacobi(a) == nil
	}
	if ok {
		mat.CopySym(dst, &t.p)
		rep = t.report(r)
	}
	return rep, ok
}

type Vectors int

const (
	ByEither  Vectors = iota // twisted factorisations, or QL where they decline
	ByTwisted                // twisted factorisations
	ByQL                     // QL rotations
)

// Tridiagonal returns the eigenpairs below mu; ok is false where the form declines.
func Tridiagonal(a *mat.Sym, mu float64, by Vectors) (lambda []float64, z *mat.Dense, ok bool) {
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
	scratch := make([]float64, a.N*a.N)
	w := wanted{mu, 1 / s.scale, true}
	switch by {
	case ByEither:
		ok = s.vectors(z, lambda, mu, true, scratch)
	case ByTwisted:
		ok = s.byTwisted(z, lambda, w)
		scaleBy(lambda, 1/s.scale)
	case ByQL:
		ok = s.byQL(z, lambda, w, scratch)
		scaleBy(lambda, 1/s.scale)
	}
	s.back(z)
	return lambda, z, ok
}

// Steps returns the steps of the last Lanczos process.
func (t *Truncator) Steps() int { return t.kry.steps }
