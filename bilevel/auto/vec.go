package auto

// Vec is a vector that a loss computes: recorded, if it depends on x or y, or else a constant. A
// recorded Vec is good until the loss returns, and no longer. An operation on constants alone
// allocates its result; one that has a recorded operand does not.
type Vec struct {
	t   *tape // nil for a constant
	v   []float64
	id  int32
	gen uint32
}

// Data returns the constant vector a, in a's own memory, which must stay as it is until the loss
// returns.
func Data(a []float64) Vec { return Vec{v: a} }

// Len returns the number of entries.
func (u Vec) Len() int { return len(u.v) }

// Value returns the entries themselves, for comparisons and loops, to be read only and not to be
// kept. What is computed of them outside of this package has no derivative.
func (u Vec) Value() []float64 { return u.v }

// Slice returns entries i to j−1. It fails unless 0 ≤ i ≤ j ≤ Len.
func (u Vec) Slice(i, j int) Vec {
	if u.t == nil {
		return Vec{v: u.v[i:j:j]}
	}
	t := u.t
	t.ownVec("Slice", u)
	if !(0 <= i && i <= j && j <= len(u.v)) {
		t.fail("Slice", "from %d to %d of %d entries", i, j, len(u.v))
	}
	s := t.newVec()
	v := &t.vecs[u.id]
	s.val, s.adj, s.adjt = v.val[i:j:j], part(v.adj, i, j), part(v.adjt, i, j)
	s.dep, s.affine, s.leaf, s.class, s.by = v.dep, v.affine, v.leaf, v.class.moved(i), int32(len(t.ops))
	out := t.lastVec()
	t.emit(opSlice, out, u.id, int32(i))
	return t.handle(out)
}

// part returns s[i:j], nil for nil.
func part(s []float64, i, j int) []float64 {
	if s == nil {
		return nil
	}
	return s[i:j:j]
}

func (t *tape) handle(id int32) Vec { return Vec{t: t, v: t.vecs[id].val, id: id, gen: t.gen} }

// Add returns u + v. It fails if the lengths differ.
func (u Vec) Add(v Vec) Vec { return u.plus("Add", v, 1) }

// Sub returns u − v. It fails if the lengths differ.
func (u Vec) Sub(v Vec) Vec { return u.plus("Sub", v, -1) }

// plus returns u + s·v.
func (u Vec) plus(op string, v Vec, s float64) Vec {
	t := sharedVec(op, u, v)
	sameLength(op, t, len(u.v), len(v.v))
	return t.entrywise(opVecAdd, u, v, s)
}

// Mul returns the vector of u_i·v_i. It fails if the lengths differ.
func (u Vec) Mul(v Vec) Vec {
	t := sharedVec("Mul", u, v)
	sameLength("Mul", t, len(u.v), len(v.v))
	return t.entrywise(opVecMul, u, v, 0)
}

// entrywise records u + p·v or u∘v; t is nil for constants.
func (t *tape) entrywise(code opcode, u, v Vec, p float64) Vec {
	if t == nil {
		r := make([]float64, len(u.v))
		combine(code, r, u.v, v.v, p)
		return Data(r)
	}
	a, b := t.operand(u), t.operand(v)
	var c class
	if t.mode.structure {
		a, b, c = t.paired(a, b)
	}
	va, vb := &t.vecs[a], &t.vecs[b]
	affine := va.affine && vb.affine && (code == opVecAdd || va.dep == 0 || vb.dep == 0)
	out := t.vector(len(u.v), va.dep|vb.dep, affine, c)
	combine(code, t.vecs[out].val, u.v, v.v, p)
	t.emit(code, out, a, b).p = p
	return t.handle(out)
}

func combine(code opcode, r, u, v []float64, p float64) {
	u, v = u[:len(r)], v[:len(r)]
	if code == opVecMul {
		for i := range r {
			r[i] = u[i] * v[i]
		}
		return
	}
	for i := range r {
		r[i] = u[i] + p*v[i]
	}
}

// Scale returns c·u.
func (u Vec) Scale(c float64) Vec { return u.linear("Scale", c, 0) }

// Shift returns the vector of u_i + c.
func (u Vec) Shift(c float64) Vec { return u.linear("Shift", 1, c) }

// Neg returns −u.
func (u Vec) Neg() Vec { return u.linear("Neg", -1, 0) }

func (u Vec) linear(op string, s, c float64) Vec {
	if u.t == nil {
		r := make([]float64, len(u.v))
		for i, v := range u.v {
			r[i] = s*v + c
		}
		return Data(r)
	}
	t := u.t
	t.ownVec(op, u)
	v := &t.vecs[u.id]
	out := t.vector(len(u.v), v.dep, v.affine, v.class)
	r := t.vecs[out].val
	for i, v := range u.v {
		r[i] = s*v + c
	}
	t.emit(opVecScale, out, u.id, 0).p = s
	return t.handle(out)
}

// ScaleBy returns a·u for a number a.
func (u Vec) ScaleBy(a Num) Vec {
	if a.t == nil {
		return u.linear("ScaleBy", a.v, 0)
	}
	t := meet("ScaleBy", a.t, u.t)
	t.own("ScaleBy", a)
	if u.t != nil {
		t.ownVec("ScaleBy", u)
	}
	b := t.operand(u)
	var c class
	if t.mode.structure {
		a.id = t.core(a.id)
		c = t.vecs[b].class
	}
	out := t.vector(len(u.v), t.nums[a.id].dep|t.vecs[b].dep, false, c)
	r := t.vecs[out].val
	for i, v := range u.v {
		r[i] = a.v * v
	}
	t.emit(opNumScale, out, a.id, b)
	return t.handle(out)
}

// Stack returns the vector of the numbers.
func Stack(a ...Num) Vec {
	var t *tape
	for _, n := range a {
		t = meet("Stack", t, n.t)
	}
	if t == nil {
		r := make([]float64, len(a))
		for i, n := range a {
			r[i] = n.v
		}
		return Data(r)
	}
	first := int32(len(t.ids))
	var dep uint8
	for _, n := range a {
		id := n.id
		if n.t == nil {
			id = t.constant(n.v)
		} else {
			t.own("Stack", n)
			if t.mode.structure {
				id = t.core(id)
			}
		}
		dep |= t.nums[id].dep
		t.ids = append(t.ids, id)
	}
	out := t.vector(len(a), dep, false, class{})
	for i, n := range a {
		t.vecs[out].val[i] = n.v
	}
	t.emit(opStack, out, first, 0)
	return t.handle(out)
}

// constant records a number that depends on nothing.
func (t *tape) constant(v float64) int32 {
	id := t.number(v, 0, class{})
	t.nums[id].by = -1
	return id
}

// Exp returns the vector of exp(u_i).
func (u Vec) Exp() Vec { return u.apply("Exp", expAll) }

// Log returns the vector of logarithms. It fails unless u > 0.
func (u Vec) Log() Vec { return u.apply("Log", logAll) }

// Sqrt returns the vector of square roots. It fails as Num.Sqrt does.
func (u Vec) Sqrt() Vec { return u.apply("Sqrt", sqrtAll) }

// Square returns the vector of u_i².
func (u Vec) Square() Vec { return u.apply("Square", squareAll) }

// Inv returns the vector of 1/u_i. It fails where an entry is 0.
func (u Vec) Inv() Vec { return u.apply("Inv", invAll) }

// Tanh returns the vector of tanh(u_i).
func (u Vec) Tanh() Vec { return u.apply("Tanh", tanhAll) }

// Sigmoid returns the vector of 1/(1 + exp(−u_i)).
func (u Vec) Sigmoid() Vec { return u.apply("Sigmoid", sigmoidAll) }

// Softplus returns the vector of log(1 + exp(u_i)).
func (u Vec) Softplus() Vec { return u.apply("Softplus", softplusAll) }

// Sin returns the vector of sines.
func (u Vec) Sin() Vec { return u.apply("Sin", sinAll) }

// Cos returns the vector of cosines.
func (u Vec) Cos() Vec { return u.apply("Cos", cosAll) }

// Pow returns the vector of u_i^r. It fails as Num.Pow does.
func (u Vec) Pow(r float64) Vec {
	return u.applyPower("Pow", nil, r)
}

func (u Vec) apply(op string, f func(float64) (v, p, q float64)) Vec {
	return u.applyPower(op, f, 0)
}

// applyPower records φ(u), and u^r where f is nil.
func (u Vec) applyPower(op string, f func(float64) (v, p, q float64), r float64) Vec {
	eval := func(a float64) (v, p, q float64) {
		if f == nil {
			return powAll(a, r)
		}
		return f(a)
	}
	if u.t == nil {
		w := make([]float64, len(u.v))
		for i, a := range u.v {
			w[i], _, _ = eval(a)
		}
		return Data(w)
	}
	t := u.t
	t.ownVec(op, u)
	n := len(u.v)
	in := &t.vecs[u.id]
	out := t.vector(n, in.dep, false, in.class)
	w := &t.vecs[out]
	if t.order > 0 {
		w.p = t.mem.take(n)
	}
	if t.order > 1 {
		w.q = t.mem.take(n)
	}
	for i, a := range u.v {
		v, p, q := eval(a)
		w.val[i] = v
		switch t.order {
		case 0:
			p, q = 0, 0
		case 1:
			w.p[i], q = p, 0
		case 2:
			w.p[i], w.q[i] = p, q
		}
		if s := v + p + q; s-s != 0 {
			t.badUnary(op, a, v, p, q)
		}
	}
	t.emit(opMap, out, u.id, 0)
	return t.handle(out)
}
