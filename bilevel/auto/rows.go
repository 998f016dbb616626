package auto

import "stable/mat/kernel"

// row is the gradient of a cut variable in one leaf: coef·val from entry off on, or off columns
// col; val nil is 0.
type row struct {
	off  int
	col  []int32
	val  []float64
	coef float64
}

func (r *row) addTo(dst []float64, s float64) {
	switch {
	case r.val == nil:
	case r.col != nil:
		axpySparse(dst[r.off:], s*r.coef, sparse{r.col, r.val})
	default:
		kernel.Axpy(dst[r.off:][:len(r.val)], s*r.coef, r.val)
	}
}

func (r *row) entry(k int) (i int, v float64) {
	v = r.coef * r.val[k]
	if r.col != nil {
		k = int(r.col[k])
	}
	return r.off + k, v
}

var one = []float64{1}

// rows finds the gradients of all cut variables.
func (t *tape) rows() {
	p := &t.plan
	for _, c := range t.cuts {
		for k := range c.n {
			rx, ry := &p.x[c.first+k], &p.y[c.first+k]
			*rx, *ry = row{}, row{}
			if r, ok := t.leafRow(c.in, k); ok {
				if dx := len(t.nodes[leafX].val); r.off < dx {
					*rx = r
				} else {
					r.off -= dx
					*ry = r
				}
				continue
			}
			t.adj.fit(0, t.size)
			t.part(&t.adj, c.in)[k] = 1
			t.reverse(c.in)
			x, y := t.leafParts(&t.adj)
			*rx, *ry = row{val: t.kept(x), coef: 1}, row{val: t.kept(y), coef: 1}
		}
	}
}

// leafRow finds the row of entry k of value id, from the first entry of x on, where it costs no
// sweep: for entries of leaves, their products with constants, and multiples, without cuts below.
func (t *tape) leafRow(id int32, k int) (row, bool) {
	coef, o := 1.0, &t.nodes[id]
	for ; o.code == opLinear; o = &t.nodes[o.a] {
		coef *= o.p
	}
	if t.moves(o) {
		return row{off: int(o.at) + k, val: one, coef: coef}, true
	}
	if o.dep&onCut != 0 {
		return row{}, false
	}
	u, v := &t.nodes[o.a], &t.nodes[o.b]
	switch o.code {
	case opDot:
		if !t.moves(u) {
			u, v = v, u
		}
		return row{off: int(u.at), val: v.val, coef: coef}, t.moves(u) && v.kind == isCore
	case opSparse:
		s := t.sparses[o.c]
		return row{off: int(u.at), col: s.col, val: s.val, coef: coef}, t.moves(u)
	case opMatVec:
		m := t.matrices[o.c]
		if t.moves(v) {
			return row{off: int(v.at), val: u.val[k*m.stride:][:m.cols], coef: coef}, u.kind == isCore
		}
		return row{off: int(u.at) + k*m.stride, val: v.val, coef: coef}, t.moves(u) && v.kind == isCore
	}
	return row{}, false
}

// moves says that o is of a leaf that sweeps move.
func (t *tape) moves(o *node) bool { return o.leaf && o.dep&t.seed != 0 }

func (t *tape) leafParts(s *side) (x, y []float64) {
	dx := len(t.nodes[leafX].val)
	return s.v[:dx], s.v[dx:t.leaves]
}
