// Package observe measures runs: [LocalLimit] is how small the error can be by the samples seen,
// [Moreau] has near-stationarity. F, ∇F and y*(x) at an iterate are those of bilevel.Truth, or of
// implicit.Truth for a problem with exact oracles that does not know them.
package observe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
)

// Limit is the least mean error that independent samples allow at a solution: in the long run, no
// method that has seen n_ξ and n_φ of them does better than
//
//	E[F(x) − F*] = Xi/n_ξ + Phi/n_φ.
type Limit struct {
	Xi, Phi float64

	StdErr float64 // the standard error of Xi + Phi; 0 where both streams are finite sums
	Skew   float64 // the error of differences: the norm of the skew part of ∇²F over that of ∇²F
	Free   int     // the dimension of the directions in which x can move and F varies

	// Effective is how many of these count, (tr C)²/tr C² with C = (∇²F)⁻¹Cov(r_ξ + r_φ) on them: errors
	// over the limit scatter as χ² with as many degrees of freedom (Satterthwaite, Biometrics Bull. 2, 1946).
	Effective float64
}

// At returns the limit for xi and phi samples.
func (l Limit) At(xi, phi float64) float64 { return l.Xi/xi + l.Phi/phi }

// LimitOptions says how LocalLimit computes.
type LimitOptions struct {
	Set   bilevel.Set // X: a bilevel.BoundedSet, Simplex, HalfSpace or Ball. Default bilevel.Space
	Draws int         // samples drawn from an unbounded stream, ≥ 2. Default 10000
	Seed  uint64      // of these draws
}

// LocalLimit computes the local asymptotic limit of p at its solution x*: the least mean error that
// samples allow, whatever the method, unless it reads a finite sum repeatedly.
//
// p must have exact oracles. y* is that of bilevel.Truth, or of Newton's method from 0. x must be x*
// to as many digits as the limit is to have; an entry on its bound counts as held, and an x within
// 1e-9 of the sphere or the plane of a set as on it.
//
// Errors: ErrOption, wrapped, for a field out of range or an x that is not finite; those of the oracles,
// bilevel.ErrNoExact among them, and of Solution; chol.ErrNotPosDef, wrapped, where g_yy or T(∇²F + λI)Tᵀ is
// not positive definite. It panics if x is not of length dx. Memory O((dx + dy)²). Cost: 4(dx + dy) exact
// evaluations, one of each oracle for each sample with O(dx² + dx·dy) flops, and O((dx + dy)³).
//
// # How it works
//
// The solution with y* = y*(x*) and v* = g_yy⁻¹f_y is the root of
//
//	Ψ(x, y, v) = (E g_y; E[g_yy]v − E f_y; E f_x − E[g_xy]v).
//
// With J the derivative of Ψ and S the covariance of a sample of it, the efficient estimate of the
// root from n samples has the covariance J⁻¹SJ⁻ᵀ/n. With P = g_yy⁻¹, G = g_xy P, A = f_xy −
// g_xyy[v], B = g_yyy[v] − f_yy, K = f_xx − g_xxy[v] and R = A + GB,
//
//	∇²F = K − AGᵀ − GRᵀ,
//	r_ξ = f_x(ξ) − G f_y(ξ),    r_φ = −g_xy(φ)v + G g_yy(φ)v − RP g_y(φ),
//
// a sample moves x by −(∇²F)⁻¹(r − E r)/n, so Xi = ½ tr((∇²F)⁻¹ Cov r_ξ), and Phi is the same for
// r_φ. On the boundary of X, T(∇²F + λI)Tᵀ and Tr stand for ∇²F and r: the rows of T span the
// directions along it, and λ is ‖∇F‖/Radius on the sphere of a Ball, otherwise 0. Entries of x in
// which F is flat to rounding are left out. A, B and K are five-point differences of exact oracles.
//
// Source: Hájek, Proc. Sixth Berkeley Symp. 1, 1972, and Le Cam, same volume (local asymptotic
// minimax bound); Duchi, Ruan, Ann. Statist. 49, 2021 (convex constraints).
func LocalLimit(p bilevel.Problem, x []float64, o LimitOptions) (Limit, error) {
	if dx, _ := p.Dims(); len(x) != dx {
		panic("observe: LocalLimit: dimension mismatch")
	}
	option.Default(&o.Draws, 10000)
	option.Default[bilevel.Set](&o.Set, bilevel.Space{})
	err := cmp.Or(
		option.Vector("observe: LocalLimit: x", x, len(x)),
		option.AtLeast("observe: LimitOptions.Draws", o.Draws, 2),
		o.Set.Validate(len(x)))
	if err != nil {
		return Limit{}, err
	}
	l := newLinear(p, x)
	err = bilevel.Complete(p).Solution(l.y, x)
	if errors.Is(err, bilevel.ErrMissing) {
		err = implicit.NewTruth(p).Solution(l.y, x)
	}
	if err != nil {
		return Limit{}, err
	}
	var lim Limit
	if lim.Skew, err = l.linearise(); err != nil {
		return Limit{}, err
	}
	if lim.Free, err = l.restrict(o.Set); err != nil || lim.Free == 0 {
		return lim, err
	}
	upper, lower := p.Streams()
	var v1, v2, squares float64
	l.n = float64(cmp.Or(upper, uint64(o.Draws)))
	if lim.Xi, v1, err = o.mean(upper, 'x', l.fromXi); err != nil {
		return lim, err
	}
	l.n = float64(cmp.Or(lower, uint64(o.Draws)))
	if lim.Phi, v2, err = o.mean(lower, 'y', l.fromPhi); err != nil {
		return lim, err
	}
	lim.StdErr = math.Sqrt(v1 + v2)
	for i := range l.c.Rows {
		for j, c := range l.c.Row(i) {
			squares += c * l.c.At(j, i)
		}
	}
	trace := 2 * (lim.Xi + lim.Phi)
	lim.Effective = trace * trace / cmp.Or(squares, 1)
	return lim, nil
}

// mean returns a value's mean over all samples of a finite sum, or over Draws where size is 0, and
// the estimated variance of that mean, 0 for a sum.
func (o LimitOptions) mean(size, stream uint64, value func(one []bilevel.Sample) (float64, error)) (m, variance float64, err error) {
	n, one, squares := cmp.Or(size, uint64(o.Draws)), make([]bilevel.Sample, 1), 0.0
	rng := rand.New(rand.NewPCG(o.Seed, stream))
	for i := range n {
		one[0] = bilevel.Sample(i)
		if size == 0 {
			one[0] = bilevel.Sample(rng.Uint64())
		}
		v, err := value(one)
		if err != nil {
			return 0, 0, fmt.Errorf("observe: LocalLimit: sample %d: %w", one[0], err)
		}
		d := v - m
		m += d / float64(i+1)
		squares += d * (v - m)
	}
	if size == 0 {
		variance = squares / float64(n-1) / float64(n)
	}
	return m, variance, nil
}

// near is how close to a Ball or a HalfSpace's boundary, in units of its size, x counts as on it.
const near = 1e-9

// tangent returns in the rows of t a basis of the directions along the boundary of set that holds
// x, and λ, what the boundary's curvature adds to ∇²F; grad is ∇F at x.
func tangent(set bilevel.Set, x, grad []float64) (t *mat.Dense, lambda float64, err error) {
	switch s := set.(type) {
	case bilevel.BoundedSet:
		return axes(x, func(i int) bool {
			lo, hi := s.Bounds(i)
			return lo < x[i] && x[i] < hi
		}), 0, nil
	case bilevel.Simplex:
		return onSimplex(x), 0, nil
	case bilevel.HalfSpace:
		if n := mat.Norm(s.A); mat.Dot(s.A, x)-s.B > -near*n*(mat.Norm(x)+math.Abs(s.B)/n) {
			return orthogonal(s.A), 0, nil
		}
	case bilevel.Ball:
		n := slices.Clone(x)
		if s.Center != nil {
			mat.Axpy(n, -1, s.Center)
		}
		switch {
		case s.Radius == 0:
			return axes(x, func(int) bool { return false }), 0, nil
		case mat.Norm(n) > (1-near)*s.Radius:
			return orthogonal(n), mat.Norm(grad) / s.Radius, nil
		}
	default:
		return nil, 0, option.Bad("observe: LimitOptions.Set is a %T, want a bilevel.BoundedSet, Simplex, HalfSpace or Ball", set)
	}
	return axes(x, func(int) bool { return true }), 0, nil
}

func axes(x []float64, free func(i int) bool) *mat.Dense {
	var rows []float64
	for i := range x {
		if free(i) {
			rows = append(rows, make([]float64, len(x))...)
			rows[len(rows)-len(x)+i] = 1
		}
	}
	return mat.DenseOf(len(rows)/len(x), len(x), rows)
}

// flat are the largest elements of a scaled ∇²F, over its largest diagonal element, with which F
// counts as flat: rounding leaves as much of 0.
var flat = struct{ on, beside float64 }{1e-20, 1e-8}

// varied returns the rows of t that change an entry with which F varies.
func varied(t *mat.Dense, hess *mat.Sym, scale []float64) *mat.Dense {
	var most float64
	for i, s := range scale {
		most = max(most, s*s*math.Abs(hess.At(i, i)))
	}
	varies := func(i int) bool {
		for j, s := range scale {
			bound := flat.beside
			if i == j {
				bound = flat.on
			}
			if s*scale[i]*math.Abs(hess.At(i, j)) > bound*most {
				return true
			}
		}
		return false
	}
	var kept []float64
	for k := range t.Rows {
		for i, v := range t.Row(k) {
			if v != 0 && varies(i) {
				kept = append(kept, t.Row(k)...)
				break
			}
		}
	}
	return mat.DenseOf(len(kept)/t.Cols, t.Cols, kept)
}

// onSimplex spans e_i − e_j over entries that are not 0, for one j: the sum is kept.
func onSimplex(x []float64) *mat.Dense {
	all := axes(x, func(i int) bool { return x[i] > 0 })
	t := all.View(min(1, all.Rows), 0, max(all.Rows-1, 0), all.Cols)
	for k := range t.Rows {
		mat.Axpy(t.Row(k), -1, all.Row(0))
	}
	return &t
}

// orthogonal spans what is orthogonal to n ≠ 0: rows of the reflection I − 2uuᵀ/‖u‖² that takes n
// to an axis (Householder, J. ACM 5, 1958).
func orthogonal(n []float64) *mat.Dense {
	pivot := 0
	for i, v := range n {
		if math.Abs(v) > math.Abs(n[pivot]) {
			pivot = i
		}
	}
	u := slices.Clone(n)
	u[pivot] += math.Copysign(mat.Norm(n), n[pivot])
	c := 2 / mat.Dot(u, u)
	t := mat.NewDense(len(n)-1, len(n))
	for k := range t.Rows {
		i := k
		if i >= pivot {
			i++
		}
		t.Set(k, i, 1)
		mat.Axpy(t.Row(k), -c*u[i], u)
	}
	return t
}

// linear is the linearisation of Ψ at a solution; see LocalLimit for the letters.
type linear struct {
	p       *bilevel.Completed
	x, y, v []float64
	lower   chol.Cholesky // of g_yy
	gt, mt  *mat.Dense    // Gᵀ and (RP)ᵀ, dy × dx
	hess    mat.Sym       // ∇²F

	t     *mat.Dense    // the directions in which x can move, row by row
	block chol.Cholesky // of T(∇²F + λI)Tᵀ
	r, s  []float64     // of length t.Rows
	c     *mat.Dense    // (∇²F)⁻¹Cov r on them, of both kinds
	n     float64       // samples of the kind

	// The exact values at (x, y, v), and those of a sample or of a neighbour.
	mean, one parts

	wx, wy []float64 // scratch
}

// sizes are lengths over which second derivatives change.
func sizes(v []float64) []float64 {
	most, s := mat.MaxAbs(mat.DenseOf(1, len(v), v)), make([]float64, len(v))
	for i, a := range v {
		s[i] = cmp.Or(max(math.Abs(a), most/1000), 1)
	}
	return s
}

type parts struct {
	fx, cross    []float64 // f_x and g_xy v, of length dx
	fy, gy, bent []float64 // f_y, g_y and g_yy v, of length dy
}

func newLinear(p bilevel.Problem, x []float64) *linear {
	dx, dy := p.Dims()
	v := func(n int) []float64 { return make([]float64, n) }
	return &linear{
		p: bilevel.Complete(p), x: slices.Clone(x), y: v(dy), v: v(dy), gt: mat.NewDense(dy, dx), mt: mat.NewDense(dy, dx),
		mean: parts{fx: v(dx), cross: v(dx), fy: v(dy), gy: v(dy), bent: v(dy)},
		one:  parts{fx: v(dx), cross: v(dx), fy: v(dy), gy: v(dy), bent: v(dy)},
		wx:   v(dx), wy: v(dy),
	}
}

func (l *linear) bendAt(q *parts, x, y []float64, phi []bilevel.Sample) error {
	return cmp.Or(l.p.CrossVecG(q.cross, x, y, l.v, phi), l.p.HessVecG(q.bent, x, y, l.v, phi))
}

// linearise finds v, G, RP and ∇²F at (x, y), and returns how skew the differences are.
func (l *linear) linearise() (skew float64, err error) {
	dx, dy := l.p.Dims()
	gyy, gxy := mat.NewSym(dy), mat.NewDense(dx, dy)
	if err := cmp.Or(l.p.HessG(gyy, l.x, l.y, nil), l.p.CrossG(gxy, l.x, l.y, nil)); err != nil {
		return 0, err
	}
	if err := l.lower.Factor(gyy); err != nil {
		return 0, fmt.Errorf("observe: LocalLimit: g_yy: %w", err)
	}
	mat.CopyTrans(l.gt, gxy)
	l.lower.Solve(l.gt, l.gt) // Gᵀ = P g_yx
	if err := l.p.GradF(l.mean.fx, l.mean.fy, l.x, l.y, nil); err != nil {
		return 0, err
	}
	l.lower.SolveVec(l.v, l.mean.fy)
	if err := cmp.Or(l.bendAt(&l.mean, l.x, l.y, nil), l.p.GradG(l.mean.gy, l.x, l.y, nil)); err != nil {
		return 0, err
	}

	// Of Θ = (f_x − g_xy v, g_yy v − f_y): ∂_xΘ = (K, −Aᵀ) and ∂_yΘ = (A, B).
	k, minusA := mat.NewDense(dx, dx), mat.NewDense(dx, dy) // row i: ∂Θ/∂x_i
	at, b := mat.NewDense(dy, dx), mat.NewDense(dy, dy)     // row j: ∂Θ/∂y_j
	if err := cmp.Or(l.differences(k, minusA, l.x), l.differences(at, b, l.y)); err != nil {
		return 0, err
	}

	// Rᵀ = Aᵀ + BGᵀ, (RP)ᵀ = PRᵀ, and ∇²F = K − AGᵀ − GRᵀ, with −A from ∂_xΘ and Aᵀ from ∂_yΘ.
	rt := mat.NewDense(dy, dx)
	mat.Copy(rt, at)
	mat.AddMul(rt, 1, b, l.gt)
	l.lower.Solve(l.mt, rt)
	mat.AddMul(k, 1, minusA, l.gt)
	mat.AddMulTransA(k, -1, l.gt, rt)
	size, off := mat.NormFrob(k), 0.0
	for i := range k.Rows {
		for j := range i {
			d := (k.At(i, j) - k.At(j, i)) / 2
			off = math.Hypot(off, math.Sqrt2*d)
			k.Set(i, j, k.At(i, j)-d)
		}
	}
	l.hess = mat.AsSym(k)
	if off == 0 {
		return 0, nil
	}
	return off / size, nil
}

// reach is the length of a difference in sizes: truncation and rounding errors of about 1e-13 each.
const reach = 0x1p-9

// differences writes ∂Θ/∂z_i into rows i of upper and lower, z being l.x or l.y, by the five-point
// rule (8(Θ₁ − Θ₋₁) − (Θ₂ − Θ₋₂))/(12h). z is put back.
func (l *linear) differences(upper, lower *mat.Dense, z []float64) error {
	scale := sizes(z)
	for i, at := range z {
		u, w := upper.Row(i), lower.Row(i)
		h := scale[i] * reach
		for _, c := range [4]struct{ steps, weight float64 }{{-2, 1}, {-1, -8}, {1, 8}, {2, -1}} {
			z[i] = at + c.steps*h
			err := cmp.Or(l.p.GradF(l.one.fx, l.one.fy, l.x, l.y, nil), l.bendAt(&l.one, l.x, l.y, nil))
			z[i] = at
			if err != nil {
				return err
			}
			weight := c.weight / (12 * h)
			for j := range u {
				u[j] += weight * (l.one.fx[j] - l.one.cross[j])
			}
			for j := range w {
				w[j] += weight * (l.one.bent[j] - l.one.fy[j])
			}
		}
	}
	return nil
}

// restrict factors ∇²F on the directions in which x can move and F varies, and returns how many.
func (l *linear) restrict(set bilevel.Set) (int, error) {
	for i, v := range l.mean.fx {
		l.wx[i] = v - l.mean.cross[i] // ∇F
	}
	t, lambda, err := tangent(set, l.x, l.wx)
	if err == nil {
		t = varied(t, &l.hess, sizes(l.x))
	}
	if err != nil || t.Rows == 0 {
		return 0, err
	}
	mat.AddIdentity(&l.hess, lambda)
	ht, tht, tt := mat.NewDense(len(l.x), t.Rows), mat.NewDense(t.Rows, t.Rows), mat.NewDense(len(l.x), t.Rows)
	mat.CopyTrans(tt, t)
	mat.MulSym(ht, &l.hess, tt)
	mat.Mul(tht, t, ht)
	restricted := mat.AsSym(tht)
	if err := l.block.Factor(&restricted); err != nil {
		return 0, fmt.Errorf("observe: LocalLimit: ∇²F in the %d directions in which x can move: %w", t.Rows, err)
	}
	l.t, l.r, l.s, l.c = t, make([]float64, t.Rows), make([]float64, t.Rows), mat.NewDense(t.Rows, t.Rows)
	return t.Rows, nil
}

// fromXi returns ½(r − E r)ᵀ(∇²F)⁻¹(r − E r) for r_ξ = f_x − G f_y.
func (l *linear) fromXi(one []bilevel.Sample) (float64, error) {
	if err := l.p.GradF(l.one.fx, l.one.fy, l.x, l.y, one); err != nil {
		return 0, err
	}
	for j := range l.wy {
		l.wy[j] = l.one.fy[j] - l.mean.fy[j]
	}
	mat.MulVecTrans(l.wx, l.gt, l.wy)
	for i := range l.wx {
		l.wx[i] = l.one.fx[i] - l.mean.fx[i] - l.wx[i]
	}
	return l.half(), nil
}

// fromPhi is fromXi for r_φ = −g_xy v + G g_yy v − RP g_y.
func (l *linear) fromPhi(one []bilevel.Sample) (float64, error) {
	if err := cmp.Or(l.bendAt(&l.one, l.x, l.y, one), l.p.GradG(l.one.gy, l.x, l.y, one)); err != nil {
		return 0, err
	}
	for j := range l.wy {
		l.wy[j] = l.one.bent[j] - l.mean.bent[j]
		l.one.gy[j] -= l.mean.gy[j]
	}
	mat.MulVecTrans(l.wx, l.gt, l.wy)
	for i := range l.wx {
		l.wx[i] -= l.one.cross[i] - l.mean.cross[i]
	}
	mat.MulVecTrans(l.one.cross, l.mt, l.one.gy)
	mat.Axpy(l.wx, -1, l.one.cross)
	return l.half(), nil
}

func (l *linear) half() float64 {
	mat.MulVec(l.r, l.t, l.wx)
	l.block.SolveVec(l.s, l.r)
	for i, s := range l.s {
		mat.Axpy(l.c.Row(i), s/l.n, l.r)
	}
	return mat.Dot(l.r, l.s) / 2
}
