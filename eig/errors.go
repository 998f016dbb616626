package eig

import (
	"errors"
	"fmt"
)

// ErrNotFinite matches the error for a matrix entry, or a mu, that is NaN or infinite.
var ErrNotFinite = errors.New("eig: not finite")

// ErrNoConvergence matches the error for an iteration that reached its cap.
var ErrNoConvergence = errors.New("eig: no convergence")

// NotFiniteError names the first such entry, by rows; mu is (−1, −1).
type NotFiniteError struct {
	I, J  int
	Value float64
}

func (e *NotFiniteError) Error() string {
	if e.I < 0 {
		return fmt.Sprintf("eig: mu is %g", e.Value)
	}
	return fmt.Sprintf("eig: entry (%d, %d) is %g", e.I, e.J, e.Value)
}

// Is reports whether target is ErrNotFinite.
func (e *NotFiniteError) Is(target error) bool { return target == ErrNotFinite }

// NoConvergenceError says how far an iteration came.
type NoConvergenceError struct {
	Sweeps  int     // sweeps of Jacobi, or steps of QL to one eigenvalue
	OffNorm float64 // Frobenius norm of the off-diagonal part that is left
}

func (e *NoConvergenceError) Error() string {
	return fmt.Sprintf("eig: no convergence after %d sweeps, off-diagonal norm %.3g", e.Sweeps, e.OffNorm)
}

// Is reports whether target is ErrNoConvergence.
func (e *NoConvergenceError) Is(target error) bool { return target == ErrNoConvergence }
