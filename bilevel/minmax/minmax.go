// Package minmax holds stochastic min-max problems with a strongly concave inner level,
//
//	min over x in X   F(x) = max_y s(x, y),    s(x, y) = E_ζ[s(x, y; ζ)],    s_yy ⪯ −μ I,
//
// as bilevel ones with f = s and g = −s: y*(x) is the maximiser, and both streams draw from ζ, independently.
//
// # How it works
//
// ∇F(x) = s_x(x, y*(x)) (Danskin's theorem). Off y*(x), s_x misses ∇F by the order of ‖y − y*(x)‖,
// the corrected s_x − s_xy s_yy⁻¹ s_y, a Newton step towards y*(x), by the order of its square.
package minmax

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/mat"
	"stable/mat/kernel"
)

// Saddle is a function s(x, y; ζ), strongly concave in y. Samples, batches and destinations are as
// in bilevel.Problem, and ErrNoExact, too. A Saddle that is a bilevel.StronglyConvex promises
// −s_yy(x, y; ζ) ⪰ ConvexityAt(x)·I for every y and ζ, and so does its Problem.
type Saddle interface {
	// Dims returns the lengths of x and y.
	Dims() (dx, dy int)

	// Stream returns how many samples ζ there are; 0 is an unbounded simulator.
	Stream() uint64

	// Value returns s(x, y; ζ).
	Value(x, y []float64, zeta []bilevel.Sample) (float64, error)

	// Grad writes s_x, of length dx, and s_y, of length dy.
	Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error

	// Cross writes s_xy, dx × dy: entry (i, j) is ∂²s/∂x_i∂y_j.
	Cross(sxy *mat.Dense, x, y []float64, zeta []bilevel.Sample) error

	// Hess writes s_yy, dy × dy.
	Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error
}

// Problem is a Saddle as a bilevel problem, for one goroutine at a time.
type Problem struct {
	*implicit.Truth // F(x) = s(x, y*(x)), where implicit.ErrNoSolution says that there is no maximum over y

	s  Saddle
	sc bilevel.StronglyConvex // s, if it is one
	sx []float64              // scratch
}

// Adapt returns s as a bilevel problem. Its oracles allocate nothing that those of s do not.
func Adapt(s Saddle) *Problem {
	dx, _ := s.Dims()
	sc, _ := s.(bilevel.StronglyConvex)
	p := &Problem{s: s, sc: sc, sx: make([]float64, dx)}
	p.Truth = implicit.NewTruth(p)
	return p
}

func (p *Problem) Dims() (dx, dy int)             { return p.s.Dims() }
func (p *Problem) Streams() (upper, lower uint64) { return p.s.Stream(), p.s.Stream() }

func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return p.s.Grad(fx, fy, x, y, xi)
}

func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := p.s.Grad(p.sx, gy, x, y, phi)
	kernel.Scale(gy, -1, gy)
	return err
}

func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	err := p.s.Cross(gxy, x, y, phi)
	mat.Scale(gxy, -1, gxy)
	return err
}

func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := p.s.Hess(gyy, x, y, phi)
	mat.ScaleSym(gyy, -1, gyy)
	return err
}

func (p *Problem) ConvexityAt(x []float64) float64 {
	if p.sc == nil {
		return math.Inf(-1)
	}
	return p.sc.ConvexityAt(x)
}

func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.s.Value(x, y, xi)
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	v, err := p.s.Value(x, y, phi)
	return -v, err
}
