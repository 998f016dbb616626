package auto

// Vec is a vector that a loss computes: recorded if it depends on x or y, else a constant. A
// recorded Vec is good until the loss returns. Operations on vectors of different lengths fail. An
// operation on constants alone allocates its result; no other does.
type Vec struct {
	t   *tape // nil for a constant
	v   []float64
	id  int32
	gen uint32
}

// Data returns the constant vector a, in a's memory, which must stay until the loss is called
// again.
func Data(a []float64) Vec { return Vec{v: a} }

// Len returns the number of entries.
func (u Vec) Len() int { return len(u.v) }

// Value returns the entries, for comparisons and loops, to be read and not kept; what is computed
// of them has no derivative.
func (u Vec) Value() []float64 {
	if u.t != nil {
		u.t.own(nameValue, u.gen)
		if u.id > leafY {
			u.t.catchUp()
		}
	}
	return u.v
}

// Slice returns entries i to j−1. It fails unless 0 ≤ i ≤ j ≤ Len.
func (u Vec) Slice(i, j int) Vec {
	t := u.t
	if !(0 <= i && i <= j && j <= len(u.v)) {
		t.fail(nameSlice, "from %d to %d of %d entries", i, j, len(u.v))
	}
	if t == nil {
		return Vec{v: u.v[i:j:j]}
	}
	t.own(nameSlice, u.gen)
	s := t.newVec(u.v[i:j:j], 0, 0)
	v := &t.vecs[u.id]
	s.adj, s.adjt = part(v.adj, i, j), part(v.adjt, i, j)
	s.dep, s.leaf, s.class, s.by = v.dep, v.leaf, v.class.moved(i), int32(len(t.nodes))
	s.flags = t.straight(v.flags, v.dep)
	return t.emitVec(opSlice, nameSlice, t.lastVec(), u.id, int32(i), 0, 0, 0)
}

// part returns s[i:j], nil for nil.
func part(s []float64, i, j int) []float64 {
	if s == nil {
		return nil
	}
	return s[i:j:j]
}

// Add returns u + v.
func (u Vec) Add(v Vec) Vec { return u.plus(nameAdd, v, 1) }

// Sub returns u − v.
func (u Vec) Sub(v Vec) Vec { return u.plus(nameSub, v, -1) }

// plus returns u + s·v.
func (u Vec) plus(name name, v Vec, s float64) Vec {
	t := shared(name, u.t, u.gen, v.t, v.gen)
	sameLength(name, t, len(u.v), len(v.v))
	return t.entrywise(opVecAdd, name, u, v, s)
}

// Mul returns the vector of u_i·v_i.
func (u Vec) Mul(v Vec) Vec {
	t := shared(nameMul, u.t, u.gen, v.t, v.gen)
	sameLength(nameMul, t, len(u.v), len(v.v))
	return t.entrywise(opVecMul, nameMul, u, v, 0)
}

// Div returns the vector of u_i/v_i, to two roundings. It fails where an entry of v is 0.
func (u Vec) Div(v Vec) Vec {
	t := shared(nameDiv, u.t, u.gen, v.t, v.gen)
	sameLength(nameDiv, t, len(u.v), len(v.v))
	if v.t == nil {
		inverse := Vec{}
		if t == nil {
			inverse.v = make([]float64, len(v.v))
		} else {
			inverse.v = t.mem.take(len(v.v))
		}
		for i, a := range v.v {
			inverse.v[i] = nameDiv.constant(entry, i, a, 0)
		}
		return t.entrywise(opVecMul, nameDiv, u, inverse, 0)
	}
	return t.entrywise(opVecMul, nameDiv, u, v.unary(nameDiv, 0), 0)
}

// entrywise records u + p·v or u∘v; t is nil for constants.
func (t *tape) entrywise(code opcode, name name, u, v Vec, p float64) Vec {
	if t == nil {
		r := make([]float64, len(u.v))
		combine(code, r, u.v, v.v, p)
		return Data(r)
	}
	a, b := t.operand(u.t, u.id, u.v), t.operand(v.t, v.id, v.v)
	var c class
	if t.mode.structure {
		a, b, c = t.paired(a, b)
	}
	m, n := &t.vecs[a], &t.vecs[b]
	dep, f := m.dep|n.dep, m.flags|n.flags
	if code == opVecMul && m.dep != 0 && n.dep != 0 {
		f = t.bent(f, dep)
	} else {
		f = t.straight(f, dep)
	}
	out := t.vector(len(u.v), dep, f, c)
	return t.emitVec(code, name, out, a, b, 0, p, 0)
}

// Scale returns c·u.
func (u Vec) Scale(c float64) Vec { return u.linear(nameScale, c, 0) }

// Shift returns the vector of u_i + c.
func (u Vec) Shift(c float64) Vec { return u.linear(nameShift, 1, c) }

// Neg returns −u.
func (u Vec) Neg() Vec { return u.linear(nameNeg, -1, 0) }

func (u Vec) linear(name name, s, c float64) Vec {
	t := u.t
	if t == nil {
		r := make([]float64, len(u.v))
		affine(r, s, u.v, c)
		return Data(r)
	}
	t.own(name, u.gen)
	v := &t.vecs[u.id]
	out := t.vector(len(u.v), v.dep, t.straight(v.flags, v.dep), v.class)
	return t.emitVec(opVecScale, name, out, u.id, 0, 0, s, c)
}

// ScaleBy returns a·u for a number a.
func (u Vec) ScaleBy(a Num) Vec {
	if a.t == nil {
		return u.linear(nameScaleBy, a.v, 0)
	}
	t := meet(nameScaleBy, a.t, u.t)
	t.own(nameScaleBy, a.gen)
	if u.t != nil {
		t.own(nameScaleBy, u.gen)
	}
	b := t.operand(u.t, u.id, u.v)
	var c class
	if t.mode.structure {
		a.id = t.core(a.id)
		c = t.vecs[b].class
	}
	m, n := &t.nodes[a.id], &t.vecs[b]
	dep, f := m.dep|n.dep, m.flags|n.flags
	if n.dep != 0 {
		f = t.bent(f, dep)
	} else {
		f = t.straight(f, dep)
	}
	out := t.vector(len(u.v), dep, f, c)
	return t.emitVec(opNumScale, nameScaleBy, out, a.id, b, 0, 0, 0)
}

// Stack returns the vector of the numbers.
func Stack(a ...Num) Vec {
	var t *tape
	for _, n := range a {
		t = meet(nameStack, t, n.t)
	}
	if t == nil {
		r := make([]float64, len(a))
		for i, n := range a {
			r[i] = n.v
		}
		return Data(r)
	}
	first := int32(len(t.ids))
	dep, f := uint8(0), flags(0)
	for _, n := range a {
		id := n.id
		if n.t == nil {
			id = t.constant(n.v)
		} else {
			t.own(nameStack, n.gen)
			if t.mode.structure {
				id = t.core(id)
			}
		}
		dep |= t.nodes[id].dep
		f |= t.nodes[id].flags
		t.ids = append(t.ids, id)
	}
	out := t.vector(len(a), dep, t.straight(f, dep), class{})
	return t.emitVec(opStack, nameStack, out, first, 0, 0, 0, 0)
}

// Exp returns the vector of exp(u_i).
func (u Vec) Exp() Vec { return u.unary(nameExp, 0) }

// Log returns the vector of logarithms. It fails unless u > 0.
func (u Vec) Log() Vec { return u.unary(nameLog, 0) }

// Sqrt returns the vector of square roots. It fails as Num.Sqrt does.
func (u Vec) Sqrt() Vec { return u.unary(nameSqrt, 0) }

// Square returns the vector of u_i².
func (u Vec) Square() Vec { return u.unary(nameSquare, 0) }

// Inv returns the vector of 1/u_i. It fails where an entry is 0.
func (u Vec) Inv() Vec { return u.unary(nameInv, 0) }

// Tanh returns the vector of tanh(u_i).
func (u Vec) Tanh() Vec { return u.unary(nameTanh, 0) }

// Sigmoid returns the vector of 1/(1 + exp(−u_i)).
func (u Vec) Sigmoid() Vec { return u.unary(nameSigmoid, 0) }

// Softplus returns the vector of log(1 + exp(u_i)).
func (u Vec) Softplus() Vec { return u.unary(nameSoftplus, 0) }

// Sin returns the vector of sines.
func (u Vec) Sin() Vec { return u.unary(nameSin, 0) }

// Cos returns the vector of cosines.
func (u Vec) Cos() Vec { return u.unary(nameCos, 0) }

// Pow returns the vector of u_i^r. It fails as Num.Pow does.
func (u Vec) Pow(r float64) Vec { return u.unary(namePow, r) }

func (u Vec) unary(name name, r float64) Vec {
	if u.t == nil {
		w := make([]float64, len(u.v))
		for i, a := range u.v {
			w[i] = name.constant(entry, i, a, r)
		}
		return Data(w)
	}
	u.t.own(name, u.gen)
	out, _ := u.mapped()
	return u.t.emitVec(opMap, name, out, u.id, 0, 0, r, 0)
}

func (u Vec) mapped() (int32, *vec) {
	t, n := u.t, len(u.v)
	in := &t.vecs[u.id]
	out := t.vector(n, in.dep, t.bent(in.flags, in.dep), in.class)
	w := &t.vecs[out]
	if t.order > 0 {
		w.p = t.mem.take(n)
	}
	if t.order > 1 {
		w.q = t.mem.take(n)
	}
	return out, w
}

// Apply returns the vector of φ(u_i) for a function of the caller's, which returns its value and
// first two derivatives at u_i, as Num.Apply takes them.
func (u Vec) Apply(f func(a float64) (value, first, second float64)) Vec {
	val := u.Value()
	if u.t == nil {
		w := make([]float64, len(val))
		for i, a := range val {
			w[i], _, _ = f(a)
		}
		return Data(w)
	}
	out, w := u.mapped()
	for i, a := range val {
		v, p, q := f(a)
		u.t.setEntry(w, i, v, p, q)
	}
	return u.t.emitVec(opMap, nameApply, out, u.id, 0, 0, 0, 0)
}
