package eig

import (
	"math"

	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

// Route names the way a Truncate took: see the package comment.
type Route int

const (
	RouteClear Route = iota
	RouteKrylov
	RouteTridiagonal
)

func (r Route) String() string {
	names := [...]string{"clear", "krylov", "tridiagonal"}
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

// Truncator projects onto {X ⪰ mu·I} and solves with the last projection.
type Truncator struct {
	chol   chol.Cholesky // for certificates; then of P, after the first solve
	kry    krylov
	tri    spectral
	mu     float64
	below  []float64 // eigenvalues below mu; in the end mu − λ
	lambda []float64 // eigenvalues of the smaller side of mu
	z      mat.Dense // its eigenvectors in rows; in the end times √|λ − mu|
	last   []float64 // unit eigenvector below mu of the last matrix, if any
	image  []float64 // A·last
	p      mat.Sym   // P
	up     mat.Sym   // raise·A

	made, factored bool // there is a P; chol holds its factor
}

// Truncate sets dst = P = V·max(Λ, mu)·Vᵀ, the projection of a = V·Λ·Vᵀ onto {X ⪰ mu·I} in the
// Frobenius norm; where a Cholesky proves A − mu·I positive definite, P is a, bit for bit.
//
// dst may be a, which is else only read; where P = a stays in place, its factor is computed at once. Errors:
// ErrNotFinite (a or mu), ErrNoConvergence (never seen); dst is then as before. It panics if the orders differ.
// Costs and errors: the package comment. Higham, Linear Algebra Appl. 103 (1988), theorem 2.1, shifted by mu.
func (t *Truncator) Truncate(dst, a *mat.Sym, mu float64) (Report, error) {
	refuse(dst.N != a.N, "eig: Truncator.Truncate", ": dimension mismatch")
	refuse(kernel.Torn(a.N, a.N, min(a.Stride, dst.Stride)), "eig: Truncator.Truncate", kernel.MsgTorn)
	refuse(dst.Stride != a.Stride && a.N > 1 && kernel.SameStart(dst.Data, a.Data),
		"eig: Truncator.Truncate", kernel.MsgShared)
	t.made, t.factored = false, false
	if !mat.IsFinite(mu) {
		return Report{}, &NotFiniteError{I: -1, J: -1, Value: mu}
	}
	x, unit := a, 1.0
	if math.Abs(mu) < low {
		largest, err := maxAbs(a)
		if err != nil {
			return Report{}, err
		}
		if m := max(largest, math.Abs(mu)); 0 < m && m < low {
			x, unit = &t.up, raise
			resizeSym(x, a.N)
			mat.ScaleSym(x, unit, a)
		}
	}
	route, err := t.project(x, unit*mu)
	if err != nil {
		return Report{}, err
	}
	rep := t.report(route)
	rep.MinEigenvalue /= unit
	rep.Change /= unit
	if route == RouteClear && dst == a && t.chol.Factor(a) == nil {
		t.made, t.factored = true, true // no copy is needed
		return rep, nil
	}
	if route == RouteClear {
		resizeSym(&t.p, a.N)
		mat.CopySym(&t.p, a)
	} else if unit != 1 {
		mat.ScaleSym(&t.p, 1/unit, &t.p)
	}
	if route != RouteClear || dst != a {
		mat.CopySym(dst, &t.p)
	}
	t.made = true
	return rep, nil
}

// Entries below low lose digits when squared or overflow when inverted; times raise, none does.
const (
	low   = 0x1p-400
	raise = 0x1p600
)

func (t *Truncator) project(a *mat.Sym, mu float64) (Route, error) {
	below := t.stillBelow(a, mu)
	t.mu, t.last, t.below = mu, t.last[:0], t.below[:0]
	if !below && t.chol.PosDef(a, mu) {
		return RouteClear, nil
	}
	if a.N >= krylovFrom && t.byLanczos(a, krylovSteps(a.N)) {
		return RouteKrylov, nil
	}
	return RouteTridiagonal, t.byTridiagonal(a)
}

// stillBelow reports whether the Rayleigh quotient at an eigenvector of the last matrix is so far
// below mu that Cholesky must fail, rounded too: where it succeeds, the trace of A − mu·I bounds its
// norm. Not close to overflow or underflow.
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

// byLanczos computes P from the eigenvalues below mu that limit steps find; not if a is not finite.
func (t *Truncator) byLanczos(a *mat.Sym, limit int) bool {
	k, ok := t.kry.run(a, t.mu, limit)
	if !ok || k > a.N/2 {
		return false
	}
	t.sides(a.N, k)
	if !t.kry.vectors(&t.z, t.lambda) {
		return false
	}
	t.below = append(grow(t.below, a.N)[:0], t.lambda...)
	t.multiplyBack(a)
	return t.complete()
}

// complete proves that P has no eigenvalue below mu but for rounding: n at the margin are 16u together.
func (t *Truncator) complete() bool {
	return t.chol.PosDef(&t.p, t.mu-16*eps*math.Sqrt(float64(t.p.N))*t.kry.norm)
}

// byTridiagonal computes P from the eigenvectors of the smaller side of mu.
func (t *Truncator) byTridiagonal(a *mat.Sym) error {
	largest, err := maxAbs(a)
	if err != nil {
		return err
	}
	t.tri.factor(a, largest)
	if !t.tri.eigenvalues() {
		return t.tri.noConvergence()
	}
	t.below = t.tri.below(grow(t.below, a.N)[:0], t.mu)
	resizeSym(&t.p, a.N)
	if lower := t.sides(a.N, len(t.below)); !t.tri.vectors(&t.z, t.lambda, t.mu, lower, t.p.Data) {
		return t.tri.noConvergence()
	}
	t.tri.back(&t.z)
	t.multiplyBack(a)
	return nil
}

// sides sizes lambda and z for the smaller side, k or n−k, and says whether it is the lower.
func (t *Truncator) sides(n, k int) (lower bool) {
	rows := min(k, n-k)
	t.lambda = grow(t.lambda, n/2)[:rows]
	t.last, t.image = grow(t.last, n)[:0], grow(t.image, n)
	t.z = mat.Dense{Rows: rows, Cols: n, Stride: stride(n), Data: grow(t.z.Data, n/2*stride(n))[:rows*stride(n)]}
	return k <= n-k
}

// multiplyBack computes P from the pairs of the smaller side,
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
		kernel.Scale(t.z.Row(i), math.Sqrt(math.Abs(v-t.mu)), t.z.Row(i))
	}
	const few = 8 // up to which packing does not pay
	if t.z.Rows > few {
		mat.RankKTrans(&t.p, 1, &t.z)
		return
	}
	var buf [few]float64
	c := buf[:t.z.Rows]
	for i := range a.N {
		for r := range c {
			c[r] = -t.z.Data[r*t.z.Stride+i]
		}
		kernel.SubRows(t.p.Row(i), c, t.z.Data, t.z.Stride)
	}
}

func (t *Truncator) report(route Route) Report {
	rep := Report{Clipped: len(t.below), MinEigenvalue: t.mu, Route: route}
	for i, v := range t.below {
		rep.MinEigenvalue = min(rep.MinEigenvalue, v)
		t.below[i] = t.mu - v
	}
	if rep.Clipped > 0 {
		rep.Change = mat.Norm(t.below)
	}
	return rep
}

// Accept is Truncate(a, a, mu) for a caller with a proof that a − mu·I is positive definite: it
// computes the factor for SolveVec, with the same bits, and nothing else. a is only read. Errors:
// those of chol.Factor; there is then no projection. n³/3 flops.
func (t *Truncator) Accept(a *mat.Sym, mu float64) error {
	t.mu, t.last = mu, t.last[:0]
	err := t.chol.Factor(a)
	t.made, t.factored = err == nil, err == nil
	return err
}

// PosDef is chol.PosDef(a − shift·I) in the memory of t. It discards the last projection.
func (t *Truncator) PosDef(a *mat.Sym, shift float64) bool {
	t.made = false
	return t.chol.PosDef(a, shift)
}

// SolveVec sets dst = P⁻¹·b for the last P, by its Cholesky factor. dst may be b, which is else
// only read. Errors: chol.ErrNotPosDef, excluded by a normal mu well above n·eps·‖P‖_F. It panics
// if a length is not n or there is no P. 2n² flops, n³/3 more the first time.
func (t *Truncator) SolveVec(dst, b []float64) error {
	if err := t.factor("eig: Truncator.SolveVec: no projection"); err != nil {
		return err
	}
	t.chol.SolveVec(dst, b)
	return nil
}

// Solve is SolveVec for the columns of b, n × m: dst = P⁻¹·B. It panics if sizes do not match.
// 2n²·m flops, n³/3 more the first time.
func (t *Truncator) Solve(dst, b *mat.Dense) error {
	if err := t.factor("eig: Truncator.Solve: no projection"); err != nil {
		return err
	}
	t.chol.Solve(dst, b)
	return nil
}

func (t *Truncator) factor(none string) error {
	refuse(!t.made, none, "")
	if t.factored {
		return nil
	}
	err := t.chol.Factor(&t.p)
	t.factored = err == nil
	return err
}
