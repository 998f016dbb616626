package auto

import (
	"stable/mat"
	"stable/mat/kernel"
)

// Mat is a vector, recorded or constant, seen as a matrix, row by row.
type Mat struct {
	v Vec
	matrix
}

// Mat returns u as a rows × cols matrix with entries u_(i·cols + j). It fails unless they are as
// many.
func (u Vec) Mat(rows, cols int) Mat {
	if rows < 0 || cols < 0 || rows*cols != len(u.v) {
		u.t.fail("Mat", "of %d × %d of %d entries", rows, cols, len(u.v))
	}
	return Mat{u, matrix{rows, cols, cols}}
}

// Matrix returns the constant matrix a, in its memory, which must stay until the loss is called
// again.
func Matrix(a *mat.Dense) Mat { return Mat{Data(a.Data), matrix{a.Rows, a.Cols, a.Stride}} }

// MulVec returns W·u, of length rows. It fails unless u is of length cols.
func (w Mat) MulVec(u Vec) Vec { return w.times("MulVec", opMatVec, u, w.rows, w.cols) }

// MulVecTrans returns Wᵀ·u, of length cols. It fails unless u is of length rows.
func (w Mat) MulVecTrans(u Vec) Vec { return w.times("MulVecTrans", opMatTrans, u, w.cols, w.rows) }

func (w Mat) times(name string, code opcode, u Vec, n, inner int) Vec {
	t := shared(name, w.v.handle, u.handle)
	t.sameLength(name, inner, len(u.v))
	if t == nil {
		r := make([]float64, n)
		w.matrix.product(code, r, w.v.v, u.v)
		return Data(r)
	}
	a, b := t.operand(w.v), t.operand(u)
	var c class
	if t.structured {
		b, c = t.matrixFactor(a, b, n)
	}
	o := t.emit(code, t.mem.zeros(n), a, b, c)
	o.c = int32(len(t.matrices))
	t.matrices = append(t.matrices, w.matrix)
	w.matrix.product(code, o.val, w.v.v, u.v)
	if i := mat.NotFinite(o.val); i >= 0 {
		t.badSum(name, o.val[i], w.v.v, u.v)
	}
	r := t.vec(o)
	if c.kind == isSum { // its entries are sums: no vector is
		r.id = t.core(r.id)
	}
	return r
}

func (m matrix) product(code opcode, r, w, u []float64) {
	if code == opMatVec {
		for i := range r {
			r[i] += kernel.Dot(u, w[i*m.stride:][:m.cols])
		}
		return
	}
	for i, s := range u {
		kernel.Axpy(r, s, w[i*m.stride:][:m.cols])
	}
}

// outer adds r·uᵀ to W for W·u, or u·rᵀ for Wᵀ·u.
func (m matrix) outer(code opcode, w, r, u []float64) {
	if code == opMatTrans {
		r, u = u, r
	}
	for i, s := range r {
		kernel.Axpy(w[i*m.stride:][:m.cols], s, u)
	}
}

func transposed(code opcode) opcode { return opMatVec + opMatTrans - code }
