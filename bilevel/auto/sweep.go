package auto

import "stable/mat/kernel"

// reverse computes adjoints from number last to the first; the caller has set that of the result.
// With cutting, the adjoint of a cut stays with it.
func (t *tape) reverse(last int32) {
	for i := last; i >= max(t.low, 1); i-- {
		o := &t.nodes[i]
		if o.flags&carries == 0 {
			continue
		}
		if o.code >= opSlice {
			t.reverseVec(o)
			continue
		}
		r := o.adj
		if r == 0 {
			continue
		}
		switch o.code {
		case opLinear, opUnary:
			t.nodes[o.a].adj += r * o.p
		case opAdd:
			t.nodes[o.a].adj += r
			t.nodes[o.b].adj += r * o.p
		case opMul, opQuotient:
			a, b := &t.nodes[o.a], &t.nodes[o.b]
			a.adj += r * b.val
			b.adj += r * a.val
		case opCut:
			if !t.cutting {
				t.nodes[o.a].adj += r
			}
		case opAt:
			if u := &t.vecs[o.a]; u.adj != nil {
				u.adj[o.b] += r
			}
		case opSum:
			addConst(t.vecs[o.a].adj, r)
		case opDot:
			u, v := &t.vecs[o.a], &t.vecs[o.b]
			axpy(u.adj, r, v.val)
			axpy(v.adj, r, u.val)
		case opSparse:
			axpySparse(t.vecs[o.a].adj, r, t.sparses[o.b])
		case opSquare:
			u := &t.vecs[o.a]
			axpy(u.adj, 2*r, u.val)
		case opWeight:
			w, u := &t.vecs[o.a], &t.vecs[o.b]
			axpyProduct(w.adj, r, u.val, u.val)
			axpyProduct(u.adj, 2*r, w.val, u.val)
		}
	}
}

func (t *tape) reverseVec(o *node) {
	r := t.vecs[o.out].adj
	if r == nil {
		return
	}
	switch o.code {
	case opMap:
		axpyProduct(t.vecs[o.a].adj, 1, t.vecs[o.out].p, r)
	case opVecAdd:
		axpy(t.vecs[o.a].adj, 1, r)
		axpy(t.vecs[o.b].adj, o.p, r)
	case opVecMul:
		u, v := &t.vecs[o.a], &t.vecs[o.b]
		axpyProduct(u.adj, 1, v.val, r)
		axpyProduct(v.adj, 1, u.val, r)
	case opVecScale:
		axpy(t.vecs[o.a].adj, o.p, r)
	case opNumScale:
		a, u := &t.nodes[o.a], &t.vecs[o.b]
		a.adj += kernel.Dot(r, u.val)
		axpy(u.adj, a.val, r)
	case opStack:
		for k, v := range r {
			t.nodes[t.ids[int(o.a)+k]].adj += v
		}
	case opMatVec, opMatTrans:
		w, u, m := &t.vecs[o.a], &t.vecs[o.b], t.matrices[o.c]
		if w.adj != nil {
			m.outer(o.code, w.adj, r, u.val)
		}
		if u.adj != nil {
			m.product(transposed(o.code), u.adj, w.val, r)
		}
	case opVecCut:
		if !t.cutting {
			axpy(t.vecs[o.a].adj, 1, r)
		}
	}
}

// tangents computes derivatives in the direction that the tan of x and y holds; nil means 0. With
// cutting, that of a cut is given by t.direction.
func (t *tape) tangents() {
	for i := max(t.low, 1); i < int32(len(t.nodes)); i++ {
		o := &t.nodes[i]
		if o.flags&moving == 0 {
			continue
		}
		if o.code >= opSlice {
			t.tangentVec(o)
			continue
		}
		r := 0.0
		switch o.code {
		case opLinear, opUnary:
			r = o.p * t.nodes[o.a].tan
		case opAdd:
			r = t.nodes[o.a].tan + o.p*t.nodes[o.b].tan
		case opMul, opQuotient:
			a, b := &t.nodes[o.a], &t.nodes[o.b]
			r = a.tan*b.val + a.val*b.tan
		case opCut:
			r = t.nodes[o.a].tan
			if t.cutting {
				r = t.cutTangent(int(o.b), r)
			}
		case opAt:
			if u := &t.vecs[o.a]; u.tan != nil {
				r = u.tan[o.b]
			}
		case opSum:
			for _, v := range t.vecs[o.a].tan {
				r += v
			}
		case opDot:
			u, v := &t.vecs[o.a], &t.vecs[o.b]
			if u.tan != nil {
				r = kernel.Dot(u.tan, v.val)
			}
			if v.tan != nil {
				r += kernel.Dot(v.tan, u.val)
			}
		case opSparse:
			if u := &t.vecs[o.a]; u.tan != nil {
				s := &t.sparses[o.b]
				for k, c := range s.col {
					r += s.val[k] * u.tan[c]
				}
			}
		case opSquare:
			u := &t.vecs[o.a]
			r = 2 * kernel.Dot(u.tan, u.val)
		case opWeight:
			w, u := &t.vecs[o.a], &t.vecs[o.b]
			for k, v := range w.tan {
				r += v * u.val[k] * u.val[k]
			}
			for k, v := range u.tan {
				r += 2 * w.val[k] * u.val[k] * v
			}
		}
		o.tan = r
	}
}

func (t *tape) tangentVec(o *node) {
	out := &t.vecs[o.out]
	switch o.code {
	case opSlice:
		out.tan = part(t.vecs[o.a].tan, int(o.b), int(o.b)+len(out.val))
	case opNumScale:
		a, u := &t.nodes[o.a], &t.vecs[o.b]
		if out.tan = nil; a.tan != 0 || u.tan != nil {
			out.tan = out.buf
			scaled(out.tan, a.tan, u.val)
			axpy(out.tan[:len(u.tan)], a.val, u.tan)
		}
	case opStack:
		out.tan = nil
		for k := range out.buf {
			out.tan = out.buf
			out.tan[k] = t.nodes[t.ids[int(o.a)+k]].tan
		}
	case opMap, opVecScale, opVecCut:
		t.tangentOne(o, out, &t.vecs[o.a])
	default:
		t.tangentTwo(o, out, &t.vecs[o.a], &t.vecs[o.b])
	}
}

func (t *tape) tangentOne(o *node, out, u *vec) {
	if o.code == opVecCut && t.cutting {
		t.cutVecTangent(int(o.b), out, u)
		return
	}
	if out.tan = nil; u.tan == nil {
		return
	}
	out.tan = out.buf
	switch o.code {
	case opMap:
		for k, v := range u.tan {
			out.tan[k] = out.p[k] * v
		}
	case opVecScale:
		scaled(out.tan, o.p, u.tan)
	case opVecCut:
		copy(out.tan, u.tan)
	}
}

func (t *tape) tangentTwo(o *node, out, u, v *vec) {
	if out.tan = nil; u.tan == nil && v.tan == nil {
		return
	}
	r := out.buf
	out.tan = r
	clear(r)
	switch o.code {
	case opVecAdd:
		axpy(r[:len(u.tan)], 1, u.tan)
		axpy(r[:len(v.tan)], o.p, v.tan)
	case opVecMul:
		axpyProduct(r[:len(u.tan)], 1, v.val, u.tan)
		axpyProduct(r[:len(v.tan)], 1, u.val, v.tan)
	case opMatVec, opMatTrans:
		m := t.matrices[o.c]
		if u.tan != nil {
			m.product(o.code, r, u.tan, v.val)
		}
		if v.tan != nil {
			m.product(o.code, r, u.val, v.tan)
		}
	}
}

// second computes the derivatives of all adjoints in the direction of tangents; that of the result
// is 0. With cutting, those of a cut stay with it.
func (t *tape) second(last int32) {
	for i := last; i >= max(t.low, 1); i-- {
		o := &t.nodes[i]
		if o.flags&(turning|bends) == 0 {
			continue
		}
		if o.code >= opSlice {
			t.secondVec(o)
			continue
		}
		r, s := o.adj, o.adjt
		switch o.code {
		case opLinear:
			t.nodes[o.a].adjt += s * o.p
		case opUnary:
			a := &t.nodes[o.a]
			a.adjt += s*o.p + r*o.q*a.tan
		case opAdd:
			t.nodes[o.a].adjt += s
			t.nodes[o.b].adjt += s * o.p
		case opMul, opQuotient:
			a, b := &t.nodes[o.a], &t.nodes[o.b]
			a.adjt += s*b.val + r*b.tan
			b.adjt += s*a.val + r*a.tan
		case opCut:
			if !t.cutting {
				t.nodes[o.a].adjt += s
			}
		case opAt:
			if u := &t.vecs[o.a]; u.adjt != nil {
				u.adjt[o.b] += s
			}
		case opSum:
			addConst(t.vecs[o.a].adjt, s)
		case opDot:
			u, v := &t.vecs[o.a], &t.vecs[o.b]
			axpy(u.adjt, s, v.val)
			axpyTangent(u.adjt, r, v.tan)
			axpy(v.adjt, s, u.val)
			axpyTangent(v.adjt, r, u.tan)
		case opSparse:
			axpySparse(t.vecs[o.a].adjt, s, t.sparses[o.b])
		case opSquare:
			u := &t.vecs[o.a]
			axpy(u.adjt, 2*s, u.val)
			axpyTangent(u.adjt, 2*r, u.tan)
		case opWeight:
			t.secondWeight(o, r, s)
		}
	}
}

func (t *tape) secondWeight(o *node, r, s float64) {
	w, u := &t.vecs[o.a], &t.vecs[o.b]
	if s != 0 {
		axpyProduct(w.adjt, s, u.val, u.val)
		axpyProduct(u.adjt, 2*s, w.val, u.val)
	}
	if u.tan != nil {
		axpyProduct(w.adjt, 2*r, u.val, u.tan)
		axpyProduct(u.adjt, 2*r, w.val, u.tan)
	}
	if w.tan != nil {
		axpyProduct(u.adjt, 2*r, w.tan, u.val)
	}
}

func (t *tape) secondVec(o *node) {
	out := &t.vecs[o.out]
	r, s := out.adj, out.adjt
	if s == nil {
		return
	}
	switch o.code {
	case opMap:
		u := &t.vecs[o.a]
		axpyProduct(u.adjt, 1, out.p, s)
		if u.tan != nil && u.adjt != nil {
			for k, v := range u.tan {
				u.adjt[k] += r[k] * out.q[k] * v
			}
		}
	case opVecAdd:
		axpy(t.vecs[o.a].adjt, 1, s)
		axpy(t.vecs[o.b].adjt, o.p, s)
	case opVecMul:
		u, v := &t.vecs[o.a], &t.vecs[o.b]
		axpyProduct(u.adjt, 1, v.val, s)
		axpyProduct(v.adjt, 1, u.val, s)
		axpyTangents(u.adjt, r, v.tan)
		axpyTangents(v.adjt, r, u.tan)
	case opVecScale:
		axpy(t.vecs[o.a].adjt, o.p, s)
	case opNumScale:
		a, u := &t.nodes[o.a], &t.vecs[o.b]
		a.adjt += kernel.Dot(s, u.val)
		axpy(u.adjt, a.val, s)
		if u.tan != nil {
			a.adjt += kernel.Dot(r, u.tan)
		}
		axpyTangent(u.adjt, a.tan, r)
	case opStack:
		for k, v := range s {
			t.nodes[t.ids[int(o.a)+k]].adjt += v
		}
	case opMatVec, opMatTrans:
		t.secondMatrix(o, r, s)
	case opVecCut:
		if !t.cutting {
			axpy(t.vecs[o.a].adjt, 1, s)
		}
	}
}

func (t *tape) secondMatrix(o *node, r, s []float64) {
	w, u, m := &t.vecs[o.a], &t.vecs[o.b], t.matrices[o.c]
	if w.adjt != nil {
		m.outer(o.code, w.adjt, s, u.val)
		if u.tan != nil {
			m.outer(o.code, w.adjt, r, u.tan)
		}
	}
	if u.adjt != nil {
		m.product(transposed(o.code), u.adjt, w.val, s)
		if w.tan != nil {
			m.product(transposed(o.code), u.adjt, w.tan, r)
		}
	}
}
