package zoo

import (
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/boxqp"
	"stable/bilevel/implicit"
	"stable/eig"
	"stable/mat"
)

// upper is F, on exact means or those of some samples.
type upper struct {
	*implicit.Function
	y, grad []float64
}

func upperOf(p bilevel.Problem) *upper {
	dx, dy := p.Dims()
	return &upper{implicit.New(p), make(vector, dy), make(vector, dx)}
}

// at returns F(x), and writes ∇F(x) to u.grad.
func (u *upper) at(x []float64) (float64, error) {
	if u.Solve(u.y, x, 0) != nil {
		clear(u.y)
		if err := u.Solve(u.y, x, 0); err != nil {
			return math.NaN(), err
		}
	}
	return u.Gradient(u.grad, x, u.y)
}

type stationary struct {
	X    []float64
	F    float64
	Left float64 // what one more step promises
}

// descend goes from x to a stationary point of F over a set: steps to the least of a model with
// |∇²F|, halved until F falls enough. F never rises.
func (u *upper) descend(set bilevel.Set, x []float64) (out stationary, err error) {
	out.X = slices.Clone(x)
	next := make(vector, len(x))
	set.Project(out.X, out.X)
	var q boxqp.QP
	q.Resize(len(x))
	for range 200 {
		if out.F, err = u.at(out.X); err != nil {
			return out, err
		}
		if err := u.convex(&q.A); err != nil {
			return out, err
		}
		nearest(&q, set, out.X, u.grad)
		slope := mat.Dot(u.grad, q.S)
		out.Left = -slope / 2
		if !(slope < -1e-15*math.Abs(out.F)*1e-2) {
			return out, nil
		}
		at := func(t float64) float64 { // F at the feasible point nearest to x + t·s
			copy(next, out.X)
			mat.Axpy(next, t, q.S)
			set.Project(next, next)
			if v, err := u.at(next); err == nil {
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
	out.F, err = u.at(out.X)
	return out, err
}

// convex writes ∇²F at the last point with its eigenvalues made positive, the least ones larger.
func (u *upper) convex(b *mat.Sym) error {
	e, h := make(vector, b.N), mat.NewDense(b.N, b.N)
	for i := range e {
		e[i] = 1
		if err := u.HessVec(h.Row(i), e); err != nil {
			return err
		}
		e[i] = 0
	}
	for i := range e {
		for k := range i + 1 {
			b.Set(i, k, (h.At(i, k)+h.At(k, i))/2)
		}
	}
	var s eig.Symmetric
	if err := s.Factor(b); err != nil {
		return err
	}
	values, vt := s.Values(), s.VectorsT()
	floor := 1e-13 * max(math.Abs(values[0]), math.Abs(values[b.N-1]), 1e-300)
	b.Zero()
	for k, v := range values {
		mat.RankOne(b, max(math.Abs(v), floor), vt.Row(k))
	}
	return nil
}

// nearest writes into q.S the s of least hᵀs + ½sᵀAs with x + s in a set, A = q.A positive definite:
// with a multiplier m of Σs = 0 in a simplex, of ½‖x + s‖² in a ball.
func nearest(q *boxqp.QP, set bilevel.Set, x, h []float64) {
	copy(q.G, h)
	for i := range x {
		q.Lo[i], q.Hi[i] = math.Inf(-1), math.Inf(1)
	}
	switch c := set.(type) {
	case bilevel.Box:
		for i, v := range x {
			q.Lo[i], q.Hi[i] = c.Lo[i]-v, c.Hi[i]-v
		}
	case bilevel.Simplex:
		for i, v := range x {
			q.Lo[i] = -v
		}
		bisect(func(m float64) (total float64) {
			for i := range h {
				q.G[i] = h[i] + m
			}
			q.Solve()
			for _, v := range q.S {
				total += v
			}
			return total
		}, -1)
		return
	case bilevel.Ball:
		before, z := 0.0, make(vector, len(x))
		excess := func(m float64) float64 {
			mat.AddIdentity(&q.A, m-before)
			before = m
			copy(q.G, h)
			mat.Axpy(q.G, m, x)
			q.Solve()
			copy(z, x)
			mat.Axpy(z, 1, q.S)
			return mat.Norm(z) - c.Radius
		}
		if excess(0) > 0 {
			bisect(excess, 0)
		}
		return
	}
	q.Solve()
}

// bisect calls f, which falls, ever closer to its zero.
func bisect(f func(t float64) float64, from float64) {
	to := 1.0
	for ; f(from) < 0; from *= 2 {
	}
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
