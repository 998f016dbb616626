package bilevel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"stable/bilevel/option"
	"stable/mat"
)

// Run says when a run stops, and who watches it: at least one stop rule, or a context that ends.
// The first one met counts. 0 stands for no such rule.
type Run struct {
	// Steps is the number of steps to do.
	Steps int

	// Xi and Phi limit the samples ξ and φ since New. The run stops at the first step that reaches
	// one, and takes none where one is reached, but one that was cut off.
	Xi, Phi uint64

	// Time limits the wall-clock time, without that of Progress, at the first step that reaches it. A
	// context with a deadline cuts a long step off, too, which another Run begins again.
	Time time.Duration

	// Tol stops the run after Window steps in a row that each satisfy
	//
	//	‖x^{k+1} − x^k‖ + eps·‖x^{k+1}‖ < Tol·α_k   and   ‖y^{k+1} − y^k‖ + eps·‖y^{k+1}‖ < Tol·β_k
	//
	// with the step sizes in effect, and eps = 2⁻⁵² for rounding: over α_k and β_k, the left sides are the
	// norms of the gradient mappings. Directions of inner steps on y, and of something besides x and y, must
	// have norms below Tol, too. Steps that move nothing, with step sizes of 0, do not count. With noise, Tol
	// must be above that of a step's batches, which a longer window does not lower: set a second stop rule.
	Tol float64

	// Gap stops the run where Health.Gap, the method's estimate of F(x) − F* in the unit of f, has
	// been at most Gap at every look in Window steps; there are 64 looks while the steps double.
	// The true gap scatters about it as the samples do, by a factor of 2 or 3 more where x has few
	// entries, and much more near the edge of a set without bounds for each entry. A method without
	// an estimate refuses; one that cannot tell yet gives +Inf: set a second stop rule.
	Gap float64

	// Window is the number of steps for Tol and Gap, all of one Run. Default 100.
	Window int

	// Progress is called after every Every-th step (default 1), may read the Solver, and stops the
	// run by returning false.
	Progress func(*Solver) bool
	Every    int
}

// Reason says why a run stopped.
type Reason int

// The reasons, in the order in which they are looked at after a step, but for Arrived, which comes after ByProgress.
const (
	Failed Reason = iota
	Canceled
	ByProgress
	StepLimit
	SampleLimit
	ToleranceMet
	GapReached
	TimeLimit
	Arrived // Iteration.Arrive
)

var reasonNames = [...]string{"failed", "canceled", "stopped by the progress callback",
	"step limit", "sample limit", "tolerance met", "gap reached", "time limit", "arrived"}

func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasonNames) {
		return fmt.Sprintf("Reason(%d)", int(r))
	}
	return reasonNames[r]
}

// Result says where a run stopped, with or without an error. X and Y are copies.
type Result struct {
	X, Y     []float64
	Mean     []float64
	Steps    int // done by this run
	Counts   Counts
	Activity Activity // since New
	Warnings []string // Health.Warnings, whether x is still at the start, or has arrived with a Gap of +Inf
	Reason   Reason
	Elapsed  time.Duration // without Progress
}

type running struct {
	Run
	s      *Solver
	k0     int
	start  time.Time
	paused time.Duration

	x, y, d []float64 // of Tol: the last iterate, and scratch
	calm    int       // steps in a row that met Tol
	since   int       // the first look of a row that met Gap, in steps of the run; 0: none
}

// Run does steps until a stop rule is met. It returns the error of a step that fails, and
// context.Cause where the context ends. After any stop but a failure, another Run can go on.
func (s *Solver) Run(ctx context.Context, r Run) (Result, error) {
	run := running{Run: r, s: s, k0: s.it.k, start: time.Now()}
	err := run.prepare(ctx)
	if err != nil {
		return run.result(Failed), err
	}
	s.it.ctx, s.it.spent = ctx, run.spent
	defer func() { s.it.ctx, s.it.spent = context.Background(), nil }()
	for {
		reason, stop := Failed, true
		if ctx.Err() != nil {
			reason, err = Canceled, context.Cause(ctx)
		} else if run.spent() && !s.cut {
			reason = SampleLimit
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

func (r *running) prepare(ctx context.Context) error {
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
	it := r.s.it
	r.x, r.y, r.d = slices.Clone(it.x), slices.Clone(it.y), make([]float64, max(len(it.x), len(it.y)))
	if h, ok := r.s.stepper.(HealthReporter); r.Gap > 0 && (!ok || math.IsNaN(h.Health().Gap)) {
		return option.Bad("Run.Gap is %v, but %s does not tell how much of F − F* is left here", r.Gap, it.name)
	}
	return nil
}

func (r *running) stop() (Reason, bool) {
	done := r.s.it.k - r.k0
	switch {
	case r.Progress != nil && done%r.Every == 0 && !r.progress():
		return ByProgress, true
	case r.s.it.arrived:
		return Arrived, true
	case r.Steps > 0 && done >= r.Steps:
		return StepLimit, true
	case r.spent():
		return SampleLimit, true
	case r.Tol > 0 && r.tolMet():
		return ToleranceMet, true
	case r.Gap > 0 && r.gapMet(done):
		return GapReached, true
	case r.Time > 0 && r.elapsed() >= r.Time:
		return TimeLimit, true
	}
	return 0, false
}

func (r *running) spent() bool {
	c := &r.s.it.oracle.counts
	return r.Xi > 0 && c.Xi >= r.Xi || r.Phi > 0 && c.Phi >= r.Phi
}

func (r *running) progress() (goOn bool) {
	start := time.Now()
	goOn = r.Progress(r.s)
	r.paused += time.Since(start)
	return goOn
}

func (r *running) result(reason Reason) Result {
	s := r.s
	h, _ := s.Health()
	warnings, o, unknown := h.Warnings(), &s.it.opt, math.IsInf(h.Gap, 1)
	switch stays := slices.Equal(s.it.x, o.X0) && (unknown || slices.Equal(s.it.y, o.Y0)); {
	case stays && reason < Arrived && s.it.oracle.counts != (Counts{}):
		warnings = append(warnings, "x has not left the start: it is stationary, the run too short, or no value there (Options.X0, Y0)")
	case unknown && reason == Arrived && len(warnings) == 0:
		warnings = append(warnings, "x moves no more, and nothing tells how far F may fall from there; start elsewhere")
	}
	return Result{
		X: slices.Clone(s.it.x), Y: slices.Clone(s.it.y), Mean: slices.Clone(s.mean), Steps: s.it.k - r.k0,
		Counts: s.it.oracle.counts, Activity: s.it.activity, Warnings: warnings, Reason: reason, Elapsed: r.elapsed(),
	}
}

func (r *running) elapsed() time.Duration { return time.Since(r.start) - r.paused }

func (r *running) tolMet() bool {
	it := r.s.it
	if it.alpha == 0 && it.beta == 0 && slices.Equal(r.x, it.x) && slices.Equal(r.y, it.y) {
		return false
	}
	x := movedLess(r.d[:len(it.x)], r.x, it.x, r.Tol*it.alpha)
	y := movedLess(r.d[:len(it.y)], r.y, it.y, r.Tol*it.beta) && it.longest < r.Tol
	if r.calm++; !x || !y {
		r.calm = 0
	}
	return r.calm >= r.Window
}

// movedLess reports ‖now − old‖ + eps·‖now‖ < bound, and sets old to now. d is scratch.
func movedLess(d, old, now []float64, bound float64) bool {
	copy(d, now)
	mat.Axpy(d, -1, old)
	copy(old, now)
	return mat.Norm(d)+0x1p-52*mat.Norm(now) < bound
}

// gapMet says whether the last step, the done-th of the run, completes a window of Gap.
func (r *running) gapMet(done int) bool {
	if !looksAt(r.s.it.k) {
		return false
	}
	if h, _ := r.s.Health(); !(h.Gap <= r.Gap) {
		r.since = 0
		return false
	}
	if r.since == 0 {
		r.since = done
	}
	return done-r.since >= r.Window-1
}

// looksAt is true 64 times while k doubles.
func looksAt(k int) bool { return k%(1<<max(0, bits.Len(uint(k))-7)) == 0 }
