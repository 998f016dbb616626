package auto

// Vec is a vector, recorded or constant as a Num is. Operations on vectors of different lengths
// fail. Those on constants alone allocate their result; no other does.
type Vec struct {
	handle
	v []float64
}

// Data returns the constant vector a, in a's memory, which must stay until the loss is called
// again.
func Data(a []float64) Vec { return Vec{v: a} }

// Len returns the number of entries.
func (u Vec) Len() int { return len(u.v) }

// Value returns the entries, as Num.Value does, to be read and not kept.
func (u Vec) Value() []float64 {
	if u.t != nil {
		u.own("Value")
	}
	return u.v
}

// Slice returns entries i to j−1. It fails unless 0 ≤ i ≤ j ≤ Len.
func (u Vec) Slice(i, j int) Vec {
	if !(0 <= i && i <= j && j <= len(u.v)) {
		u.t.fail("Slice", "from %d to %d of %d entries", i, j, len(u.v))
	}
	if u.t == nil {
		return Data(u.v[i:j:j])
	}
	u.own("Slice")
	return u.t.vec(u.t.slice(u.id, i, j))
}

// Add and Sub return u + v and u − v.
func (u Vec) Add(v Vec) Vec { return u.plus("Add", v, 1) }
func (u Vec) Sub(v Vec) Vec { return u.plus("Sub", v, -1) }

func (u Vec) plus(name string, v Vec, s float64) Vec {
	t := sharedVecs(name, u, v)
	if t == nil {
		r := make([]float64, len(u.v))
		added(r, u.v, s, v.v)
		return Data(r)
	}
	return t.vec(t.add(t.operand(u), t.operand(v), s))
}

// Mul returns the vector of u_i·v_i.
func (u Vec) Mul(v Vec) Vec {
	t := sharedVecs("Mul", u, v)
	if t == nil {
		r := make([]float64, len(u.v))
		multiplied(r, u.v, v.v)
		return Data(r)
	}
	return t.vec(t.mul(t.operand(u), t.operand(v)))
}

// Div returns the vector of u_i/v_i, to two roundings. It fails where an entry of v is 0.
func (u Vec) Div(v Vec) Vec {
	sharedVecs("Div", u, v)
	return u.Mul(v.unary("Div", inv, 0))
}

// Scale, Shift and Neg return the vectors of c·u_i, u_i + c and −u_i.
func (u Vec) Scale(c float64) Vec { return u.linear("Scale", c, 0) }
func (u Vec) Shift(c float64) Vec { return u.linear("Shift", 1, c) }
func (u Vec) Neg() Vec            { return u.linear("Neg", -1, 0) }

func (u Vec) linear(name string, p, q float64) Vec {
	if u.t == nil {
		r := make([]float64, len(u.v))
		affine(r, p, u.v, q)
		return Data(r)
	}
	u.own(name)
	return u.t.vec(u.t.linear(u.id, p, q))
}

// ScaleBy returns a·u for a number a.
func (u Vec) ScaleBy(a Num) Vec {
	t := shared("ScaleBy", a.handle, u.handle)
	if a.t == nil {
		return u.linear("ScaleBy", a.v, 0)
	}
	id, b := a.id, t.operand(u)
	if t.structured {
		id = t.core(id)
	}
	o := t.emit(opScaleBy, t.mem.take(len(u.v)), id, b, t.nodes[b].class)
	affine(o.val, a.v, u.v, 0)
	return t.vec(o)
}

// Stack returns the vector of the numbers.
func Stack(a ...Num) Vec {
	var h handle
	for _, n := range a {
		if t := shared("Stack", h, n.handle); t != nil && h.t == nil {
			h = n.handle
		}
	}
	t := h.t
	if t == nil {
		r := make([]float64, len(a))
		for i, n := range a {
			r[i] = n.v
		}
		return Data(r)
	}
	first, dep := int32(len(t.ids)), uint8(0)
	for _, n := range a {
		id := n.id // 0 for a constant
		if t.structured {
			id = t.core(id)
		}
		dep |= t.nodes[id].dep
		t.ids = append(t.ids, id)
	}
	o := t.emit(opStack, t.mem.take(len(a)), 0, 0, class{})
	o.c, o.dep = first, dep
	for i, n := range a {
		o.val[i] = n.v
	}
	return t.vec(o)
}

// Functions of the entries, which fail as those of Num do.
func (u Vec) Exp() Vec          { return u.unary("Exp", exp, 0) }
func (u Vec) Log() Vec          { return u.unary("Log", log, 0) }
func (u Vec) Sqrt() Vec         { return u.unary("Sqrt", sqrt, 0) }
func (u Vec) Square() Vec       { return u.unary("Square", square, 0) }
func (u Vec) Inv() Vec          { return u.unary("Inv", inv, 0) }
func (u Vec) Tanh() Vec         { return u.unary("Tanh", tanh, 0) }
func (u Vec) Sigmoid() Vec      { return u.unary("Sigmoid", sigmoid, 0) }
func (u Vec) Softplus() Vec     { return u.unary("Softplus", softplus, 0) }
func (u Vec) Sin() Vec          { return u.unary("Sin", sin, 0) }
func (u Vec) Cos() Vec          { return u.unary("Cos", cos, 0) }
func (u Vec) Pow(r float64) Vec { return u.unary("Pow", pow, r) }

// Apply returns the vector of φ(u_i) for an f that returns what Num.Apply takes, at u_i.
func (u Vec) Apply(f func(a float64) (value, first, second float64)) Vec {
	return u.unary("Apply", func(a, _ float64) (v, p, q float64) { return f(a) }, 0)
}

func (u Vec) unary(name string, f function, r float64) Vec {
	if u.t == nil {
		w := make([]float64, len(u.v))
		for i, a := range u.v {
			w[i] = constant(name, i, f, a, r)
		}
		return Data(w)
	}
	u.own(name)
	return u.t.vec(u.t.mapped(name, u.id, f, r, true))
}
