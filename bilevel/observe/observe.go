// Package observe measures a bilevel run against the truth (bilevel.Truth, or Newton's method on
// exact oracles): errors of x, y and the estimates H_xy and H_yy of STABLE, the Lyapunov function
// of its analysis, near-stationarity by the Moreau envelope; and [LocalLimit], how small the error
// could be by the samples seen.
//
//	o, err := observe.New(problem, observe.Options{Best: fStar})
//	run.Progress = o.Progress(func(m observe.Measurement) bool { …; return true })
//
// The run, of any method, is the same, bit for bit, with an observer and without; its problem may be
// that of the observer. A measurement costs several solutions of the lower level, and may allocate.
// An Observer is for one goroutine at a time.
package observe

import (
	"cmp"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/mat"
)

// Options says what is measured.
type Options struct {
	Best float64 // F*, which is subtracted from F and from the envelope. Default 0

	// Rho is ρ of the Moreau envelope, finite and > |μ_F| where ∇²F ⪰ μ_F I. Default 0: none, F
	// stands in its place, and Near is NaN.
	Rho float64

	Set bilevel.Set // the feasible set X of the envelope. Default bilevel.Space
}

// State is what is measured at a point (x, y).
type State struct {
	Gap      float64 // F(x) − F*
	Grad     float64 // ‖∇F(x)‖
	Lower    float64 // ‖y − y*(x)‖
	Envelope float64 // Φ_{1/ρ}(x) − F*; without ρ, Gap
	Near     float64 // ρ²‖x̂ − x‖² = ‖∇Φ_{1/ρ}(x)‖²; NaN without ρ
}

// Measurement is what is measured of a run.
type Measurement struct {
	K      int // steps done
	Counts bilevel.Counts
	State  // at the iterate (x^k, y^k), k = K

	// Hxy and Hyy are ‖H_xy − g_xy‖_F and ‖H_yy − g_yy‖_F at the estimates' point (x^{k−1},
	// y^{k−1}); NaN for a method without estimates, and before the first step.
	Hxy, Hyy float64

	// Lyapunov is (eq.Lya) of the paper less F*, V^{k−1}:
	//
	//	Φ_{1/ρ}(x) − F* + ‖y − y*(x)‖² + ‖H_yy − g_yy(x, y)‖² + ‖H_xy − g_xy(x, y)‖²
	//
	// at the estimates' point; without estimates, the first two terms at the iterate.
	Lyapunov float64
}

// Observer measures runs on a problem. New makes one.
type Observer struct {
	p      bilevel.Problem
	truth  bilevel.Truth
	o      Options
	moreau *Moreau // nil without ρ
	grad   []float64
	ys     []float64
	xhat   []float64
	gxy    *mat.Dense
	gyy    *mat.Sym
	err    error
}

// New returns an observer. p must implement bilevel.Truth, or bilevel.Values and have exact
// oracles, for Newton's method on these; to measure estimates it needs exact oracles. The error
// wraps bilevel.ErrOption and names the field.
func New(p bilevel.Problem, o Options) (*Observer, error) {
	truth, err := truthOf(p, true)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(o.Best) || math.IsInf(o.Best, 0) {
		return nil, option.Bad("observe: Options.Best is %v, want a finite F*", o.Best)
	}
	dx, dy := p.Dims()
	vec := func(n int) []float64 { return make([]float64, n) }
	ob := &Observer{
		p: p, truth: truth, o: o, gxy: mat.NewDense(dx, dy), gyy: mat.NewSym(dy),
		grad: vec(dx), xhat: vec(dx), ys: vec(dy),
	}
	if o.Rho != 0 {
		ob.moreau = &Moreau{F: truth, Set: o.Set, Rho: o.Rho}
		if err := ob.moreau.validate(dx); err != nil {
			return nil, err
		}
	}
	return ob, nil
}

// At measures a point. Errors are those of bilevel.Truth and of Moreau.
func (o *Observer) At(x, y []float64) (State, error) {
	var m State
	f, err := o.truth.Objective(o.grad, x)
	if err != nil {
		return State{}, err
	}
	m.Gap, m.Grad = f-o.o.Best, mat.Norm(o.grad)
	copy(o.ys, y)
	if err := o.truth.Solution(o.ys, x); err != nil {
		return State{}, err
	}
	mat.Axpy(o.ys, -1, y)
	m.Lower = mat.Norm(o.ys)
	m.Envelope, m.Near = m.Gap, math.NaN()
	if o.moreau != nil {
		e, err := o.moreau.At(o.xhat, x)
		if err != nil {
			return State{}, err
		}
		m.Envelope, m.Near = e.Value-o.o.Best, e.Near
	}
	return m, nil
}

// Observe measures a run as it stands. Errors are those of At and of the exact oracles,
// bilevel.ErrNoExact among them.
func (o *Observer) Observe(s *bilevel.Solver) (Measurement, error) {
	m := Measurement{K: s.K(), Counts: s.Counts(), Hxy: math.NaN(), Hyy: math.NaN()}
	var err error
	if m.State, err = o.At(s.X(), s.Y()); err != nil {
		return m, err
	}
	e := s.Estimator()
	if e == nil || s.K() == 0 {
		m.Lyapunov = m.Envelope + m.Lower*m.Lower
		return m, nil
	}
	x, y := e.Point()
	old, err := o.At(x, y)
	if err = cmp.Or(err, o.p.CrossG(o.gxy, x, y, nil), o.p.HessG(o.gyy, x, y, nil)); err != nil {
		return m, err
	}
	mat.AddScaled(o.gxy, o.gxy, -1, e.Hxy())
	mat.AddScaledSym(o.gyy, o.gyy, -1, e.Hyy())
	m.Hxy, m.Hyy = mat.NormFrob(o.gxy), mat.NormFrobSym(o.gyy)
	m.Lyapunov = old.Envelope + old.Lower*old.Lower + m.Hyy*m.Hyy + m.Hxy*m.Hxy
	return m, nil
}

// Progress returns a function for Run.Progress that measures the run and calls visit, which stops
// the run by returning false. So does a measurement that fails, see Err.
func (o *Observer) Progress(visit func(Measurement) bool) func(*bilevel.Solver) bool {
	return func(s *bilevel.Solver) bool {
		m, err := o.Observe(s)
		if err != nil {
			o.err = fmt.Errorf("observe: step %d: %w", s.K(), err)
			return false
		}
		return visit(m)
	}
}

// Err returns the error that has stopped a run, or nil.
func (o *Observer) Err() error { return o.err }

// newton is the truth of a problem that does not know it: Newton's method on its exact oracles.
type newton struct {
	f       *implicit.Function
	y, grad []float64 // of Objective
}

// truthOf returns the truth of p, by Newton's method where p has none; with the objective if asked.
func truthOf(p bilevel.Problem, objective bool) (bilevel.Truth, error) {
	if truth, ok := p.(bilevel.Truth); ok {
		return truth, nil
	}
	f := implicit.New(p)
	if objective && !f.HasValue() {
		return nil, option.Bad("observe: New needs a problem that implements bilevel.Truth or bilevel.Values")
	}
	dx, dy := p.Dims()
	return &newton{f, make([]float64, dy), make([]float64, dx)}, nil
}

func (n *newton) Solution(y, x []float64) error { return n.f.Solve(y, x, 0) }

func (n *newton) Objective(grad, x []float64) (float64, error) {
	if err := n.f.Solve(n.y, x, 0); err != nil {
		return 0, err
	}
	if grad == nil {
		grad = n.grad
	}
	return n.f.Gradient(grad, x, n.y)
}
