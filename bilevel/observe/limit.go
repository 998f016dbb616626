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

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/mat"
)

// Limit is the least mean error that independent samples allow at a solution: in the long run, no
// method that has seen n_ξ and n_φ of them does better than
//
//	E[F(x) − F*] = Xi/n_ξ + Phi/n_φ.
//
// LocalLimit computes it.
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
	Set   bilevel.Set // the feasible set X, one of package bilevel. Default bilevel.Space
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
// Errors: ErrOption, wrapped, for a field out of range; those of the oracles, bilevel.ErrNoExact
// among them, and of Solution; chol.ErrNotPosDef, wrapped, where g_yy or T(∇²F + λI)Tᵀ is not
// positive definite. It panics if x is not of length dx. Memory O((dx + dy)²). Cost: 4(dx + dy)
// exact evaluations, one of each oracle for each sample with O(dx² + dx·dy) flops, and O((dx +
// dy)³).
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
	err := cmp.Or(option.AtLeast("observe: LimitOptions.Draws", o.Draws, 2), o.Set.Validate(len(x)))
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
	free := func(int) bool { return true }
	switch s := set.(type) {
	case bilevel.Space:
	case bilevel.NonNegative:
		free = func(i int) bool { return x[i] > 0 }
	case bilevel.Box:
		free = func(i int) bool { return s.Lo[i] < x[i] && x[i] < s.Hi[i] }
	case bilevel.Simplex:
		return onSimplex(x), 0, nil
	case bilevel.HalfSpace:
		if n := mat.Norm(s.A); mat.Dot(s.A, x)-s.B > -near*n*(mat.Norm(x)+math.Abs(s.B)/n) {
			return orthogonal(s.A), 0, nil
		}
	case bilevel.Ball:
		n := append([]float64(nil), x...)
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
		return nil, 0, option.Bad("observe: LimitOptions.Set is a %T, want a set of package bilevel", set)
	}
	return axes(x, free), 0, nil
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
	u := append([]float64(nil), n...)
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
