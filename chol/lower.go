package chol

import (
	"stable/mat"
	"stable/mat/kernel"
)

// factorLower sets L = chol(a − shift·I) in the lower triangle of l, by panels of three columns, and
// returns n, or the index and value of the first unusable pivot:
//
//	for j ≤ i: L_ij = (A_ij − Σ_{p<j} L_ip·L_jp) / L_jj, with L_jj = √ for i = j
func factorLower(l []float64, ld int, a *mat.Sym, shift float64) (pivot int, value float64) {
	n := a.N
	var c corner
	switch n {
	case 2:
		return c.two(l, ld, a, shift)
	case 4:
		return c.four(l, ld, a, shift)
	}
	for j := 0; j < n; j += 3 {
		w := min(3, n-j)
		if k, v := c.lower(l, ld, j, w, a, shift); k < w {
			return j + k, v
		}
		c.below(l, ld, j, a)
	}
	return n, 0
}

// two is factorLower for order 2: all is a corner.
func (c *corner) two(l []float64, ld int, a *mat.Sym, shift float64) (k int, pivot float64) {
	a0, a1 := a.Data, a.Data[a.Stride:]
	if k, pivot = c.factor(2, a0[0]-shift, a1[0], a1[1]-shift, 0, 0, 0, 0, 0, 0, 0); k == 2 {
		l[0], l[ld], l[ld+1] = c.r0, a1[0]*c.S0, c.r1
	}
	return k, pivot
}

// four is two for order 4.
func (c *corner) four(l []float64, ld int, a *mat.Sym, shift float64) (k int, pivot float64) {
	a0, a1, a2, a3 := a.Row(0), a.Row(1), a.Row(2), a.Row(3)
	a01, a02, a03 := a1[0], a2[0], a3[0]
	k, pivot = c.factor(4, a0[0]-shift, a01, a1[1]-shift, a02, a2[1], a2[2]-shift, a03, a3[1], a3[2], a3[3]-shift)
	if k < 4 {
		return k, pivot
	}
	l0, l1, l2, l3 := l, l[ld:][:2], l[2*ld:][:3], l[3*ld:][:4]
	l0[0] = c.r0
	l1[0], l1[1] = a01*c.S0, c.r1
	l2[0], l2[1], l2[2] = a02*c.S0, -c.M12*c.r1, c.r2
	l3[0], l3[1], l3[2], l3[3] = a03*c.S0, -c.M13*c.r1, -c.M23*c.r2, c.r3
	return 4, 0
}

// lower computes c and the w ≤ 3 columns from j on where they cross the diagonal, as factor does.
func (c *corner) lower(l []float64, ld, j, w int, a *mat.Sym, shift float64) (k int, pivot float64) {
	// The last row that exists stands in for one that does not.
	w1, w2 := min(1, w-1), min(2, w-1)
	r0, r1, r2 := j*ld, (j+w1)*ld, (j+w2)*ld
	s00, s10, s11, s20, s21, s22 := kernel.Gram3(l[r0:r0+j], l[r1:r1+j], l[r2:r2+j])
	y, y0 := a.Data, j*a.Stride+j
	y1, y2 := y0+w1*a.Stride, y0+w2*a.Stride
	a00, a01, a02 := y[y0]-shift-s00, y[y1]-s10, y[y2]-s20
	var a11, a12, a22 float64
	if w > 1 {
		a11, a12 = y[y1+1]-shift-s11, y[y2+1]-s21
	}
	if w > 2 {
		a22 = y[y2+2] - shift - s22
	}
	if k, pivot = c.factor(w, a00, a01, a11, a02, a12, a22, 0, 0, 0, 0); k < w {
		return k, pivot
	}
	l[r0+j] = c.r0
	if w > 1 {
		l[r1+j], l[r1+j+1] = a01*c.S0, c.r1
	}
	if w > 2 { // as corner.put
		l[r2+j], l[r2+j+1], l[r2+j+2] = a02*c.S0, -c.M12*c.r1, c.r2
	}
	return w, 0
}

// below computes columns j to j+2 of L below their corner C: (A_ij − Σ_{p<j} L_ip·L_jp)·C⁻ᵀ.
func (c *corner) below(l []float64, ld, j int, a *mat.Sym) {
	rows := a.N - j - 3
	if rows <= 0 {
		return
	}
	at := (j+3)*ld + j
	x, y := l[at:], a.Data[(j+3)*a.Stride+j:]
	if j > 0 {
		kernel.Dots3(x, ld, l[at-j:], ld, l[j*ld:], ld, j, rows, -1, false)
	}
	m01, m02, m12, t0, t1, t2 := c.M01, c.M02, c.M12, c.S0, c.S1, c.S2
	for i := range rows {
		x3, y3 := x[i*ld:i*ld+3:i*ld+3], y[i*a.Stride:i*a.Stride+3:i*a.Stride+3]
		s0, s1, s2 := y3[0], y3[1], y3[2]
		if j > 0 {
			s0, s1, s2 = s0+x3[0], s1+x3[1], s2+x3[2]
		}
		s1 += m01 * s0
		x3[0], x3[1], x3[2] = s0*t0, s1*t1, (s2+m02*s0+m12*s1)*t2
	}
}
