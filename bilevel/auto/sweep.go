package auto

import "stable/mat/kernel"

func (t *tape) part(s *side, id int32) []float64 {
	o := &t.nodes[id]
	if s.on>>o.dep&1 == 0 {
		return nil
	}
	return s.v[o.at:][:len(o.val)]
}

func (t *tape) operands(o *node) (u, v []float64) { return t.nodes[o.a].val, t.nodes[o.b].val }

// start clears the adjoints from first on, and adds w to that of the result; false if it has none.
func (t *tape) start(first int, id int32, w float64) bool {
	t.adj.fit(first, t.size)
	r := t.part(&t.adj, id)
	if r == nil {
		return false
	}
	r[0] += w
	return true
}

// back computes the adjoints that s holds, from node last to the first: those of the loss, after
// start, or, in adjt, their derivatives along the tangents, of which that of the result is 0.
func (t *tape) back(s *side, last int32) {
	for i := last; i > leafY; i-- {
		if r := t.part(s, i); r != nil {
			t.push(s, &t.nodes[i], r)
			if s == &t.adjt {
				t.bend(&t.nodes[i], t.part(&t.adj, i))
			}
		}
	}
}

// push adds r times o's derivatives to what s has of o's operands. With cutting, a cut has none.
func (t *tape) push(s *side, o *node, r []float64) {
	u, v := t.operands(o)
	switch o.code {
	case opLinear:
		axpy(t.part(s, o.a), o.p, r)
	case opMap:
		axpyProduct(t.part(s, o.a), 1, o.slope, r)
	case opAdd:
		axpy(t.part(s, o.a), 1, r)
		axpy(t.part(s, o.b), o.p, r)
	case opCut:
		if !t.cutting {
			axpy(t.part(s, o.a), 1, r)
		}
	case opStack:
		for k, e := range r {
			if a := t.part(s, t.ids[int(o.c)+k]); a != nil {
				a[0] += e
			}
		}
	case opSum:
		a := t.part(s, o.a)
		for i := range a {
			a[i] += r[0]
		}
	case opSparse:
		axpySparse(t.part(s, o.a), r[0], t.sparses[o.c])
	case opWeight:
		axpyProduct(t.part(s, o.a), r[0], v, v)
		axpyProduct(t.part(s, o.b), 2*r[0], u, v)
	default:
		t.pushProduct(s, o, r, u, v)
	}
}

// pushProduct is push for products, with u and v for the values of their factors.
func (t *tape) pushProduct(s *side, o *node, r, u, v []float64) {
	a, b := t.part(s, o.a), t.part(s, o.b)
	switch o.code {
	case opMul:
		axpyProduct(a, 1, v, r)
		axpyProduct(b, 1, u, r)
	case opDot:
		axpy(a, r[0], v)
		axpy(b, r[0], u)
	case opMatVec, opMatTrans:
		m := t.matrices[o.c]
		if a != nil && v != nil {
			m.outer(o.code, a, r, v)
		}
		if b != nil && u != nil {
			m.product(transposed(o.code), b, u, r)
		}
	}
}

// bend adds the adjoint r of o times o's second derivatives along the tangents to operands' adjt.
func (t *tape) bend(o *node, r []float64) {
	if r == nil {
		return
	}
	tu, tv := t.part(&t.tan, o.a), t.part(&t.tan, o.b)
	switch o.code {
	case opMap:
		if a := t.part(&t.adjt, o.a); a != nil {
			for i, d := range tu {
				a[i] += r[i] * o.slope[len(tu)+i] * d
			}
		}
	case opWeight:
		u, v := t.operands(o)
		b := t.part(&t.adjt, o.b)
		axpyProduct(t.part(&t.adjt, o.a), 2*r[0], v, tv)
		axpyProduct(b, 2*r[0], u, tv)
		axpyProduct(b, 2*r[0], tu, v)
	case opMul, opDot, opMatVec, opMatTrans:
		t.pushProduct(&t.adjt, o, r, tu, tv)
	}
}

// tangents computes derivatives along the leaves' tangents; with cutting, of a cut, by t.direction.
func (t *tape) tangents() {
	t.tan.fit(t.leaves, t.size)
	for i := leafY + 1; int(i) < len(t.nodes); i++ {
		if r := t.part(&t.tan, i); r != nil {
			t.tangent(&t.nodes[i], r)
		}
	}
}

func (t *tape) tangent(o *node, r []float64) {
	tu, tv := t.part(&t.tan, o.a), t.part(&t.tan, o.b)
	u, v := t.operands(o)
	switch o.code {
	case opLinear:
		axpy(r, o.p, tu)
	case opMap:
		axpyProduct(r, 1, o.slope, tu)
	case opAdd:
		axpy(r, 1, tu)
		axpy(r, o.p, tv)
	case opCut:
		if k := t.direction - int(o.c); !t.cutting {
			axpy(r, 1, tu)
		} else if k >= 0 && k < len(r) {
			r[k] = 1
		}
	case opStack:
		for k := range r {
			if d := t.part(&t.tan, t.ids[int(o.c)+k]); d != nil {
				r[k] = d[0]
			}
		}
	case opSum:
		for _, d := range tu {
			r[0] += d
		}
	case opSparse:
		s := t.sparses[o.c]
		for k, c := range s.col {
			r[0] += s.val[k] * tu[c]
		}
	case opWeight:
		for k, d := range tu {
			r[0] += d * v[k] * v[k]
		}
		for k, d := range tv {
			r[0] += 2 * u[k] * v[k] * d
		}
	default:
		t.product(o, r, tu, v)
		t.product(o, r, u, tv)
	}
}

func (t *tape) product(o *node, r, u, v []float64) {
	if u == nil || v == nil {
		return
	}
	switch o.code {
	case opMul:
		axpyProduct(r, 1, u, v)
	case opDot:
		r[0] += kernel.Dot(v, u)
	case opMatVec, opMatTrans:
		t.matrices[o.c].product(o.code, r, u, v)
	}
}
