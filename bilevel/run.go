package bilevel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"stable/bilevel/option"
	"stable/mat"
)

// Run says when a run stops, and who watches it. Give at least one stop rule, or a context that
// ends; the first one met stops the run.
type Run struct {
	// Steps is the number of steps to do. 0: no limit.
	Steps int

	// Xi and Phi limit the numbers of samples of the upper and the lower stream, counted since New.
	// The run stops at the first step that reaches one of them. 0: no limit.
	Xi, Phi uint64

	// Time limits the wall-clock time, not counting the time in Progress. 0: no limit.
	Time time.Duration

	// Tol stops the run after Window steps in a row that each satisfy
	//
	//	‖x^{k+1} − x^k‖ + eps·‖x^{k+1}‖ < Tol·α_k   and   ‖y^{k+1} − y^k‖ + eps·‖y^{k+1}‖ < Tol·β_k,
	//
	// eps = 2⁻⁵². Without rounding, the left sides divided by α_k and β_k are the norms of the
	// gradient mappings that the method moved along. Every step counts by itself and nothing is
	// averaged, so that movements back and forth do not cancel: a run that cycles does not stop,
	// whatever the period. The terms with eps stand for rounding: where it could hide a movement of
	// Tol·α_k, the run does not stop. Nor does it stop in steps with α_k = 0 or β_k = 0, which say
	// nothing about the gradients; those that move nothing either do not count at all.
	//
	// α_k is the step size in effect: where a safeguard shortened a movement, it counts as
	// shortened in the same proportion. Where entries have different step sizes, each entry counts
	// with its own. In a method with inner steps on y, or one that moves something besides x and y,
	// such as the solution of a linear system, the norm of each of these directions must be below
	// Tol too.
	//
	// With noisy oracles, each step carries the noise of its batches, in full for a method that
	// does not average directions. The run stops only if Tol is above that noise. Larger batches
	// lower the noise; a longer window does not. Set a second stop rule as well.
	//
	// 0: no such rule.
	Tol float64

	// Gap stops the run where the method's own estimate of what is left of F(x) − F*, Health.Gap,
	// has been at most Gap at every look in Window steps. It is looked at 64 times while the steps
	// double. Gap has the unit of f. The estimate is that of a mean: the gap at the stop scatters
	// about it as the samples do, and by a factor of 2 or 3 more where x has few entries. A method
	// that makes no such estimate refuses. It is +Inf as long as the method cannot tell, which may
	// be the whole run: set a second stop rule as well. 0: no such rule.
	Gap float64

	// Window is the number of steps for Tol and Gap. Default 100.
	Window int

	// Progress is called after every Every-th step (default 1), and may read the Solver. It stops
	// the run by returning false.
	Progress func(*Solver) bool
	Every    int
}

// Reason says why a run stopped.
type Reason int

// The reasons, in the order in which they are looked at after a step.
const (
	Failed       Reason = iota // an error; see the error
	Canceled                   // the context ended
	ByProgress                 // Run.Progress returned false
	StepLimit                  // Run.Steps
	SampleLimit                // Run.Xi or Run.Phi
	ToleranceMet               // Run.Tol
	GapReached                 // Run.Gap
	TimeLimit                  // Run.Time
	Arrived                    // the method says that nothing is left to do
)

var reasonNames = [...]string{"failed", "canceled", "stopped by the progress callback",
	"step limit", "sample limit", "tolerance met", "gap reached", "time limit", "arrived"}

func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasonNames) {
		return fmt.Sprintf("Reason(%d)", int(r))
	}
	return reasonNames[r]
}

// MarshalText is String, so that a Reason in JSON is its text.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote. Any other text is an error.
func (r *Reason) UnmarshalText(text []byte) error {
	i := slices.Index(reasonNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("bilevel: %q is not the name of a Reason", text)
	}
	*r = Reason(i)
	return nil
}

// Result says where a run stopped. It is filled in with or without an error. X and Y are copies of
// the last good iterate.
type Result struct {
	X, Y     []float64
	Mean     []float64 // of the iterates, see Solver.Mean
	Steps    int       // done by this run
	Counts   Counts
	Activity Activity // since New
	Warnings []string // of the method, see Health.Warnings
	Reason   Reason
	Elapsed  time.Duration // without the time of Progress
}

// Run does steps until a stop rule is met. If a step fails, Run returns its error; if the context
// ends, it returns context.Cause. After any stop except a failure, another Run can continue.
func (s *Solver) Run(ctx context.Context, r Run) (Result, error) {
	if err := r.validate(ctx); err != nil {
		return s.result(0, Failed, 0), err
	}
	near, err := newClosing(s, r)
	if err != nil {
		return s.result(0, Failed, 0), err
	}
	k0, clock := s.it.k, stopwatch{start: time.Now()}
	s.it.ctx = ctx
	defer func() { s.it.ctx = context.Background() }()
	rest := newStillness(s, r)
	for {
		reason, stop, err := Failed, true, error(nil)
		if ctx.Err() != nil {
			reason, err = Canceled, context.Cause(ctx)
		} else if err = s.Step(); err == nil {
			reason, stop = s.reached(r, k0, &clock, rest, near)
		} else if s.err == nil {
			reason = Canceled
		}
		if stop {
			return s.result(s.it.k-k0, reason, clock.elapsed()), err
		}
	}
}

// stopwatch is a clock that stands still while Progress runs.
type stopwatch struct {
	start time.Time
	off   time.Duration
}

func (w *stopwatch) elapsed() time.Duration { return time.Since(w.start) - w.off }

// progress calls Run.Progress with the clock stopped.
func (w *stopwatch) progress(r Run, s *Solver) (goOn bool) {
	start := time.Now()
	goOn = r.Progress(s)
	w.off += time.Since(start)
	return goOn
}

// reached looks at the stop rules after a step.
func (s *Solver) reached(r Run, k0 int, clock *stopwatch, rest *stillness, near *closing) (Reason, bool) {
	done, c := s.it.k-k0, &s.it.oracle.counts
	switch {
	case r.Progress != nil && done%max(r.Every, 1) == 0 && !clock.progress(r, s):
		return ByProgress, true
	case s.it.arrived:
		return Arrived, true
	case r.Steps > 0 && done >= r.Steps:
		return StepLimit, true
	case r.Xi > 0 && c.Xi >= r.Xi, r.Phi > 0 && c.Phi >= r.Phi:
		return SampleLimit, true
	case rest != nil && rest.reached(s):
		return ToleranceMet, true
	case near != nil && near.reached(s, done):
		return GapReached, true
	case r.Time > 0 && clock.elapsed() >= r.Time:
		return TimeLimit, true
	}
	return 0, false
}

func (s *Solver) result(steps int, reason Reason, elapsed time.Duration) Result {
	h, _ := s.Health()
	return Result{
		X: slices.Clone(s.it.x), Y: slices.Clone(s.it.y), Mean: slices.Clone(s.mean), Steps: steps,
		Counts: s.it.oracle.counts, Activity: s.it.activity, Warnings: h.Warnings(), Reason: reason, Elapsed: elapsed,
	}
}

func (r *Run) validate(ctx context.Context) error {
	switch {
	case r.Steps < 0:
		return option.Bad("Run.Steps is %d, want ≥ 0", r.Steps)
	case r.Time < 0:
		return option.Bad("Run.Time is %v, want ≥ 0", r.Time)
	case !(r.Tol >= 0) || math.IsInf(r.Tol, 1):
		return option.Bad("Run.Tol is %v, want a finite tolerance ≥ 0", r.Tol)
	case !(r.Gap >= 0) || math.IsInf(r.Gap, 1):
		return option.Bad("Run.Gap is %v, want a finite gap ≥ 0", r.Gap)
	case r.Window < 0:
		return option.Bad("Run.Window is %d, want ≥ 0", r.Window)
	case r.Every < 0:
		return option.Bad("Run.Every is %d, want ≥ 0", r.Every)
	case r.Steps == 0 && r.Xi == 0 && r.Phi == 0 && r.Time == 0 && r.Tol == 0 && r.Gap == 0 && r.Progress == nil &&
		ctx.Done() == nil:
		return option.Bad("Run has no stop rule: set Steps, Xi, Phi, Time, Tol or Gap, or give a context that ends")
	}
	return nil
}

// window is Window, or its default.
func (r *Run) window() int {
	if r.Window == 0 {
		return 100
	}
	return r.Window
}

// stillness counts the steps in a row that satisfy the condition of Run.Tol.
type stillness struct {
	tol    float64
	window int
	steps  int
	dx, dy []float64 // x^{k+1} − x^k, y^{k+1} − y^k
	x, y   []float64 // x^k, y^k
}

func newStillness(s *Solver, r Run) *stillness {
	if r.Tol == 0 {
		return nil
	}
	return &stillness{
		tol: r.Tol, window: r.window(), x: slices.Clone(s.it.x), y: slices.Clone(s.it.y),
		dx: make([]float64, len(s.it.x)), dy: make([]float64, len(s.it.y)),
	}
}

// reached checks the last step, and says whether it completes a window.
func (q *stillness) reached(s *Solver) bool {
	if s.it.alpha == 0 && s.it.beta == 0 && slices.Equal(q.x, s.it.x) && slices.Equal(q.y, s.it.y) {
		return false // a step that draws samples, and does no more
	}
	x := still(q.dx, q.x, s.it.x, q.tol*s.it.alpha)
	y := still(q.dy, q.y, s.it.y, q.tol*s.it.beta) && s.it.longest < q.tol
	if q.steps++; !x || !y {
		q.steps = 0
	}
	return q.steps >= q.window
}

// still says whether old and now are closer to each other than bound, and sets old to now. d is
// scratch.
func still(d, old, now []float64, bound float64) bool {
	copy(d, now)
	mat.Axpy(d, -1, old)
	copy(old, now)
	return mat.Norm(d)+0x1p-52*mat.Norm(now) < bound
}
