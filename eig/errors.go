package eig

import (
	"errors"
	"fmt"
	"math"

	"stable/mat"
)

// ErrNotFinite is matched by the error for a matrix that has a NaN or an infinite entry, or for such a mu.
var ErrNotFinite = errors.New("eig: not finite")

// ErrNoConvergence is matched by the error for an iteration that reached its cap.
var ErrNoConvergence = errors.New("eig: no convergence")

// NotFiniteError names the first entry, by rows of the lower triangle, that is NaN or infinite; mu itself is entry (−1, −1).
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

// NoConvergenceError tells how far an iteration came.
type NoConvergenceError struct {
	Sweeps  int     // sweeps done
	OffNorm float64 // Frobenius norm of the off-diagonal part that is left
}

func (e *NoConvergenceError) Error() string {
	return fmt.Sprintf("eig: no convergence after %d sweeps, off-diagonal norm %.3g", e.Sweeps, e.OffNorm)
}

// Is reports whether target is ErrNoConvergence.
func (e *NoConvergenceError) Is(target error) bool { return target == ErrNoConvergence }

// maxAbs returns max |a| over the entries, or an error that names the first entry that is not finite.
func maxAbs(a *mat.Sym) (float64, error) {
	m := 0.0
	for i := range a.N {
		for j, v := range a.Row(i) {
			v := math.Abs(v)
			if v <= m {
				continue
			}
			if !(v <= math.MaxFloat64) {
				return 0, &NotFiniteError{I: i, J: j, Value: a.Row(i)[j]}
			}
			m = v
		}
	}
	return m, nil
}

// scaling returns the power of two that brings m near 1, or 1 where m is far from over- and underflow: multiplying by it is exact.
func scaling(m float64) float64 {
	if m == 0 || m > 0x1p-300 && m < 0x1p300 {
		return 1
	}
	_, e := math.Frexp(m)
	return math.Ldexp(1, -max(-1000, min(e, 1000)))
}

// grow returns x with length n, in the same memory if it is large enough; the entries are not cleared.
func grow(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}

// stride returns the distance of rows of length n in a workspace: an odd number of cache lines, so that the entries of a column, and the
// rows that a loop reads together, do not fall on the same few sets of the cache.
func stride(n int) int {
	if n < 32 {
		return n
	}
	return (n+7)/16*16 + 8
}
