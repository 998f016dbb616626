package bilevel

import (
	"errors"
	"math"
	"runtime/debug"

	"stable/mat"
)

// Counts holds what a run has used. A sample drawn once and evaluated at two points counts as one
// sample and two evaluations. A batch of n samples counts as n of each. An empty batch, which asks
// for the exact value, counts as the whole finite sum, or as one if the stream is unbounded.
type Counts struct {
	Xi, Phi uint64 // samples drawn from the upper and the lower stream

	// Evaluations of each oracle, in samples.
	GradF, GradG, CrossG, HessG, HessVecG, CrossVecG, GradXG uint64
}

// Evaluations is the sum over all oracles: what a run costs where an evaluation of one sample is dear.
func (c Counts) Evaluations() uint64 {
	return c.GradF + c.GradG + c.CrossG + c.HessG + c.HessVecG + c.CrossVecG + c.GradXG
}

// Oracle is a Problem with Products that counts its calls, and reports failures with the step and
// the oracle's name. It calls the Problem that was passed to New. For a Problem without Products it
// forms the matrix, and counts that. A matrix that comes back in another shape is a failure too.
type Oracle struct {
	p            Problem
	products     Products       // nil where p has none; then the matrix is formed and multiplied
	upperGrad    UpperGradient  // nil where p has none
	convex       StronglyConvex // nil where p has none
	gyy          *mat.Sym
	gxy          *mat.Dense
	upper, lower uint64 // stream sizes
	step         int
	inside       string // the oracle that is running; empty outside
	counts       Counts
}

func newOracle(p Problem) *Oracle {
	o := &Oracle{p: p}
	o.products, _ = p.(Products)
	o.upperGrad, _ = p.(UpperGradient)
	o.convex, _ = p.(StronglyConvex)
	o.upper, o.lower = p.Streams()
	return o
}

// Dims returns the lengths of x and y.
func (o *Oracle) Dims() (dx, dy int) { return o.p.Dims() }

// Streams returns the numbers of samples ξ and φ, 0 for an unbounded stream.
func (o *Oracle) Streams() (upper, lower uint64) { return o.upper, o.lower }

// GradF is Problem.GradF.
func (o *Oracle) GradF(fx, fy, x, y []float64, xi []Sample) error {
	o.begin("GradF", &o.counts.GradF, len(xi), o.upper)
	return o.end(o.p.GradF(fx, fy, x, y, xi))
}

// GradG is Problem.GradG.
func (o *Oracle) GradG(gy, x, y []float64, phi []Sample) error {
	o.begin("GradG", &o.counts.GradG, len(phi), o.lower)
	return o.end(o.p.GradG(gy, x, y, phi))
}

// CrossG is Problem.CrossG.
func (o *Oracle) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	o.begin("CrossG", &o.counts.CrossG, len(phi), o.lower)
	handed := *gxy
	err := o.p.CrossG(gxy, x, y, phi)
	if gxy.Rows != handed.Rows || gxy.Cols != handed.Cols || gxy.Stride != handed.Stride ||
		!sameMemory(gxy.Data, handed.Data) {
		*gxy = handed
		err = errors.Join(err, errReshaped)
	}
	return o.end(err)
}

// HessG is Problem.HessG.
func (o *Oracle) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	o.begin("HessG", &o.counts.HessG, len(phi), o.lower)
	handed := *gyy
	err := o.p.HessG(gyy, x, y, phi)
	if gyy.N != handed.N || gyy.Stride != handed.Stride || !sameMemory(gyy.Data, handed.Data) {
		*gyy = handed
		err = errors.Join(err, errReshaped)
	}
	return o.end(err)
}

// errReshaped says that an oracle changed more of a matrix than its entries.
var errReshaped = errors.New("the shape or the memory of the destination was changed")

// sameMemory reports whether two slices share length and memory.
func sameMemory(a, b []float64) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// HessVecG is Products.HessVecG.
func (o *Oracle) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	if o.products == nil {
		if o.gyy == nil {
			o.gyy = mat.NewSym(len(y))
		}
		err := o.HessG(o.gyy, x, y, phi)
		mat.MulVecSym(dst, o.gyy, v)
		return err
	}
	o.begin("HessVecG", &o.counts.HessVecG, len(phi), o.lower)
	return o.end(o.products.HessVecG(dst, x, y, v, phi))
}

// CrossVecG is Products.CrossVecG.
func (o *Oracle) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	if o.products == nil {
		if o.gxy == nil {
			o.gxy = mat.NewDense(len(x), len(y))
		}
		err := o.CrossG(o.gxy, x, y, phi)
		mat.MulVec(dst, o.gxy, v)
		return err
	}
	o.begin("CrossVecG", &o.counts.CrossVecG, len(phi), o.lower)
	return o.end(o.products.CrossVecG(dst, x, y, v, phi))
}

// HasGradXG reports whether the problem is an UpperGradient.
func (o *Oracle) HasGradXG() bool { return o.upperGrad != nil }

// GradXG is UpperGradient.GradXG. For a problem without it the error wraps ErrNoUpperGradient. A
// method that needs g_x checks HasGradXG in its Start.
func (o *Oracle) GradXG(gx, x, y []float64, phi []Sample) error {
	o.begin("GradXG", &o.counts.GradXG, len(phi), o.lower)
	if o.upperGrad == nil {
		return o.end(ErrNoUpperGradient)
	}
	return o.end(o.upperGrad.GradXG(gx, x, y, phi))
}

// ConvexityAt is StronglyConvex.ConvexityAt, and −Inf for a problem without it.
func (o *Oracle) ConvexityAt(x []float64) float64 {
	if o.convex == nil {
		return math.Inf(-1)
	}
	o.inside = "ConvexityAt"
	s := o.convex.ConvexityAt(x)
	o.inside = ""
	return s
}

func (o *Oracle) begin(name string, count *uint64, batch int, stream uint64) {
	o.inside = name
	*count += batchSize(batch, stream)
}

func (o *Oracle) end(err error) error {
	if err != nil {
		err = &OracleError{Step: o.step, Oracle: o.inside, Err: err}
	}
	o.inside = ""
	return err
}

// caught turns v, which recover returned for a panic in a step, into an error. It returns nil if
// the goroutine ends without a panic.
func (it *Iteration) caught(v any) error {
	if v == nil {
		return nil
	}
	err := &PanicError{Value: v, Stack: debug.Stack()}
	if o := it.oracle; o.inside != "" {
		switch {
		case o.inside == "GradF" && o.upper == 0:
			err.Endless = "ξ"
		case o.inside != "GradF" && o.lower == 0:
			err.Endless = "φ"
		}
		return o.end(err)
	}
	return &StepError{Step: it.k, Method: it.method.Name(), Err: err}
}

// failed gives an error that a step returned the step and the method's name, unless it says where it
// comes from.
func (it *Iteration) failed(err error) error {
	if err == nil {
		return nil
	}
	var oracle *OracleError
	var diverged *DivergedError
	if errors.As(err, &oracle) || errors.As(err, &diverged) || errors.Is(err, ErrOption) {
		return err
	}
	return &StepError{Step: it.k, Method: it.method.Name(), Err: err}
}

// batchSize returns the number of samples that a batch counts for.
func batchSize(batch int, stream uint64) uint64 {
	if batch > 0 {
		return uint64(batch)
	}
	return max(stream, 1)
}
