package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

// Route names the way that a Truncate took. All routes agree up to rounding.
type Route int

// The routes, from cheap to costly.
const (
	// A Cholesky factorisation of A − mu·I proved that nothing is to be clipped.
	RouteClear Route = iota
	// A Lanczos process found the few eigenvalues below mu, and a factorisation proved that these
	// are all.
	RouteKrylov
	// The tridiagonal form gave all eigenvalues, and the eigenvectors of the smaller side of mu.
	RouteTridiagonal
	// Jacobi rotations gave all eigenvectors.
	RouteJacobi
)

func (r Route) String() string {
	names := [...]string{"clear", "krylov", "tridiagonal", "jacobi"}
	if r < 0 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// Report says what a Truncate did.
type Report struct {
	Clipped       int     // eigenvalues below mu
	MinEigenvalue float64 // the smallest eigenvalue of A; mu, a lower bound, where Clipped is 0
	Change        float64 // ‖P − A‖_F
	Route         Route
}

// Truncator computes projections onto {X ⪰ mu·I}, and solves with the last one. The zero value is
// ready for use.
type Truncator struct {
	chol   chol.Cholesky // for certificates; then of P, after the first solve
	kry    krylov
	tri    spectral
	jac    Jacobi
	mu     float64
	route  Route     // of the last Truncate
	below  []float64 // eigenvalues below mu; in the end mu − λ
	lambda []float64 // eigenvalues of the smaller side of mu
	z      mat.Dense // its eigenvectors in rows; in the end times √|λ − mu|
	last   []float64 // unit eigenvector below mu of the last matrix, where there was one
	image  []float64 // A·last
	p      mat.Sym   // P
	up     mat.Sym   // raise·A
	have   source
}

// source says what SolveVec starts from.
type source int

const (
	haveNothing source = iota
	haveProduct        // P in t.p
	haveFactor         // its Cholesky factor in t.chol
)

// Truncate sets dst = P, the projection of a onto {X ⪰ mu·I} in the Frobenius norm: with A =
// V·Λ·Vᵀ, P = V·max(Λ, mu)·Vᵀ.
//
// If a Cholesky factorisation proves that A − mu·I is positive definite, P is a, bit for bit.
// Otherwise P differs from the exact projection, and from a second projection of itself, and its
// smallest eigenvalue from mu, by a small multiple of n·eps·(‖A‖_F + √n·|mu|); so do the routes
// from one another (tests: 16, at eps = 2⁻⁵²; seen: below 5). The bits of P depend on a and mu
// alone.
//
// a is read, dst is written; dst may be a. Errors: ErrNotFinite (a, or mu, is NaN or infinite),
// ErrNoConvergence; dst is then as before. It panics if the orders differ. A route taken at that
// order before allocates nothing, whatever is tried and declines on the way. The cost is n³/3 flops
// where no eigenvalue is clipped. Where k are clipped it is 4n³/3 for the tridiagonal form,
// 2n²·min(k, n−k) for eigenvectors and half of that to multiply back. Where k ≤ n/16, and either n
// ≥ 100, or n ≥ 48 and they are far enough below mu, it is n³/3 and some 25 products of 2n².
//
// Source: Higham, Linear Algebra Appl. 103 (1988), theorem 2.1, shifted by mu; the paper's
// projection onto {X : X ⪰ μ_g·I}.
func (t *Truncator) Truncate(dst, a *mat.Sym, mu float64) (Report, error) {
	if dst.N != a.N {
		panic("eig: Truncator.Truncate: dimension mismatch")
	}
	if kernel.Torn(a.N, a.N, min(a.Stride, dst.Stride)) {
		panic("eig: Truncator.Truncate" + kernel.MsgTorn)
	}
	if dst.Stride != a.Stride && a.N > 1 && kernel.SameStart(dst.Data, a.Data) {
		panic("eig: Truncator.Truncate" + kernel.MsgShared)
	}
	t.have = haveNothing
	if math.IsNaN(mu) || math.IsInf(mu, 0) {
		return Report{}, &NotFiniteError{I: -1, J: -1, Value: mu}
	}
	if math.Abs(mu) < low {
		if m, err := maxAbs(a); err != nil {
			return Report{}, err
		} else if m = max(m, math.Abs(mu)); 0 < m && m < low {
			return t.raised(dst, a, mu)
		}
	}
	return t.truncate(dst, a, mu)
}

// Entries below low have squares that lose digits to underflow, and reciprocals that may overflow.
// Multiplied by raise, no entry does.
const (
	low   = 0x1p-400
	raise = 0x1p600
)

// raised is truncate for a small A and mu.
func (t *Truncator) raised(dst, a *mat.Sym, mu float64) (Report, error) {
	resizeSym(&t.up, a.N)
	mat.ScaleSym(&t.up, raise, a)
	rep, err := t.truncate(&t.up, &t.up, raise*mu)
	if err != nil {
		return Report{}, err
	}
	mat.ScaleSym(&t.p, 1/raise, &t.p)
	mat.CopySym(dst, &t.p)
	rep.MinEigenvalue /= raise
	rep.Change /= raise
	return rep, nil
}

// truncate is Truncate without the checks.
func (t *Truncator) truncate(dst, a *mat.Sym, mu float64) (Report, error) {
	hopeless := t.stillBelow(a, mu)
	t.mu, t.route, t.last = mu, RouteClear, t.last[:0]
	if !hopeless && t.chol.PosDef(a, mu) {
		resizeSym(&t.p, a.N)
		mat.CopySym(&t.p, a)
		mat.CopySym(dst, a)
		t.have = haveProduct
		return Report{MinEigenvalue: t.mu, Route: RouteClear}, nil
	}
	n, most, m := a.N, krylovMost(a.N), 0.0
	if n >= productFrom {
		t.kry.reserve(n)
	}
	few := n >= productFrom && promising(a, mu) && t.byProducts(a, most, n/2)
	if !few {
		var err error
		if m, err = maxAbs(a); err != nil {
			return Report{}, err
		}
		few = n >= inverseFrom && t.byInverse(a, m, most, n/2)
	}
	switch {
	case few:
		t.route = RouteKrylov
	case t.byTridiagonal(a, m):
		t.route = RouteTridiagonal
	default:
		if err := t.byJacobi(a); err != nil {
			return Report{}, err
		}
		t.route = RouteJacobi
	}
	mat.CopySym(dst, &t.p)
	t.have = haveProduct
	return t.report(), nil
}

// Accept does what Truncate(a, a, mu) does where no eigenvalue is clipped, for a caller that
// already has a proof that a − mu·I is positive definite. It computes the Cholesky factor for
// SolveVec at once, and none for a proof. The factor has the bits of the one that SolveVec computes
// after Truncate.
//
// a is read. mu is only kept for later calls of Truncate. Errors: those of chol.Factor where a is
// not positive definite to working precision. There is then no projection, as after a failed
// Truncate. Nothing is allocated at an order seen before. n³/3 flops.
func (t *Truncator) Accept(a *mat.Sym, mu float64) error {
	t.have = haveNothing
	t.mu, t.route, t.last = mu, RouteClear, t.last[:0]
	if err := t.chol.Factor(a); err != nil {
		return err
	}
	t.have = haveFactor
	return nil
}

// PosDef reports whether a − shift·I is positive definite to working precision, as chol.PosDef
// does, in the memory of t. The last projection is lost; call Truncate or Accept next.
func (t *Truncator) PosDef(a *mat.Sym, shift float64) bool {
	t.have = haveNothing
	return t.chol.PosDef(a, shift)
}

// stillBelow reports whether the Rayleigh quotient of A at an eigenvector of the last matrix is so
// far below mu that Cholesky must fail, in rounded arithmetic too. This saves time, since Cholesky
// fails late where little is clipped.
//
// Where Cholesky succeeds, A − mu·I is positive semidefinite up to rounding, and its trace bounds
// its norm. Close to overflow and underflow the bound on rounding does not hold, and Cholesky must
// decide.
func (t *Truncator) stillBelow(a *mat.Sym, mu float64) bool {
	n := a.N
	if n == 0 || n != len(t.last) {
		return false
	}
	size := math.Abs(mu)
	for i := range n {
		size += math.Abs(a.Data[i*a.Stride+i] - mu)
	}
	if !(size > 0x1p-900 && size < 0x1p900) {
		return false
	}
	mat.MulVecSym(t.image, a, t.last)
	return mat.Dot(t.last, t.image) < mu-64*eps*float64(n)*size
}

// sides makes room for the smaller side of a spectrum of n eigenvalues, k of them below mu, and
// reports whether that is the lower one. The memory suffices for every k.
func (t *Truncator) sides(n, k int) (lower bool) {
	rows := min(k, n-k)
	t.lambda = grow(t.lambda, n/2)[:rows]
	t.last, t.image = grow(t.last, n)[:0], grow(t.image, n)
	t.z = mat.Dense{Rows: rows, Cols: n, Stride: stride(n), Data: grow(t.z.Data, n/2*stride(n))[:rows*stride(n)]}
	return k <= n-k
}

// byProducts computes P by a Lanczos process with A, if few eigenvalues are below mu: at most most,
// found in limit steps. It declines if an entry of a is not finite.
func (t *Truncator) byProducts(a *mat.Sym, most, limit int) bool {
	x := t.kry.operator(a)
	k, ok := t.kry.products(x, a.N, t.mu, most, limit)
	if !ok {
		return false
	}
	t.sides(a.N, k)
	if !t.kry.ritz(x, &t.z, t.lambda) {
		return false
	}
	t.assemble(a)
	return t.complete()
}

// byInverse is byProducts for (A − mu·I)⁻¹, whose factorisation gives the number of eigenvalues
// below mu; m is the largest entry of a.
func (t *Truncator) byInverse(a *mat.Sym, m float64, most, limit int) bool {
	k, ok := t.kry.inverse(a, t.mu, m, most, limit)
	if !ok {
		return false
	}
	t.sides(a.N, k)
	if !t.kry.refine(&t.z, t.lambda, a, t.mu) {
		return false
	}
	t.assemble(a)
	return t.counted()
}

// counted reports whether lambda holds all eigenvalues below mu: by the count, or by a separate
// proof.
func (t *Truncator) counted() bool { return t.kry.sure() || t.complete() }

// assemble computes P from the few eigenpairs in lambda and z.
func (t *Truncator) assemble(a *mat.Sym) {
	t.below = append(grow(t.below, a.N)[:0], t.lambda...)
	t.multiplyBack(a)
}

// complete proves that no eigenvalue of A below mu was missed, since P would still have it. The
// margin allows for the eigenvalues of P that are mu up to rounding.
func (t *Truncator) complete() bool {
	return t.chol.PosDef(&t.p, t.mu-2*eps*float64(t.p.N)*t.kry.norm)
}

func (t *Truncator) byTridiagonal(a *mat.Sym, m float64) bool {
	t.tri.factor(a, m)
	if !t.tri.eigenvalues(t.mu) {
		return false
	}
	t.below = t.tri.below(grow(t.below, a.N)[:0], t.mu)
	resizeSym(&t.p, a.N)
	if lower := t.sides(a.N, len(t.below)); !t.tri.vectors(&t.z, t.lambda, t.mu, lower, t.p.Data) {
		return false
	}
	t.tri.back(&t.z)
	t.multiplyBack(a)
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
	t.below = append(grow(t.below, a.N)[:0], values[:k]...)
	copy(t.lambda, values[first:])
	for i := range t.z.Rows {
		copy(t.z.Row(i), vt.Row(first+i))
	}
	t.multiplyBack(a)
	return nil
}

// multiplyBack computes P from the eigenvalues and eigenvectors of the smaller side in lambda and
// z, which it scales,
//
//	P = A + Σ_{λ<mu} (mu − λ)·v·vᵀ = mu·I + Σ_{λ≥mu} (λ − mu)·v·vᵀ.
func (t *Truncator) multiplyBack(a *mat.Sym) {
	resizeSym(&t.p, a.N)
	if k := len(t.below); k <= a.N-k {
		mat.CopySym(&t.p, a)
		if k > 0 {
			t.last = append(t.last[:0], t.z.Row(0)...)
		}
	} else {
		t.p.Zero()
		mat.AddIdentity(&t.p, t.mu)
	}
	for i, v := range t.lambda {
		scaleBy(t.z.Row(i), math.Sqrt(math.Abs(v-t.mu)))
	}
	addGram(&t.p, &t.z)
}

// report describes the last projection; below becomes mu − λ.
func (t *Truncator) report() Report {
	rep := Report{Clipped: len(t.below), MinEigenvalue: t.mu, Route: t.route}
	for i, v := range t.below {
		rep.MinEigenvalue = min(rep.MinEigenvalue, v)
		t.below[i] = t.mu - v
	}
	rep.Change = mat.Norm(t.below)
	return rep
}

// SolveVec sets dst = P⁻¹·b for the P of the last Truncate, by a Cholesky factor of P, which the
// first solve computes and later solves reuse.
//
// b is read, dst is written; dst may be b. Errors: chol.ErrNotPosDef if P is not positive definite
// to working precision, which a normal mu well above n·eps·‖P‖_F excludes. It panics if a length is not n,
// or if the last Truncate failed. Nothing is allocated at an order seen before. 2n² flops, the
// first time n³/3 more.
func (t *Truncator) SolveVec(dst, b []float64) error {
	if err := t.factor("eig: Truncator.SolveVec: no projection"); err != nil {
		return err
	}
	t.chol.SolveVec(dst, b)
	return nil
}

// Solve is SolveVec for the columns of an n × m matrix b: it sets dst = P⁻¹·B. It panics if the
// sizes of b and dst do not match. 2n²·m flops, the first time n³/3 more.
func (t *Truncator) Solve(dst, b *mat.Dense) error {
	if err := t.factor("eig: Truncator.Solve: no projection"); err != nil {
		return err
	}
	t.chol.Solve(dst, b)
	return nil
}

// factor makes the Cholesky factor of P, unless it is there.
func (t *Truncator) factor(none string) error {
	switch t.have {
	case haveNothing:
		panic(none)
	case haveProduct:
		if err := t.chol.Factor(&t.p); err != nil {
			return err
		}
		t.have = haveFactor
	}
	return nil
}
