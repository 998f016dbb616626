package compose

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

// Options are what SCGD and SCSC need.
type Options struct {
	// Alpha is the step size α_k of x, and Beta the weight β_k in [0, 1] of the new sample in y.
	// Required.
	Alpha, Beta bilevel.Schedule

	// Set is the feasible set X. Default: all of R^dx.
	Set bilevel.Set

	// X0 and Y0 are the starting point, copied. Default: the point of Set nearest to 0, and 0. An
	// X0 outside of Set is projected.
	X0, Y0 []float64

	// Seed of both sample streams. A bilevel.Solver with the same seed draws the same samples in
	// the same order.
	Seed uint64

	// OuterBatch and InnerBatch are the numbers of samples ξ and φ a step, or bilevel.Full. Default
	// 1.
	OuterBatch, InnerBatch int
}

// SCGD is stochastic compositional gradient descent (Wang, Fang, Liu, Mathematical Programming 161,
// 2017, Algorithm 1): with one φ and one ξ a step,
//
//	y^{k+1} = (1 − β_k) y^k + β_k h(x^k; φ^k),
//	x^{k+1} = P_X(x^k − α_k ∇h(x^k; φ^k) f'(y^{k+1}; ξ^k)).
//
// Two timescales: α_k ~ k^(−3/4), β_k ~ k^(−1/2) for a nonconvex F. With exact oracles it is ALSET
// with one inner step on Adapt's problem. NewSCGD makes one.
type SCGD struct{ run }

// SCSC is the stochastically corrected method of Chen, Sun and Yin (IEEE Transactions on Signal
// Processing 69, 2021): as SCGD, but
//
//	y^{k+1} = (1 − β_k) (y^k + h(x^k; φ^k) − h(x^{k−1}; φ^k)) + β_k h(x^k; φ^k),
//
// with the same φ at both points; at k = 0, x^{−1} = x⁰. One timescale: α_k and β_k ~ k^(−1/2).
// NewSCSC makes one.
//
// The rule is from memory; confirmed by its properties: β = 1 is SCGD with β = 1, and exact oracles
// with y⁰ = h(x⁰) make y^{k+1} = h(x^k) for every β, which is gradient descent on F.
type SCSC struct {
	run
	xOld, hOld []float64 // x^{k−1}, and h there
}

// run is what both methods have in common.
type run struct {
	c        Composition
	o        Options
	k        int
	x, y     []float64
	xNext, h []float64
	df, yn   []float64 // of length dy
	dh       *mat.Dense
	xi, phi  stream
	counts   bilevel.Counts
}

// NewSCGD returns SCGD at its starting point. The error wraps bilevel.ErrOption and names the
// field.
func NewSCGD(c Composition, o Options) (*SCGD, error) {
	r, err := newRun(c, o)
	if err != nil {
		return nil, err
	}
	return &SCGD{r}, nil
}

// NewSCSC returns SCSC at its starting point. The error wraps bilevel.ErrOption and names the
// field.
func NewSCSC(c Composition, o Options) (*SCSC, error) {
	r, err := newRun(c, o)
	if err != nil {
		return nil, err
	}
	return &SCSC{run: r, xOld: make([]float64, len(r.x)), hOld: make([]float64, len(r.y))}, nil
}

// Step does one iteration. On an error, of the Composition or a *bilevel.DivergedError, X and Y
// stay. It allocates nothing.
func (s *SCGD) Step() error {
	beta, phi, err := s.begin()
	if err != nil {
		return err
	}
	// y^{k+1} = (1 − β) y^k + β h
	for j, y := range s.y {
		s.yn[j] = (1-beta)*y + beta*s.h[j]
	}
	return s.end(phi)
}

// Step does one iteration. On an error, of the Composition or a *bilevel.DivergedError, X and Y
// stay. It allocates nothing.
func (s *SCSC) Step() error {
	beta, phi, err := s.begin()
	if err != nil {
		return err
	}
	old := s.h
	if s.k > 0 {
		if err := s.c.Inner(s.hOld, s.xOld, phi); err != nil {
			return err
		}
		s.counts.GradG += s.phi.samples(phi)
		old = s.hOld
	}
	// y^{k+1} = (1 − β)(y^k + h − h_old) + β h
	for j, y := range s.y {
		s.yn[j] = (1-beta)*(y+s.h[j]-old[j]) + beta*s.h[j]
	}
	if err := s.end(phi); err != nil {
		return err
	}
	copy(s.xOld, s.xNext) // end leaves x^k there
	return nil
}

// begin draws φ, and evaluates β and h(x^k; φ).
func (r *run) begin() (beta float64, phi []bilevel.Sample, err error) {
	beta = r.o.Beta.At(r.k)
	if !(beta >= 0 && beta <= 1) {
		return 0, nil, badOption("Options.Beta at step %d is %v, want β in [0, 1]", r.k, beta)
	}
	phi = r.phi.draw(r.o.InnerBatch)
	r.counts.Phi += r.phi.samples(phi)
	r.counts.GradG += r.phi.samples(phi)
	return beta, phi, r.c.Inner(r.h, r.x, phi)
}

// end does the step of x, with y^{k+1} in yn, and makes the new iterate the present one; xNext is
// x^k afterwards.
func (r *run) end(phi []bilevel.Sample) error {
	alpha := r.o.Alpha.At(r.k)
	if !(alpha >= 0) || math.IsInf(alpha, 1) {
		return badOption("Options.Alpha at step %d is %v, want a finite α ≥ 0", r.k, alpha)
	}
	if err := r.c.Gradients(r.dh, r.x, phi); err != nil {
		return err
	}
	xi := r.xi.draw(r.o.OuterBatch)
	if _, err := r.c.Outer(r.df, r.yn, xi); err != nil {
		return err
	}
	r.counts.CrossG += r.phi.samples(phi)
	r.counts.Xi += r.xi.samples(xi)
	r.counts.GradF += r.xi.samples(xi)
	// x^{k+1} = P_X(x^k − α ∇h f')
	for i, x := range r.x {
		r.xNext[i] = x - alpha*mat.Dot(r.dh.Row(i), r.df)
	}
	// A projection may turn an infinite step into a finite one.
	if err := errors.Join(r.refuse(r.yn), r.refuse(r.xNext)); err != nil {
		return err
	}
	r.o.Set.Project(r.xNext, r.xNext)
	if err := r.refuse(r.xNext); err != nil {
		return err
	}
	r.x, r.xNext = r.xNext, r.x
	r.y, r.yn = r.yn, r.y
	r.k++
	return nil
}

// refuse returns an error if v, a part of the next iterate, is not finite.
func (r *run) refuse(v []float64) error {
	if i := notFinite(v); i >= 0 {
		return &bilevel.DivergedError{Step: r.k, Quantity: fmt.Sprintf("entry %d of the next iterate", i), Value: v[i]}
	}
	return nil
}

// X returns the iterate x^k, in the method's memory: to be read only, and valid until the next
// Step.
func (r *run) X() []float64 { return r.x }

// Y returns the iterate y^k, which tracks h(x^{k−1}), as X does.
func (r *run) Y() []float64 { return r.y }

// K returns the number of steps done.
func (r *run) K() int { return r.k }

// Counts returns what has been used, under the names that the oracles have in the adapted problem:
// GradF for f', GradG for h, CrossG for ∇h.
func (r *run) Counts() bilevel.Counts { return r.counts }

func newRun(c Composition, o Options) (run, error) {
	if c == nil {
		return run{}, badOption("want a Composition")
	}
	dx, dy := c.Dims()
	if dx < 1 || dy < 1 {
		return run{}, badOption("Composition has dimensions dx = %d, dy = %d, want both ≥ 1", dx, dy)
	}
	if err := o.complete(dx, dy); err != nil {
		return run{}, err
	}
	vec := func(n int) []float64 { return make([]float64, n) }
	r := run{c: c, o: o, x: vec(dx), xNext: vec(dx), y: vec(dy), h: vec(dy), df: vec(dy), yn: vec(dy), dh: mat.NewDense(dx, dy)}
	copy(r.x, o.X0)
	copy(r.y, o.Y0)
	o.Set.Project(r.x, r.x)
	outer, inner := c.Streams()
	r.xi, r.phi = newStream(outer, o.Seed, 'x'), newStream(inner, o.Seed, 'y')
	return r, nil
}

func (o *Options) complete(dx, dy int) error {
	if o.Set == nil {
		o.Set = bilevel.Space{}
	}
	for _, b := range []struct {
		name string
		n    *int
	}{{"OuterBatch", &o.OuterBatch}, {"InnerBatch", &o.InnerBatch}} {
		if *b.n == 0 {
			*b.n = 1
		}
		if *b.n < 1 && *b.n != bilevel.Full {
			return badOption("Options.%s is %d, want ≥ 1, or bilevel.Full", b.name, *b.n)
		}
	}
	switch {
	case o.Alpha == nil:
		return badOption("Options.Alpha is nil: a step size has no default")
	case o.Beta == nil:
		return badOption("Options.Beta is nil: a step size has no default")
	case o.X0 != nil && len(o.X0) != dx || notFinite(o.X0) >= 0:
		return badOption("Options.X0 wants %d finite entries", dx)
	case o.Y0 != nil && len(o.Y0) != dy || notFinite(o.Y0) >= 0:
		return badOption("Options.Y0 wants %d finite entries", dy)
	}
	return o.Set.Validate(dx)
}

// stream draws samples uniformly and with replacement, in the order of a bilevel.Solver.
type stream struct {
	size uint64 // 0: unbounded
	rng  *rand.Rand
	buf  []bilevel.Sample
}

func newStream(size, seed, id uint64) stream {
	return stream{size: size, rng: rand.New(rand.NewPCG(seed, id))}
}

func (s *stream) draw(n int) []bilevel.Sample {
	if n == bilevel.Full {
		return nil
	}
	if cap(s.buf) < n {
		s.buf = make([]bilevel.Sample, n)
	}
	s.buf = s.buf[:n]
	for i := range s.buf {
		if s.size == 0 {
			s.buf[i] = bilevel.Sample(s.rng.Uint64())
		} else {
			s.buf[i] = bilevel.Sample(s.rng.Uint64N(s.size))
		}
	}
	return s.buf
}

// samples is what a batch counts for; an exact one as the whole sum, or as one where the stream is
// unbounded.
func (s *stream) samples(batch []bilevel.Sample) uint64 {
	if len(batch) > 0 {
		return uint64(len(batch))
	}
	return max(s.size, 1)
}

// notFinite returns the index of the first NaN or infinity in v, or −1.
func notFinite(v []float64) int {
	for i, a := range v {
		if a-a != 0 {
			return i
		}
	}
	return -1
}

func badOption(format string, args ...any) error {
	return fmt.Errorf("%w: compose: %s", bilevel.ErrOption, fmt.Sprintf(format, args...))
}
