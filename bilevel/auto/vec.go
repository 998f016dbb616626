package auto

import (
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// Vec is a vector, recorded or constant as a Num is. Operations on vectors of different lengths fail.
type Vec struct {
	handle
	v []float64
}

// Data returns the constant vector a, in a's memory, to be kept until the loss is called again.
func Data(a []float64) Vec { return Vec{v: a} }

func filled(n int, fill func(r []float64)) Vec {
	r := make([]float64, n)
	fill(r)
	return Data(r)
}

func (u Vec) Len() int { return len(u.v) }

// Value returns the entries, as Num.Value does, to be read and not kept.
func (u Vec) Value() []float64 {
	u.own("Value")
	return u.v
}

// Slice returns entries i to j−1. It fails unless 0 ≤ i ≤ j ≤ Len.
func (u Vec) Slice(i, j int) Vec {
	if !(0 <= i && i <= j && j <= len(u.v)) {
		u.t.fail("Slice", "from %d to %d of %d entries", i, j, len(u.v))
	}
	if u.t == nil {
		return Data(u.v[i:j:j])
	}
	u.own("Slice")
	return u.t.vec(u.t.slice(u.id, i, j))
}

// Add and Sub return u + v and u − v.
func (u Vec) Add(v Vec) Vec { return u.plus("Add", v, 1) }
func (u Vec) Sub(v Vec) Vec { return u.plus("Sub", v, -1) }

func (u Vec) plus(name string, v Vec, s float64) Vec {
	t := sharedVecs(name, u, v)
	if t == nil {
		return filled(len(u.v), func(r []float64) { added(r, u.v, s, v.v) })
	}
	return t.vec(t.add(t.operand(u), t.operand(v), s))
}

// Mul returns the vector of u_i·v_i.
func (u Vec) Mul(v Vec) Vec {
	t := sharedVecs("Mul", u, v)
	if t == nil {
		return filled(len(u.v), func(r []float64) { multiplied(r, u.v, v.v) })
	}
	return t.vec(t.mul(t.operand(u), t.operand(v)))
}

// Div returns the vector of u_i/v_i, to two roundings. It fails where an entry of v is 0.
func (u Vec) Div(v Vec) Vec {
	sharedVecs("Div", u, v)
	return u.Mul(v.unary("Div", inv, 0))
}

// Scale, Shift and Neg return the vectors of c·u_i, u_i + c and −u_i.
func (u Vec) Scale(c float64) Vec { return u.linear("Scale", c, 0) }
func (u Vec) Shift(c float64) Vec { return u.linear("Shift", 1, c) }
func (u Vec) Neg() Vec            { return u.linear("Neg", -1, 0) }

func (u Vec) linear(name string, p, q float64) Vec {
	if u.t == nil {
		return filled(len(u.v), func(r []float64) { affine(r, p, u.v, q) })
	}
	u.own(name)
	return u.t.vec(u.t.linear(u.id, p, q))
}

// ScaleBy returns a·u for a number a.
func (u Vec) ScaleBy(a Num) Vec {
	t := shared("ScaleBy", a.handle, u.handle)
	if a.t == nil {
		return u.linear("ScaleBy", a.v, 0)
	}
	id, b := a.id, t.operand(u)
	if t.structured {
		id = t.core(id)
	}
	row := matrix{1, len(u.v), len(u.v)} // u, with a for the vector
	return t.vec(t.matrixProduct(opMatTrans, row, b, id, len(u.v), t.nodes[b].class))
}

// Stack returns the vector of the numbers.
func Stack(a ...Num) Vec {
	var h handle
	for _, n := range a {
		if t := shared("Stack", h, n.handle); t != nil && h.t == nil {
			h = n.handle
		}
	}
	t := h.t
	values := func(r []float64) {
		for i, n := range a {
			r[i] = n.v
		}
	}
	if t == nil {
		return filled(len(a), values)
	}
	first, dep := int32(len(t.ids)), uint8(0)
	for _, n := range a {
		id := n.id // 0 for a constant
		if t.structured {
			id = t.core(id)
		}
		dep |= t.nodes[id].dep
		t.ids = append(t.ids, id)
	}
	o := t.emit(opStack, t.mem.take(len(a)), 0, 0, class{})
	o.c, o.dep = first, dep
	values(o.val)
	return t.vec(o)
}

// Functions of the entries, which fail as those of Num do.
func (u Vec) Exp() Vec          { return u.unary("Exp", exp, 0) }
func (u Vec) Log() Vec          { return u.unary("Log", log, 0) }
func (u Vec) Sqrt() Vec         { return u.unary("Sqrt", sqrt, 0) }
func (u Vec) Square() Vec       { return u.unary("Square", square, 0) }
func (u Vec) Inv() Vec          { return u.unary("Inv", inv, 0) }
func (u Vec) Tanh() Vec         { return u.unary("Tanh", tanh, 0) }
func (u Vec) Sigmoid() Vec      { return u.unary("Sigmoid", sigmoid, 0) }
func (u Vec) Softplus() Vec     { return u.unary("Softplus", softplus, 0) }
func (u Vec) Sin() Vec          { return u.unary("Sin", sin, 0) }
func (u Vec) Cos() Vec          { return u.unary("Cos", cos, 0) }
func (u Vec) Pow(r float64) Vec { return u.unary("Pow", pow, r) }

// Apply returns the vector of φ(u_i) for an f that returns what Num.Apply takes, at u_i.
func (u Vec) Apply(f func(a float64) (value, first, second float64)) Vec {
	return u.unary("Apply", func(a, _ float64) (v, p, q float64) { return f(a) }, 0)
}

func (u Vec) unary(name string, f function, r float64) Vec {
	if u.t == nil {
		return filled(len(u.v), func(w []float64) {
			for i, a := range u.v {
				w[i] = constant(name, i, f, a, r)
			}
		})
	}
	u.own(name)
	return u.t.vec(u.t.mapped(name, u.id, f, r, true))
}

// At returns entry i. It fails if there is none.
func (u Vec) At(i int) Num {
	if uint(i) >= uint(len(u.v)) {
		u.t.fail("At", "of entry %d of %d", i, len(u.v))
	}
	if u.t == nil {
		return Num{v: u.v[i]}
	}
	u.own("At")
	u.t.checkSum("At", u.v[i], u.v)
	return u.t.num(u.t.slice(u.id, i, i+1))
}

// Sum returns Σ u_i.
func (u Vec) Sum() Num {
	s := 0.0
	for _, v := range u.v {
		s += v
	}
	if u.t == nil {
		return Num{v: s}
	}
	u.own("Sum")
	u.t.checkSum("Sum", s, u.v)
	return u.t.reduced(opSum, u.id, 0, s)
}

// Dot, SquaredNorm and WeightedSquares return Σ u_i·v_i, Σ u_i² and Σ w_i·u_i².
func (u Vec) Dot(v Vec) Num             { return u.paired("Dot", opDot, v) }
func (u Vec) SquaredNorm() Num          { return u.paired("SquaredNorm", opDot, u) }
func (u Vec) WeightedSquares(w Vec) Num { return u.paired("WeightedSquares", opWeight, w) }

// paired returns a sum over the entries of u and w, with weights w for opWeight.
func (u Vec) paired(name string, code opcode, w Vec) Num {
	t := sharedVecs(name, u, w)
	a, b, s := u, w, 0.0
	if code == opDot {
		s = kernel.Dot(u.v, w.v)
	} else {
		a, b = w, u
		weights := w.v[:len(u.v)]
		for i, v := range u.v {
			s += weights[i] * v * v
		}
	}
	if t == nil {
		return Num{v: s}
	}
	t.checkSum(name, s, u.v, w.v)
	return t.reduced(code, t.operand(a), t.operand(b), s)
}

// DotSparse returns Σ val_k·u_i with i = col_k, columns ascending. Both slices must stay as long as Data's.
// It fails if they differ in length, or do not ascend within u.
func (u Vec) DotSparse(col []int32, val []float64) Num {
	u.t.sameLength("DotSparse", len(col), len(val))
	last, s := int32(-1), 0.0
	for k, c := range col {
		if c <= last || int(c) >= len(u.v) {
			u.t.fail("DotSparse", "has column %d behind %d, for %d entries", c, last, len(u.v))
		}
		s += val[k] * u.v[c]
		last = c
	}
	if u.t == nil {
		return Num{v: s}
	}
	u.own("DotSparse")
	u.t.checkSum("DotSparse", s, u.v, val)
	n := u.t.reduced(opSparse, u.id, 0, s)
	u.t.nodes[n.id].c = int32(len(u.t.sparses))
	u.t.sparses = append(u.t.sparses, sparse{col, val})
	return n
}

// LogSumExp returns log Σ exp(u_i), for any u without overflow. It fails for an empty vector.
func (u Vec) LogSumExp() Num {
	if len(u.v) == 0 {
		u.t.fail("LogSumExp", "of an empty vector")
	}
	top := slices.Max(u.Value())
	return u.Shift(-top).Exp().Sum().Log().Shift(top)
}

// Mat is a vector, recorded or constant, seen as a matrix, row by row.
type Mat struct {
	v Vec
	matrix
}

// Mat returns u as a rows × cols matrix, entries u_(i·cols + j). It fails unless they are as many.
func (u Vec) Mat(rows, cols int) Mat {
	if rows < 0 || cols < 0 || rows*cols != len(u.v) {
		u.t.fail("Mat", "of %d × %d of %d entries", rows, cols, len(u.v))
	}
	return Mat{u, matrix{rows, cols, cols}}
}

// Matrix returns the constant matrix a, in its memory, which must stay as long as Data's.
func Matrix(a *mat.Dense) Mat { return Mat{Data(a.Data), matrix{a.Rows, a.Cols, a.Stride}} }

// MulVec returns W·u, of length rows, MulVecTrans Wᵀ·u, of length cols. They fail unless u is of length cols, and rows.
func (w Mat) MulVec(u Vec) Vec      { return w.times("MulVec", opMatVec, u, w.rows, w.cols) }
func (w Mat) MulVecTrans(u Vec) Vec { return w.times("MulVecTrans", opMatTrans, u, w.cols, w.rows) }

func (w Mat) times(name string, code opcode, u Vec, n, inner int) Vec {
	t := shared(name, w.v.handle, u.handle)
	t.sameLength(name, inner, len(u.v))
	if t == nil {
		return filled(n, func(r []float64) { w.matrix.product(code, r, w.v.v, u.v) })
	}
	a, b := t.operand(w.v), t.operand(u)
	var c class
	if t.structured {
		b, c = t.matrixFactor(a, b, n)
	}
	o := t.matrixProduct(code, w.matrix, a, b, n, c)
	if i := mat.NotFinite(o.val); i >= 0 {
		t.checkSum(name, o.val[i], w.v.v, u.v)
	}
	r := t.vec(o)
	if c.kind == isSum { // its entries are sums: no vector is
		r.id = t.core(r.id)
	}
	return r
}

func (t *tape) matrixProduct(code opcode, m matrix, w, u int32, n int, c class) *node {
	o := t.emit(code, t.mem.zeros(n), w, u, c)
	o.c = int32(len(t.matrices))
	t.matrices = append(t.matrices, m)
	m.product(code, o.val, t.nodes[w].val, t.nodes[u].val)
	return o
}

func (m matrix) product(code opcode, r, w, u []float64) {
	if code == opMatVec {
		for i := range r {
			r[i] += kernel.Dot(u, m.row(w, i))
		}
		return
	}
	for i, s := range u {
		kernel.Axpy(r, s, m.row(w, i))
	}
}

func (m matrix) row(w []float64, i int) []float64 { return w[min(i*m.stride, len(w)):][:m.cols] }

// outer adds r·uᵀ to W for W·u, or u·rᵀ for Wᵀ·u.
func (m matrix) outer(code opcode, w, r, u []float64) {
	if code == opMatTrans {
		r, u = u, r
	}
	for i, s := range r {
		kernel.Axpy(m.row(w, i), s, u)
	}
}

func transposed(code opcode) opcode { return opMatVec + opMatTrans - code }
