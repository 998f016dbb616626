package eig

import "stable/mat"

// The kernels, for tests and benchmarks: as dispatched, and in plain Go.
var (
	Pass2      = pass2
	Pass2Go    = pass2Go
	Reflect4   = reflect4
	Reflect4Go = reflect4Go
	Rotate     = rotate
	RotateGo   = rotateGo
)

// The two Lanczos processes of RouteKrylov.
const (
	RouteProducts Route = 100 + iota
	RouteInverse
)

// TruncateBy is Truncate by one route, without certificate or fallback; ok is false where the route
// declines.
func (t *Truncator) TruncateBy(r Route, dst, a *mat.Sym, mu float64) (rep Report, ok bool) {
	m, err := maxAbs(a)
	if err != nil {
		panic(err)
	}
	t.mu, t.route = mu, r
	most := min(16, a.N/2)
	switch r {
	case RouteTridiagonal:
		ok = t.byTridiagonal(a, m)
	case RouteProducts:
		ok = t.byProducts(a, most, a.N)
	case RouteInverse:
		ok = t.byInverse(a, m, most, a.N)
	case RouteJacobi:
		ok = t.byJacobi(a) == nil
	}
	if ok {
		mat.CopySym(dst, &t.p)
		rep = t.report()
	}
	return rep, ok
}

// Tridiagonal returns the eigenvalues below mu and their eigenvectors, in rows, by the tridiagonal
// route.
func Tridiagonal(a *mat.Sym, mu float64) (lambda []float64, z *mat.Dense, ok bool) {
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
	if !s.vectors(z, lambda, mu, true) {
		return nil, nil, false
	}
	s.back(z)
	return lambda, z, true
}
