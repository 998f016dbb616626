// Package option checks parameters: those of the solver, of methods, in this module or another, and
// of problems. Each check returns nil, or an error that wraps Err and names the field and its value.
// The name is the path of the field, as "Options.X0" or "TTSA.Neumann.LG".
package option

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/mat"
)

// Err is bilevel.ErrOption.
var Err = errors.New("bilevel: bad option")

// Full is bilevel.Full, the batch size that asks for the exact value.
const Full = -1

// Bad returns an error that wraps Err, with a text made as by fmt.Errorf.
func Bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", Err, fmt.Errorf(format, args...))
}

// Default sets *v to value if it is zero.
func Default[T comparable](v *T, value T) { *v = cmp.Or(*v, value) }

// Schedule refuses a schedule that is missing, and one whose first value is not finite or not in
// [0, max]. Schedules are bilevel.Schedules.
func Schedule(name string, s interface{ At(k int) float64 }, max float64) error {
	if s == nil {
		return Bad("%s is nil: a step size has no default", name)
	}
	switch v := s.At(0); {
	case v >= 0 && v <= max && !math.IsInf(v, 1):
		return nil
	case math.IsInf(max, 1):
		return Bad("%s at step 0 is %v, want a finite value ≥ 0", name, v)
	default:
		return Bad("%s at step 0 is %v, want a value in [0, %v]", name, v, max)
	}
}

// Batch refuses a batch size that is neither ≥ 1 nor Full.
func Batch(name string, n int) error {
	if (n < 1 || n > 1<<24) && n != Full {
		return Bad("%s is %d, want 1 … 2²⁴, or Full", name, n)
	}
	return nil
}

// AtLeast refuses a number below least.
func AtLeast(name string, n, least int) error {
	if n < least {
		return Bad("%s is %d, want ≥ %d", name, n, least)
	}
	return nil
}

// Positive refuses a number that is not > 0; +Inf is allowed.
func Positive(name string, v float64) error {
	if !(v > 0) {
		return Bad("%s is %v, want > 0", name, v)
	}
	return nil
}

// Finite refuses a number that is not > 0, or not finite.
func Finite(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return Bad("%s is %v, want a finite value > 0", name, v)
	}
	return nil
}

// Share refuses a number that is not in the open interval (0, 1).
func Share(name string, v float64) error {
	if !(v > 0 && v < 1) {
		return Bad("%s is %v, want a share in (0, 1)", name, v)
	}
	return nil
}

// Vector refuses a vector that is not nil, and has not length n or has an entry that is not finite.
func Vector(name string, v []float64, n int) error {
	if v != nil && len(v) != n {
		return Bad("%s has length %d, want %d", name, len(v), n)
	}
	if i := mat.NotFinite(v); i >= 0 {
		return Bad("%s is %v at index %d", name, v[i], i)
	}
	return nil
}

// Dims refuses lengths of x and y below 1.
func Dims(dx, dy int) error {
	if dx < 1 || dy < 1 {
		return Bad("problem has dimensions dx = %d, dy = %d, want both ≥ 1", dx, dy)
	}
	return nil
}
