package chol

import (
	"errors"
	"fmt"
)

// Every error of this package wraps ErrNotPosDef.
var ErrNotPosDef = errors.New("chol: matrix is not positive definite")

// NotPosDefError: the leading submatrix of order Pivot is positive definite, that of order Pivot+1 is
// not, to working precision.
type NotPosDefError struct {
	Pivot int     // row and column, from 0
	Value float64 // the pivot: NaN, +Inf, or less than 2⁻¹⁰²², the smallest normal number
}

func (e *NotPosDefError) Error() string {
	return fmt.Sprintf("chol: matrix is not positive definite: pivot %d is %g", e.Pivot, e.Value)
}

func (e *NotPosDefError) Unwrap() error { return ErrNotPosDef }
