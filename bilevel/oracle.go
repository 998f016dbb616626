package bilevel

import (
	"errors"

	"stable/mat"
)

// Counts holds what a run has used. A sample evaluated at two points is one sample and two
// evaluations; an empty batch counts as the whole finite sum, or once if the stream is unbounded.
type Counts struct {
	Xi, Phi uint64 // samples drawn

	// Evaluations of each oracle, in samples.
	GradF, GradG, CrossG, HessG, HessVecG, CrossVecG, GradXG uint64
}

// Evaluations is the sum over all oracles.
func (c Counts) Evaluations() uint64 {
	return c.GradF + c.GradG + c.CrossG + c.HessG + c.HessVecG + c.CrossVecG + c.GradXG
}

// Oracle is the Problem of New, with Products made of matrices where it has none. It counts calls,
// and its errors name step and oracle. A matrix that comes back in another shape is an error.
type Oracle struct {
	p            *Completed
	formed       *defaults // products of matrices, where p has none
	joint        Joint     // nil: p is none
	upper, lower uint64    // stream sizes
	step         int
	inside       string // the running oracle
	shown        bool   // Iteration.Shown was called since
	counts       Counts
}

func newOracle(p Problem) *Oracle {
	o := &Oracle{p: Complete(p)}
	if _, ok := p.(Products); !ok {
		o.formed = &defaults{p: o} // counts
	}
	if j, ok := p.(Joint); ok && j.Joint() == p {
		o.joint = j
	}
	o.upper, o.lower = p.Streams()
	return o
}

// Dims returns the lengths of x and y.
func (o *Oracle) Dims() (dx, dy int) { return o.p.Dims() }

// Streams returns the numbers of samples ξ and φ, 0 for an unbounded stream.
func (o *Oracle) Streams() (upper, lower uint64) { return o.upper, o.lower }

func (o *Oracle) GradF(fx, fy, x, y []float64, xi []Sample) error {
	o.begin("GradF", &o.counts.GradF, len(xi), o.upper)
	return o.end(o.p.GradF(fx, fy, x, y, xi), fx, fy)
}

func (o *Oracle) GradG(gy, x, y []float64, phi []Sample) error {
	o.begin("GradG", &o.counts.GradG, len(phi), o.lower)
	return o.end(o.p.GradG(gy, x, y, phi), gy)
}

func (o *Oracle) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	o.begin("CrossG", &o.counts.CrossG, len(phi), o.lower)
	handed := *gxy
	err := o.p.CrossG(gxy, x, y, phi)
	if gxy.Rows != handed.Rows || gxy.Cols != handed.Cols || gxy.Stride != handed.Stride || !sameMemory(gxy.Data, handed.Data) {
		*gxy = handed
		err = errors.Join(err, errReshaped)
	}
	if err != nil {
		gxy.Zero()
	}
	return o.end(err)
}

func (o *Oracle) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	o.begin("HessG", &o.counts.HessG, len(phi), o.lower)
	handed := *gyy
	err := o.p.HessG(gyy, x, y, phi)
	if gyy.N != handed.N || gyy.Stride != handed.Stride || !sameMemory(gyy.Data, handed.Data) {
		*gyy = handed
		err = errors.Join(err, errReshaped)
	}
	if err != nil {
		gyy.Zero()
	}
	return o.end(err)
}

var errReshaped = errors.New("the shape or the memory of the destination was changed")

func sameMemory(a, b []float64) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func (o *Oracle) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	if o.formed != nil {
		return o.formed.HessVecG(dst, x, y, v, phi)
	}
	o.begin("HessVecG", &o.counts.HessVecG, len(phi), o.lower)
	return o.end(o.p.HessVecG(dst, x, y, v, phi), dst)
}

func (o *Oracle) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	if o.formed != nil {
		return o.formed.CrossVecG(dst, x, y, v, phi)
	}
	o.begin("CrossVecG", &o.counts.CrossVecG, len(phi), o.lower)
	return o.end(o.p.CrossVecG(dst, x, y, v, phi), dst)
}

// JointG calls GradG, HessVecG and CrossVecG, or the problem's JointG, and counts the same.
func (o *Oracle) JointG(gy, hv, cv, x, y, v []float64, phi []Sample) error {
	if o.joint != nil {
		n := batchSize(len(phi), o.lower)
		o.counts.HessVecG += n
		o.counts.CrossVecG += n
		o.begin("JointG", &o.counts.GradG, len(phi), o.lower)
		return o.end(o.joint.JointG(gy, hv, cv, x, y, v, phi), gy, hv, cv)
	}
	err := o.GradG(gy, x, y, phi)
	if err == nil {
		err = o.HessVecG(hv, x, y, v, phi)
	}
	if err == nil {
		err = o.CrossVecG(cv, x, y, v, phi)
	}
	return err
}

// HasGradXG reports whether the problem is an UpperGradient, and not by way of Complete alone: one
// that embeds a Completed without it is asked at 0.
func (o *Oracle) HasGradXG() bool {
	p, ok := o.p.Problem.(UpperGradient)
	if c, wraps := p.(interface{ lacksGradXG() bool }); wraps && c.lacksGradXG() {
		dx, dy := o.Dims()
		return !errors.Is(p.GradXG(make([]float64, dx), make([]float64, dx), make([]float64, dy), []Sample{0}), ErrMissing)
	}
	return ok
}

// GradXG is UpperGradient.GradXG. For a problem without it the error wraps ErrMissing.
func (o *Oracle) GradXG(gx, x, y []float64, phi []Sample) error {
	o.begin("GradXG", &o.counts.GradXG, len(phi), o.lower)
	return o.end(o.p.GradXG(gx, x, y, phi), gx)
}

// ConvexityAt is StronglyConvex.ConvexityAt, and −Inf for a problem without it.
func (o *Oracle) ConvexityAt(x []float64) float64 {
	o.inside = "ConvexityAt"
	s := o.p.ConvexityAt(x)
	o.inside = ""
	return s
}

func (o *Oracle) begin(name string, count *uint64, batch int, stream uint64) {
	o.inside, o.shown = name, false
	*count += batchSize(batch, stream)
}

// end clears what a failed oracle wrote.
func (o *Oracle) end(err error, wrote ...[]float64) error {
	if err != nil {
		for _, v := range wrote {
			clear(v)
		}
		err = &OracleError{Step: o.step, Oracle: o.inside, Err: err}
	}
	o.inside = ""
	return err
}

// endless names the running oracle's samples if their stream has no end.
func (o *Oracle) endless() string {
	switch {
	case o.inside == "GradF" && o.upper == 0:
		return "ξ"
	case o.inside != "GradF" && o.lower == 0:
		return "φ"
	}
	return ""
}

func batchSize(batch int, stream uint64) uint64 {
	if batch > 0 {
		return uint64(batch)
	}
	return max(stream, 1)
}
