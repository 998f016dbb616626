package bilevel

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"stable/bilevel/option"
	"stable/mat"
)

var (
	// Every error about an option wraps ErrOption and names the field.
	ErrOption = option.Err

	// ErrNoExact is an oracle's error for an empty batch if it cannot compute the expectation.
	ErrNoExact = errors.New("bilevel: no exact value, which an empty batch (Full) asks for")

	// ErrDomain is wrapped by an oracle's error where f, g or a derivative has no finite value. A
	// method may go back from such a trial point; elsewhere it ends the run.
	ErrDomain = errors.New("bilevel: no finite value at this point")

	// ErrMissing is the error of an optional interface that the problem lacks.
	ErrMissing = errors.New("bilevel: method missing in the problem")

	// ErrBrokenPromise says that g_yy is less convex than the problem's ConvexityAt promises.
	ErrBrokenPromise = errors.New("bilevel: problem breaks its promise of strong convexity")

	// Every DivergedError wraps ErrDiverged.
	ErrDiverged = errors.New("bilevel: run diverged")

	// The error of Load wraps ErrDamaged for bytes that are no checkpoint, or not as saved.
	ErrDamaged = errors.New("bilevel: damaged checkpoint")

	// The error of Load wraps ErrForeign for a checkpoint of another version, problem size, method,
	// parameter or option, and names the first difference.
	ErrForeign = errors.New("bilevel: checkpoint of another run")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// A DivergedError says where a run left the finite numbers, or the bound of Options.Explode.
type DivergedError struct {
	Step     int     // counted from 0
	Quantity string  // f_x, H_xy, ‖x − x⁰‖, …
	Value    float64 // NaN, ±Inf, or the norm that is too large
}

func (e *DivergedError) Error() string {
	text := fmt.Sprintf("bilevel: run diverged at step %d: %s is %g", e.Step, e.Quantity, e.Value)
	if e.Quantity == "‖x − x⁰‖" && e.Value > 0 {
		text += "; where F falls for ever, only a set (Options.Set) holds x"
	}
	if regexp.MustCompile(`^(f_x|f_y|g_y|H_xy|H_yy)(\[|$)`).MatchString(e.Quantity) {
		text += "; an oracle without a value at a point returns ErrDomain, from which SAA-Newton and HOAG go back"
	}
	return text
}

func (e *DivergedError) Unwrap() error { return ErrDiverged }

// An OracleError says which oracle of the problem failed or panicked, and at which step.
type OracleError struct {
	Step   int
	Oracle string // GradF, GradG, CrossG, HessG, HessVecG, CrossVecG, JointG, GradXG or ConvexityAt
	Err    error  // its own, or a *PanicError
}

func (e *OracleError) Error() string {
	return fmt.Sprintf("bilevel: oracle %s failed at step %d: %v", e.Oracle, e.Step, e.Err)
}

func (e *OracleError) Unwrap() error { return e.Err }

// A StepError is an error or a panic of the method, or of the caller's Set or Schedule, in a step.
type StepError struct {
	Step   int
	Method string
	Err    error // or a *PanicError
}

func (e *StepError) Error() string {
	return fmt.Sprintf("bilevel: step %d of %s failed: %v", e.Step, e.Method, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// A PanicError is a panic that was caught in a step.
type PanicError struct {
	Value any
	Stack []byte

	// Endless is the sample, ξ or φ, of the oracle that panicked, if its stream has no end.
	Endless string
}

func (e *PanicError) Error() string {
	text, place := fmt.Sprintf("panic: %v", e.Value), e.place()
	// No slice is long enough for an index of eight digits. Package mat does not tell the index.
	if e.Endless == "" || !regexp.MustCompile(`(index|bounds) out of range( \[:?-?\d{8}|$)`).MatchString(text) {
		return text + place
	}
	return fmt.Sprintf("%s%s: a sample %s is a seed of 64 bits here, and no index, because Streams gives 0 for it; "+
		"a finite sum must give its number of terms there (in package auto: Losses.%s)",
		text, place, e.Endless, map[string]string{"ξ": "Upper", "φ": "Lower"}[e.Endless])
}

// place returns " (file:line)" of the first panic, where a function of package mat panics of its
// caller, and "" where the stack does not tell.
func (e *PanicError) place() string {
	stack, own := string(e.Stack), reflect.TypeFor[mat.Sym]().PkgPath()+"."
	frames := strings.Split(stack[max(strings.LastIndex(stack, "\npanic("), 0):], "\n") // two lines each
	for k := 3; k+1 < len(frames); k += 2 {
		if f := frames[k]; !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, own) {
			line, _, _ := strings.Cut(filepath.Base(frames[k+1]), " ")
			return " (" + line + ")"
		}
	}
	return ""
}
