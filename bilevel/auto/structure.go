package auto

// The structure of second derivatives. The tape sorts values by how they depend on entries:
//
//	core      on cut values only, not on an entry
//	entry     on entries x_i and y_j of one pair (i, j), and on cut values: a number, or every entry
//	          of a vector, whose entry k has the pair (i + k, j + k)
//	sum       a sum of such terms, a number
//
// An operation that would leave these kinds, as a function curved in a sum, or a product of
// different entries, takes a cut copy of its operand: a new variable, which is core. In L(x, y, c)
// with c = c(x, y, c), ∂²/∂y² and ∂²/∂x∂y of L + λᵀc by entries alone are diagonal.
type kind int8

const (
	isCore kind = iota
	isEntry
	isSum
)

// class is the kind of a value; of an entry, with the indices of its pair, −1 for none.
type class struct {
	kind kind
	x, y int32
}

// cut is a cut of a value into n variables, from variable first on.
type cut struct {
	in, out  int32
	first, n int
}

type structure struct {
	cuts      []cut
	variables int
	pairs     bool // entries of x and of y stand in one term: those with y − x = shift
	shift     int32

	cutting   bool // sweeps stop at cuts
	direction int  // the variable whose tangent is 1, −1 for none
	vars      []variable
	h         []float64 // H
}

// merge returns the class of a function of the entries of a and of b, n of each; ok says that their
// pairs agree. Numbers make a first pair only with equal indices, vectors at any distance.
func (t *tape) merge(a, b class, n int) (c class, ok bool) {
	x, y := max(a.x, b.x), max(a.y, b.y)
	if a.kind != isEntry || b.kind != isEntry || min(a.x, b.x) >= 0 && a.x != b.x || min(a.y, b.y) >= 0 && a.y != b.y {
		return class{}, false
	}
	if x >= 0 && y >= 0 {
		if t.pairs && y-x != t.shift || !t.pairs && n == 1 && x != y {
			return class{}, false
		}
		t.pairs, t.shift = true, y-x
	}
	return class{isEntry, x, y}, true
}

// factors makes the operands of a product by entries, and its class.
func (t *tape) factors(a, b int32) (int32, int32, class) {
	ca, cb := t.nodes[a].class, t.nodes[b].class
	switch {
	case ca.kind == isCore:
		return a, b, cb
	case cb.kind == isCore:
		return a, b, ca
	}
	if c, ok := t.merge(ca, cb, len(t.nodes[a].val)); ok {
		return a, b, c
	}
	if ca.kind == isSum && cb.kind == isEntry {
		return a, t.core(b), ca
	}
	return t.core(a), b, cb
}

// summands is factors for a sum: one of numbers may be a sum of entries.
func (t *tape) summands(a, b int32) (int32, int32, class) {
	ca, cb := t.nodes[a].class, t.nodes[b].class
	if len(t.nodes[a].val) != 1 || ca.kind == isCore || cb.kind == isCore {
		return t.factors(a, b)
	}
	if c, ok := t.merge(ca, cb, 1); ok {
		return a, b, c
	}
	return a, b, class{kind: isSum}
}

// curved is a, or its cut copy, for a function with a second derivative.
func (t *tape) curved(a int32) int32 {
	if t.nodes[a].kind == isSum {
		return t.core(a)
	}
	return a
}

// matrixFactor makes the operand u of W·u, and the class of the result, of length n.
func (t *tape) matrixFactor(w, u int32, n int) (int32, class) {
	cw, cu := t.nodes[w].kind, t.nodes[u].kind
	if cu != isCore && (cw != isCore || len(t.nodes[u].val) < n) {
		u, cu = t.core(u), isCore
	}
	if cw == isCore && cu == isCore {
		return u, class{}
	}
	return u, class{kind: isSum}
}

func (t *tape) core(a int32) int32 {
	u := t.nodes[a]
	if u.kind == isCore {
		return a
	}
	if u.cut != 0 {
		return u.cut
	}
	o := t.emit(opCut, u.val, a, 0, class{})
	o.dep |= onCut
	o.c = int32(t.variables)
	out := t.last().id
	t.nodes[a].cut = out
	t.cuts = append(t.cuts, cut{a, out, t.variables, len(u.val)})
	t.variables += len(u.val)
	return out
}

// crosses says that cut variables have a part in g_xy: one depends on x, or meets it in a curved operation.
func (t *tape) crosses() bool {
	for i := range t.nodes {
		switch o := &t.nodes[i]; o.code {
		case opCut, opMap, opMul, opMatVec, opMatTrans, opDot, opWeight:
			if o.dep&onX != 0 && o.dep&onCut != 0 {
				return true
			}
		}
	}
	return false
}
