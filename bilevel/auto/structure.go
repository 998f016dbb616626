package auto

// The structure of second derivatives.
//
// While it records, the tape sorts values by how they depend on the entries of the leaves:
//
//	core      on cut values only, not on an entry
//	entry     on entries x_i and y_j of one pair (i, j), and on cut values: a number, or every entry
//	          of a vector, whose entry k has the pair (i + k, j + k)
//	sum       a sum of such terms
//
// An operation that would leave these kinds, as a function curved in a sum, or a product of
// different entries, takes a cut copy of its operand: a new variable, which is core. So the loss
// becomes L(x, y, c) with c = c(x, y, c), and ∂²/∂y² and ∂²/∂x∂y of L + λᵀc by entries alone are
// diagonal. Logistic regression with weights on the squares of y has one cut, the linear predictor.
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

func (c class) moved(i int) class {
	if c.x >= 0 {
		c.x += int32(i)
	}
	if c.y >= 0 {
		c.y += int32(i)
	}
	return c
}

func (c class) summed() class {
	if c.kind == isEntry {
		c.kind = isSum
	}
	return c
}

// cut is one cut: of a number, or of a vector, with n variables from variable first on.
type cut struct {
	vector   bool
	in, out  int32
	first, n int
}

// structure is what the tape knows of a record that was made with mode.structure.
type structure struct {
	cuts      []cut
	variables int
	pairs     bool // entries of x and of y stand in one term: those with y − x = shift
	shift     int32

	cutting   bool // sweeps stop at cuts
	direction int  // the variable whose tangent is 1, −1 for none
	plan      plan
}

func (s *structure) begin(t *tape) {
	s.cuts, s.variables, s.pairs, s.cutting = s.cuts[:0], 0, false, false
	for leaf, c := range []class{{isEntry, 0, -1}, {isEntry, -1, 0}} {
		if u := &t.vecs[leaf]; t.seed&u.dep != 0 {
			u.class = c
			u.adj, u.adjt, u.buf = t.mem.zeros(len(u.val)), t.mem.zeros(len(u.val)), t.mem.take(len(u.val))
		}
	}
}

// merge returns the class of a function of two entries; ok is false if their pairs do not agree.
func (t *tape) merge(a, b class) (c class, ok bool) {
	c = a
	if a.x < 0 {
		c.x = b.x
	}
	if a.y < 0 {
		c.y = b.y
	}
	if b.x >= 0 && b.x != c.x || b.y >= 0 && b.y != c.y {
		return class{}, false
	}
	if c.x >= 0 && c.y >= 0 {
		if t.pairs && c.y-c.x != t.shift {
			return class{}, false
		}
		t.pairs, t.shift = true, c.y-c.x
	}
	return c, true
}

// mergeNumbers is merge for numbers: only those of equal indices are a pair, where vectors may be
// at any distance.
func (t *tape) mergeNumbers(a, b class) (c class, ok bool) {
	if x, y := max(a.x, b.x), max(a.y, b.y); !t.pairs && x >= 0 && y >= 0 && x != y {
		return class{}, false
	}
	return t.merge(a, b)
}

func (t *tape) sum(a, b class) class {
	if a.kind == isCore {
		return b
	}
	if b.kind == isCore {
		return a
	}
	if a.kind == isEntry && b.kind == isEntry {
		if c, ok := t.mergeNumbers(a, b); ok {
			return c
		}
	}
	return class{kind: isSum}
}

// curved is a, or its cut copy, as the operand of a function with a second derivative.
func (t *tape) curved(a int32) int32 {
	if t.nodes[a].kind == isSum {
		return t.core(a)
	}
	return a
}

// product makes operands of a product of two numbers, and its class.
func (t *tape) product(a, b int32) (int32, int32, class) {
	ca, cb := t.nodes[a].class, t.nodes[b].class
	switch {
	case ca.kind == isCore:
		return a, b, cb
	case cb.kind == isCore:
		return a, b, ca
	case ca.kind == isEntry && cb.kind == isEntry:
		if c, ok := t.mergeNumbers(ca, cb); ok {
			return a, b, c
		}
	}
	if ca.kind == isSum && cb.kind == isEntry {
		return a, t.core(b), ca
	}
	return t.core(a), b, cb
}

// paired makes operands of an entrywise operation on two vectors, and its class.
func (t *tape) paired(a, b int32) (int32, int32, class) {
	ca, cb := t.vecs[a].class, t.vecs[b].class
	switch {
	case ca.kind == isCore:
		return a, b, cb
	case cb.kind == isCore:
		return a, b, ca
	}
	if c, ok := t.merge(ca, cb); ok {
		return a, b, c
	}
	return t.coreVec(a), b, cb
}

// matrixProduct makes operands of W·u, and the class of the result, of length n; cut: its entries,
// sums, are to be cut.
func (t *tape) matrixProduct(w, u int32, n int) (int32, int32, class, bool) {
	cw, cu := t.vecs[w].class, t.vecs[u].class
	if cu.kind == isEntry && (cw.kind == isEntry || len(t.vecs[u].val) < n) {
		u = t.coreVec(u)
		cu = class{}
	}
	if cw.kind == isCore && cu.kind == isCore {
		return w, u, class{}, false
	}
	return w, u, class{kind: isSum}, true
}

func (t *tape) core(a int32) int32 {
	n := t.nodes[a]
	if n.kind == isCore {
		return a
	}
	if n.cut != 0 {
		return n.cut
	}
	o := t.emit(opCut, nameCut, a, int32(t.variables), n.dep|onCut, t.straight(n.flags, n.dep|onCut))
	o.class = class{}
	out := t.num(o).id
	t.nodes[a].cut = out
	t.addCut(cut{in: a, out: out, n: 1})
	return out
}

// coreVec is core for vectors.
func (t *tape) coreVec(a int32) int32 {
	u := t.vecs[a]
	if u.kind == isCore {
		return a
	}
	if u.cut != 0 {
		return u.cut
	}
	dep := u.dep | onCut
	out := t.vector(len(u.val), dep, t.straight(u.flags, dep), class{})
	t.emitVec(opVecCut, nameCut, out, a, int32(t.variables), 0, 0, 0)
	t.vecs[a].cut = out
	t.addCut(cut{vector: true, in: a, out: out, n: len(u.val)})
	return out
}

func (t *tape) addCut(c cut) {
	c.first = t.variables
	t.variables += c.n
	t.cuts = append(t.cuts, c)
}

// crosses tells whether cut variables have a part in g_xy: one depends on x, or an operation that
// is not linear joins x with a cut.
func (t *tape) crosses() bool {
	for i := range t.nodes[1:] {
		o := &t.nodes[1+i]
		switch o.code {
		case opConst, opLinear, opAdd, opAt, opSum, opSparse, opSlice, opVecAdd, opVecScale, opStack:
			continue
		case opUnary:
			if o.q == 0 {
				continue
			}
		}
		dep := o.dep
		if dep&onX != 0 && dep&onCut != 0 {
			return true
		}
	}
	return false
}

// cutTangent is the tangent of cut variable k in the direction of the sweep; its operand's,
// ∂c_k/∂c_direction, is noted.
func (t *tape) cutTangent(k int, operand float64) float64 {
	t.plan.chain(t.direction, k, operand)
	if k == t.direction {
		return 1
	}
	return 0
}

// cutVecTangent is cutTangent for the variables of a vector, from first on.
func (t *tape) cutVecTangent(first int, out, u *vec) {
	for k, v := range u.tan {
		t.plan.chain(t.direction, first+k, v)
	}
	out.tan = nil
	if k := t.direction - first; k >= 0 && k < len(out.buf) {
		out.tan = out.buf
		clear(out.tan)
		out.tan[k] = 1
	}
}
