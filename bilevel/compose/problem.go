// Package compose holds stochastic compositional problems
//
//	min over x in X   F(x) = E_ξ[f(E_φ[h(x; φ)]; ξ)],    h: R^dx → R^dy,  f: R^dy → R,
//
// as bilevel problems (Chen, Sun, Xiao, Yin, AISTATS 2022, section 1):
//
//	g(x, y; φ) = ½‖y‖² − h(x; φ)ᵀy,    y*(x) = E h(x; φ),    g_y = y − h,  g_xy = −∇h,  g_yy = I.
//
// [Adapt] makes one of a [Composition], for every bilevel.Method; [SCGD] and [SCSC] are for such
// problems alone. [MeanVariance] is an example with a closed-form solution.
package compose

import (
	"stable/bilevel"
	"stable/mat"
)

// Composition is a compositional problem. Samples, batches and destinations are as in
// bilevel.Problem, and ErrNoExact, too.
type Composition interface {
	// Dims returns the lengths of x and of y = h(x).
	Dims() (dx, dy int)

	// Streams returns how many samples ξ (of f) and φ (of h) there are; 0 is an unbounded
	// simulator.
	Streams() (outer, inner uint64)

	// Inner writes h(x; φ), of length dy.
	Inner(h, x []float64, phi []bilevel.Sample) error

	// Gradients writes ∇h(x; φ), dx × dy: entry (i, j) is ∂h_j/∂x_i.
	Gradients(dh *mat.Dense, x []float64, phi []bilevel.Sample) error

	// Outer returns f(y; ξ), and writes f'(y; ξ), of length dy, into df unless df is nil.
	Outer(df, y []float64, xi []bilevel.Sample) (float64, error)
}

// Problem is a Composition as a bilevel problem, for one goroutine at a time.
type Problem struct {
	c  Composition
	dh *mat.Dense // for products
	v  []float64  // of length dy
	w  []float64  // of length dy
}

// Adapt returns c as a bilevel problem. Its oracles allocate nothing that those of c do not.
func Adapt(c Composition) *Problem {
	dx, dy := c.Dims()
	return &Problem{c: c, dh: mat.NewDense(dx, dy), v: make([]float64, dy), w: make([]float64, dy)}
}

func (p *Problem) Composition() Composition { return p.c }

func (p *Problem) Dims() (dx, dy int)             { return p.c.Dims() }
func (p *Problem) Streams() (upper, lower uint64) { return p.c.Streams() }

func (p *Problem) GradF(fx, fy, _, y []float64, xi []bilevel.Sample) error {
	clear(fx)
	_, err := p.c.Outer(fy, y, xi)
	return err
}

func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	if err := p.c.Inner(gy, x, phi); err != nil {
		return err
	}
	for j, v := range y {
		gy[j] = v - gy[j]
	}
	return nil
}

func (p *Problem) CrossG(gxy *mat.Dense, x, _ []float64, phi []bilevel.Sample) error {
	if err := p.c.Gradients(gxy, x, phi); err != nil {
		return err
	}
	mat.Scale(gxy, -1, gxy)
	return nil
}

func (p *Problem) HessG(gyy *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	return nil
}

func (p *Problem) ConvexityAt([]float64) float64 { return 1 }

func (p *Problem) HessVecG(dst, _, _, v []float64, _ []bilevel.Sample) error {
	copy(dst, v)
	return nil
}

func (p *Problem) CrossVecG(dst, x, _, v []float64, phi []bilevel.Sample) error {
	if err := p.c.Gradients(p.dh, x, phi); err != nil {
		return err
	}
	mat.MulVec(dst, p.dh, v)
	for i := range dst {
		dst[i] = -dst[i]
	}
	return nil
}

func (p *Problem) ValueF(_, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.c.Outer(nil, y, xi)
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	if err := p.c.Inner(p.v, x, phi); err != nil {
		return 0, err
	}
	return mat.Dot(y, y)/2 - mat.Dot(p.v, y), nil
}

// Solution writes y*(x) = h(x).
func (p *Problem) Solution(y, x []float64) error { return p.c.Inner(y, x, nil) }

// Objective returns F(x) = f(h(x)) and writes ∇F = ∇h f'(h(x)) into grad unless grad is nil.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	if err := p.c.Inner(p.v, x, nil); err != nil {
		return 0, err
	}
	if grad == nil {
		return p.c.Outer(nil, p.v, nil)
	}
	if err := p.c.Gradients(p.dh, x, nil); err != nil {
		return 0, err
	}
	f, err := p.c.Outer(p.w, p.v, nil)
	mat.MulVec(grad, p.dh, p.w)
	return f, err
}
