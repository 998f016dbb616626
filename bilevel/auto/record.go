package auto

// Operations that numbers and vectors share, on nodes of the record.

// slice is entries i to j−1 of u, in its memory.
func (t *tape) slice(u int32, i, j int) *node {
	s := t.nodes[u]
	o := t.node(opSlice, s.val[i:j:j], s.dep, u, 0)
	o.at, o.leaf, o.class = s.at+int32(i), s.leaf, s.class.moved(i)
	return o
}

// linear is p·u + q.
func (t *tape) linear(u int32, p, q float64) *node {
	v := t.nodes[u].val
	o := t.emit(opLinear, t.mem.take(len(v)), u, 0, t.nodes[u].class)
	o.p = p
	affine(o.val, p, v, q)
	return o
}

// add is u + s·v.
func (t *tape) add(u, v int32, s float64) *node {
	var c class
	if t.structured {
		u, v, c = t.summands(u, v)
	}
	o := t.emit(opAdd, t.mem.take(len(t.nodes[u].val)), u, v, c)
	o.p = s
	added(o.val, t.nodes[u].val, s, t.nodes[v].val)
	return o
}

// mul is u∘v.
func (t *tape) mul(u, v int32) *node {
	var c class
	if t.structured {
		u, v, c = t.factors(u, v)
	}
	o := t.emit(opMul, t.mem.take(len(t.nodes[u].val)), u, v, c)
	multiplied(o.val, t.nodes[u].val, t.nodes[v].val)
	return o
}

// mapped is φ(u), entry by entry, with as many derivatives as the mode needs.
func (t *tape) mapped(name string, u int32, f function, r float64, vector bool) *node {
	if t.structured {
		u = t.curved(u)
	}
	in := t.nodes[u].val
	n := len(in)
	mem := t.mem.take(3 * n)
	val, slope := mem[:n:n], mem[n:]
	for i, a := range in {
		v, p, q := f(a, r)
		if t.order < 2 {
			q = 0
		}
		if t.order < 1 {
			p = 0
		}
		val[i], slope[i], slope[n+i] = v, p, q
		if s := v + p + q; s-s != 0 {
			if !vector {
				i = -1
			}
			t.badMap(name, i, a, v, p, q)
		}
	}
	o := t.emit(opMap, val, u, 0, t.nodes[u].class)
	o.slope = slope
	return o
}

// reduced is a sum over the entries of u, and of v if that is not 0; the caller has computed it.
func (t *tape) reduced(code opcode, u, v int32, sum float64) Num {
	c := t.nodes[u].class
	if t.structured && v != 0 {
		if code == opWeight {
			v = t.curved(v)
		}
		u, v, c = t.factors(u, v)
	}
	o := t.emit(code, t.mem.take(1), u, v, c.summed())
	o.val[0] = sum
	return t.num(o)
}
