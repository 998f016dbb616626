package mat

import "stable/mat/kernel"

// Solves for many right-hand sides split the triangle in the middle; most flops are AddMul's:
//
//	[T11     ] [X1]   [B1]
//	[T21  T22] [X2] = [B2]:   X1 = T11⁻¹·B1,  X2 = T22⁻¹·(B2 − T21·X1)
//
// and its mirror images (Elmroth, Gustavson, Jonsson, Kågström 2004).

// triBase is the largest order that is solved row by row.
const triBase = 32

// split returns the halves' views of t and x.
func split(t, x *Dense) (t11, t12, t21, t22, x1, x2 Dense) {
	n := t.Rows
	h := (n + 1) / 2
	h = min((h+3)/4*4, n-1)
	return t.View(0, 0, h, h), t.View(0, h, h, n-h), t.View(h, 0, n-h, h), t.View(h, h, n-h, n-h),
		x.View(0, 0, h, x.Cols), x.View(h, 0, n-h, x.Cols)
}

func solveLower(l, x *Dense) {
	if l.Rows > triBase {
		l11, _, l21, l22, x1, x2 := split(l, x)
		solveLower(&l11, &x1)
		mul(&x2, false, -1, &l21, &x1)
		solveLower(&l22, &x2)
		return
	}
	for i := range l.Rows {
		r, xi := l.Row(i), x.Row(i)
		kernel.SubRows(xi, r[:i], x.Data, x.Stride)
		kernel.Scale(xi, 1/r[i], xi)
	}
}

func solveLowerTrans(l, x *Dense) {
	if l.Rows > triBase {
		l11, _, l21, l22, x1, x2 := split(l, x)
		solveLowerTrans(&l22, &x2)
		mulTransA(&x1, false, -1, &l21, &x2)
		solveLowerTrans(&l11, &x1)
		return
	}
	var column [triBase]float64
	for i := l.Rows - 1; i >= 0; i-- {
		xi, below := x.Row(i), l.Rows-1-i
		for k := range below {
			column[k] = l.Data[(i+1+k)*l.Stride+i]
		}
		if below > 0 {
			kernel.SubRows(xi, column[:below], x.Data[(i+1)*x.Stride:], x.Stride)
		}
		kernel.Scale(xi, 1/l.Data[i*l.Stride+i], xi)
	}
}

func solveUpper(u, x *Dense) {
	if u.Rows > triBase {
		u11, u12, _, u22, x1, x2 := split(u, x)
		solveUpper(&u22, &x2)
		mul(&x1, false, -1, &u12, &x2)
		solveUpper(&u11, &x1)
		return
	}
	for i := u.Rows - 1; i >= 0; i-- {
		r, xi := u.Row(i), x.Row(i)
		if i+1 < u.Rows {
			kernel.SubRows(xi, r[i+1:], x.Data[(i+1)*x.Stride:], x.Stride)
		}
		kernel.Scale(xi, 1/r[i], xi)
	}
}

func solveUpperTrans(u, x *Dense) {
	if u.Rows > triBase {
		u11, u12, _, u22, x1, x2 := split(u, x)
		solveUpperTrans(&u11, &x1)
		mulTransA(&x2, false, -1, &u12, &x1)
		solveUpperTrans(&u22, &x2)
		return
	}
	var column [triBase]float64
	for i := range u.Rows {
		xi := x.Row(i)
		for k := range i {
			column[k] = u.Data[k*u.Stride+i]
		}
		kernel.SubRows(xi, column[:i], x.Data, x.Stride)
		kernel.Scale(xi, 1/u.Data[i*u.Stride+i], xi)
	}
}
