package bilevel

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/bilevel/option"
	"stable/mat"
)

// Options holds the options that every method shares.
type Options struct {
	// X0 and Y0 are the starting point, copied: finite, X0 in Set. Default: the point of Set
	// nearest to 0, and 0.
	X0, Y0 []float64

	// Set is the closed convex feasible set X. Default: Space{}, all of R^dx.
	Set Set

	// Seed seeds both sample streams and the method's own random source. Any number. Default 0.
	Seed uint64

	// UpperBatch and LowerBatch are the numbers of samples ξ and φ in a batch, up to 2²⁴, or Full, drawn
	// independently, uniformly and with replacement, but for SAA-Newton's passes over sums. Default 1.
	// STABLE draws one batch of each per step; a method that draws more says so.
	UpperBatch, LowerBatch int

	// Explode > 0 bounds ‖x − x⁰‖ and ‖y − y⁰‖; beyond it a run has diverged. Default 1e12.
	Explode float64
}

func (o *Options) prepare(dx, dy int) error {
	option.Default[Set](&o.Set, Space{})
	option.Default(&o.UpperBatch, 1)
	option.Default(&o.LowerBatch, 1)
	option.Default(&o.Explode, 1e12)
	set := o.Set.Validate(dx)
	if set != nil && !errors.Is(set, ErrOption) { // that of a caller's own
		set = option.Bad("Options.Set, a %T: %w", o.Set, set)
	}
	if err := errors.Join(
		option.Positive("Options.Explode", o.Explode),
		option.Batch("Options.UpperBatch", o.UpperBatch),
		option.Batch("Options.LowerBatch", o.LowerBatch),
		set,
		option.Vector("Options.X0", o.X0, dx),
		option.Vector("Options.Y0", o.Y0, dy),
	); err != nil {
		return err
	}
	x, y := make([]float64, dx), make([]float64, dy)
	copy(x, o.X0)
	copy(y, o.Y0)
	o.Set.Project(x, x)
	if i := mat.NotFinite(x); i >= 0 {
		return option.Bad("Options.Set, a %T, projects onto a point that is %v at index %d", o.Set, x[i], i)
	}
	for i, v := range o.X0 {
		if !(math.Abs(x[i]-v) <= 1e-9*min(1+math.Abs(v), mat.Norm(o.X0))) {
			return option.Bad("Options.X0 is not in the feasible set: entry %d is %v, that of the nearest "+
				"feasible point %v", i, v, x[i])
		}
	}
	o.X0, o.Y0 = x, y
	return nil
}

// Schedule gives the step size of step k ≥ 0: a pure function, finite and not negative.
type Schedule interface {
	At(k int) float64
}

// Constant is the same step size at every step.
type Constant float64

func (c Constant) At(int) float64 { return float64(c) }

// Power is the schedule C/(k+K0)^P.
type Power struct {
	C  float64
	K0 float64 // default 1
	P  float64
}

func (p Power) At(k int) float64 {
	t := float64(k) + cmp.Or(p.K0, 1)
	if p.P == 0.5 {
		return p.C / math.Sqrt(t) // the bits of Pow
	}
	return p.C / math.Pow(t, p.P)
}

func (p Power) String() string { return fmt.Sprintf("%g/(k+%g)^%g", p.C, cmp.Or(p.K0, 1), p.P) }

// cubicWeight is that of the newest of k+1 terms in a mean in which term j weighs of order j³.
func cubicWeight(k int) float64 { return 4 / (float64(k) + 4) }
