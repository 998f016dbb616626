package bilevel

import (
	"stable/mat"
)

// Sample names one draw of a random variable: an index below the size of a finite sum, or any seed
// of a simulator.
//
// The same name is the same draw wherever it is evaluated. Every variance-reduced method rests on
// that: STABLE evaluates one φ at the old and at the new point, and only the difference of the
// points may show.
type Sample uint64

// Problem is the oracle contract of
//
//	min over x in X   F(x) = E_ξ[f(x, y*(x); ξ)]   subject to   y*(x) = argmin_y E_φ[g(x, y; φ)]
//
// with x in R^dx, y in R^dy and g(x, ·) strongly convex.
//
// Every oracle writes the mean over the batch of samples that it is handed, at the point (x, y),
// into its destinations, overwriting what stands there. It must not keep or change any other
// argument. An empty batch asks for the exact value, the expectation over the whole stream; a
// problem that does not have it returns ErrNoExact. Any other error ends the run that asked.
//
// A Problem may keep scratch memory: it need not be safe for concurrent use, and two runs in two
// goroutines take two Problems (which may share what they only read).
type Problem interface {
	// Dims returns the lengths of x and y.
	Dims() (dx, dy int)

	// Streams returns how many samples ξ (upper) and φ (lower) range over: the names are 0 … n−1.
	// Zero means an unbounded simulator, where every Sample is a name.
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

// Products is a problem that multiplies by its second derivatives without forming them, in O(dx+dy)
// to O(dy²) flops. Arguments and batches are as in Problem; dst must not overlap v.
type Products interface {
	// HessVecG writes g_yy(x, y; φ)·v, of length dy.
	HessVecG(dst, x, y, v []float64, phi []Sample) error

	// CrossVecG writes g_xy(x, y; φ)·v, of length dx, for v of length dy.
	CrossVecG(dst, x, y, v []float64, phi []Sample) error
}

// UpperGradient is implemented by problems that also give g_x, the gradient of the lower level's
// loss in the upper level's variable. Methods that use no second derivative need it: the value
// function g(x, y) − min_z g(x, z) has the gradient g_x(x, y) − g_x(x, z) in x, at z = y*(x).
type UpperGradient interface {
	// GradXG writes g_x(x, y; φ), of length dx. Arguments and batches are as in Problem.
	GradXG(gx, x, y []float64, phi []Sample) error
}

// Truth is a problem that knows, or computes to about 1e-12, what a method only estimates.
// Measurements and tests use it. No method calls it, and no count includes it.
type Truth interface {
	// Solution writes y*(x). What y holds on entry may serve as the starting point.
	Solution(y, x []float64) error

	// Objective returns F(x) and writes ∇F(x) into grad unless grad is nil.
	Objective(grad, x []float64) (float64, error)
}

// Values is implemented by problems that also give the values whose derivatives the oracles are. No
// method needs them. Package check holds f_x, f_y and g_y against their finite differences, and
// cannot verify these three without.
type Values interface {
	// ValueF returns f(x, y; ξ), the mean over the batch.
	ValueF(x, y []float64, xi []Sample) (float64, error)

	// ValueG returns g(x, y; φ), the mean over the batch.
	ValueG(x, y []float64, phi []Sample) (float64, error)
}

// StronglyConvex is implemented by problems that promise how strongly convex the lower level's loss
// is for each sample alone, as models with a regularisation term can. The promise saves methods
// that carry H_yy, see Estimator, one of the two Cholesky factorisations of a step; it changes no
// bit of what they compute. Package check tests it on samples and points that it draws.
type StronglyConvex interface {
	// ConvexityAt returns an s with g_yy(x, y; φ) ⪰ s·I at this x for every y and every sample φ,
	// as HessG writes g_yy, up to its rounding, dy·eps·‖g_yy‖_F with eps = 2⁻⁵². −Inf promises
	// nothing. x is read. It is asked once a step, and should cost O(dx) at most.
	//
	// A promise that does not hold lets H_yy have eigenvalues below μ_g that nothing clips. Where
	// that shows, because a diagonal entry of a batch's g_yy is below s, or because H_yy does not
	// factor, the step fails with ErrBrokenPromise. Otherwise the run goes on with that H_yy.
	ConvexityAt(x []float64) float64
}
