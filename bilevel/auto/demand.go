package auto

// What a product with a second derivative reads of a record.
//
// The derivative of g_x along v in y comes from operations that are not linear, and that depend on
// x and on y: they bend. Adjoints are wanted of values with such a one at or below them (live),
// tangents of its operands, values only where the derivatives of operations on the way depend on
// them.

// never is a set of leaves that nothing depends on: both, where all is read.
const never = 0xff

// read sets what is read in a mode.
func (t *tape) read(m *mode) {
	t.both = never
	t.always = [8]flags{}
	switch {
	case m.order == 2 && !m.structure:
		t.both = m.seed | m.want
	case m.order == 2:
		for dep := range t.always {
			t.always[dep] = t.readable(uint8(dep))
		}
	}
}

// readable is what can be read of a value that depends on dep.
func (t *tape) readable(dep uint8) flags {
	f := valued
	if dep&t.seed != 0 {
		f |= moving
	}
	if dep&t.want != 0 {
		f |= turning
	}
	return f
}

// bent is the flags of a nonlinear function that depends on dep; f joins those of its operands.
func (t *tape) bent(f flags, dep uint8) flags {
	f = f&live | f&live<<1
	if dep&t.both == t.both {
		f |= live | bends
		if t.low == 0 {
			t.low = int32(len(t.nodes))
		}
	}
	return f | t.always[dep]
}

func (t *tape) straight(f flags, dep uint8) flags {
	return f&live | f&live<<1 | linear | t.always[dep]
}

// passed is what the operands of an operation with flags f have to supply.
func (f flags) passed() flags {
	g := f & (valued | moving | turning)
	switch {
	case f&linear != 0:
		return g
	case f&bends != 0:
		return valued | moving | turning
	case f&(valued|moving|turning|live) != 0:
		return g | valued
	}
	return 0
}

// demand marks what is read, from node id, the result, to the first, and evaluates it.
func (t *tape) demand(id int32) {
	if t.nodes[id].flags&live == 0 {
		return
	}
	t.needs, t.swept = 0, true
	t.nodes[id].adj = t.weight
	for i := id; i >= t.low; i-- {
		o := &t.nodes[i]
		if o.code >= opSlice {
			o.flags |= t.vecs[o.out].flags
		}
		if o.flags&carries != 0 && t.swept {
			t.sweep1(o)
		}
		g := o.flags.passed()
		if g == 0 {
			continue
		}
		switch o.code {
		case opLinear, opCut:
			t.ask(o.a, g)
		case opUnary:
			o.flags |= valued // and derivatives with it
			t.needs |= valued
			t.ask(o.a, g)
		case opAdd, opMul, opQuotient:
			t.ask(o.a, g)
			t.ask(o.b, g)
		case opNumScale:
			t.ask(o.a, g)
			t.askVec(o.b, g)
		case opStack:
			for k := range t.vecs[o.out].val {
				t.ask(t.ids[int(o.a)+k], g)
			}
		case opMap:
			o.flags |= valued
			t.needs |= valued
			t.askVec(o.a, g)
		case opDot, opWeight, opVecAdd, opVecMul, opMatVec, opMatTrans:
			t.askVec(o.a, g)
			t.askVec(o.b, g)
		case opAt, opSum, opSparse, opSquare, opSlice, opVecScale, opVecCut:
			t.askVec(o.a, g)
		}
	}
	if t.needs&valued != 0 {
		t.forward(id)
	}
}

// sweep1 sweeps back through o where it reads no value of an operand; from the first operation that
// does, reverse does.
func (t *tape) sweep1(o *node) {
	switch o.code {
	case opLinear:
		t.nodes[o.a].adj += o.adj * o.p
	case opAdd:
		t.nodes[o.a].adj += o.adj
		t.nodes[o.b].adj += o.adj * o.p
	default:
		t.swept = false
		return
	}
	o.flags &^= carries
}

// ask marks what an operation reads of number a.
func (t *tape) ask(a int32, g flags) {
	n := &t.nodes[a]
	g &= t.readable(n.dep)
	n.flags |= g
	t.needs |= g
	t.low = min(t.low, a)
}

func (t *tape) askVec(a int32, g flags) {
	u := &t.vecs[a]
	g &= t.readable(u.dep)
	u.flags |= g
	if u.by != 0 {
		t.needs |= g
		t.low = min(t.low, u.by)
	}
}

// follow makes the sweeps of a product, for number id, which is live.
func (t *tape) follow(id int32) {
	if !t.swept {
		t.reverse(id)
	}
	if t.needs&moving != 0 {
		t.tangents()
	}
	t.second(id)
}
