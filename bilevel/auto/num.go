package auto

import "math"

// Num is a number that a loss computes: recorded if it depends on x or y, else a constant. The zero
// Num is 0. A recorded Num is good until the loss returns.
type Num struct {
	handle
	v float64
}

// Const returns the constant c.
func Const(c float64) Num { return Num{v: c} }

// Value returns the number, for comparisons and loops; what is computed of it has no derivative.
func (a Num) Value() float64 {
	if a.t != nil {
		a.own("Value")
	}
	return a.v
}

// Add returns a + b.
func (a Num) Add(b Num) Num { return a.plus("Add", b, 1) }

// Sub returns a − b.
func (a Num) Sub(b Num) Num { return a.plus("Sub", b, -1) }

func (a Num) plus(name string, b Num, s float64) Num {
	var r Num
	switch {
	case b.t == nil:
		r = a.linear(name, 1, s*b.v)
	case a.t == nil:
		r = b.linear(name, s, a.v)
	default:
		t := shared(name, a.handle, b.handle)
		r = t.num(t.add(a.id, b.id, s))
	}
	return r.checked(name, a.v, b.v)
}

// Mul returns a·b.
func (a Num) Mul(b Num) Num { return a.times("Mul", b).checked("Mul", a.v, b.v) }

func (a Num) times(name string, b Num) Num {
	switch {
	case b.t == nil:
		return a.linear(name, b.v, 0)
	case a.t == nil:
		return b.linear(name, a.v, 0)
	}
	t := shared(name, a.handle, b.handle)
	return t.num(t.mul(a.id, b.id))
}

// Div returns a/b. It fails where b is 0.
func (a Num) Div(b Num) Num {
	shared("Div", a.handle, b.handle)
	inverse := Num{v: 1 / b.v}
	if b.t != nil {
		inverse = b.unary("Div", inv, 0)
	} else if math.IsInf(inverse.v, 0) {
		a.t.outside("Div", "by %v", b.v)
	}
	r := a.times("Div", inverse)
	if r.v = a.v / b.v; r.t != nil { // with one rounding
		r.t.nodes[r.id].val[0] = r.v
	}
	return r.checked("Div", a.v, b.v)
}

// Scale, Shift and Neg return c·a, a + c and −a.
func (a Num) Scale(c float64) Num { return a.linear("Scale", c, 0).checked("Scale", a.v, c) }
func (a Num) Shift(c float64) Num { return a.linear("Shift", 1, c).checked("Shift", a.v, c) }
func (a Num) Neg() Num            { return a.linear("Neg", -1, 0) }

func (a Num) linear(name string, p, q float64) Num {
	if a.t == nil {
		return Num{v: p*a.v + q}
	}
	a.own(name)
	return a.t.num(a.t.linear(a.id, p, q))
}

// Functions of a. They fail where the value, or a derivative that is asked for, is not finite: Log
// unless a > 0, Sqrt for a < 0, Inv at 0, Pow (a^r) for a < 0 unless r is an integer. Sigmoid is
// 1/(1 + exp(−a)), Softplus log(1 + exp(a)), the logistic loss of the margin −a: both without
// overflow.
func (a Num) Exp() Num          { return a.unary("Exp", exp, 0) }
func (a Num) Log() Num          { return a.unary("Log", log, 0) }
func (a Num) Sqrt() Num         { return a.unary("Sqrt", sqrt, 0) }
func (a Num) Square() Num       { return a.unary("Square", square, 0) }
func (a Num) Inv() Num          { return a.unary("Inv", inv, 0) }
func (a Num) Tanh() Num         { return a.unary("Tanh", tanh, 0) }
func (a Num) Sigmoid() Num      { return a.unary("Sigmoid", sigmoid, 0) }
func (a Num) Softplus() Num     { return a.unary("Softplus", softplus, 0) }
func (a Num) Sin() Num          { return a.unary("Sin", sin, 0) }
func (a Num) Cos() Num          { return a.unary("Cos", cos, 0) }
func (a Num) Pow(r float64) Num { return a.unary("Pow", pow, r) }

// Apply returns φ(a), given the value and the first two derivatives of φ at a.Value(). It fails
// where one of them is not finite.
func (a Num) Apply(value, first, second float64) Num {
	return a.unary("Apply", func(float64, float64) (v, p, q float64) { return value, first, second }, 0)
}

func (a Num) unary(name string, f function, r float64) Num {
	if a.t == nil {
		return Num{v: constant(name, -1, f, a.v, r)}
	}
	a.own(name)
	return a.t.num(a.t.mapped(name, a.id, f, r, false))
}
