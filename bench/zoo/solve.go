package zoo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

type solver struct {
	chol                        chol.Cholesky
	gyy                         *mat.Sym
	gxy, j                      *mat.Dense // J = −g_xy g_yy⁻¹, dx × dy: the derivative of y*, transposed
	gy, next, step, at, v, warm []float64
	fx, cv                      []float64
}

func newSolver(dx, dy int) (s solver) {
	s.gyy, s.gxy, s.j = mat.NewSym(dy), mat.NewDense(dx, dy), mat.NewDense(dx, dy)
	for _, v := range []*[]float64{&s.gy, &s.next, &s.step, &s.at, &s.v, &s.warm} {
		*v = make(vector, dy)
	}
	s.fx, s.cv = make(vector, dx), make(vector, dx)
	return s
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
		if t <= 1e-9 {
			if length <= 1e-6*(size+0x1p-20) { // g_y is all rounding
				return nil
			}
			break
		}
		copy(y, s.at)
		s.gy, s.next = s.next, s.gy
	}
	return errLower
}

func (s *sum) factor(x, y []float64) error {
	_ = s.HessG(s.gyy, x, y, nil)
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
	_ = s.CrossVecG(grad, x, s.warm, s.v, nil)
	for i, fx := range s.fx {
		grad[i] = fx - grad[i]
	}
	return value, nil
}

// hessian writes ∇²F(x) at the last Objective with a gradient: columns are central differences
// along (e_i, Je_i) of q = f_x − g_xy v + Jᵀ(f_y − g_yy v), v and J fixed.
func (s *sum) hessian(b *mat.Dense, x []float64) {
	_ = s.CrossG(s.gxy, x, s.warm, nil)
	for i := range s.dx {
		s.chol.SolveVec(s.j.Row(i), s.gxy.Row(i))
	}
	mat.Scale(s.j, -1, s.j)
	xs, col := make(vector, s.dx), make(vector, s.dx)
	q := func(dst []float64, i int, e float64) {
		copy(xs, x)
		xs[i] += e
		copy(s.at, s.warm)
		mat.Axpy(s.at, e, s.j.Row(i))
		s.value(&s.f, s.fx, s.next, xs, s.at, nil)
		_ = s.CrossVecG(dst, xs, s.at, s.v, nil)
		_ = s.HessVecG(s.step, xs, s.at, s.v, nil)
		mat.Axpy(s.next, -1, s.step)
		mat.MulVec(s.cv, s.j, s.next)
		for i := range dst {
			dst[i] = s.fx[i] - dst[i] + s.cv[i]
		}
	}
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	for i := range x {
		eps := 1e-5 * max(math.Abs(x[i]), 1e-2*most, 1e-6)
		bi := b.Row(i)
		q(bi, i, eps)
		q(col, i, -eps)
		for k := range bi {
			bi[k] = (bi[k] - col[k]) / (2 * eps)
		}
	}
	for i := range x {
		for k := range i {
			m := (b.At(i, k) + b.At(k, i)) / 2
			b.Set(i, k, m)
			b.Set(k, i, m)
		}
	}
}

// stationary is where exact descent goes no further.
type stationary struct {
	X    []float64
	F    float64
	Left float64 // what one more step promises
}

// descend goes from x to a stationary point of F over a set: steps to the least of a model with
// |∇²F|, halved until F falls enough. F never rises.
func (s *sum) descend(set bilevel.Set, x []float64) (out stationary, err error) {
	d := s.dx
	out.X = slices.Clone(x)
	grad, next, step, b := make(vector, d), make(vector, d), make(vector, d), mat.NewDense(d, d)
	set.Project(out.X, out.X)
	for range 200 {
		if out.F, err = s.Objective(grad, out.X); err != nil {
			return out, err
		}
		s.hessian(b, out.X)
		if err := positive(b); err != nil {
			return out, err
		}
		nearest(step, set, out.X, grad, b)
		slope := mat.Dot(grad, step)
		out.Left = -slope / 2
		if !(slope < -1e-15*math.Abs(out.F)*1e-2) {
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
		for ; t > 1e-12 && !(v <= out.F+1e-4*t*slope && v < out.F); v = at(t) {
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
	}
	out.F, err = s.Objective(nil, out.X)
	return out, err
}

// positive makes b's eigenvalues positive, the least ones larger.
func positive(b *mat.Dense) error {
	sym := mat.AsSym(b)
	var e eig.Symmetric
	if err := e.Factor(&sym); err != nil {
		return err
	}
	values, vt := e.Values(), e.VectorsT()
	floor := 1e-13 * max(math.Abs(values[0]), math.Abs(values[b.Rows-1]), 1e-300)
	mat.Scale(b, 0, b)
	for k, v := range values {
		mat.Outer(b, max(math.Abs(v), floor), vt.Row(k), vt.Row(k))
	}
	return nil
}

// nearest writes the s of least hᵀs + ½sᵀBs with x + s in a set, B positive definite.
func nearest(s []float64, set bilevel.Set, x, h []float64, b *mat.Dense) {
	lo, hi := make(vector, len(x)), make(vector, len(x))
	for i := range lo {
		lo[i], hi[i] = math.Inf(-1), math.Inf(1)
	}
	switch c := set.(type) {
	case bilevel.Box:
		for i, v := range x {
			lo[i], hi[i] = c.Lo[i]-v, c.Hi[i]-v
		}
	case bilevel.Simplex: // a multiplier of Σs = 0
		for i, v := range x {
			lo[i] = -v
		}
		shifted := make(vector, len(x))
		at := func(nu float64) (total float64) {
			for i := range h {
				shifted[i] = h[i] + nu
			}
			boxed(s, lo, hi, shifted, b)
			for _, v := range s {
				total += v
			}
			return total
		}
		size := mat.MaxAbs(b) + mat.Norm(h)
		from := -size
		for ; at(from) < 0; from *= 2 {
		}
		bisect(at, from, size)
		return
	case bilevel.Ball:
		balled(s, c, x, h, b)
		return
	}
	boxed(s, lo, hi, h, b)
}

// balled solves (B + λI)(x + s) = Bx − h, ‖x + s‖ = r or λ = 0.
func balled(s []float64, c bilevel.Ball, x, h []float64, b *mat.Dense) {
	rhs := make(vector, len(x))
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
	bs, move := make(vector, d), make(vector, d)
	model := func(s []float64) float64 {
		mat.MulVec(bs, b, s)
		return mat.Dot(h, s) + mat.Dot(bs, s)/2
	}
	for i := range s {
		s[i] = min(max(0, lo[i]), hi[i])
	}
	var f chol.Cholesky
	for range 60 {
		start := slices.Clone(s)
		var free []int
		for i := range s {
			r := b.Row(i)
			s[i] = min(max(s[i]-(h[i]+mat.Dot(r, s))/r[i], lo[i]), hi[i])
			if s[i] > lo[i] && s[i] < hi[i] {
				free = append(free, i)
			}
		}
		face, rhs := mat.NewSym(len(free)), make(vector, len(free))
		now := model(s)
		for k, i := range free {
			rhs[k] = -h[i] - bs[i]
			for l, j := range free[:k+1] {
				face.Set(k, l, b.At(i, j))
			}
		}
		if len(free) > 0 && f.Factor(face) == nil {
			f.SolveVec(rhs, rhs)
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
		mat.Axpy(start, -1, s)
		if mat.Norm(start) <= 1e-14*mat.Norm(s) {
			return
		}
	}
}
