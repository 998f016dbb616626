package auto

import "stable/mat/kernel"

// row is the gradient of a cut variable in one leaf: coef·val from entry off on, or at columns col;
// val nil is 0.
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
		axpySparse(dst, s*r.coef, sparse{r.col, r.val})
	default:
		kernel.Axpy(dst[r.off:][:len(r.val)], s*r.coef, r.val)
	}
}

func (r *row) entry(k int) (i int, v float64) {
	if r.col != nil {
		return int(r.col[k]), r.coef * r.val[k]
	}
	return r.off + k, r.coef * r.val[k]
}

var one = []float64{1}

// rows finds the gradients of all cut variables by entries, with other cut variables held fixed.
func (t *tape) rows() {
	p := &t.plan
	t.cutting = true
	for _, c := range t.cuts {
		for k := range c.n {
			rx, ry := &p.x[c.first+k], &p.y[c.first+k]
			*rx, *ry = row{}, row{}
			ok := false
			if c.vector {
				ok = t.vectorRow(rx, ry, c.in, k)
			} else {
				ok = t.numberRow(rx, ry, c.in)
			}
			if !ok {
				t.reverseRow(rx, ry, c, k)
			}
		}
	}
	t.cutting = false
}

// leafRow is the row of the leaf that u is a part of; at is the entry of u where the row begins.
func (t *tape) leafRow(rx, ry *row, u *vec, at int, val []float64, coef float64) {
	if u.dep == onX {
		*rx = row{off: int(u.x) + at, val: val, coef: coef}
	} else {
		*ry = row{off: int(u.y) + at, val: val, coef: coef}
	}
}

func (t *tape) movingLeaf(u *vec) bool { return u.leaf && u.dep&t.seed != 0 }

// numberRow finds the row of a number where that costs nothing: entries of leaves, their products
// with constant vectors, and multiples.
func (t *tape) numberRow(rx, ry *row, id int32) bool {
	coef := 1.0
	for {
		o := &t.nodes[id]
		switch o.code {
		case opLinear:
			coef *= o.p
			id = o.a
			continue
		case opAt:
			u := &t.vecs[o.a]
			if !t.movingLeaf(u) {
				return false
			}
			t.leafRow(rx, ry, u, int(o.b), one, coef)
			return true
		case opDot:
			u, v := &t.vecs[o.a], &t.vecs[o.b]
			if !t.movingLeaf(u) {
				u, v = v, u
			}
			if !t.movingLeaf(u) || v.kind != isCore {
				return false
			}
			t.leafRow(rx, ry, u, 0, v.val, coef)
			return true
		case opSparse:
			u := &t.vecs[o.a]
			if !t.movingLeaf(u) || u.x > 0 || u.y > 0 {
				return false // columns count from the start of a slice
			}
			t.leafRow(rx, ry, u, 0, t.sparses[o.b].val, coef)
			rx.col, ry.col = t.sparses[o.b].col, t.sparses[o.b].col
			return true
		}
		return false
	}
}

func (t *tape) vectorRow(rx, ry *row, id int32, k int) bool {
	w := &t.vecs[id]
	if t.movingLeaf(w) {
		t.leafRow(rx, ry, w, k, one, 1)
		return true
	}
	o := &t.nodes[w.by]
	if w.by == 0 || o.code != opMatVec {
		return false
	}
	m := t.matrices[o.c]
	a, u := &t.vecs[o.a], &t.vecs[o.b]
	switch {
	case t.movingLeaf(u) && a.kind == isCore:
		t.leafRow(rx, ry, u, 0, a.val[k*m.stride:][:m.cols], 1)
	case t.movingLeaf(a) && u.kind == isCore:
		t.leafRow(rx, ry, a, k*m.stride, u.val, 1)
	default:
		return false
	}
	return true
}

// reverseRow finds the row of variable k of a cut by a sweep back from its operand.
func (t *tape) reverseRow(rx, ry *row, c cut, k int) {
	t.clearAdjoints()
	if c.vector {
		t.vecs[c.in].adj[k] = 1
		t.reverse(t.vecs[c.in].by)
	} else {
		t.nodes[c.in].adj = 1
		t.reverse(c.in)
	}
	*rx = row{val: t.kept(t.vecs[leafX].adj), coef: 1}
	*ry = row{val: t.kept(t.vecs[leafY].adj), coef: 1}
}
