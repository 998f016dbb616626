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

// TruncateBy is Truncate by one route, without certificate or fallback; ok is false where the route declines.
func (t *Truncator) TruncateBy(r Route, dst, a *mat.Sym, mu float64) (rep Report, ok bool) {
	m, err := maxAbs(a)
	if err != nil {
		panic(err)
	}
	t.mu = mu
	switch r {
	case RouteTridiagonal:
		if !t.byTridiagonal(a, m) {
			return rep, false
		}
		return t.multiplyBack(dst, a, t.tri.values, t.tri.scale), true
	case RouteKrylov:
		k, ok := t.kry.count(a, mu, m, 16)
		if !ok || k == 0 || !t.byKrylov(a, k) {
			return rep, false
		}
		return t.multiplyBack(dst, a, t.lambda, 1), true
	case RouteJacobi:
		if t.byJacobi(a) != nil {
			return rep, false
		}
		return t.multiplyBack(dst, a, t.jac.Values(), 1), true
	}
	panic("no such route")
}

// Tridiagonal returns the eigenvalues below mu and their eigenvectors, in rows, by the tridiagonal route.
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
	k := s.count(mu)
	lambda, z = make([]float64, k), mat.NewDense(k, a.N)
	if !s.vectors(z, lambda, mu, true) {
		return nil, nil, false
	}
	s.back(z)
	return lambda, z, true
}

// KrylovSteps returns the order of the last Lanczos process.
func (t *Truncator) KrylovSteps() int { return t.kry.st.Cols }
