package mat

import "stable/mat/kernel"

// Copy sets dst = a.
func Copy(dst, a *Dense) {
	alike("mat: Copy", dst, a)
	for i := range dst.Rows {
		copy(dst.Row(i), a.Row(i))
	}
}

// CopySym is Copy.
func CopySym(dst, a *Sym) {
	alikeSym("mat: CopySym", dst, a)
	for i := range dst.N {
		copy(dst.Data[i*dst.Stride:][:i+1], a.Data[i*a.Stride:][:i+1])
	}
}

// CopyTrans sets dst = aᵀ, apart from a.
func CopyTrans(dst, a *Dense) {
	refuse(dst.Rows != a.Cols || dst.Cols != a.Rows, "mat: CopyTrans", mismatch)
	noAlias("mat: CopyTrans", dst, a, a)
	for i := range dst.Rows {
		d := dst.Row(i)
		for j := range d {
			d[j] = a.Data[j*a.Stride+i]
		}
	}
}

// CopyFull sets dst = s, both triangles. dst may be Sym.Lower of s, else must not overlap it.
func CopyFull(dst *Dense, s *Sym) {
	refuse(dst.Rows != s.N || dst.Cols != s.N, "mat: CopyFull", mismatch)
	full := s.Lower()
	alike("mat: CopyFull", dst, &full)
	for i := range s.N {
		copy(dst.Row(i), s.Row(i))
	}
	// Four columns at once, for one visit of each row of dst.
	i := 0
	for ; i+3 < s.N; i += 4 {
		r0, r1, r2, r3 := s.Row(i)[:i], s.Row(i + 1)[:i], s.Row(i + 2)[:i], s.Row(i + 3)[:i]
		for j, v := range r0 {
			d := dst.Data[j*dst.Stride+i:][:4]
			d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
		}
	}
	for p := range s.N {
		r, first := s.Row(p), 0
		if p < i {
			first = p &^ 3
		}
		for j := first; j < p; j++ {
			dst.Data[j*dst.Stride+p] = r[j]
		}
	}
}

// Scale sets dst = s·a. One flop an entry.
func Scale(dst *Dense, s float64, a *Dense) {
	alike("mat: Scale", dst, a)
	for i := range dst.Rows {
		kernel.Scale(dst.Row(i), s, a.Row(i))
	}
}

// ScaleSym is Scale.
func ScaleSym(dst *Sym, s float64, a *Sym) {
	alikeSym("mat: ScaleSym", dst, a)
	for i := range dst.N {
		kernel.Scale(dst.Row(i), s, a.Row(i))
	}
}

// AddScaled sets dst = a + s·b. Two flops an entry.
func AddScaled(dst, a *Dense, s float64, b *Dense) {
	alike("mat: AddScaled", dst, a)
	alike("mat: AddScaled", dst, b)
	shape := dst.shape()
	if dst.whole() && a.Stride == dst.Stride && b.Stride == dst.Stride {
		shape = kernel.Shape{Rows: 1, Cols: dst.Rows * dst.Cols}
	}
	kernel.AddScaled(shape, dst.Data, dst.Stride, a.Data, a.Stride, s, b.Data, b.Stride)
}

// AddScaledSym is AddScaled.
func AddScaledSym(dst, a *Sym, s float64, b *Sym) {
	alikeSym("mat: AddScaledSym", dst, a)
	alikeSym("mat: AddScaledSym", dst, b)
	kernel.AddScaled(dst.shape(), dst.Data, dst.Stride, a.Data, a.Stride, s, b.Data, b.Stride)
}

// Recur sets dst = (1−tau)·(h − old) + now (Chen et al. 2022, eq. STABLE-H); exactly now, where tau
// = 1 and h − old is finite. Three flops an entry.
func Recur(dst *Dense, tau float64, h, old, now *Dense) {
	alike("mat: Recur", dst, h)
	alike("mat: Recur", dst, old)
	alike("mat: Recur", dst, now)
	shape := dst.shape()
	if dst.whole() && h.Stride == dst.Stride && old.Stride == dst.Stride && now.Stride == dst.Stride {
		shape = kernel.Shape{Rows: 1, Cols: dst.Rows * dst.Cols}
	}
	kernel.Recur(shape, dst.Data, dst.Stride, tau, h.Data, h.Stride, old.Data, old.Stride, now.Data, now.Stride)
}

// RecurSym is Recur.
func RecurSym(dst *Sym, tau float64, h, old, now *Sym) {
	alikeSym("mat: RecurSym", dst, h)
	alikeSym("mat: RecurSym", dst, old)
	alikeSym("mat: RecurSym", dst, now)
	kernel.Recur(dst.shape(), dst.Data, dst.Stride, tau, h.Data, h.Stride, old.Data, old.Stride, now.Data, now.Stride)
}

// AddDiag sets s = s + diag(d).
func AddDiag(s *Sym, d []float64) {
	refuse(len(d) != s.N, "mat: AddDiag", mismatch)
	full := s.Lower()
	noAliasVec("mat: AddDiag", &full, full.at(d))
	for i, v := range d {
		s.Data[i*s.Stride+i] += v
	}
}

// AddIdentity sets s = s + c·I.
func AddIdentity(s *Sym, c float64) {
	refuse(s.torn(), "mat: AddIdentity", torn)
	for i := range s.N {
		s.Data[i*s.Stride+i] += c
	}
}

// shape has no rows if they are empty.
func (a *Dense) shape() kernel.Shape {
	if a.Cols == 0 {
		return kernel.Shape{}
	}
	return kernel.Shape{Rows: a.Rows, Cols: a.Cols}
}

func (s *Sym) shape() kernel.Shape { return kernel.Shape{Rows: s.N, Lower: true, First: 1} }

func (a *Dense) whole() bool { return a.Stride == a.Cols && times(a.Rows, a.Cols) <= uint(len(a.Data)) }
