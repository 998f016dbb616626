package bilevel

import (
	"fmt"
	"math"

	"stable/mat"
)

// Completed is a Problem with all optional interfaces, for types that wrap a problem to embed.
// Complete makes it.
type Completed struct {
	Problem
	products Products // nil where the problem has none, as the others
	upper    UpperGradient
	truth    Truth
	values   Values
	convex   StronglyConvex
	formed   formed
}

// Complete returns p, which it keeps, with a default for each optional interface that p lacks:
// Products multiply by the matrices, after their first call without an allocation; ConvexityAt
// returns −Inf; the others return an error that wraps ErrMissing.
func Complete(p Problem) *Completed {
	c := &Completed{Problem: p}
	c.products, _ = p.(Products)
	c.upper, _ = p.(UpperGradient)
	c.truth, _ = p.(Truth)
	c.values, _ = p.(Values)
	c.convex, _ = p.(StronglyConvex)
	return c
}

// formed are the matrices of a problem without Products, made when first needed.
type formed struct {
	gyy *mat.Sym
	gxy *mat.Dense
}

func (m *formed) hessVec(p Problem, dst, x, y, v []float64, phi []Sample) error {
	if m.gyy == nil {
		m.gyy = mat.NewSym(len(y))
	}
	if err := p.HessG(m.gyy, x, y, phi); err != nil {
		return err
	}
	mat.MulVecSym(dst, m.gyy, v)
	return nil
}

func (m *formed) crossVec(p Problem, dst, x, y, v []float64, phi []Sample) error {
	if m.gxy == nil {
		m.gxy = mat.NewDense(len(x), len(y))
	}
	if err := p.CrossG(m.gxy, x, y, phi); err != nil {
		return err
	}
	mat.MulVec(dst, m.gxy, v)
	return nil
}

func missing(name string) error { return fmt.Errorf("%w: %s", ErrMissing, name) }

func (c *Completed) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	if c.products == nil {
		return c.formed.hessVec(c.Problem, dst, x, y, v, phi)
	}
	return c.products.HessVecG(dst, x, y, v, phi)
}

func (c *Completed) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	if c.products == nil {
		return c.formed.crossVec(c.Problem, dst, x, y, v, phi)
	}
	return c.products.CrossVecG(dst, x, y, v, phi)
}

func (c *Completed) GradXG(gx, x, y []float64, phi []Sample) error {
	if c.upper == nil {
		return missing("GradXG")
	}
	return c.upper.GradXG(gx, x, y, phi)
}

func (c *Completed) ConvexityAt(x []float64) float64 {
	if c.convex == nil {
		return math.Inf(-1)
	}
	return c.convex.ConvexityAt(x)
}

func (c *Completed) Solution(y, x []float64) error {
	if c.truth == nil {
		return missing("Solution")
	}
	return c.truth.Solution(y, x)
}

func (c *Completed) Objective(grad, x []float64) (float64, error) {
	if c.truth == nil {
		return 0, missing("Objective")
	}
	return c.truth.Objective(grad, x)
}

func (c *Completed) ValueF(x, y []float64, xi []Sample) (float64, error) {
	if c.values == nil {
		return 0, missing("ValueF")
	}
	return c.values.ValueF(x, y, xi)
}

func (c *Completed) ValueG(x, y []float64, phi []Sample) (float64, error) {
	if c.values == nil {
		return 0, missing("ValueG")
	}
	return c.values.ValueG(x, y, phi)
}
