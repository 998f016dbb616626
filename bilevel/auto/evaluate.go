package auto

import "stable/mat/kernel"

// catchUp evaluates all that is recorded.
func (t *tape) catchUp() {
	if t.eager {
		return
	}
	for ; t.done < len(t.nodes); t.done++ {
		t.evaluate(&t.nodes[t.done])
	}
}

// forward evaluates the nodes up to last that are read and not evaluated yet.
func (t *tape) forward(last int32) {
	for i := max(t.low, int32(t.done)); i <= last; i++ {
		if o := &t.nodes[i]; o.flags&valued != 0 {
			t.evaluate(o)
		}
	}
}

// evaluate computes o from its operands, and the derivatives that the mode needs, once at most.
func (t *tape) evaluate(o *node) {
	switch o.code {
	case opConst:
	case opLinear:
		t.evaluateLinear(o)
	case opUnary:
		t.evaluateUnary(o)
	case opAdd:
		a, b := t.nodes[o.a].val, t.nodes[o.b].val
		o.val = a + o.p*b
		if o.val-o.val != 0 {
			t.fail(o.name, "of %v and %v is %v", a, b, o.val)
		}
	case opMul, opQuotient:
		a, b := t.nodes[o.a].val, t.nodes[o.b].val
		o.val = a * b
		if o.code == opQuotient {
			b = t.nodes[o.c].val
			o.val = a / b
		}
		if o.val-o.val != 0 {
			t.fail(o.name, "of %v and %v is %v", a, b, o.val)
		}
	case opCut:
		o.val = t.nodes[o.a].val
	default:
		if o.code >= opSlice {
			t.evaluateVec(o)
			return
		}
		o.val = t.reduction(o)
		if o.val-o.val != 0 {
			t.badReduction(o)
		}
	}
}

func (t *tape) evaluateLinear(o *node) {
	a := t.nodes[o.a].val
	if o.name == nameDiv {
		o.val = a / o.q
	} else {
		o.val = o.p*a + o.q
	}
	if o.val-o.val != 0 || o.p-o.p != 0 {
		t.badLinear(o, a)
	}
}

func (t *tape) evaluateUnary(o *node) {
	a := t.nodes[o.a].val
	if o.name != nameApply {
		o.val, o.p, o.q = o.name.function(a, o.p)
	}
	switch t.order {
	case 0:
		o.p, o.q = 0, 0
	case 1:
		o.q = 0
	}
	if s := o.val + o.p + o.q; s-s != 0 {
		t.badUnary(o.name, "", a, o.val, o.p, o.q)
	}
}

// reduction is a number made of vectors.
func (t *tape) reduction(o *node) float64 {
	u, s := t.vecs[o.a].val, 0.0
	switch o.code {
	case opAt:
		return u[o.b]
	case opSum:
		for _, v := range u {
			s += v
		}
	case opDot:
		return kernel.Dot(u, t.vecs[o.b].val)
	case opSparse:
		a := &t.sparses[o.b]
		for k, c := range a.col {
			s += a.val[k] * u[c]
		}
	case opSquare:
		return kernel.Dot(u, u)
	case opWeight:
		return weighted(u, t.vecs[o.b].val)
	}
	return s
}

func (t *tape) evaluateVec(o *node) {
	out := &t.vecs[o.out]
	r := out.val
	switch o.code {
	case opSlice:
	case opMap:
		t.evaluateMap(o, out)
	case opVecAdd, opVecMul:
		combine(o.code, r, t.vecs[o.a].val, t.vecs[o.b].val, o.p)
	case opVecScale:
		affine(r, o.p, t.vecs[o.a].val, o.q)
	case opNumScale:
		scaled(r, t.nodes[o.a].val, t.vecs[o.b].val)
	case opStack:
		for k := range r {
			r[k] = t.nodes[t.ids[int(o.a)+k]].val
		}
	case opMatVec, opMatTrans:
		w, u := t.vecs[o.a].val, t.vecs[o.b].val
		clear(r)
		t.matrices[o.c].product(o.code, r, w, u)
		for _, v := range r {
			if v-v != 0 {
				t.badResult(o.name, v, w, u)
			}
		}
	case opVecCut:
		copy(r, t.vecs[o.a].val)
	}
}

func (t *tape) evaluateMap(o *node, out *vec) {
	for i, a := range t.vecs[o.a].val {
		if o.name != nameApply {
			v, p, q := o.name.function(a, o.p)
			t.setEntry(out, i, v, p, q)
		}
		v, p, q := out.val[i], 0.0, 0.0
		if t.order > 0 {
			p = out.p[i]
		}
		if t.order > 1 {
			q = out.q[i]
		}
		if s := v + p + q; s-s != 0 {
			t.badUnary(o.name, entry(i), a, v, p, q)
		}
	}
}

func (t *tape) setEntry(out *vec, i int, v, p, q float64) {
	out.val[i] = v
	if t.order > 0 {
		out.p[i] = p
	}
	if t.order > 1 {
		out.q[i] = q
	}
}
