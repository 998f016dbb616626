package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
)

// Route names the way that a Truncate took. Routes agree up to rounding.
type Route int

// The routes, from cheap to dear.
const (
	RouteClear       Route = iota // a Cholesky factorisation of A − mu·I proved that nothing is to be clipped
	RouteKrylov                   // a Lanczos process found the few eigenvalues below mu, and a count proved that these are all
	RouteTridiagonal              // tridiagonal form, all eigenvalues, eigenvectors of the smaller side of mu
	RouteJacobi                   // all eigenvectors by Jacobi rotations
)

func (r Route) String() string {
	names := [...]string{"clear", "krylov", "tridiagonal", "jacobi"}
	if r < 0 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// Report tells what a Truncate did.
type Report struct {
	Clipped       int     // eigenvalues below mu
	MinEigenvalue float64 // the smallest eigenvalue of A where Clipped > 0; otherwise mu, a lower bound
	Change        float64 // ‖P − A‖_F
	Route         Route
}

// Truncator computes projections onto {X ⪰ mu·I}, and solves with the last one. The zero value is ready for use.
type Truncator struct {
	chol   chol.Cholesky // for the certificate; then of P, once a solve has asked for it
	kry    krylov
	tri    spectral
	jac    Jacobi
	mu     float64
	route  Route     // of the last Truncate
	lambda []float64 // eigenvalues of the side of mu that is multiplied back
	z      mat.Dense // its eigenvectors in rows, times √|λ − mu|
	diff   []float64 // mu − λ of those that are clipped
	p      mat.Sym   // P
	have   source
}

// source says what SolveVec can work with.
type source int

const (
	haveNothing source = iota
	haveProduct        // P in t.p
	haveFactor         // its Cholesky factor in t.chol
)

// Truncate sets dst = P, the projection of a onto {X ⪰ mu·I} in the Frobenius norm: with A = V·Λ·Vᵀ, P = V·max(Λ, mu)·Vᵀ.
//
// If a Cholesky factorisation proves that A − mu·I is positive definite, P is a, bit for bit. Otherwise P differs from the exact projection,
// and from a second projection of itself, and its smallest eigenvalue from mu, by a small multiple of n·eps·(‖A‖_F + √n·|mu|); so do the
// routes from one another (tests: 16, at eps = 2⁻⁵²; seen: below 5). The bits of P depend on a and mu alone.
//
// a is read, dst is written; dst may be a. Errors: ErrNotFinite (a, or mu, is NaN or infinite), ErrNoConvergence; dst is then as
// before. It panics if the orders differ. Nothing is allocated at an order seen before.
// n³/3 flops where nothing is to be clipped. Where k eigenvalues are: 4n³/3 for the tridiagonal form, 2n²·min(k, n−k) for eigenvectors
// and half of that to multiply back; at most n³/3 and some 25 products of 2n² where k ≤ n/16 and n ≥ 100.
//
// Source: Higham, Linear Algebra Appl. 103 (1988), theorem 2.1, shifted by mu; the paper's projection onto {X : X ⪰ μ_g·I}.
func (t *Truncator) Truncate(dst, a *mat.Sym, mu float64) (Report, error) {
	if dst.N != a.N {
		panic("eig: Truncator.Truncate: dimension mismatch")
	}
	t.have = haveNothing
	if math.IsNaN(mu) || math.IsInf(mu, 0) {
		return Report{}, &NotFiniteError{I: -1, J: -1, Value: mu}
	}
	// What was clipped the last time will be clipped again: then a decomposition comes first. Without this hint Cholesky's certificate does,
	// and its word stands wherever the two can differ: the result must not depend on what came before.
	hint := t.route != RouteClear && a.N == t.p.N
	t.mu, t.route = mu, RouteClear
	if !hint && t.chol.PosDef(a, mu) {
		return t.clear(dst, a), nil
	}
	m, err := maxAbs(a)
	if err != nil {
		return Report{}, err
	}
	if a.N >= krylovFrom {
		k, ok := t.kry.count(a, mu, m, krylovMost(a.N))
		ok = ok && (k == 0 || t.byKrylov(a, k))
		if ok && (k == 0 || hint && t.doubtful(t.lambda[0], t.kry.norm) && t.chol.PosDef(a, mu)) {
			return t.clear(dst, a), nil
		}
		if ok {
			return t.finish(RouteKrylov, dst, a, t.lambda, 1), nil
		}
	}
	if t.byTridiagonal(a, m) {
		least, norm := t.tri.bounds()
		if hint && t.doubtful(least, norm) && t.chol.PosDef(a, mu) {
			return t.clear(dst, a), nil
		}
		return t.finish(RouteTridiagonal, dst, a, t.tri.values, t.tri.scale), nil
	}
	if hint && t.chol.PosDef(a, mu) {
		return t.clear(dst, a), nil
	}
	if err := t.byJacobi(a); err != nil {
		return Report{}, err
	}
	return t.finish(RouteJacobi, dst, a, t.jac.Values(), 1), nil
}

// doubtful tells whether Cholesky's certificate could hold although the smallest eigenvalue of A is least, in rounded arithmetic.
func (t *Truncator) doubtful(least, norm float64) bool {
	return !(least < t.mu-64*eps*float64(t.z.Cols)*norm)
}

// clear is the end of a Truncate that has nothing to clip.
func (t *Truncator) clear(dst, a *mat.Sym) Report {
	mat.CopySym(dst, a)
	t.keep(dst)
	return Report{MinEigenvalue: t.mu, Route: RouteClear}
}

// finish is the end of any other.
func (t *Truncator) finish(r Route, dst, a *mat.Sym, values []float64, scale float64) Report {
	rep := t.multiplyBack(dst, a, values, scale)
	rep.Route, t.route = r, r
	t.keep(dst)
	return rep
}

// keep copies P for a later solve.
func (t *Truncator) keep(p *mat.Sym) {
	resizeSym(&t.p, p.N)
	mat.CopySym(&t.p, p)
	t.have = haveProduct
}

// sides makes room for the smaller side of a spectrum of n eigenvalues, k of them below mu, and tells whether that is the lower one.
func (t *Truncator) sides(n, k int) (below bool) {
	rows := min(k, n-k)
	t.lambda = grow(t.lambda, rows)
	t.z = mat.Dense{Rows: rows, Cols: n, Stride: stride(n), Data: grow(t.z.Data, rows*stride(n))}
	return k <= n-k
}

// weight multiplies row i of z by √|λ_i − mu|.
func (t *Truncator) weight() {
	for i, v := range t.lambda {
		scaleBy(t.z.Row(i), math.Sqrt(math.Abs(v-t.mu)))
	}
}

// byKrylov makes z and lambda from the factorisation that count left.
func (t *Truncator) byKrylov(a *mat.Sym, k int) bool {
	t.sides(a.N, k)
	for _, direct := range []bool{false, true} {
		if t.kry.ritz(&t.z, k, a, t.mu, direct) && t.kry.rayleigh(&t.z, t.lambda, a, t.mu) {
			t.weight()
			return true
		}
	}
	return false
}

func (t *Truncator) byTridiagonal(a *mat.Sym, m float64) bool {
	t.tri.factor(a, m)
	if !t.tri.eigenvalues(t.mu) {
		return false
	}
	below := t.sides(a.N, t.tri.count(t.mu))
	if !t.tri.vectors(&t.z, t.lambda, t.mu, below) {
		return false
	}
	t.weight()
	t.tri.back(&t.z)
	return true
}

func (t *Truncator) byJacobi(a *mat.Sym) error {
	if _, err := t.jac.Factor(a); err != nil {
		return err
	}
	values, vt := t.jac.Values(), t.jac.VectorsT()
	k := 0
	for k < len(values) && values[k] < t.mu {
		k++
	}
	first := k
	if t.sides(a.N, k) {
		first = 0
	}
	copy(t.lambda, values[first:])
	for i := range t.z.Rows {
		copy(t.z.Row(i), vt.Row(first+i))
	}
	t.weight()
	return nil
}

// multiplyBack sets dst = P from the weighted eigenvectors of the smaller side in z,
//
//	P = A + Σ_{λ<mu} (mu − λ)·v·vᵀ = mu·I + Σ_{λ≥mu} (λ − mu)·v·vᵀ,
//
// and reports, from the eigenvalues of scale·A below mu, at least.
func (t *Truncator) multiplyBack(dst, a *mat.Sym, values []float64, scale float64) Report {
	rep := Report{MinEigenvalue: t.mu}
	t.diff = grow(t.diff, len(values))[:0]
	for _, v := range values {
		if v /= scale; v < t.mu {
			rep.MinEigenvalue = min(rep.MinEigenvalue, v)
			t.diff = append(t.diff, t.mu-v)
		}
	}
	rep.Clipped, rep.Change = len(t.diff), mat.Norm(t.diff)
	if rep.Clipped <= a.N-rep.Clipped {
		mat.CopySym(dst, a)
	} else {
		dst.Zero()
		mat.AddIdentity(dst, t.mu)
	}
	if t.z.Rows <= 8 { // too few for packing to pay
		for i := range t.z.Rows {
			mat.RankOne(dst, 1, t.z.Row(i))
		}
		return rep
	}
	mat.RankKTrans(dst, 1, &t.z)
	return rep
}

// SolveVec sets dst = P⁻¹·b for the P of the last Truncate, by a Cholesky factor of P, which the first solve makes and the others find.
//
// b is read, dst is written; dst may be b. Errors: chol.ErrNotPosDef if P is not positive definite to working precision, which mu well
// above n·eps·‖P‖_F excludes. It panics if a length is not n, or if the last Truncate failed. Nothing is allocated at an order seen
// before. 2n² flops, the first time n³/3 more.
func (t *Truncator) SolveVec(dst, b []float64) error {
	switch t.have {
	case haveNothing:
		panic("eig: Truncator.SolveVec: no projection")
	case haveProduct:
		if err := t.chol.Factor(&t.p); err != nil {
			return err
		}
		t.have = haveFactor
	}
	t.chol.SolveVec(dst, b)
	return nil
}
