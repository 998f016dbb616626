package auto

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"stable/bilevel"
	"stable/mat"
)

// An Error says which operation of a loss failed, and where.
type Error struct {
	Loss   string         // f or g; empty for constants that no loss has computed
	Sample bilevel.Sample // the sample at which it was evaluated
	Mean   bool           // it was the mean that failed, MeanF, MeanG or a batch's; Sample says nothing
	Op     string         // the operation: the name of the function or method of this package
	Reason string
	Line   string // file:line of the call; empty if it is not known

	domain bool
}

// Unwrap returns bilevel.ErrDomain where a value or a derivative is not finite, else nil.
func (e *Error) Unwrap() error {
	if e.domain {
		return bilevel.ErrDomain
	}
	return nil
}

func (e *Error) Error() string {
	s := "auto: "
	switch {
	case e.Mean:
		s += e.Loss + " at the mean: "
	case e.Loss != "":
		s += fmt.Sprintf("%s at sample %d: ", e.Loss, e.Sample)
	}
	s += e.Op + " " + e.Reason
	if e.Line != "" {
		s += " (" + e.Line + ")"
	}
	return s
}

// fail ends the evaluation by a panic with the Error that record returns. t is nil for constants.
func (t *tape) fail(op, format string, args ...any) { t.raise(false, op, format, args...) }

func (t *tape) outside(op, format string, args ...any) { t.raise(true, op, format, args...) }

func (t *tape) raise(domain bool, op, format string, args ...any) {
	e := &Error{Op: op, Reason: fmt.Sprintf(format, args...), Line: callerLine(), domain: domain}
	if t != nil {
		t.err = e
	}
	panic(e)
}

func callerLine() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	f, more := frames.Next()
	own, _ := strings.CutSuffix(f.Function, "callerLine")
	each := strings.TrimSuffix(own, "/auto.") + ".Each" // which may stand between
	for more {
		f, more = frames.Next()
		if !strings.HasPrefix(f.Function, own) && !strings.HasPrefix(f.Function, each) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

type handle struct {
	t   *tape
	id  int32
	gen uint32
}

func (h handle) own(op string) {
	if h.t != nil && h.gen != h.t.gen {
		if h.t.running {
			h.t.fail(op, "of a value kept from an earlier evaluation")
		}
		h.t.fail(op, "of a value that is not of this evaluation")
	}
}

// shared returns the tape of two values, nil for two constants.
func shared(op string, a, b handle) *tape {
	switch {
	case a.t == nil:
		a = b
	case b.t != nil && b.t != a.t:
		t := a.t
		if !t.running {
			t = b.t
		}
		t.fail(op, "of values of two problems")
	case b.t != nil:
		b.own(op)
	}
	a.own(op)
	return a.t
}

func sharedVecs(op string, u, v Vec) *tape {
	t := shared(op, u.handle, v.handle)
	t.sameLength(op, len(u.v), len(v.v))
	return t
}

func (t *tape) sameLength(op string, m, n int) {
	if m != n {
		t.fail(op, "of lengths %d and %d", m, n)
	}
}

// badMap fails if φ is not finite: v = φ(a), p = φ′(a), q = φ″(a) at entry i, −1 for a number.
func (t *tape) badMap(op string, i int, a, v, p, q float64) {
	at := ""
	if i >= 0 {
		at = fmt.Sprintf(" at entry %d", i)
	}
	switch {
	case !mat.IsFinite(a):
		t.outside(op, "of %v%s", a, at)
	case (op == "Inv" || op == "Div") && a == 0:
		t.outside(op, "by 0%s", at)
	case !mat.IsFinite(v):
		t.outside(op, "of %v is %v%s", a, v, at)
	case !mat.IsFinite(p):
		t.outside(op, "of %v has the derivative %v%s", a, p, at)
	case !mat.IsFinite(q):
		t.outside(op, "of %v has the second derivative %v%s", a, q, at)
	}
}

func (t *tape) checkSum(op string, sum float64, operands ...[]float64) {
	if sum-sum == 0 {
		return
	}
	for k, o := range operands {
		if i := mat.NotFinite(o); i >= 0 {
			t.outside(op, "has %v at entry %d of operand %d", o[i], i, k)
		}
	}
	t.outside(op, "is %v", sum)
}

func (n Num) checked(op string, a, b float64) Num {
	if n.t != nil && n.v-n.v != 0 {
		n.t.outside(op, "of %v and %v is %v", a, b, n.v)
	}
	return n
}
