package zoo

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

type solver struct {
	chol         chol.Cholesky
	gyy          *mat.Sym
	gxy, j       *mat.Dense // J = −g_xy g_yy⁻¹, dx × dy: the derivative of y*, transposed
	gy, next     []float64
	step, at, v  []float64
	warm, fx, cv []float64
}

func newSolver(dx, dy int) solver {
	vec := func(n int) []float64 { return make([]float64, n) }
	return solver{gyy: mat.NewSym(dy), gxy: mat.NewDense(dx, dy), j: mat.NewDense(dx, dy), gy: vec(dy), next: vec(dy),
		step: vec(dy), at: vec(dy), v: vec(dy), warm: vec(dy), fx: vec(dx), cv: vec(dx)}
}

var errLower = errors.New("zoo: no minimiser of g in y is found")

// Solution writes y*(x), by Newton's method with halved steps from y, or if that fails from 0.
func (s *sum) Solution(y, x []float64) error {
	if s.newton(y, x) == nil {
		return nil
	}
	clear(y)
	return s.newton(y, x)
}

func (s *sum) newton(y, x []float64) error {
	s.value(&s.g, nil, s.gy, x, y, nil)
	for range 300 {
		if err := s.factor(x, y); err != nil {
			return err
		}
		s.chol.SolveVec(s.step, s.gy)
		length, size, before := mat.Norm(s.step), mat.Norm(y), mat.Norm(s.gy)
		if length <= 0x1p-50*size || before == 0 {
			return nil
		}
		t := 1.0
		for ; t > 1e-9; t /= 2 {
			copy(s.at, y)
			mat.Axpy(s.at, -t, s.step)
			s.value(&s.g, nil, s.next, x, s.at, nil)
			if mat.Norm(s.next) <= (1-1e-4*t)*before {
				break
			}
		}
		switch {
		case t > 1e-9:
			copy(y, s.at)
			s.gy, s.next = s.next, s.gy
		case length <= 1e-6*(size+0x1p-20): // g_y is all rounding
			return nil
		default:
			return errLower
		}
	}
	return errLower
}

func (s *sum) factor(x, y []float64) error {
	if err := s.HessG(s.gyy, x, y, nil); err != nil {
		return err
	}
	if err := s.chol.Factor(s.gyy); err != nil {
		return fmt.Errorf("%w: g_yy: %w", errLower, err)
	}
	return nil
}

// Objective returns F(x), and writes ∇F(x) = f_x − g_xy v, v = g_yy⁻¹f_y, unless grad is nil.
func (s *sum) Objective(grad, x []float64) (float64, error) {
	if err := s.Solution(s.warm, x); err != nil {
		return math.NaN(), err
	}
	value := s.value(&s.f, s.fx, s.next, x, s.warm, nil)
	if grad == nil {
		return value, nil
	}
	if err := s.factor(x, s.warm); err != nil {
		return value, err
	}
	s.chol.SolveVec(s.v, s.next)
	if err := s.CrossVecG(grad, x, s.warm, s.v, nil); err != nil {
		return value, err
	}
	for i, fx := range s.fx {
		grad[i] = fx - grad[i]
	}
	return value, nil
}

// hessian writes ∇²F(x) at the last Objective with a gradient: columns are central differences
// along (e_i, Je_i) of q = f_x − g_xy v + Jᵀ(f_y − g_yy v), v and J fixed.
func (s *sum) hessian(b *mat.Dense, x []float64) error {
	if err := s.CrossG(s.gxy, x, s.warm, nil); err != nil {
		return err
	}
	for i := range s.dx {
		s.chol.SolveVec(s.j.Data[i*s.dy:(i+1)*s.dy], s.gxy.Data[i*s.dy:(i+1)*s.dy])
	}
	mat.Scale(s.j, -1, s.j)
	q := func(dst, x, y []float64) {
		s.value(&s.f, s.fx, s.next, x, y, nil)
		_ = s.product(nil, dst, x, y, s.v, nil)
		_ = s.product(s.step, nil, x, y, s.v, nil)
		mat.Axpy(s.next, -1, s.step)
		mat.MulVec(s.cv, s.j, s.next)
		for i := range dst {
			dst[i] = s.fx[i] - dst[i] + s.cv[i]
		}
	}
	xs, col := make([]float64, s.dx), make([]float64, s.dx)
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	for i := range x {
		eps := 1e-5 * max(math.Abs(x[i]), 1e-2*most, 1e-6)
		bi := b.Data[i*b.Stride : i*b.Stride+s.dx]
		for k, e := range []float64{eps, -eps} {
			copy(xs, x)
			xs[i] += e
			copy(s.at, s.warm)
			mat.Axpy(s.at, e, s.j.Data[i*s.dy:(i+1)*s.dy])
			if k == 0 {
				q(bi, xs, s.at)
			} else {
				q(col, xs, s.at)
			}
		}
		for k := range bi {
			bi[k] = (bi[k] - col[k]) / (2 * eps)
		}
	}
	for i := range s.dx {
		for k := range i {
			m := (b.Data[i*b.Stride+k] + b.Data[k*b.Stride+i]) / 2
			b.Data[i*b.Stride+k], b.Data[k*b.Stride+i] = m, m
		}
	}
	return nil
}

// Stationary is a point of X from which exact descent goes no further.
type Stationary struct {
	X     []float64
	F     float64
	Left  float64 // what one more Newton step promises F to fall by
	Least float64 // eigenvalue of ∇²F there
}

// descend goes from x to a stationary point of F over a set: steps to the least of a model with
// |∇²F|, halved until F falls enough. F never rises.
func (s *sum) descend(set bilevel.Set, x []float64) (Stationary, error) {
	d := s.dx
	out := Stationary{X: append([]float64(nil), x...)}
	grad, next, step := make([]float64, d), make([]float64, d), make([]float64, d)
	set.Project(out.X, out.X)
	f, err := s.Objective(grad, out.X)
	if err != nil {
		return out, err
	}
	b := mat.NewDense(d, d)
	for range 200 {
		out.F = f
		if err := s.hessian(b, out.X); err != nil {
			return out, err
		}
		if out.Least, err = positive(b); err != nil {
			return out, err
		}
		nearest(step, set, out.X, grad, b)
		slope := mat.Dot(grad, step)
		out.Left = -slope / 2
		if !(slope < -1e-15*math.Abs(f)*1e-2) {
			return out, nil
		}
		at := func(t float64) float64 { // F at the feasible point nearest to x + t·step
			copy(next, out.X)
			mat.Axpy(next, t, step)
			set.Project(next, next)
			if v, err := s.Objective(nil, next); err == nil {
				return v
			}
			return math.Inf(1)
		}
		t, v := 1.0, at(1)
		for ; t > 1e-12 && !(v <= f+1e-4*t*slope && v < f); v = at(t) {
			t /= 2
		}
		if t <= 1e-12 { // what is left is rounding
			return out, nil
		}
		for more := at(2 * t); t >= 1 && more < v; more = at(2 * t) { // along a flat valley
			t, v = 2*t, more
		}
		at(t)
		copy(out.X, next)
		if f, err = s.Objective(grad, out.X); err != nil {
			return out, err
		}
	}
	out.F = f
	return out, nil
}

// positive makes b's eigenvalues positive, those near 0 larger, and returns the least as it was.
func positive(b *mat.Dense) (float64, error) {
	d, sym := b.Rows, mat.AsSym(b)
	var e eig.Symmetric
	if err := e.Factor(&sym); err != nil {
		return 0, err
	}
	values, vt := e.Values(), e.VectorsT()
	floor := 1e-13 * max(math.Abs(values[0]), math.Abs(values[d-1]), 1e-300)
	mat.Scale(b, 0, b)
	for k, v := range values {
		r := vt.Data[k*vt.Stride : k*vt.Stride+d]
		mat.Outer(b, max(math.Abs(v), floor), r, r)
	}
	return values[0], nil
}

// nearest writes the s of least hᵀs + ½sᵀBs with x + s in a set, B positive definite.
func nearest(s []float64, set bilevel.Set, x, h []float64, b *mat.Dense) {
	d := len(x)
	lo, hi := make([]float64, d), make([]float64, d)
	for i := range lo {
		lo[i], hi[i] = math.Inf(-1), math.Inf(1)
	}
	switch c := set.(type) {
	case bilevel.Box:
		for i := range lo {
			lo[i], hi[i] = c.Lo[i]-x[i], c.Hi[i]-x[i]
		}
	case bilevel.NonNegative:
		for i := range lo {
			lo[i] = -x[i]
		}
	case bilevel.Simplex: // a multiplier of Σs = 0, by bisection
		for i := range lo {
			lo[i] = -x[i]
		}
		shifted := append([]float64(nil), h...)
		at := func(nu float64) float64 {
			for i := range h {
				shifted[i] = h[i] + nu
			}
			boxed(s, lo, hi, shifted, b)
			total := 0.0
			for _, v := range s {
				total += v
			}
			return total
		}
		size := mat.MaxAbs(b) + mat.Norm(h)
		from, to := -size, size
		for ; at(from) < 0; from *= 2 {
		}
		bisect(at, from, to)
		return
	case bilevel.Ball: // (B + λI)(x + s) = Bx − h, centre 0, by bisection
		balled(s, c, x, h, b)
		return
	}
	boxed(s, lo, hi, h, b)
}

func balled(s []float64, c bilevel.Ball, x, h []float64, b *mat.Dense) {
	rhs := make([]float64, len(x))
	mat.MulVec(rhs, b, x)
	mat.Axpy(rhs, -1, h)
	sym := mat.AsSym(b)
	var f chol.Cholesky
	beyond := func(lambda float64) float64 {
		if f.FactorShifted(&sym, -lambda) != nil {
			return math.Inf(1)
		}
		f.SolveVec(s, rhs)
		return mat.Norm(s) - c.Radius
	}
	if beyond(0) > 0 {
		bisect(beyond, 0, 1)
	}
	mat.Axpy(s, -1, x)
}

// bisect calls f, which falls, ever closer to its zero in [from, to], or beyond a to > 0.
func bisect(f func(t float64) float64, from, to float64) {
	for ; f(to) > 0; to *= 2 {
	}
	for range 100 {
		if mid := (from + to) / 2; f(mid) > 0 {
			from = mid
		} else {
			to = mid
		}
	}
}

// boxed writes the least of hᵀs + ½sᵀBs over lo ≤ s ≤ hi: coordinate sweeps, each followed by a
// Newton step on the free face, cut at the bounds, where it lowers the model.
func boxed(s, lo, hi, h []float64, b *mat.Dense) {
	d := len(s)
	grad, move, try := make([]float64, d), make([]float64, d), make([]float64, d)
	model := func(s []float64) float64 {
		mat.MulVec(try, b, s)
		return mat.Dot(h, s) + mat.Dot(try, s)/2
	}
	for i := range s {
		s[i] = min(max(0, lo[i]), hi[i])
	}
	var f chol.Cholesky
	for range 60 {
		start := append([]float64(nil), s...)
		for i := range s {
			r := b.Data[i*b.Stride : i*b.Stride+d]
			s[i] = min(max(s[i]-(h[i]+mat.Dot(r, s))/r[i], lo[i]), hi[i])
		}
		var free []int
		for i := range s {
			if s[i] > lo[i] && s[i] < hi[i] {
				free = append(free, i)
			}
		}
		if len(free) > 0 {
			face, rhs := mat.NewSym(len(free)), make([]float64, len(free))
			mat.MulVec(grad, b, s)
			for k, i := range free {
				rhs[k] = -h[i] - grad[i]
				for l, j := range free[:k+1] {
					face.Data[k*face.Stride+l] = b.Data[i*b.Stride+j]
				}
			}
			if f.Factor(face) == nil {
				f.SolveVec(rhs, rhs)
				now := model(s)
				for t := 1.0; t > 1e-3; t /= 4 {
					copy(move, s)
					for k, i := range free {
						move[i] = min(max(s[i]+t*rhs[k], lo[i]), hi[i])
					}
					if model(move) <= now {
						copy(s, move)
						break
					}
				}
			}
		}
		mat.Axpy(start, -1, s)
		if mat.Norm(start) <= 1e-14*mat.Norm(s) {
			return
		}
	}
}
