package bilevel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Method is a rule that makes the next iterate from the last one. The methods are the structs of
// this package that hold their parameters; Methods lists their names.
type Method interface {
	// Name is the method's name in the literature.
	Name() string

	start(s *Solver) (stepper, error)
}

// stepper is a method that runs.
type stepper interface {
	// step reads s.x, s.y and writes s.xNext, s.yNext.
	step(s *Solver) error

	// parts visits the vectors of the last step in the order in which they were computed.
	parts(visit func(name string, v []float64))

	// persist visits, in a fixed order, all memory that the steps to come depend on, but x and y. A
	// stepper keeps no pointer to the Solver.
	persist(t *state)
}

// Options are what every method needs.
type Options struct {
	// X0 and Y0 are the starting point, copied. Default: the point of Set nearest to 0, and 0. X0
	// must lie in Set.
	X0, Y0 []float64

	// Set is the feasible set X. Default: all of R^dx.
	Set Set

	// Seed of both sample streams. The same seed gives the same run, bit for bit.
	Seed uint64

	// UpperBatch and LowerBatch are the numbers of samples in a batch of ξ and of φ, or Full.
	// Default 1. STABLE draws one batch of each a step; a method that draws more says so.
	UpperBatch, LowerBatch int

	// Explode is the bound on ‖x − x⁰‖ and ‖y − y⁰‖ beyond which a run counts as diverged. Default
	// 1e12.
	Explode float64
}

// Activity counts the steps in which a projection or a safeguard of the method changed something.
type Activity struct {
	Truncated int // eigenvalues of H_yy were raised to μ_g
	Shrunk    int // H_xy was scaled back to ‖H_xy‖_F = C_gxy
	Cut       int // x and y moved less than the step sizes said, by the trust region
	Slowed    int // β was lowered to its bound
}

// Solver is a method at work on a problem. Step moves it by one iteration, Run by many. It is for
// one goroutine at a time; two Solvers with a Problem each do not touch each other.
type Solver struct {
	method       Method
	stepper      stepper
	oracle       *oracle
	xi, phi      *stream
	coin         rand.PCG // what a method draws for itself
	opt          Options
	k            int
	x, y         []float64
	xNext, yNext []float64

	sumAlpha, sumBeta float64 // of the step sizes used so far
	activity          Activity
	scan              *scan // see blame
	err               error
}

// scan keeps the first part of a step that is not finite. visit is its method look, bound once, so
// that a step allocates nothing. It must not know its Solver, which Load overwrites with another.
type scan struct {
	visit func(name string, v []float64)
	step  int
	found *DivergedError
}

func newScan() *scan {
	c := new(scan)
	c.visit = c.look
	return c
}

func (c *scan) look(name string, v []float64) {
	if i := notFinite(v); i >= 0 && c.found == nil {
		c.found = &DivergedError{Step: c.step, Quantity: fmt.Sprintf("%s[%d]", name, i), Value: v[i]}
	}
}

// New returns a Solver at its starting point; no oracle has been called. An invalid option, problem
// or parameter gives an error that wraps ErrOption and names the field.
func New(p Problem, m Method, opt Options) (*Solver, error) {
	if p == nil || m == nil {
		return nil, badOption("New wants a problem and a method")
	}
	dx, dy := p.Dims()
	if dx < 1 || dy < 1 {
		return nil, badOption("problem has dimensions dx = %d, dy = %d, want both ≥ 1", dx, dy)
	}
	s := &Solver{
		method: m, oracle: newOracle(p), scan: newScan(),
		x: make([]float64, dx), xNext: make([]float64, dx),
		y: make([]float64, dy), yNext: make([]float64, dy),
	}
	if err := s.setOptions(opt); err != nil {
		return nil, err
	}
	s.xi = newStream(s.oracle.upper, opt.Seed, 'x', &s.oracle.counts.Xi)
	s.phi = newStream(s.oracle.lower, opt.Seed, 'y', &s.oracle.counts.Phi)
	s.coin.Seed(opt.Seed, 'm')
	var err error
	s.stepper, err = m.start(s)
	return s, err
}

// setOptions fills in defaults, and refuses what is invalid.
func (s *Solver) setOptions(opt Options) error {
	dx, dy := len(s.x), len(s.y)
	if opt.Set == nil {
		opt.Set = Space{}
	}
	if opt.UpperBatch == 0 {
		opt.UpperBatch = 1
	}
	if opt.LowerBatch == 0 {
		opt.LowerBatch = 1
	}
	if opt.Explode == 0 {
		opt.Explode = 1e12
	}
	if !(opt.Explode > 0) {
		return badOption("Options.Explode is %v, want > 0", opt.Explode)
	}
	if err := errors.Join(
		checkBatch("Options.UpperBatch", opt.UpperBatch),
		checkBatch("Options.LowerBatch", opt.LowerBatch),
		opt.Set.Validate(dx),
		checkStart("Options.X0", opt.X0, dx),
		checkStart("Options.Y0", opt.Y0, dy),
	); err != nil {
		return err
	}
	copy(s.y, opt.Y0)
	copy(s.x, opt.X0)
	opt.Set.Project(s.x, s.x)
	if opt.X0 != nil {
		for i, v := range opt.X0 {
			if !(math.Abs(s.x[i]-v) <= 1e-9*(1+math.Abs(v))) {
				return badOption("Options.X0 is not in the feasible set: entry %d is %v, that of the nearest feasible point %v", i, v, s.x[i])
			}
		}
	}
	opt.X0 = append([]float64(nil), s.x...)
	opt.Y0 = append([]float64(nil), s.y...)
	s.opt = opt
	return nil
}

// initBatch is the default number of samples φ in H⁰: a batch, or dy samples where that is more.
func (s *Solver) initBatch() int {
	if s.opt.LowerBatch == Full {
		return Full
	}
	return max(s.opt.LowerBatch, len(s.y))
}

// tally counts what the projections of (STABLE-H) did in a step.
func (s *Solver) tally(e *Estimator) {
	r := e.Report()
	if r.Truncate.Clipped > 0 {
		s.activity.Truncated++
	}
	if r.CrossNorm > e.cgxy {
		s.activity.Shrunk++
	}
}

func defaultTo(v *float64, value float64) {
	if *v == 0 {
		*v = value
	}
}

func checkPositive(name string, v float64) error {
	if !(v > 0) {
		return badOption("%s is %v, want > 0", name, v)
	}
	return nil
}

func checkBatch(name string, n int) error {
	if n < 1 && n != Full {
		return badOption("%s is %d, want ≥ 1, or Full", name, n)
	}
	return nil
}

func checkStart(name string, v []float64, n int) error {
	if v != nil && len(v) != n {
		return badOption("%s has length %d, want %d", name, len(v), n)
	}
	if i := notFinite(v); i >= 0 {
		return badOption("%s is %v at index %d", name, v[i], i)
	}
	return nil
}

// Step does one iteration. On an error nothing moves: X and Y stay the last good iterate, and every
// later Step returns the same error. Errors are an *OracleError (a failure of the problem), a
// *DivergedError, or one that wraps ErrOption (a step size outside its range).
func (s *Solver) Step() (err error) {
	if s.err != nil {
		return s.err
	}
	s.oracle.step = s.k
	defer func() {
		if s.oracle.inside != "" { // the problem has panicked; a panic of our own goes on
			err = s.oracle.caught(recover())
		}
		s.err = err
	}()
	if err := s.stepper.step(s); err != nil {
		return err
	}
	if err := s.checkNext(); err != nil {
		return err
	}
	s.x, s.xNext = s.xNext, s.x
	s.y, s.yNext = s.yNext, s.y
	s.k++
	return nil
}

// checkNext refuses a next iterate that is too far away, not finite, or made of something that is
// not: a projection onto X may turn an infinite step into a finite one.
func (s *Solver) checkNext() error {
	if err := blame(s, s.stepper); err != nil {
		return err
	}
	bad := func(name string, next, start []float64) error {
		var sum float64
		for i, v := range next {
			d := v - start[i]
			sum += d * d
		}
		if r := math.Sqrt(sum); !(r <= s.opt.Explode) {
			return &DivergedError{Step: s.k, Quantity: name, Value: r}
		}
		return nil
	}
	if err := bad("‖x − x⁰‖", s.xNext, s.opt.X0); err != nil {
		return err
	}
	return bad("‖y − y⁰‖", s.yNext, s.opt.Y0)
}

// blame returns an error for the first entry of the parts of m, in the order of computation, that
// is not finite; nil if all are.
func blame(s *Solver, m stepper) error {
	s.scan.step, s.scan.found = s.k, nil
	if m.parts(s.scan.visit); s.scan.found != nil {
		return s.scan.found
	}
	return nil
}

// useSteps refuses step sizes that are no such thing, and adds up the others.
func (s *Solver) useSteps(alpha, beta, tau float64) error {
	if alpha >= 0 && beta >= 0 && tau >= 0 && tau <= 1 && !math.IsInf(alpha, 1) && !math.IsInf(beta, 1) {
		s.sumAlpha += alpha
		s.sumBeta += beta
		return nil
	}
	return badOption("%s: step sizes at step %d are α = %v, β = %v, τ = %v, want finite α, β ≥ 0 and τ in [0, 1]", s.method.Name(), s.k, alpha, beta, tau)
}

// X returns the iterate x^k. The memory is the Solver's: to be read only, and valid until the next
// Step.
func (s *Solver) X() []float64 { return s.x }

// Y returns the iterate y^k, as X does.
func (s *Solver) Y() []float64 { return s.y }

// K returns the number of steps done.
func (s *Solver) K() int { return s.k }

// Counts returns what has been used.
func (s *Solver) Counts() Counts { return s.oracle.counts }

// Activity returns how often projections and safeguards acted.
func (s *Solver) Activity() Activity { return s.activity }

// Estimator returns the estimates H_xy and H_yy of a running STABLE or RSVRB, to be read only, and
// nil for a method without them.
func (s *Solver) Estimator() *Estimator {
	switch m := s.stepper.(type) {
	case *stable:
		return m.est
	case *rsvrb:
		return m.est
	}
	return nil
}

// Method returns the method.
func (s *Solver) Method() Method { return s.method }

// notFinite returns the index of the first NaN or infinity in v, or −1.
func notFinite(v []float64) int {
	for i, a := range v {
		if a-a != 0 {
			return i
		}
	}
	return -1
}
