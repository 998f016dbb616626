package auto

// Num is a number that a loss computes: recorded if it depends on x or y, else a constant. The zero
// Num is 0. A recorded Num is good until the loss returns.
type Num struct {
	t   *tape   // nil for a constant
	v   float64 // of a constant
	id  int32
	gen uint32
}

// Const returns the constant c.
func Const(c float64) Num { return Num{v: c} }

// Value returns the number itself, for comparisons and loops; what is computed of it has no
// derivative.
func (a Num) Value() float64 {
	if a.t == nil {
		return a.v
	}
	a.t.own(nameValue, a.gen)
	a.t.catchUp()
	return a.t.nodes[a.id].val
}

// Add returns a + b.
func (a Num) Add(b Num) Num { return a.plus(nameAdd, b, 1) }

// Sub returns a − b.
func (a Num) Sub(b Num) Num { return a.plus(nameSub, b, -1) }

// Mul returns a·b.
func (a Num) Mul(b Num) Num {
	switch {
	case b.t == nil:
		return a.linear(nameMul, b.v, 0)
	case a.t == nil:
		return b.linear(nameMul, a.v, 0)
	}
	t := shared(nameMul, a.t, a.gen, b.t, b.gen)
	return t.num(t.multiply(opMul, nameMul, a.id, b.id))
}

// Div returns a/b. It fails where b is 0.
func (a Num) Div(b Num) Num {
	switch {
	case b.t == nil && b.v == 0:
		a.t.fail(nameDiv, "by 0")
	case b.t == nil && a.t == nil:
		return Num{v: a.v / b.v}
	case b.t == nil:
		return a.linear(nameDiv, 1/b.v, b.v)
	case a.t == nil:
		b.t.own(nameDiv, b.gen)
		a = Num{t: b.t, id: b.t.constant(a.v), gen: b.t.gen}
	}
	t := shared(nameDiv, a.t, a.gen, b.t, b.gen)
	inverse := b.unary(nameDiv, 0)
	o := t.multiply(opQuotient, nameDiv, a.id, inverse.id)
	o.c = b.id
	return t.num(o)
}

// multiply records a·b.
func (t *tape) multiply(code opcode, name name, a, b int32) *node {
	var c class
	if t.mode.structure {
		a, b, c = t.product(a, b)
	}
	m, n := &t.nodes[a], &t.nodes[b]
	dep := m.dep | n.dep
	f := m.flags | n.flags
	if m.dep == 0 || n.dep == 0 {
		f = t.straight(f, dep)
		f &^= linear // it reads the value of its constant operand
	} else {
		f = t.bent(f, dep)
	}
	o := t.emit(code, name, a, b, dep, f)
	if t.mode.structure {
		o.class = c
	}
	return o
}

// Scale returns c·a.
func (a Num) Scale(c float64) Num { return a.linear(nameScale, c, 0) }

// Shift returns a + c.
func (a Num) Shift(c float64) Num { return a.linear(nameShift, 1, c) }

// Neg returns −a.
func (a Num) Neg() Num { return a.linear(nameNeg, -1, 0) }

// Exp returns exp(a).
func (a Num) Exp() Num { return a.unary(nameExp, 0) }

// Log returns the natural logarithm of a. It fails unless a > 0.
func (a Num) Log() Num { return a.unary(nameLog, 0) }

// Sqrt returns the square root of a. It fails for a < 0, and for a = 0 where a derivative is asked
// for.
func (a Num) Sqrt() Num { return a.unary(nameSqrt, 0) }

// Square returns a².
func (a Num) Square() Num { return a.unary(nameSquare, 0) }

// Inv returns 1/a. It fails where a is 0.
func (a Num) Inv() Num { return a.unary(nameInv, 0) }

// Tanh returns the hyperbolic tangent of a.
func (a Num) Tanh() Num { return a.unary(nameTanh, 0) }

// Sigmoid returns 1/(1 + exp(−a)), for any a without overflow.
func (a Num) Sigmoid() Num { return a.unary(nameSigmoid, 0) }

// Softplus returns log(1 + exp(a)), for any a without overflow: the logistic loss of the margin −a.
func (a Num) Softplus() Num { return a.unary(nameSoftplus, 0) }

// Sin returns the sine of a.
func (a Num) Sin() Num { return a.unary(nameSin, 0) }

// Cos returns the cosine of a.
func (a Num) Cos() Num { return a.unary(nameCos, 0) }

// Pow returns a^r. It fails where that, or a derivative asked for, is not finite: for a < 0 unless
// r is an integer, for a = 0 where r is too small.
func (a Num) Pow(r float64) Num { return a.unary(namePow, r) }

// Apply returns φ(a) for a function of the caller's, given by its value and first two derivatives
// at a.Value(). It fails where one of them is not finite.
func (a Num) Apply(value, first, second float64) Num {
	if a.t == nil {
		return Num{v: value}
	}
	t := a.t
	t.own(nameApply, a.gen)
	o := t.function(nameApply, a.id, second != 0)
	o.val, o.p, o.q = value, first, second
	return t.num(o)
}

func (a Num) unary(name name, r float64) Num {
	if a.t == nil {
		return Num{v: name.constant(nowhere, 0, a.v, r)}
	}
	t := a.t
	t.own(name, a.gen)
	o := t.function(name, a.id, name != namePow || r != 0 && r != 1)
	o.p = r
	return t.num(o)
}

// function records a function of a, parameters still to be set; curved: it has a second derivative.
func (t *tape) function(name name, a int32, curved bool) *node {
	if t.mode.structure && curved {
		a = t.curved(a)
	}
	n := &t.nodes[a]
	o := t.emit(opUnary, name, a, 0, n.dep, t.bent(n.flags, n.dep))
	if t.mode.structure {
		o.class = t.nodes[a].class
	}
	return o
}

// linear returns s·a + c; for Div, a/c, where s = 1/c.
func (a Num) linear(name name, s, c float64) Num {
	t := a.t
	if t == nil {
		return Num{v: s*a.v + c}
	}
	t.own(name, a.gen)
	n := &t.nodes[a.id]
	o := t.emit(opLinear, name, a.id, 0, n.dep, t.straight(n.flags, n.dep))
	o.p, o.q = s, c
	if t.mode.structure {
		o.class = t.nodes[a.id].class
	}
	return t.num(o)
}

// plus returns a + s·b.
func (a Num) plus(name name, b Num, s float64) Num {
	switch {
	case b.t == nil:
		return a.linear(name, 1, s*b.v)
	case a.t == nil:
		return b.linear(name, s, a.v)
	}
	t := shared(name, a.t, a.gen, b.t, b.gen)
	m, n := &t.nodes[a.id], &t.nodes[b.id]
	dep := m.dep | n.dep
	o := t.emit(opAdd, name, a.id, b.id, dep, t.straight(m.flags|n.flags, dep))
	o.p = s
	if t.mode.structure {
		o.class = t.sum(t.nodes[a.id].class, t.nodes[b.id].class)
	}
	return t.num(o)
}
