package bilevel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel/option"
	"stable/mat"
)

// Activity counts the steps in which a projection or a safeguard acted.
type Activity struct {
	Truncated int // eigenvalues of H_yy raised to μ_g
	Shrunk    int // H_xy scaled back to ‖H_xy‖_F = C_gxy
	Cut       int // x and y were held by the trust region
	Slowed    int // β lowered to its bound
}

// Iteration is what a Method sees of a run. A Stepper may keep the pointer, but nothing that its
// methods return beyond a step.
type Iteration struct {
	name         string // of the method
	oracle       *Oracle
	xi, phi      *stream
	pcg          rand.PCG
	rng          *rand.Rand
	opt          Options
	k            int
	x, y         []float64
	xNext, yNext []float64

	alpha, beta float64         // sums over this step
	longest     float64         // norm that Watch was given
	ctx         context.Context // of the run
	spent       func() bool     // of the run; nil: nothing bounds the samples
	arrived     bool
	activity    Activity

	vectors func(visit func(name string, v []float64)) // of the Stepper; nil during Start
	visit   func(name string, v []float64)             // sets found; made once
	found   *DivergedError                             // by visit
	strayed *DivergedError                             // by Project
}

func newIteration(p Problem, name string, opt Options) (*Iteration, error) {
	dx, dy := p.Dims()
	if err := option.Dims(dx, dy); err != nil {
		return nil, err
	}
	if err := opt.prepare(dx, dy); err != nil {
		return nil, err
	}
	it := &Iteration{
		name: name, oracle: newOracle(p), opt: opt, ctx: context.Background(),
		x: slices.Clone(opt.X0), xNext: make([]float64, dx), y: slices.Clone(opt.Y0), yNext: make([]float64, dy),
	}
	it.visit = func(name string, v []float64) {
		if i := mat.NotFinite(v); i >= 0 && it.found == nil {
			it.found = &DivergedError{Step: it.k, Quantity: fmt.Sprintf("%s[%d]", name, i), Value: v[i]}
		}
	}
	it.xi = newStream(it.oracle.upper, opt.Seed, 'x', &it.oracle.counts.Xi)
	it.phi = newStream(it.oracle.lower, opt.Seed, 'y', &it.oracle.counts.Phi)
	it.pcg.Seed(opt.Seed, 'm')
	it.rng = rand.New(&it.pcg)
	return it, nil
}

// K returns the number k of the step, from 0.
func (it *Iteration) K() int { return it.k }

// Dims returns the lengths of x and y.
func (it *Iteration) Dims() (dx, dy int) { return len(it.x), len(it.y) }

// X and Y return x^k and y^k, to be read only.
func (it *Iteration) X() []float64 { return it.x }
func (it *Iteration) Y() []float64 { return it.y }

// NextX and NextY return the memory of x^{k+1} and y^{k+1}, at first x^k and y^k.
func (it *Iteration) NextX() []float64 { return it.xNext }
func (it *Iteration) NextY() []float64 { return it.yNext }

// Set returns the feasible set X.
func (it *Iteration) Set() Set { return it.opt.Set }

// MetricSet returns the feasible set as one, or an error that wraps ErrOption.
func (it *Iteration) MetricSet() (MetricSet, error) {
	set, ok := it.opt.Set.(MetricSet)
	if !ok {
		return nil, option.Bad("%s projects in a metric, and Options.Set, a %T, has no ProjectMetric", it.name, it.opt.Set)
	}
	return set, nil
}

// MoveX writes x^{k+1} = P_X(x^k − α d).
func (it *Iteration) MoveX(alpha float64, d []float64) {
	descend(it.xNext, it.x, alpha, d)
	it.Project(it.xNext)
}

// Project replaces x, of length dx, by P_X(x).
func (it *Iteration) Project(x []float64) {
	finite := mat.NotFinite(x) < 0
	it.opt.Set.Project(x, x)
	if i := mat.NotFinite(x); i >= 0 && finite {
		it.strayed = &DivergedError{it.k, fmt.Sprintf("entry %d of a projection by Options.Set, a %T,", i, it.opt.Set), x[i]}
	}
}

// MoveY writes y^{k+1} = y^k − β d.
func (it *Iteration) MoveY(beta float64, d []float64) { descend(it.yNext, it.y, beta, d) }

func descend(next, x []float64, alpha float64, d []float64) {
	next, d = next[:len(x)], d[:len(x)]
	for i, v := range x {
		next[i] = v - alpha*d[i]
	}
}

// Problem returns the problem, to look for an interface. Calls to it are not counted.
func (it *Iteration) Problem() Problem { return it.oracle.p.Problem }

// Oracle returns the problem with counters. Step must return its errors unchanged, but may go back
// from a trial point where one wraps ErrDomain.
func (it *Iteration) Oracle() *Oracle { return it.oracle }

// Batches returns the batch sizes of Options, which may be Full.
func (it *Iteration) Batches() (upper, lower int) { return it.opt.UpperBatch, it.opt.LowerBatch }

// DrawXi and DrawPhi draw n samples ξ or φ, valid until the next draw from the stream: 0 stands for
// the batch size of Options, Full for the empty batch, the exact value. They panic if n is negative
// and not Full, and allocate where n is larger than ever before.
func (it *Iteration) DrawXi(n int) []Sample  { return it.DrawXiIn(nil, n) }
func (it *Iteration) DrawPhi(n int) []Sample { return it.DrawPhiIn(nil, n) }

// DrawXiIn and DrawPhiIn draw in the passes of p, if not nil, and panic if p is of another size.
func (it *Iteration) DrawXiIn(p *Passes, n int) []Sample { return it.xi.draw(p, n, it.opt.UpperBatch) }
func (it *Iteration) DrawPhiIn(p *Passes, n int) []Sample {
	return it.phi.draw(p, n, it.opt.LowerBatch)
}

// PastXi and PastPhi return a Past of ξ and φ, made in Start.
func (it *Iteration) PastXi() *Past  { return newPast(it.oracle.upper, it.opt.Seed, 'x') }
func (it *Iteration) PastPhi() *Past { return newPast(it.oracle.lower, it.opt.Seed, 'y') }

// Rand returns the method's own random source, seeded by Options.Seed.
func (it *Iteration) Rand() *rand.Rand { return it.rng }

// UseSteps reports step sizes α of x and β of y and a weight τ, 0 where there is none. The error
// wraps ErrOption unless α, β ≥ 0 are finite and τ is in [0, 1]. For Run.Tol, x and y should move
// by the step's sums of α and β times the norms of the directions.
func (it *Iteration) UseSteps(alpha, beta, tau float64) error {
	if !(alpha >= 0 && beta >= 0 && tau >= 0 && tau <= 1) || math.IsInf(alpha, 1) || math.IsInf(beta, 1) {
		return option.Bad("%s: step sizes at step %d are α = %v, β = %v, τ = %v, want finite α, β ≥ 0 and τ in [0, 1]",
			it.name, it.k, alpha, beta, tau)
	}
	it.alpha += alpha
	it.beta += beta
	return nil
}

// InnerStep does one of several movements of y in a step, NextY ← NextY − βd, and reports β by
// UseSteps, with its errors, and ‖d‖ by Watch.
func (it *Iteration) InnerStep(beta float64, d []float64) error {
	if err := it.UseSteps(0, beta, 0); err != nil {
		return err
	}
	mat.Axpy(it.yNext, -beta, d)
	it.Watch(mat.Norm(d))
	return nil
}

// Watch gives Run.Tol one more norm of this step: of something besides x and y, or of a movement
// that others may cancel.
func (it *Iteration) Watch(norm float64) { it.longest = max(it.longest, norm) }

// Shown tells the Solver that what is not finite so far in this step shows in NextX or NextY: until
// an oracle's next call it looks at Vectors only where these are not finite.
func (it *Iteration) Shown() { it.oracle.shown = true }

// Context returns the run's context, for a look inside a long step: another Run repeats a Step that
// returns its error. Such a Step leaves its State as it was, and draws samples after the last look.
func (it *Iteration) Context() context.Context { return it.ctx }

// Spent says that no step can follow in this run, since the samples so far reach Run.Xi or Run.Phi.
func (it *Iteration) Spent() bool { return it.spent != nil && it.spent() }

// Arrive makes Run stop: no step could improve this iterate beyond rounding.
func (it *Iteration) Arrive() { it.arrived = true }

// MetricStep returns the step size to report where x moved to next with a step size 1/a_i for each
// entry: ‖Δ‖/‖(a_iΔ_i)‖ with Δ = next − x, the least 1/a_i where Δ = 0, +Inf where some a_i is 0.
func MetricStep(next, x, a []float64) float64 {
	var moved, mapped, most float64
	for i, v := range x {
		d := next[i] - v
		moved, mapped, most = moved+d*d, mapped+a[i]*d*(a[i]*d), max(most, a[i])
		if a[i] == 0 {
			return math.Inf(1)
		}
	}
	if step := math.Sqrt(moved / mapped); step >= 1/most && !math.IsInf(step, 1) {
		return step
	}
	return 1 / most // none, or its square leaves the range
}

// At returns s at step k, or ErrOption, wrapped, with the name, unless it is finite, in [0, max].
func (it *Iteration) At(name string, s Schedule, max float64) (float64, error) {
	v := s.At(it.k)
	switch {
	case v >= 0 && v <= max && !math.IsInf(v, 1):
		return v, nil
	case math.IsInf(max, 1):
		return 0, option.Bad("%s: %s at step %d is %v, want a finite value ≥ 0", it.name, name, it.k, v)
	}
	return 0, option.Bad("%s: %s at step %d is %v, want a value in [0, %v]", it.name, name, it.k, v, max)
}

// Activity returns the counts, to be added to. A failing step does not count.
func (it *Iteration) Activity() *Activity { return &it.activity }

// Finite returns a *DivergedError where an entry of the vectors is not finite, named after the
// first such vector of Stepper.Vectors. It is for uses that would hide or spread the entry; the
// Solver checks after each step.
func (it *Iteration) Finite(vectors ...[]float64) error {
	for _, v := range vectors {
		i := mat.NotFinite(v)
		if i < 0 {
			continue
		}
		if err := it.firstNonFinite(); err != nil {
			return err
		}
		return &DivergedError{Step: it.k, Quantity: fmt.Sprintf("entry %d of a vector without a name", i), Value: v[i]}
	}
	return nil
}

// checkNext looks at the method's vectors, too: a projection may make an infinite step finite.
func (it *Iteration) checkNext() error {
	if !it.oracle.shown {
		if err := it.firstNonFinite(); err != nil {
			return err
		}
	}
	err := cmp.Or(it.checkDistance("‖x − x⁰‖", it.xNext, it.opt.X0), it.checkDistance("‖y − y⁰‖", it.yNext, it.opt.Y0))
	if err != nil && it.oracle.shown {
		err = cmp.Or(it.firstNonFinite(), err)
	}
	return err
}

func (it *Iteration) firstNonFinite() error {
	it.found = it.strayed
	it.vectors(it.visit)
	if it.found == nil {
		return nil
	}
	return it.found
}

func (it *Iteration) checkDistance(name string, next, start []float64) error {
	var sum, odd float64 // the chain of one sum would take twice as long
	start = start[:len(next)]
	for i, v := range next {
		d := v - start[i]
		sum, odd = odd, sum+d*d
	}
	if r := math.Sqrt(sum + odd); !(r <= it.opt.Explode) || math.IsInf(r, 1) && mat.NotFinite(next) >= 0 {
		return &DivergedError{Step: it.k, Quantity: name, Value: r}
	}
	return nil
}
