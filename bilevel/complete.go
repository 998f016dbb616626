package bilevel

import (
	"fmt"
	"math"

	"stable/mat"
)

// Completed is a Problem with all optional interfaces, to embed in types that wrap a problem.
type Completed struct {
	Problem
	Products
	UpperGradient
	Truth
	Values
	StronglyConvex
}

// Complete returns p with a default for each optional interface that it lacks: Products multiply by
// the matrices, without an allocation after their first call; ConvexityAt returns −Inf; the others'
// errors wrap ErrMissing.
func Complete(p Problem) *Completed {
	d := &defaults{p: p}
	return &Completed{p, or[Products](p, d), or[UpperGradient](p, d), or[Truth](p, d), or[Values](p, d),
		or[StronglyConvex](p, d)}
}

func or[T any](p Problem, otherwise T) T {
	if v, ok := p.(T); ok {
		return v
	}
	return otherwise
}

// defaults are what p lacks.
type defaults struct {
	p   Problem
	gyy *mat.Sym // made when first needed
	gxy *mat.Dense
}

func (d *defaults) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	if d.gyy == nil {
		d.gyy = mat.NewSym(len(y))
	}
	if err := d.p.HessG(d.gyy, x, y, phi); err != nil {
		return err
	}
	mat.MulVecSym(dst, d.gyy, v)
	return nil
}

func (d *defaults) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	if d.gxy == nil {
		d.gxy = mat.NewDense(len(x), len(y))
	}
	if err := d.p.CrossG(d.gxy, x, y, phi); err != nil {
		return err
	}
	mat.MulVec(dst, d.gxy, v)
	return nil
}

func missing(name string) error { return fmt.Errorf("%w: %s", ErrMissing, name) }

func (*defaults) GradXG(_, _, _ []float64, _ []Sample) error         { return missing("GradXG") }
func (*defaults) ConvexityAt([]float64) float64                      { return math.Inf(-1) }
func (*defaults) Solution(_, _ []float64) error                      { return missing("Solution") }
func (*defaults) Objective(_, _ []float64) (float64, error)          { return 0, missing("Objective") }
func (*defaults) ValueF(_, _ []float64, _ []Sample) (float64, error) { return 0, missing("ValueF") }
func (*defaults) ValueG(_, _ []float64, _ []Sample) (float64, error) { return 0, missing("ValueG") }
