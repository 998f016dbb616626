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
	Mean   bool           // it was the mean that failed, MeanF or MeanG, and Sample says nothing
	Op     string         // the operation: the name of the function or method of this package
	Reason string
	Line   string // file:line of the call; empty if it is not known
}

func (e *Error) Error() string {
	at := ""
	switch {
	case e.Mean:
		at = e.Loss + " at the mean: "
	case e.Loss != "":
		at = fmt.Sprintf("%s at sample %d: ", e.Loss, e.Sample)
	}
	line := ""
	if e.Line != "" {
		line = " (" + e.Line + ")"
	}
	return fmt.Sprintf("auto: %s%s %s%s", at, e.Op, e.Reason, line)
}

// fail ends the evaluation by a panic with the Error that run returns. t is nil for an operation on
// constants; outside of an evaluation, the panic is the caller's.
func (t *tape) fail(op name, format string, args ...any) {
	e := &Error{Op: op.String(), Reason: fmt.Sprintf(format, args...), Line: callerLine()}
	if t != nil {
		t.err = e
	}
	panic(e)
}

// caught returns the Error that a panic's value v is; other panics, and Goexit, go on.
func caught(v any) *Error {
	e, ok := v.(*Error)
	if !ok && v != nil {
		panic(v)
	}
	return e
}

// callerLine is the place in the caller's code that called this package.
func callerLine() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	f, more := frames.Next()
	own, _ := strings.CutSuffix(f.Function, "callerLine")
	for more {
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, own) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

// own fails unless a handle of generation gen belongs to the evaluation that runs.
func (t *tape) own(op name, gen uint32) {
	if gen != t.gen {
		t.stale(op)
	}
}

func (t *tape) stale(op name) {
	if t.running {
		t.fail(op, "of a value kept from an earlier evaluation")
	}
	t.fail(op, "of a value that is not of this evaluation")
}

const mixed = "of values of two problems"

// shared returns the tape of two handles; nil for two constants. It takes tapes and generations,
// since a Vec is too long for registers.
func shared(op name, s *tape, sgen uint32, t *tape, tgen uint32) *tape {
	switch {
	case t == nil:
		if s != nil {
			s.own(op, sgen)
		}
		return s
	case s == nil:
		s, sgen = t, tgen
	case s != t:
		return meet(op, s, t)
	}
	if sgen != s.gen || tgen != s.gen {
		s.stale(op)
	}
	return s
}

// meet returns the tape of two operands; nil stands for a constant.
func meet(op name, s, t *tape) *tape {
	switch {
	case s == nil:
		return t
	case t == nil || s == t:
		return s
	case t.running && !s.running:
		t.fail(op, mixed)
	}
	s.fail(op, mixed)
	return nil
}

// sameLength fails if lengths differ.
func sameLength(op name, t *tape, m, n int) {
	if m != n {
		t.fail(op, "of lengths %d and %d", m, n)
	}
}

// badUnary fails with what is wrong, if anything, with v = φ(a), p = φ′(a), q = φ″(a); at is a's
// place.
func (t *tape) badUnary(op name, at string, a, v, p, q float64) {
	switch {
	case !mat.IsFinite(a):
		t.fail(op, "of %v%s", a, at)
	case (op == nameInv || op == nameDiv) && a == 0:
		t.fail(op, "by 0%s", at)
	case !mat.IsFinite(v):
		t.fail(op, "of %v is %v%s", a, v, at)
	case !mat.IsFinite(p):
		t.fail(op, "of %v has the derivative %v%s", a, p, at)
	case !mat.IsFinite(q):
		t.fail(op, "of %v has the second derivative %v%s", a, q, at)
	}
}

// badLinear fails for p·a + q, with the operands as the caller wrote them.
func (t *tape) badLinear(o *node, a float64) {
	b := o.p
	switch o.name {
	case nameAdd, nameShift:
		b = o.q
	case nameSub:
		if b = -o.q; o.p < 0 {
			a, b = o.q, a
		}
	case nameDiv:
		b = o.q
	case nameNeg:
		t.fail(o.name, "of %v", a)
	}
	t.fail(o.name, "of %v and %v is %v", a, b, o.val)
}

// Where a number stands, for an error.
func entry(i int) string { return fmt.Sprintf(" at entry %d", i) }
func nowhere(int) string { return "" }

// badResult fails where a sum is not finite: it looks for the operand to blame.
func (t *tape) badResult(op name, r float64, operands ...[]float64) {
	for k, o := range operands {
		for i, v := range o {
			if !mat.IsFinite(v) {
				t.fail(op, "has %v at entry %d of operand %d", v, i, k)
			}
		}
	}
	t.fail(op, "is %v", r)
}

// badReduction is badResult for o.
func (t *tape) badReduction(o *node) {
	u := t.vecs[o.a].val
	switch o.code {
	case opDot:
		t.badResult(o.name, o.val, u, t.vecs[o.b].val)
	case opWeight:
		t.badResult(o.name, o.val, t.vecs[o.b].val, u)
	case opSparse:
		t.badResult(o.name, o.val, u, t.sparses[o.b].val)
	}
	t.badResult(o.name, o.val, u)
}
