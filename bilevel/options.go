package bilevel

import (
	"errors"
	"math"

	"stable/bilevel/option"
)

// Options holds the options that every method shares.
type Options struct {
	// X0 and Y0 are the starting point, copied: finite, and X0 in Set. Default: the point of Set
	// nearest to 0, and 0.
	X0, Y0 []float64

	// Set is the feasible set X, a closed convex one. Default: Space{}, all of R^dx.
	Set Set

	// Seed seeds both sample streams and the method's own random source. Any number. Default 0. The
	// same seed gives the same run, bit for bit.
	Seed uint64

	// UpperBatch and LowerBatch are the numbers of samples in a batch of ξ and of φ, ≥ 1, or Full.
	// Default 1. Samples are drawn independently, uniformly and with replacement. STABLE draws one
	// batch of each per step; a method that draws more says so.
	UpperBatch, LowerBatch int

	// Explode is the bound > 0 on ‖x − x⁰‖ and ‖y − y⁰‖ beyond which a run counts as diverged.
	// Default 1e12.
	Explode float64
}

// setOptions fills in defaults and refuses invalid options.
func (it *Iteration) setOptions(opt Options) error {
	dx, dy := len(it.x), len(it.y)
	if opt.Set == nil {
		opt.Set = Space{}
	}
	option.Default(&opt.UpperBatch, 1)
	option.Default(&opt.LowerBatch, 1)
	option.Default(&opt.Explode, 1e12)
	if err := errors.Join(
		option.Positive("Options.Explode", opt.Explode),
		option.Batch("Options.UpperBatch", opt.UpperBatch),
		option.Batch("Options.LowerBatch", opt.LowerBatch),
		opt.Set.Validate(dx),
		option.Vector("Options.X0", opt.X0, dx),
		option.Vector("Options.Y0", opt.Y0, dy),
	); err != nil {
		return err
	}
	copy(it.y, opt.Y0)
	copy(it.x, opt.X0)
	opt.Set.Project(it.x, it.x)
	if opt.X0 != nil {
		for i, v := range opt.X0 {
			if !(math.Abs(it.x[i]-v) <= 1e-9*(1+math.Abs(v))) {
				return option.Bad("Options.X0 is not in the feasible set: entry %d is %v, that of the nearest "+
					"feasible point %v",
					i, v, it.x[i])
			}
		}
	}
	opt.X0 = append([]float64(nil), it.x...)
	opt.Y0 = append([]float64(nil), it.y...)
	it.opt = opt
	return nil
}
