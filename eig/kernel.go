package eig

import "stable/mat/kernel"

// The row lengths from which vector code is faster. Sums across a vector pay from larger lengths
// than updates.
const (
	sumsFrom   = 24
	rotateFrom = 16
)

// The loops where the time goes: pass2, reflect4 and rotate choose between plain Go and, for long
// rows, vectors, as many whole ones as there are; plain Go does the rest. (It must not be called
// from a vector function, which would keep the numbers that it needs, and fetch them by the wrong
// kind of instruction: see kernel.ClearUpper.)

// pass2 is pass2Go.
func pass2(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	if len(a0) < sumsFrom || !kernel.Vector() {
		return pass2Go(a0, a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
	}
	m := whole(len(a0))
	s0, s1 = pass2Vector(a0[:m], a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
	r0, r1 := pass2Go(a0[m:], a1[m:], v[m:], w[m:], x[m:], y[m:], v0, w0, x0, v1, w1, x1)
	return s0 + r0, s1 + r1
}

// reflect4 is reflect4Go.
func reflect4(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	if len(v) < sumsFrom || !kernel.Vector() {
		return reflect4Go(x0, x1, x2, x3, v, u, f0, f1, f2, f3)
	}
	m := whole(len(v))
	s0, s1, s2, s3 = reflect4Vector(x0, x1, x2, x3, v[:m], u, f0, f1, f2, f3)
	r0, r1, r2, r3 := reflect4Go(x0[m:], x1[m:], x2[m:], x3[m:], v[m:], u[m:], f0, f1, f2, f3)
	return s0 + r0, s1 + r1, s2 + r2, s3 + r3
}

// rotate is rotateGo.
func rotate(x, y []float64, s, tau float64) {
	if len(x) < rotateFrom || !kernel.Vector() {
		rotateGo(x, y, s, tau)
		return
	}
	m := whole(len(x))
	rotateVector(x[:m], y, s, tau)
	rotateGo(x[m:], y[m:], s, tau)
}

// whole returns the largest multiple of the vector length up to n.
func whole(n int) int { return n &^ (kernel.Lanes() - 1) }

// fullPays reports whether the products of a Lanczos process are faster with both triangles of a
// matrix of order n, by more than it takes to copy them: with vectors of 512 bits, up to 224.
func fullPays(n int) bool { return kernel.Lanes() == 8 && n <= 224 }

// pass2Go is the inner loop of reduction.pass for two rows:
//
//	a0 = a0 − v0·w − w0·v,  a1 = a1 − v1·w − w1·v,  y = y + x0·a0 + x1·a1
//
// It returns a0·x and a1·x.
func pass2Go(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	n := len(a0)
	a1, v, w, x, y = a1[:n], v[:n], w[:n], x[:n], y[:n]
	for j := range a0 {
		vj, wj, xj := v[j], w[j], x[j]
		p := a0[j] - v0*wj - w0*vj
		q := a1[j] - v1*wj - w1*vj
		a0[j], a1[j] = p, q
		s0 += p * xj
		s1 += q * xj
		y[j] = y[j] + x0*p + x1*q
	}
	return s0, s1
}

// reflect4Go sets x_i = x_i + f_i·v and returns the products x_i·u, over the length of v.
func reflect4Go(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	n := len(v)
	x0, x1, x2, x3, u = x0[:n], x1[:n], x2[:n], x3[:n], u[:n]
	for j, vj := range v {
		uj := u[j]
		p0 := x0[j] + f0*vj
		p1 := x1[j] + f1*vj
		p2 := x2[j] + f2*vj
		p3 := x3[j] + f3*vj
		x0[j], x1[j], x2[j], x3[j] = p0, p1, p2, p3
		s0 += p0 * uj
		s1 += p1 * uj
		s2 += p2 * uj
		s3 += p3 * uj
	}
	return
}

// reflect2 is reflect4Go for two rows.
func reflect2(x0, x1, v, u []float64, f0, f1 float64) (s0, s1 float64) {
	n := len(v)
	x0, x1, u = x0[:n], x1[:n], u[:n]
	for j, vj := range v {
		uj := u[j]
		p0 := x0[j] + f0*vj
		p1 := x1[j] + f1*vj
		x0[j], x1[j] = p0, p1
		s0 += p0 * uj
		s1 += p1 * uj
	}
	return
}

// axpy4 sets x_i = x_i + f_i·v, over the length of v.
func axpy4(x0, x1, x2, x3, v []float64, f0, f1, f2, f3 float64) {
	n := len(v)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for j, vj := range v {
		x0[j] += f0 * vj
		x1[j] += f1 * vj
		x2[j] += f2 * vj
		x3[j] += f3 * vj
	}
}

// rotateGo sets (x, y) = (c·x − s·y, s·x + c·y) for c = 1 − s·tau, the rotation by φ with s = sin φ
// and tau = tan φ/2.
//
// In this form the rounding of s and tau nearly cancels in the lengths, whereas that of c and s
// would add up: Rutishauser, Numer. Math. 9 (1966).
func rotateGo(x, y []float64, s, tau float64) {
	y = y[:len(x)]
	for j, g := range x {
		h := y[j]
		x[j] = g - s*(h+tau*g)
		y[j] = h + s*(g-tau*h)
	}
}
