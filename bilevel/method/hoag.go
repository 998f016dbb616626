package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/mat"
)

// HOAG minimises F by L-BFGS-B on the hypergradient at an approximate y*(x) (Pedregosa, ICML 2016),
//
//	y ← y − g_yy⁻¹g_y until ‖g_yy⁻¹g_y‖ ≤ ε‖y‖,   h = f_x − g_xy g_yy⁻¹ f_y,   x by L-BFGS-B on h,
//
// with ε = Share·min(1, ‖P_X(x − h) − x‖/‖P_X(x⁰ − h⁰) − x⁰‖); see implicit.Function and
// implicit.Minimiser. There is no step size to choose. Where the search has ended, it goes on with ε =
// 0, and arrives (bilevel.Arrived) where it ends again.
//
// Both streams must be finite sums, or the batches of Options Full: each step asks for both means.
// The set must be a bilevel.BoundedSet. A step evaluates h once, at a trial point, which f judges
// where the problem has bilevel.Values, the trapezoid rule elsewhere; x stays where it is rejected.
// Work beside the oracles: dy³/3 a Newton step.
type HOAG struct {
	Share  float64 // > 0, the largest ε. Default 1e-3
	Memory int     // ≥ 1, the number of pairs of L-BFGS. Default 10
}

func (HOAG) Name() string { return "HOAG" }

type hoag struct {
	HOAG
	f      *implicit.Function
	m      *implicit.Minimiser
	sum    *watched
	h, y   []float64
	first  float64 // norm of the projected hypergradient at the start
	exact  bool    // y is settled to rounding
	failed bool    // there is no y*(x) or no value at the last trial
}

func (m HOAG) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	err := errors.Join(positive("HOAG.Share", &m.Share, 1e-3), count("HOAG.Memory", &m.Memory, 10))
	if err != nil {
		return nil, err
	}
	upper, lower := it.Oracle().Streams()
	bu, bl := it.Batches()
	set, bounded := it.Set().(bilevel.BoundedSet)
	switch {
	case upper == 0 && bu != bilevel.Full || lower == 0 && bl != bilevel.Full:
		return nil, option.Bad("HOAG needs finite sums, or a problem with exact oracles and the batches of Options Full")
	case !bounded:
		return nil, option.Bad("HOAG: Options.Set is %T, want a bilevel.BoundedSet: Space, Box or NonNegative", it.Set())
	}
	dx, dy := it.Dims()
	lo, hi := make([]float64, dx), make([]float64, dx)
	for i := range lo {
		lo[i], hi[i] = set.Bounds(i)
	}
	search, err := implicit.NewMinimiser(it.X(), implicit.Options{Lo: lo, Hi: hi, Memory: m.Memory})
	sum := &watched{Oracle: it.Oracle(), Values: bilevel.Complete(it.Problem()), it: it}
	return &hoag{HOAG: m, f: implicit.New(sum), m: search, sum: sum, h: make([]float64, dx),
		y: make([]float64, dy)}, err
}

func (m *hoag) Step(it *bilevel.Iteration) error {
	m.f.Xi, m.f.Phi = it.DrawXi(bilevel.Full), it.DrawPhi(bilevel.Full)
	x, y := m.m.Trial(), m.y
	copy(y, it.Y())
	eps := m.Share
	if m.first > 0 {
		eps *= min(1, m.m.ProjGrad()/m.first)
	}
	if m.exact {
		eps = 0
	}
	m.sum.err = nil
	value, err := math.Inf(1), m.f.Solve(y, x, eps)
	if m.sum.err != nil {
		err = m.sum.err
	}
	if err == nil {
		value, err = m.f.Gradient(m.h, x, y)
	}
	if m.failed = err != nil; m.failed {
		if it.K() == 0 || !errors.Is(err, bilevel.ErrDomain) && !errors.Is(err, implicit.ErrNoSolution) {
			return err
		}
		value = math.Inf(1)
	}
	before := m.m.ProjGrad()
	if m.m.Tell(value, m.h) {
		copy(it.NextX(), m.m.X())
		copy(it.NextY(), y)
	}
	if it.K() == 0 {
		m.first = m.m.ProjGrad()
	}
	if m.failed && m.m.Done() { // no shorter step has a value either
		return err
	}
	return m.report(it, before)
}

// report tells the run the step size, ‖Δx‖ over the projected hypergradient.
func (m *hoag) report(it *bilevel.Iteration, before float64) error {
	alpha := 0.0
	for i, x := range it.X() {
		alpha = math.Hypot(alpha, it.NextX()[i]-x)
	}
	if alpha /= before; !mat.IsFinite(alpha) {
		alpha = 0
	}
	if m.m.Done() && !m.exact { // values off y*(x) may have ended the search
		m.exact = true
	} else if m.m.Done() {
		alpha = max(alpha, 1)
		it.Arrive()
	}
	if gy, _ := m.f.Residual(); !m.failed {
		it.Watch(gy)
	}
	it.Watch(m.m.ProjGrad())
	return it.UseSteps(alpha, 1, 0)
}

func (m *hoag) Vectors(visit func(name string, v []float64)) {
	if !m.failed {
		m.f.Vectors(visit)
	}
	visit("h", m.h)
}

func (m *hoag) State(t *bilevel.State) {
	t.Float(&m.first)
	t.Flag(&m.exact)
	m.m.State(t)
}

// watched refuses what is not finite, and keeps the first error of g_y, which a search would hide.
type watched struct {
	*bilevel.Oracle
	bilevel.Values
	it  *bilevel.Iteration
	err error
}

func (p *watched) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := p.Oracle.GradG(gy, x, y, phi)
	if err == nil {
		err = p.it.Finite(gy)
	}
	if p.err == nil && !errors.Is(err, bilevel.ErrDomain) {
		p.err = err
	}
	return err
}

func (p *watched) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if err := p.Oracle.HessG(gyy, x, y, phi); err != nil {
		return err
	}
	for i := range gyy.N {
		if err := p.it.Finite(gyy.Row(i)); err != nil {
			return err
		}
	}
	return nil
}
