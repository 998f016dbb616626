package auto

import (
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// variable is a cut variable c_k in the work by structure. With J their gradients, and L the loss
// with variables in their place,
//
//	g_yy = D_yy + Σ_k (J_k B_kᵀ + B_k J_kᵀ) + Σ_kl H_kl J_k J_lᵀ
//
// and likewise g_xy; D, B and H are the second derivatives of L by two entries (diagonal), an entry
// and a variable, two variables. A sweep along all entries of y gives D, one for each variable its
// B and its column of H.
type variable struct {
	x, y   row       // J, in either leaf
	bx, by []float64 // B, nil for zero
}

// addSecond adds w times the second derivatives of number id to gyy or to gxy; the other is nil.
func (t *tape) addSecond(gyy *mat.Sym, gxy *mat.Dense, id int32, w float64) {
	structured := 2*t.variables < len(t.nodes[leafY].val)+2
	variables := gyy != nil || t.crosses()
	if structured && variables {
		t.rows()
	}
	if !t.start(0, id, w) {
		return
	}
	t.back(&t.adj, id)
	t.tan.fit(0, t.size)
	if !structured {
		t.byColumns(gyy, gxy)
		return
	}
	t.cutting = true
	t.diagonal(gyy, gxy)
	for k := 0; variables && k < t.variables; k++ {
		t.along(k)
	}
	t.cutting = false
	switch {
	case !variables:
	case gyy != nil:
		t.addHess(gyy)
	default:
		t.addCross(gxy)
	}
}

// sweep returns the derivatives of leaves' adjoints along variable k; for −1, leaves' tangents.
func (t *tape) sweep(k int) (x, y []float64) {
	t.direction = k
	t.tangents()
	t.adjt.fit(0, t.size)
	t.back(&t.adjt, int32(len(t.nodes)-1))
	return t.leafParts(&t.adjt)
}

func (t *tape) byColumns(gyy *mat.Sym, gxy *mat.Dense) {
	_, ly := t.leafParts(&t.tan)
	for j := range ly {
		ly[j] = 1
		x, y := t.sweep(-1)
		ly[j] = 0
		if gyy != nil {
			kernel.Axpy(gyy.Row(j), 1, y)
			continue
		}
		for i, v := range x {
			gxy.Data[i*gxy.Stride+j] += v
		}
	}
}

// diagonal sweeps along all entries of y at once, and adds D.
func (t *tape) diagonal(gyy *mat.Sym, gxy *mat.Dense) {
	_, ly := t.leafParts(&t.tan)
	for i := range ly {
		ly[i] = 1
	}
	x, y := t.sweep(-1)
	clear(ly)
	if gyy != nil {
		for i, v := range y {
			gyy.Data[i*gyy.Stride+i] += v
		}
		return
	}
	for i, v := range x {
		if j := i + int(t.shift); t.pairs && j >= 0 && j < len(y) {
			gxy.Data[i*gxy.Stride+j] += v
		}
	}
}

// along sweeps along cut variable k, and notes column k of H, and B_k.
func (t *tape) along(k int) {
	x, y := t.sweep(k)
	for _, c := range t.cuts {
		for i, v := range t.part(&t.adjt, c.out) {
			t.h[(c.first+i)*t.variables+k] = v
		}
	}
	t.vars[k].bx, t.vars[k].by = t.kept(x), t.kept(y)
}

func (t *tape) kept(b []float64) []float64 {
	if !nonzero(b, -1) {
		return nil
	}
	c := t.mem.take(len(b))
	copy(c, b)
	return c
}

func nonzero(v []float64, but int) bool {
	for i, e := range v {
		if e != 0 && i != but {
			return true
		}
	}
	return false
}

// addHess adds Σ_k (J_k z_kᵀ + z_k J_kᵀ), with z_k = B_k + ½ Σ_l H_kl J_l.
func (t *tape) addHess(gyy *mat.Sym) {
	z := t.mem.take(gyy.N)
	for k := range t.variables {
		v, h := &t.vars[k], t.h[k*t.variables:][:t.variables]
		switch {
		case v.y.val == nil:
		case v.by == nil && !nonzero(h, k):
			addSquare(gyy, h[k], &v.y)
		default:
			t.mixed(z, v, h, 0.5)
			addPair(gyy, &v.y, z)
		}
	}
}

// mixed sets z = B_k + f·Σ_l H_kl J_l, in y.
func (t *tape) mixed(z []float64, k *variable, h []float64, f float64) {
	clear(z)
	copy(z, k.by)
	for l, v := range h {
		if v != 0 {
			t.vars[l].y.addTo(z, f*v)
		}
	}
}

func addSquare(gyy *mat.Sym, h float64, r *row) {
	s := h * r.coef * r.coef
	if s == 0 {
		return
	}
	if r.col == nil {
		block := gyy.View(r.off, len(r.val))
		mat.RankOne(&block, s, r.val)
		return
	}
	for k, c := range r.col {
		axpySparse(gyy.Row(r.off + int(c))[r.off:], s*r.val[k], sparse{r.col[:k+1], r.val[:k+1]})
	}
}

func addPair(gyy *mat.Sym, r *row, z []float64) {
	for k := range r.val {
		i, v := r.entry(k)
		kernel.Axpy(gyy.Row(i), v, z)
	}
	if r.col != nil {
		for i := range z {
			row, s := gyy.Row(i), z[i]*r.coef
			for k := 0; k < len(r.col) && r.off+int(r.col[k]) <= i; k++ {
				row[r.off+int(r.col[k])] += s * r.val[k]
			}
		}
		return
	}
	for i := r.off; i < len(z); i++ {
		n := min(len(r.val), i+1-r.off)
		kernel.Axpy(gyy.Row(i)[r.off:][:n], z[i]*r.coef, r.val[:n])
	}
}

// addCross adds Σ_k (Jx_k z_kᵀ + Bx_k Jy_kᵀ), with z_k = By_k + Σ_l H_kl Jy_l.
func (t *tape) addCross(gxy *mat.Dense) {
	z := t.mem.take(gxy.Cols)
	for k := range t.variables {
		v := &t.vars[k]
		if v.x.val != nil {
			t.mixed(z, v, t.h[k*t.variables:][:t.variables], 1)
			for e := range v.x.val {
				i, r := v.x.entry(e)
				kernel.Axpy(gxy.Row(i), r, z)
			}
		}
		for i, b := range v.bx {
			if b != 0 {
				v.y.addTo(gxy.Row(i), b)
			}
		}
	}
}

// row is the gradient of a cut variable in one leaf: coef·val from off on, or off col; nil is 0.
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

func (t *tape) rows() {
	t.h = t.mem.zeros(t.variables * t.variables)
	t.vars = slices.Grow(t.vars[:0], t.variables)[:t.variables]
	for _, c := range t.cuts {
		for k := range c.n {
			v := &t.vars[c.first+k]
			*v = variable{}
			if r, ok := t.leafRow(c.in, k); !ok {
				t.adj.fit(0, t.size)
				t.part(&t.adj, c.in)[k] = 1
				t.back(&t.adj, c.in)
				x, y := t.leafParts(&t.adj)
				v.x, v.y = row{val: t.kept(x), coef: 1}, row{val: t.kept(y), coef: 1}
			} else if dx := len(t.nodes[leafX].val); r.off < dx {
				v.x = r
			} else {
				r.off -= dx
				v.y = r
			}
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

func (t *tape) moves(o *node) bool { return o.leaf && o.dep&t.seed != 0 }

func (t *tape) leafParts(s *side) (x, y []float64) {
	dx := len(t.nodes[leafX].val)
	return s.v[:dx], s.v[dx:t.leaves]
}
