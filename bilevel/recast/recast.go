// Package recast turns a bilevel problem into another: the same problem in other units ([In]), or
// with its finite sums read as unbounded streams ([Stream]), to try out a method, or for variables
// of very different sizes.
//
// Storage and aliasing are as in [bilevel.Problem]. The results share the problem that they are
// made of, and have scratch memory: recast a copy of the problem for each goroutine. After the
// first call of each size, their oracles allocate only what the problem's do. Products are made
// from the matrices where the problem has none. GradXG, Truth and Values are those of the problem;
// where it has none they return [ErrNone].
package recast

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/mat"
)

// Errors wrap ErrNone where the wrapped problem lacks the method called.
var ErrNone = errors.New("recast: method missing in the wrapped problem")

type full interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Truth
	bilevel.Values
	bilevel.StronglyConvex
}

var (
	_ full = (*Scaled)(nil)
	_ full = (*Streamed)(nil)
)

// completed has all methods: products from the matrices where the problem has none, ErrNone for the
// rest.
type completed struct {
	bilevel.Problem
	products bilevel.Products // nil where the problem has none
	upper    bilevel.UpperGradient
	truth    bilevel.Truth
	values   bilevel.Values
	convex   bilevel.StronglyConvex
	gxy      *mat.Dense // made when first needed
	gyy      *mat.Sym
}

func complete(p bilevel.Problem) completed {
	c := completed{Problem: p}
	c.products, _ = p.(bilevel.Products)
	c.upper, _ = p.(bilevel.UpperGradient)
	c.truth, _ = p.(bilevel.Truth)
	c.values, _ = p.(bilevel.Values)
	c.convex, _ = p.(bilevel.StronglyConvex)
	return c
}

func (c *completed) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if c.products != nil {
		return c.products.HessVecG(dst, x, y, v, phi)
	}
	if c.gyy == nil {
		c.gyy = mat.NewSym(len(y))
	}
	if err := c.HessG(c.gyy, x, y, phi); err != nil {
		return err
	}
	mat.MulVecSym(dst, c.gyy, v)
	return nil
}

func (c *completed) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if c.products != nil {
		return c.products.CrossVecG(dst, x, y, v, phi)
	}
	if c.gxy == nil {
		c.gxy = mat.NewDense(len(x), len(y))
	}
	if err := c.CrossG(c.gxy, x, y, phi); err != nil {
		return err
	}
	mat.MulVec(dst, c.gxy, v)
	return nil
}

func (c *completed) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	if c.upper == nil {
		return fmt.Errorf("%w: GradXG", ErrNone)
	}
	return c.upper.GradXG(gx, x, y, phi)
}

func (c *completed) ConvexityAt(x []float64) float64 {
	if c.convex == nil {
		return math.Inf(-1)
	}
	return c.convex.ConvexityAt(x)
}

func (c *completed) Solution(y, x []float64) error {
	if c.truth == nil {
		return fmt.Errorf("%w: Solution", ErrNone)
	}
	return c.truth.Solution(y, x)
}

func (c *completed) Objective(grad, x []float64) (float64, error) {
	if c.truth == nil {
		return 0, fmt.Errorf("%w: Objective", ErrNone)
	}
	return c.truth.Objective(grad, x)
}

func (c *completed) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	if c.values == nil {
		return 0, fmt.Errorf("%w: ValueF", ErrNone)
	}
	return c.values.ValueF(x, y, xi)
}

func (c *completed) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	if c.values == nil {
		return 0, fmt.Errorf("%w: ValueG", ErrNone)
	}
	return c.values.ValueG(x, y, phi)
}
