package bilevel

import (
	"errors"
	"fmt"
	"math"

	"stable/bilevel/option"
	"stable/eig"
	"stable/mat"
)

// Estimator tracks the second derivatives of the lower level along points (x^k, y^k), H_xy of g_xy
// and H_yy of g_yy, by the variance-reduced recursion (STABLE-H) of the paper,
//
//	H_xy^k = P̄[(1−τ)(H_xy^{k−1} − g_xy(x^{k−1}, y^{k−1}; φ)) + g_xy(x^k, y^k; φ)],   P̄ onto {X : ‖X‖_F ≤ C_gxy},
//	H_yy^k = P̲[(1−τ)(H_yy^{k−1} − g_yy(x^{k−1}, y^{k−1}; φ)) + g_yy(x^k, y^k; φ)],   P̲ onto {X : X ⪰ μ_g I},
//
// for the hypergradient estimate f_x − H_xy H_yy⁻¹ f_y and the drift H_yy⁻¹ H_xyᵀ Δx of any method.
// Call Init first, then Update once per step; the other methods refer to the last point. Nothing
// allocates in steady state. It is for one goroutine at a time.
type Estimator struct {
	p        *Completed
	mu, cgxy float64

	x, y       []float64 // the last point
	hxy        *mat.Dense
	hyy        *mat.Sym
	xyOld, xy  *mat.Dense // g_xy at the last and this point
	yyOld, yy  *mat.Sym
	projection eig.Truncator
	v, w       []float64
	updates    int
	report     EstimatorReport

	promise float64 // ConvexityAt the last x
	bound   eigenBound
	bounded bool // whether this step has a bound
	clipped clippings
}

// EstimatorReport is about the last Init or Update.
type EstimatorReport struct {
	CrossNorm float64    // ‖H_xy‖_F before P̄
	HessNorm  float64    // ‖g_yy(x, y; φ)‖_F of the batch
	Truncate  eig.Report // what P̲ did to H_yy
}

// NewEstimator returns one for p, μ_g > 0, C_gxy > 0 (+Inf for no bound). The error wraps ErrOption.
func NewEstimator(p Problem, muG, cGxy float64) (*Estimator, error) {
	dx, dy := p.Dims()
	if err := errors.Join(checkBounds("", muG, cGxy), option.Dims(dx, dy)); err != nil {
		return nil, err
	}
	return &Estimator{
		p: Complete(p), mu: muG, cgxy: cGxy,
		x: make([]float64, dx), y: make([]float64, dy),
		hxy: mat.NewDense(dx, dy), xyOld: mat.NewDense(dx, dy), xy: mat.NewDense(dx, dy),
		hyy: mat.NewSym(dy), yyOld: mat.NewSym(dy), yy: mat.NewSym(dy),
		v: make([]float64, dx), w: make([]float64, dy), clipped: newClippings(dy),
	}, nil
}

// Track moves the estimates to the iterate, at step 0 by Init, then by Update, adding to Activity.
func (e *Estimator) Track(it *Iteration, tau float64, phi []Sample) error {
	var err error
	if it.K() == 0 {
		err = e.Init(it.X(), it.Y(), phi)
	} else {
		err = e.Update(tau, it.X(), it.Y(), phi)
	}
	if err != nil {
		return err
	}
	if e.report.Truncate.Clipped > 0 {
		it.Activity().Truncated++
	}
	if e.report.CrossNorm > e.cgxy {
		it.Activity().Shrunk++
	}
	return nil
}

// Init sets H_xy and H_yy to P̄[g_xy(x, y; φ)] and P̲[g_yy(x, y; φ)] over a batch.
func (e *Estimator) Init(x, y []float64, phi []Sample) error {
	e.updates = 0
	if err := e.p.CrossG(e.hxy, x, y, phi); err != nil {
		return err
	}
	if err := e.p.HessG(e.hyy, x, y, phi); err != nil {
		return err
	}
	mat.CopySym(e.yy, e.hyy)
	if err := e.askPromise(x); err != nil {
		return err
	}
	e.bounded = !math.IsInf(e.promise, -1)
	e.bound.reset(e.hyy, e.promise, e.mu)
	return e.projectBoth(x, y)
}

// Update moves the estimates to (x, y) by (STABLE-H): g_xy and g_yy at both points, with one batch.
func (e *Estimator) Update(tau float64, x, y []float64, phi []Sample) error {
	e.updates++
	if err := e.p.CrossG(e.xyOld, e.x, e.y, phi); err != nil {
		return err
	}
	if err := e.p.CrossG(e.xy, x, y, phi); err != nil {
		return err
	}
	if err := e.p.HessG(e.yyOld, e.x, e.y, phi); err != nil {
		return err
	}
	if err := e.p.HessG(e.yy, x, y, phi); err != nil {
		return err
	}
	if err := e.askPromise(x); err != nil {
		return err
	}
	mat.Recur(e.hxy, tau, e.hxy, e.xyOld, e.xy) // (STABLE-H1)
	if e.bounded = !math.IsInf(e.promise, -1) && !e.bound.pause(); e.bounded {
		e.bound.update(tau, e.promise, e.mu, trace(e.hyy), e.report.HessNorm, e.yy, e.yyOld)
	}
	mat.RecurSym(e.hyy, tau, e.hyy, e.yyOld, e.yy) // (STABLE-H3)
	return e.projectBoth(x, y)
}

// Draw draws the samples φ of step k: Options.LowerBatch, at step 0 initBatch, or where that is 0
// the larger of Options.LowerBatch and dy.
func (e *Estimator) Draw(it *Iteration, initBatch int) []Sample {
	if it.K() > 0 {
		return it.DrawPhi(0)
	}
	if _, lower := it.Batches(); initBatch == 0 && lower != Full {
		initBatch = max(lower, len(e.y))
	}
	return it.DrawPhi(initBatch)
}

func (e *Estimator) projectBoth(x, y []float64) error {
	n := mat.ProjectFrob(e.hxy, e.hxy, e.cgxy)
	if e.report.CrossNorm = n; n-n != 0 {
		return &DivergedError{Step: e.updates, Quantity: "H_xy", Value: n}
	}
	r, err := e.truncate()
	e.report.Truncate = r
	if err != nil {
		var bad *eig.NotFiniteError
		if errors.As(err, &bad) {
			return &DivergedError{Step: e.updates, Quantity: "H_yy", Value: bad.Value}
		}
		return err
	}
	copy(e.x, x)
	copy(e.y, y)
	return e.clipped.add(e.updates, r.Clipped > 0, e.yy)
}

// Hypergradient writes f_x − H_xy H_yy⁻¹ f_y, of length dx, into dst, which may be fx. Cost O(dx·dy
// + dy²), and dy³/3 for the first solve with a new H_yy. The error wraps chol.ErrNotPosDef where
// H_yy is singular in rounding, for a tiny μ_g.
func (e *Estimator) Hypergradient(dst, fx, fy []float64) error {
	if err := e.solve(e.w, fy); err != nil {
		return err
	}
	mat.MulVec(e.v, e.hxy, e.w)
	for i, v := range e.v {
		dst[i] = fx[i] - v
	}
	return nil
}

// Drift writes H_yy⁻¹ H_xyᵀ dx, of length dy, into dst: minus the first-order change of y*(x) when
// x moves by dx. Cost and error as for Hypergradient.
func (e *Estimator) Drift(dst, dx []float64) error {
	mat.MulVecTrans(e.w, e.hxy, dx)
	return e.solve(dst, e.w)
}

// solve sets dst = H_yy⁻¹ b.
func (e *Estimator) solve(dst, b []float64) error {
	if err := e.projection.SolveVec(dst, b); err != nil {
		return fmt.Errorf("bilevel: H_yy is singular to working precision after %d updates, μ_g = %g is too small for it: %w",
			e.updates, e.mu, err)
	}
	return nil
}

// State visits what outlives an Update.
func (e *Estimator) State(t *State) {
	t.Floats(e.x, e.y)
	t.Dense(e.hxy)
	t.Sym(e.hyy)
	t.Count(&e.updates)
	r := &e.report
	route := int(r.Truncate.Route)
	for _, v := range []*float64{&r.CrossNorm, &r.HessNorm, &r.Truncate.MinEigenvalue, &r.Truncate.Change} {
		t.Float(v)
	}
	t.Count(&r.Truncate.Clipped)
	t.Count(&route)
	r.Truncate.Route = eig.Route(route)
	t.Float(&e.promise)
	e.bound.State(t)
	e.clipped.State(t)
	if t.Steps() > 0 {
		t.After(e.restore)
	}
}

// restore passes H_yy, whose eigenvalues are above 0, to the projection again, for later solves.
func (e *Estimator) restore() error {
	r, err := e.projection.Truncate(e.hyy, e.hyy, 0)
	if err != nil || r.Clipped > 0 {
		return damaged("H_yy is not positive definite")
	}
	return nil
}

// askPromise sets promise to ConvexityAt(x). The error is for a g_yy of the batch that breaks it.
func (e *Estimator) askPromise(x []float64) error {
	e.report.HessNorm = mat.NormFrobSym(e.yy)
	e.promise = e.p.ConvexityAt(x)
	if math.IsInf(e.promise, -1) {
		return nil
	}
	slack := float64(e.yy.N+16) * 0x1p-52 * e.report.HessNorm
	for i := range e.yy.N {
		if d := e.yy.Data[i*e.yy.Stride+i]; d < e.promise-slack {
			return fmt.Errorf("%w: step %d: ConvexityAt is %v, and entry (%d, %d) of g_yy %v",
				ErrBrokenPromise, e.updates, e.promise, i, i, d)
		}
	}
	return nil
}

// truncate applies P̲ to H_yy.
func (e *Estimator) truncate() (eig.Report, error) {
	if e.bounded && e.bound.proves(&e.projection, e.hyy, e.mu) {
		if err := e.projection.Accept(e.hyy, e.mu); err != nil {
			return eig.Report{}, fmt.Errorf("%w: step %d: ConvexityAt is %v, and H_yy has lost its "+
				"definiteness: %w", ErrBrokenPromise, e.updates, e.promise, err)
		}
		return eig.Report{MinEigenvalue: e.mu, Route: eig.RouteClear}, nil
	}
	r, err := e.projection.Truncate(e.hyy, e.hyy, e.mu)
	if r.Clipped > 0 {
		e.bound.least = math.Inf(-1)
	}
	return r, err
}

// Hxy and Hyy return H_xy and H_yy, to be read only.
func (e *Estimator) Hxy() *mat.Dense { return e.hxy }
func (e *Estimator) Hyy() *mat.Sym   { return e.hyy }

func (e *Estimator) Report() EstimatorReport { return e.report }

// Health tells of H_yy alone; the rest is NaN.
func (e *Estimator) Health() Health {
	const almost = 1 - 0x1p-20
	none := math.NaN()
	h := Health{Lower: none, LowerBound: none, Gradient: none, StdErr: none, Gap: none,
		MuG: e.mu, Clipped: e.clipped.share, Least: e.clipped.least, LeastErr: e.clipped.err}
	if h.Clipped > mostClipped {
		h.LargeMuG = h.Least < almost*h.MuG-3*h.LeastErr
		h.NotConvex = h.Least < -3*h.LeastErr
	}
	return h
}

func checkBounds(owner string, muG, cGxy float64) error {
	return errors.Join(option.Finite(owner+"MuG", muG), option.Positive(owner+"CGxy", cGxy))
}
