package bilevel

import (
	"fmt"
	"iter"
	"math"

	"stable/mat"
)

// Sample names one draw: an index below the size of a finite sum, or any seed of a simulator. The
// same name is the same draw at every point; all variance reduction depends on it.
type Sample uint64

// Problem is the oracle contract, with x in R^dx, y in R^dy and g(x, ·) strongly convex.
//
// Every oracle overwrites its destinations with the mean over the batch of samples at (x, y), and
// must not keep or change any other argument. An empty batch asks for the expectation over the
// whole stream; a problem that cannot compute it returns ErrNoExact. Any other error, but for
// ErrDomain, ends the run, a context's, too: what may fail for a moment tries again itself.
//
// A Problem may keep scratch memory: two runs in two goroutines need two Problems, which may share
// what they only read. Complete lists the optional interfaces.
type Problem interface {
	// Dims returns the lengths of x and y.
	Dims() (dx, dy int)

	// Streams returns how many samples ξ (upper) and φ (lower) there are, named 0 … n−1. 0 means an
	// unbounded simulator, for which every Sample is valid.
	Streams() (upper, lower uint64)

	// GradF writes f_x(x, y; ξ), of length dx, and f_y(x, y; ξ), of length dy.
	GradF(fx, fy, x, y []float64, xi []Sample) error

	// GradG writes g_y(x, y; φ), of length dy.
	GradG(gy, x, y []float64, phi []Sample) error

	// CrossG writes g_xy(x, y; φ), dx × dy: entry (i, j) is ∂²g/∂x_i∂y_j.
	CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error

	// HessG writes g_yy(x, y; φ), dy × dy.
	HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error
}

// Products multiply by second derivatives unformed, in O(dx+dy) to O(dy²). dst must not overlap v.
type Products interface {
	// HessVecG writes g_yy(x, y; φ)·v, of length dy.
	HessVecG(dst, x, y, v []float64, phi []Sample) error

	// CrossVecG writes g_xy(x, y; φ)·v, of length dx, for v of length dy.
	CrossVecG(dst, x, y, v []float64, phi []Sample) error
}

// Joint is for problems that compute faster together what is asked of g at one point, on one batch.
type Joint interface {
	Products

	// Joint returns the problem that JointG is of. A type that embeds that one, and may change an
	// oracle, is another: JointG is not called there.
	Joint() Problem

	// JointG writes g_y, g_yy·v and g_xy·v at (x, y; φ): the bits of GradG, HessVecG and CrossVecG.
	JointG(gy, hv, cv, x, y, v []float64, phi []Sample) error
}

// UpperGradient has g_x, for methods without second derivatives: g(x, y) − min_z g(x, z) has the
// gradient g_x(x, y) − g_x(x, y*(x)) in x.
type UpperGradient interface {
	// GradXG writes g_x(x, y; φ), of length dx.
	GradXG(gx, x, y []float64, phi []Sample) error
}

// Truth knows, or computes to about 1e-12, what methods estimate. None calls it; no count has it.
type Truth interface {
	// Solution writes y*(x). It may start from the content of y.
	Solution(y, x []float64) error

	// Objective returns F(x) and writes ∇F(x) into grad unless grad is nil.
	Objective(grad, x []float64) (float64, error)
}

// Values are those of f and g, for package check and measurements.
type Values interface {
	// ValueF returns f(x, y; ξ), the mean over the batch.
	ValueF(x, y []float64, xi []Sample) (float64, error)

	// ValueG returns g(x, y; φ), the mean over the batch.
	ValueG(x, y []float64, phi []Sample) (float64, error)
}

// StronglyConvex promises how strongly convex g is for each sample. It saves methods that track
// H_yy (see Estimator) one of two Cholesky factorisations a step, without a change of bits.
type StronglyConvex interface {
	// ConvexityAt returns an s with g_yy(x, y; φ) ⪰ s·I at this x for every y and every sample φ,
	// up to a rounding of dy·eps·‖g_yy‖_F, eps = 2⁻⁵². −Inf promises nothing. It is called once a
	// step, and should cost O(dx) at most.
	//
	// A broken promise leaves eigenvalues of H_yy below μ_g. Where it shows, by a diagonal entry of
	// a batch's g_yy below s or an H_yy that does not factor, the step fails with ErrBrokenPromise.
	ConvexityAt(x []float64) float64
}

// Each returns the terms of a finite sum in a batch, with their weights in the mean: its samples
// with 1/len(batch), or for an empty one 0 … terms−1 with 1/terms. It checks and allocates nothing.
func Each(batch []Sample, terms int) iter.Seq2[Sample, float64] {
	return func(yield func(Sample, float64) bool) {
		if len(batch) == 0 {
			for i := range terms {
				if !yield(Sample(i), 1/float64(terms)) {
					return
				}
			}
			return
		}
		for _, s := range batch {
			if !yield(s, 1/float64(len(batch))) {
				return
			}
		}
	}
}

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

func (c *Completed) lacksGradXG() bool {
	of, ok := c.UpperGradient.(interface{ lacksGradXG() bool })
	return ok && of.lacksGradXG()
}

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
func (*defaults) lacksGradXG() bool                                  { return true }
func (*defaults) ConvexityAt([]float64) float64                      { return math.Inf(-1) }
func (*defaults) Solution(_, _ []float64) error                      { return missing("Solution") }
func (*defaults) Objective(_, _ []float64) (float64, error)          { return 0, missing("Objective") }
func (*defaults) ValueF(_, _ []float64, _ []Sample) (float64, error) { return 0, missing("ValueF") }
func (*defaults) ValueG(_, _ []float64, _ []Sample) (float64, error) { return 0, missing("ValueG") }
