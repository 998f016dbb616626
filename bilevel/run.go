package bilevel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"stable/bilevel/option"
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
	// gradient mappings that the method moved along. Nothing is averaged, so that a run that cycles
	// does not stop. Nor does it stop where rounding, the terms with eps, could hide a movement of
	// Tol·α_k, or in steps with α_k = 0 or β_k = 0; those that move nothing do not count at all.
	//
	// α_k is the step size in effect, after safeguards, and each entry counts with its own. Inner
	// steps on y, and directions of something besides x and y, such as the solution of a linear
	// system, must have norms below Tol too.
	//
	// With noisy oracles the run stops only if Tol is above the noise of a step's batches, which a
	// longer window does not lower. Set a second stop rule as well. 0: no such rule.
	Tol float64

	// Gap stops the run where the method's own estimate of what is left of F(x) − F*, Health.Gap,
	// has been at most Gap, in the unit of f, at every look in Window steps; there are 64 looks
	// while the steps double. The gap at the stop scatters about the estimate as the samples do,
	// and by a factor of 2 or 3 more where x has few entries. A method without such an estimate
	// refuses; it is +Inf as long as the method cannot tell: set a second stop rule as well. 0: no
	// such rule.
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

// running is a run on its way.
type running struct {
	Run
	s      *Solver
	k0     int // steps done before
	tol    *tolRule
	gap    *gapRule
	start  time.Time
	paused time.Duration // in Progress
}

// Run does steps until a stop rule is met. If a step fails, Run returns its error; if the context
// ends, it returns context.Cause. After any stop except a failure, another Run can continue.
func (s *Solver) Run(ctx context.Context, r Run) (Result, error) {
	run := running{Run: r, s: s, k0: s.it.k, start: time.Now()}
	err := run.prepare(ctx)
	if err != nil {
		return run.result(Failed), err
	}
	s.it.ctx = ctx
	defer func() { s.it.ctx = context.Background() }()
	for {
		reason, stop := Failed, true
		if ctx.Err() != nil {
			reason, err = Canceled, context.Cause(ctx)
		} else if err = s.Step(); err == nil {
			reason, stop = run.stop()
		} else if s.err == nil {
			reason = Canceled
		}
		if stop {
			return run.result(reason), err
		}
	}
}

// prepare refuses a run that is invalid, and makes its rules.
func (r *running) prepare(ctx context.Context) (err error) {
	if err := errors.Join(
		option.AtLeast("Run.Steps", r.Steps, 0),
		option.AtLeast("Run.Window", r.Window, 0),
		option.AtLeast("Run.Every", r.Every, 0),
	); err != nil {
		return err
	}
	switch {
	case r.Time < 0:
		return option.Bad("Run.Time is %v, want ≥ 0", r.Time)
	case !(r.Tol >= 0) || math.IsInf(r.Tol, 1):
		return option.Bad("Run.Tol is %v, want a finite tolerance ≥ 0", r.Tol)
	case !(r.Gap >= 0) || math.IsInf(r.Gap, 1):
		return option.Bad("Run.Gap is %v, want a finite gap ≥ 0", r.Gap)
	case r.Steps == 0 && r.Xi == 0 && r.Phi == 0 && r.Time == 0 && r.Tol == 0 && r.Gap == 0 && r.Progress == nil &&
		ctx.Done() == nil:
		return option.Bad("Run has no stop rule: set Steps, Xi, Phi, Time, Tol or Gap, or give a context that ends")
	}
	option.Default(&r.Every, 1)
	option.Default(&r.Window, 100)
	r.tol = newTolRule(r.s, r.Tol, r.Window)
	r.gap, err = newGapRule(r.s, r.Gap, r.Window)
	return err
}

// stop looks at the stop rules after a step.
func (r *running) stop() (Reason, bool) {
	done, c := r.s.it.k-r.k0, &r.s.it.oracle.counts
	switch {
	case r.Progress != nil && done%r.Every == 0 && !r.progress():
		return ByProgress, true
	case r.s.it.arrived:
		return Arrived, true
	case r.Steps > 0 && done >= r.Steps:
		return StepLimit, true
	case r.Xi > 0 && c.Xi >= r.Xi, r.Phi > 0 && c.Phi >= r.Phi:
		return SampleLimit, true
	case r.tol != nil && r.tol.met(r.s):
		return ToleranceMet, true
	case r.gap != nil && r.gap.met(r.s, done):
		return GapReached, true
	case r.Time > 0 && r.elapsed() >= r.Time:
		return TimeLimit, true
	}
	return 0, false
}

// progress calls Run.Progress with the clock stopped.
func (r *running) progress() (goOn bool) {
	start := time.Now()
	goOn = r.Progress(r.s)
	r.paused += time.Since(start)
	return goOn
}

func (r *running) elapsed() time.Duration { return time.Since(r.start) - r.paused }

func (r *running) result(reason Reason) Result {
	s := r.s
	h, _ := s.Health()
	return Result{
		X: slices.Clone(s.it.x), Y: slices.Clone(s.it.y), Mean: slices.Clone(s.mean), Steps: s.it.k - r.k0,
		Counts: s.it.oracle.counts, Activity: s.it.activity, Warnings: h.Warnings(), Reason: reason, Elapsed: r.elapsed(),
	}
}
