package implicit

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// Options are those of Minimise and NewMinimiser.
type Options struct {
	// Lo and Hi are the bounds, ±Inf where there is none. Default: none.
	Lo, Hi []float64

	Memory      int // ≥ 1, the number of pairs of L-BFGS. Default 10
	Evaluations int // ≥ 1, caps Minimise's calls. Default 10000
}

// ErrNoMinimum says that Minimise ended at its cap of evaluations, or with an F or ‖∇F‖² that is not finite, or a
// ∇F no smaller though F fell: it may have no lower bound.
var ErrNoMinimum = errors.New("implicit: Minimise did not converge")

// Minimum is the result of Minimise.
type Minimum struct {
	X           []float64
	F           float64 // by differences from the start, where the function gives no values
	ProjGrad    float64 // ‖x − P(x − ∇F)‖, P the projection onto the box
	Evaluations int
}

// Minimise minimises a smooth function over a box from x, clipped to it, to rounding, by a Minimiser.
// f writes ∇F(x) and returns F(x), NaN if it has no values; its error ends the search. Others are
// ErrNoMinimum, with the Minimum so far, and those about options, which wrap bilevel.ErrOption.
func Minimise(f func(grad, x []float64) (float64, error), x []float64, o Options) (*Minimum, error) {
	cap := cmp.Or(o.Evaluations, 10000)
	m, err := NewMinimiser(x, o)
	if err := errors.Join(err, option.AtLeast("implicit: Options.Evaluations", cap, 1)); err != nil {
		return nil, err
	}
	grad, first := make([]float64, len(x)), 0.0
	found := func(n int) *Minimum { return &Minimum{X: m.x, F: m.f, ProjGrad: m.proj, Evaluations: n} }
	for n := range cap {
		value, err := f(grad, m.Trial())
		if err != nil {
			return nil, err
		}
		if m.Tell(value, grad); n == 0 {
			first = m.proj
		}
		if !mat.IsFinite(m.f) || !mat.IsFinite(m.proj*m.proj) || m.done && m.proj >= first && m.moved > 0x1p-20*math.Abs(m.f) {
			return found(n + 1), ErrNoMinimum
		}
		if m.done {
			return found(n + 1), nil
		}
	}
	return found(cap), ErrNoMinimum
}

// Minimiser is L-BFGS-B by reverse communication: Trial says where the function is wanted, Tell
// takes it. Memory (4·Memory + 15)·d, time O(Memory²·d) an iteration. Byrd, Lu, Nocedal, Zhu, SIAM J. Sci.
// Comput. 16, 1995; Morales, Nocedal, ACM Trans. Math. Softw. 38, 2011.
//
// # How it works
//
// On the path P(x − t∇F) it finds the first local minimiser of the model ∇Fᵀs + ½sᵀBs, minimises that
// over the entries off their bounds by conjugate gradients, and searches P(x + t(x̂ − x)) for the
// strong Wolfe conditions, past bounds too, x̂ the projection of the result. Without values, or where
// rounding hides their difference, F(x⁺) − F(x) = ½(∇F(x) + ∇F(x⁺))ᵀ(x⁺ − x). After a step without
// positive curvature B = (‖Δ∇F‖/‖s‖)I.
type Minimiser struct {
	lo, hi  []float64
	x, g    []float64 // where the search stands, ∇F there
	f, proj float64   // F and the norm of the projected gradient there
	trial   []float64
	d       []float64 // direction
	line    line
	model   model
	begun   bool
	done    bool

	moved, least float64 // the sum of all changes of F; the least proj
	idle         int     // iterations since it halved
}

// NewMinimiser starts at x, clipped to the box. The error wraps bilevel.ErrOption.
func NewMinimiser(x []float64, o Options) (*Minimiser, error) {
	n := len(x)
	box := bilevel.UniformBox(n, math.Inf(-1), math.Inf(1))
	if o.Lo != nil {
		box.Lo = o.Lo
	}
	if o.Hi != nil {
		box.Hi = o.Hi
	}
	memory, bounds := cmp.Or(o.Memory, 10), box.Validate(n)
	if bounds != nil {
		bounds = fmt.Errorf("implicit: Options.Lo and Hi: %w", bounds)
	}
	if err := errors.Join(bounds, option.AtLeast("implicit: Options.Memory", memory, 1),
		option.Vector("implicit: x", x, n)); err != nil {
		return nil, err
	}
	vec := func() []float64 { return make([]float64, n) }
	m := &Minimiser{lo: box.Lo, hi: box.Hi, x: vec(), g: vec(), trial: vec(), d: vec(), model: newModel(n, memory)}
	box.Project(m.x, x)
	copy(m.trial, m.x)
	return m, nil
}

// X returns the last accepted point, to be read only.
func (m *Minimiser) X() []float64 { return m.x }

// Trial returns the point at which F is wanted, to be read only.
func (m *Minimiser) Trial() []float64 { return m.trial }

// ProjGrad returns ‖x − P(x − ∇F)‖ at X.
func (m *Minimiser) ProjGrad() float64 { return m.proj }

// Done says that X is stationary, or no step along ∇F makes F fall. Trial is X; Tell resumes there.
func (m *Minimiser) Done() bool { return m.done }

// Tell takes the value (NaN if unknown) and gradient at Trial, moves X there if it accepts, and
// chooses the next Trial. Later a gradient that is not finite, or a value ±Inf, is a failed trial.
func (m *Minimiser) Tell(value float64, grad []float64) (accepted bool) {
	if !m.begun || m.done {
		m.begun, m.done = true, false
		m.f = value
		if math.IsNaN(value) {
			m.f = 0
		}
		m.arrive(grad)
		m.model.clear()
		m.least, m.idle = m.proj, 0
		m.next()
		return true
	}
	slope, promise, trapezoid := m.read(grad)
	change := value - m.f
	if math.IsNaN(value) || math.Abs(trapezoid) <= 1e-10*math.Abs(m.f) && !math.IsInf(value, 1) {
		change = trapezoid
	}
	if !m.line.tell(change, slope, promise) {
		if m.line.trials < maxTrials {
			m.along()
			return false
		}
		length, steepest := m.line.t*mat.Norm(m.d), m.model.empty()
		m.done = m.rounding(1) || steepest && length <= 0x1p-52*mat.Norm(m.x)
		if m.model.clear(); steepest {
			m.model.theta = m.proj / length // on with shorter steps
		}
		m.next()
		return false
	}
	stuck := m.model.empty() && promise == 0
	m.model.learn(m.trial, m.x, grad, m.g)
	copy(m.x, m.trial)
	m.f += change
	m.moved += math.Abs(change)
	m.arrive(grad)
	m.settle(stuck)
	m.next()
	return true
}

func (m *Minimiser) arrive(grad []float64) {
	copy(m.g, grad)
	for i, x := range m.x {
		m.d[i] = min(max(grad[i], x-m.hi[i]), x-m.lo[i])
	}
	m.proj = mat.Norm(m.d)
}

// settle ends the search where proj has stopped falling at rounding.
func (m *Minimiser) settle(stuck bool) {
	const patience = 40 // iterations; at condition 1e4 it halves in fewer
	if m.idle++; m.proj <= m.least/2 {
		m.least, m.idle = m.proj, 0
	}
	m.done = stuck || m.idle > patience && m.rounding(max(1, m.line.t)) || m.line.last && m.rounding(m.line.t)
}

// rounding says that the last direction promised less than the square of rounding in a step t.
func (m *Minimiser) rounding(t float64) bool {
	return -m.line.slope*t <= 0x1p-80*max(m.moved, math.Abs(m.f))
}

func (m *Minimiser) next() {
	copy(m.trial, m.x)
	if m.done = m.done || m.proj == 0; m.done {
		return
	}
	for {
		m.model.step(m.d, m.x, m.g, m.lo, m.hi)
		if slope := mat.Dot(m.d, m.g); slope < 0 {
			first := 1.0
			if m.model.empty() {
				first = min(1, max(1, 0x1p-26*mat.Norm(m.x))/mat.Norm(m.d))
			}
			most := m.maxStep()
			m.line = line{slope: slope, t: min(first, most), most: most, low: end{slope: slope}}
			m.along()
			return
		}
		known, size := max(m.moved, math.Abs(m.f)), mat.Norm(m.x)
		if !m.model.empty() {
			m.model.clear()
		} else if m.done = m.model.theta != 1 || known == 0 || !(m.proj*size > 0x1p-40*known); m.done {
			return
		} else { // the rounding of x hides −∇F
			m.model.theta = m.proj / (0x1p-26 * size)
		}
	}
}

// read returns the slope of F along the path at Trial, what ∇F at x promises, and the trapezoid rule.
func (m *Minimiser) read(grad []float64) (slope, promise, trapezoid float64) {
	for i, g := range grad {
		step := m.trial[i] - m.x[i]
		promise += m.g[i] * step
		trapezoid += 0.5 * (m.g[i] + g) * step
		if at := m.x[i] + m.line.t*m.d[i]; m.lo[i] <= at && at <= m.hi[i] {
			slope += g * m.d[i]
		}
	}
	return slope, promise, trapezoid
}

// maxStep returns the least t ≥ 1 at which every moving entry has met its bound.
func (m *Minimiser) maxStep() float64 {
	t := 1.0
	for i, d := range m.d {
		if d != 0 {
			t = max(t, toBound(m.x[i], d, m.lo[i], m.hi[i]))
		}
	}
	return t
}

func (m *Minimiser) along() {
	for i, x := range m.x {
		m.trial[i] = min(max(x+m.line.t*m.d[i], m.lo[i]), m.hi[i])
	}
}

// State visits the state of the search, for a bilevel.Stepper's.
func (m *Minimiser) State(t *bilevel.State) {
	t.Floats(m.x, m.g, m.trial, m.d)
	for _, v := range []*float64{&m.f, &m.proj, &m.moved, &m.least} {
		t.Float(v)
	}
	t.Flag(&m.begun)
	t.Flag(&m.done)
	t.Count(&m.idle)
	m.line.state(t)
	m.model.state(t)
}
