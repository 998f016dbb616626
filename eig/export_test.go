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

// Steps returns the steps of the last Lanczos process.
func (t *Truncator) Steps() int { return t.kry.steps }
