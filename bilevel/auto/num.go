package auto

// Num is a number that a loss computes: recorded, if it depends on x or y, or else a constant. The
// zero Num is the constant 0. A recorded Num is good until the loss returns, and no longer.
type Num struct {
	t   *tape // nil for a constant
	v   float64
	id  int32
	gen uint32
}

// Const returns the constant c.
func Const(c float64) Num { return Num{v: c} }

// Value returns the number itself, for comparisons and loops. What is computed of it outside of
// this package has no derivative.
func (a Num) Value() float64 { return a.v }

// Add returns a + b.
func (a Num) Add(b Num) Num { return a.plus("Add", b, 1) }

// Sub returns a − b.
func (a Num) Sub(b Num) Num { return a.plus("Sub", b, -1) }

// Mul returns a·b.
func (a Num) Mul(b Num) Num {
	switch {
	case b.t == nil:
		return a.linear("Mul", b.v, 0)
	case a.t == nil:
		return b.linear("Mul", a.v, 0)
	}
	t := shared("Mul", a, b)
	v := a.v * b.v
	if v-v != 0 {
		t.fail("Mul", "of %v and %v is %v", a.v, b.v, v)
	}
	c := class{}
	if t.mode.structure {
		a.id, b.id, c = t.product(a.id, b.id)
	}
	out := t.number(v, t.nums[a.id].dep|t.nums[b.id].dep, c)
	t.emit(opMul, out, a.id, b.id)
	return Num{t: t, v: v, id: out, gen: t.gen}
}

// Div returns a/b. It fails where b is 0.
func (a Num) Div(b Num) Num {
	if b.t == nil {
		if b.v == 0 && a.t != nil {
			a.t.fail("Div", "by 0")
		}
		return a.linear("Div", 1/b.v, 0).exactly(a.v / b.v)
	}
	return a.Mul(b.apply("Div", invAll)).exactly(a.v / b.v)
}

// exactly sets the value of a, which was computed by another formula.
func (a Num) exactly(v float64) Num {
	a.v = v
	if a.t != nil {
		a.t.nums[a.id].val = v
	}
	return a
}

// Scale returns c·a.
func (a Num) Scale(c float64) Num { return a.linear("Scale", c, 0) }

// Shift returns a + c.
func (a Num) Shift(c float64) Num { return a.linear("Shift", 1, c) }

// Neg returns −a.
func (a Num) Neg() Num { return a.linear("Neg", -1, 0) }

// Exp returns exp(a).
func (a Num) Exp() Num { return a.apply("Exp", expAll) }

// Log returns the natural logarithm of a. It fails unless a > 0.
func (a Num) Log() Num { return a.apply("Log", logAll) }

// Sqrt returns the square root of a. It fails where a is negative, and, as the derivative is
// infinite, where a is 0; the value alone is given there.
func (a Num) Sqrt() Num { return a.apply("Sqrt", sqrtAll) }

// Square returns a².
func (a Num) Square() Num { return a.apply("Square", squareAll) }

// Inv returns 1/a. It fails where a is 0.
func (a Num) Inv() Num { return a.apply("Inv", invAll) }

// Tanh returns the hyperbolic tangent of a.
func (a Num) Tanh() Num { return a.apply("Tanh", tanhAll) }

// Sigmoid returns 1/(1 + exp(−a)), for any a without overflow.
func (a Num) Sigmoid() Num { return a.apply("Sigmoid", sigmoidAll) }

// Softplus returns log(1 + exp(a)), for any a without overflow: the logistic loss of the margin −a.
func (a Num) Softplus() Num { return a.apply("Softplus", softplusAll) }

// Sin returns the sine of a.
func (a Num) Sin() Num { return a.apply("Sin", sinAll) }

// Cos returns the cosine of a.
func (a Num) Cos() Num { return a.apply("Cos", cosAll) }

// Pow returns a^r. It fails where that, or a derivative that is asked for, is not finite: for a < 0
// unless r is an integer, for a = 0 where r is too small.
func (a Num) Pow(r float64) Num {
	v, p, q := powAll(a.v, r)
	if a.t == nil {
		return Num{v: v}
	}
	return a.t.unary("Pow", a, v, p, q)
}

// Apply returns φ(a) for a function φ of the caller's, given by its value and its first two
// derivatives at a.Value(). It fails where one of them is not finite.
func (a Num) Apply(value, first, second float64) Num {
	if a.t == nil {
		return Num{v: value}
	}
	return a.t.unary("Apply", a, value, first, second)
}

// apply records φ(a).
func (a Num) apply(op string, f func(float64) (v, p, q float64)) Num {
	v, p, q := f(a.v)
	if a.t == nil {
		return Num{v: v}
	}
	return a.t.unary(op, a, v, p, q)
}

// linear returns s·a + c.
func (a Num) linear(op string, s, c float64) Num {
	v := s*a.v + c
	if a.t == nil {
		return Num{v: v}
	}
	return a.t.unary(op, a, v, s, 0)
}

// unary records v = φ(a), with p = φ′(a) and q = φ″(a).
func (t *tape) unary(op string, a Num, v, p, q float64) Num {
	t.own(op, a)
	switch t.order {
	case 0:
		p, q = 0, 0
	case 1:
		q = 0
	}
	if s := v + p + q; s-s != 0 {
		t.badUnary(op, a.v, v, p, q)
	}
	if t.mode.structure && q != 0 {
		a.id = t.curved(a.id)
	}
	n := &t.nums[a.id]
	out := t.number(v, n.dep, n.class)
	o := t.emit(opUnary, out, a.id, 0)
	o.p, o.q = p, q
	return Num{t: t, v: v, id: out, gen: t.gen}
}

// plus returns a + s·b.
func (a Num) plus(op string, b Num, s float64) Num {
	switch {
	case b.t == nil:
		return a.linear(op, 1, s*b.v)
	case a.t == nil:
		return b.linear(op, s, a.v)
	}
	t := shared(op, a, b)
	v := a.v + s*b.v
	if v-v != 0 {
		t.fail(op, "of %v and %v is %v", a.v, b.v, v)
	}
	m, n := &t.nums[a.id], &t.nums[b.id]
	c := class{}
	if t.mode.structure {
		c = t.sum(m.class, n.class)
	}
	out := t.number(v, m.dep|n.dep, c)
	t.emit(opAdd, out, a.id, b.id).p = s
	return Num{t: t, v: v, id: out, gen: t.gen}
}
