package bilevel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"stable/mat"
)

// Run says when a run stops, and who watches it. At least one of the stop rules, or a context that
// ends, must be given; the first that is met stops the run.
type Run struct {
	// Steps is the number of steps to do. 0: no limit.
	Steps int

	// Xi and Phi are the numbers of samples of the upper and the lower stream, counted since New,
	// of which the run stops at the first step that reaches one. 0: no limit.
	Xi, Phi uint64

	// Time is a bound on the wall-clock time, without that of Progress. 0: no limit.
	Time time.Duration

	// Tol stops the run when both ‖x^k − x^{k−W}‖/Σα and ‖y^k − y^{k−W}‖/Σβ, measured every W =
	// Window steps with the sums over the window, are ≤ Tol: the norms of the mean gradient
	// mappings. With noisy oracles it has to be above the noise that a window leaves. 0: no such
	// rule.
	Tol    float64
	Window int // default 100

	// Progress is called every Every steps (default 1), after the step, and may read the Solver; it
	// stops the run by returning false.
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
	TimeLimit                  // Run.Time
)

func (r Reason) String() string {
	names := [...]string{"failed", "canceled", "stopped by the progress callback", "step limit", "sample limit", "tolerance met", "time limit"}
	if r < 0 || int(r) >= len(names) {
		return fmt.Sprintf("Reason(%d)", int(r))
	}
	return names[r]
}

// Result is where a run stopped. It is filled in whether or not there is an error: X and Y are the
// last good iterate, in memory of their own.
type Result struct {
	X, Y    []float64
	Mean    []float64 // of the iterates, see Solver.Mean
	Steps   int       // done by this run
	Counts  Counts
	Reason  Reason
	Elapsed time.Duration // without the time of Progress
}

// Run does steps until a stop rule is met. The error is nil unless a step failed or the context
// ended; then it is that step's error, or context.Cause. A run that stopped for another reason than
// a failure can be taken up by another Run.
func (s *Solver) Run(ctx context.Context, r Run) (Result, error) {
	if err := r.validate(ctx); err != nil {
		return s.result(0, Failed, 0), err
	}
	k0, clock := s.it.k, stopwatch{start: time.Now()}
	move := newMovement(s, r)
	for {
		reason, stop, err := Failed, true, error(nil)
		if ctx.Err() != nil {
			reason, err = Canceled, context.Cause(ctx)
		} else if err = s.Step(); err == nil {
			reason, stop = s.reached(r, k0, &clock, move)
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

// progress calls Run.Progress off the clock.
func (w *stopwatch) progress(r Run, s *Solver) (goOn bool) {
	start := time.Now()
	goOn = r.Progress(s)
	w.off += time.Since(start)
	return goOn
}

// reached looks at the stop rules after a step.
func (s *Solver) reached(r Run, k0 int, clock *stopwatch, move *movement) (Reason, bool) {
	done, c := s.it.k-k0, &s.it.oracle.counts
	switch {
	case r.Progress != nil && done%max(r.Every, 1) == 0 && !clock.progress(r, s):
		return ByProgress, true
	case r.Steps > 0 && done >= r.Steps:
		return StepLimit, true
	case r.Xi > 0 && c.Xi >= r.Xi, r.Phi > 0 && c.Phi >= r.Phi:
		return SampleLimit, true
	case move != nil && done%move.window == 0 && move.small(s, r.Tol):
		return ToleranceMet, true
	case r.Time > 0 && clock.elapsed() >= r.Time:
		return TimeLimit, true
	}
	return 0, false
}

func (s *Solver) result(steps int, reason Reason, elapsed time.Duration) Result {
	return Result{X: slices.Clone(s.it.x), Y: slices.Clone(s.it.y), Mean: slices.Clone(s.mean), Steps: steps, Counts: s.it.oracle.counts, Reason: reason, Elapsed: elapsed}
}

func (r *Run) validate(ctx context.Context) error {
	switch {
	case r.Steps < 0:
		return badOption("Run.Steps is %d, want ≥ 0", r.Steps)
	case r.Time < 0:
		return badOption("Run.Time is %v, want ≥ 0", r.Time)
	case !(r.Tol >= 0) || math.IsInf(r.Tol, 1):
		return badOption("Run.Tol is %v, want a finite tolerance ≥ 0", r.Tol)
	case r.Window < 0:
		return badOption("Run.Window is %d, want ≥ 0", r.Window)
	case r.Every < 0:
		return badOption("Run.Every is %d, want ≥ 0", r.Every)
	case r.Steps == 0 && r.Xi == 0 && r.Phi == 0 && r.Time == 0 && r.Tol == 0 && r.Progress == nil && ctx.Done() == nil:
		return badOption("Run has no stop rule: set Steps, Xi, Phi, Time or Tol, or give a context that ends")
	}
	return nil
}

// movement measures how far the iterates went over a window of steps, in units of the step sizes.
type movement struct {
	window      int
	x, y        []float64 // at the start of the window
	alpha, beta float64   // sums up to there
}

func newMovement(s *Solver, r Run) *movement {
	if r.Tol == 0 {
		return nil
	}
	w := r.Window
	if w == 0 {
		w = 100
	}
	return &movement{window: w, x: slices.Clone(s.it.x), y: slices.Clone(s.it.y), alpha: s.it.sumAlpha, beta: s.it.sumBeta}
}

// small says whether both mean gradient mappings are at most tol, and starts the next window.
func (m *movement) small(s *Solver, tol float64) bool {
	mat.Axpy(m.x, -1, s.it.x)
	mat.Axpy(m.y, -1, s.it.y)
	small := mat.Norm(m.x) <= tol*(s.it.sumAlpha-m.alpha) && mat.Norm(m.y) <= tol*(s.it.sumBeta-m.beta)
	copy(m.x, s.it.x)
	copy(m.y, s.it.y)
	m.alpha, m.beta = s.it.sumAlpha, s.it.sumBeta
	return small
}
