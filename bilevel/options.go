package bilevel

import (
	"errors"
	"math"
)

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

// setOptions fills in defaults, and refuses what is invalid.
func (it *Iteration) setOptions(opt Options) error {
	dx, dy := len(it.x), len(it.y)
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
	copy(it.y, opt.Y0)
	copy(it.x, opt.X0)
	opt.Set.Project(it.x, it.x)
	if opt.X0 != nil {
		for i, v := range opt.X0 {
			if !(math.Abs(it.x[i]-v) <= 1e-9*(1+math.Abs(v))) {
				return badOption("Options.X0 is not in the feasible set: entry %d is %v, that of the nearest feasible point %v", i, v, it.x[i])
			}
		}
	}
	opt.X0 = append([]float64(nil), it.x...)
	opt.Y0 = append([]float64(nil), it.y...)
	it.opt = opt
	return nil
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

func checkShare(name string, v float64) error {
	if !(v > 0 && v < 1) {
		return badOption("%s is %v, want a share in (0, 1)", name, v)
	}
	return nil
}

func checkFinite(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return badOption("%s is %v, want a finite value > 0", name, v)
	}
	return nil
}

// checkSchedule refuses a missing schedule, and one whose first value is not a step size in [0,
// max].
func checkSchedule(name string, s Schedule, max float64) error {
	if s == nil {
		return badOption("%s is nil: a step size has no default", name)
	}
	if v := s.At(0); !(v >= 0 && v <= max) {
		return badOption("%s at step 0 is %v, want 0 ≤ step ≤ %v", name, v, max)
	}
	return nil
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
