package kernel

// The loops of eig: whole vectors, then plain Go for the rest, which a vector function must not
// call (see TestUpperHalvesAreClean).

// Reflects reports whether Rank2Mul and Reflect run on vectors for rows of n entries.
func Reflects(n int) bool { return Vector() && n >= vectorReflect }

// Rank2Mul is Rank2MulGo, on vectors where these are faster.
func Rank2Mul(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	if !Reflects(len(a0)) {
		return Rank2MulGo(a0, a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
	}
	m := whole(len(a0))
	s0, s1 = rank2MulVector(a0[:m], a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
	r0, r1 := Rank2MulGo(a0[m:], a1[m:], v[m:], w[m:], x[m:], y[m:], v0, w0, x0, v1, w1, x1)
	return s0 + r0, s1 + r1
}

// Rank2MulGo updates two rows, adds their part to the product y, and returns their own:
//
//	a0 = a0 − v0·w − w0·v,  a1 = a1 − v1·w − w1·v,  y = y + x0·a0 + x1·a1,  s0 = a0·x,  s1 = a1·x
func Rank2MulGo(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
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

// Reflect is ReflectGo, on vectors where these are faster.
func Reflect(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	if !Reflects(len(v)) {
		return ReflectGo(x0, x1, x2, x3, v, u, f0, f1, f2, f3)
	}
	m := whole(len(v))
	s0, s1, s2, s3 = reflectVector(x0, x1, x2, x3, v[:m], u, f0, f1, f2, f3)
	r0, r1, r2, r3 := ReflectGo(x0[m:], x1[m:], x2[m:], x3[m:], v[m:], u[m:], f0, f1, f2, f3)
	return s0 + r0, s1 + r1, s2 + r2, s3 + r3
}

// ReflectGo sets x_i = x_i + f_i·v and returns x_i·u, over the length of v.
func ReflectGo(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
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

// Rotate sets (x, y) = (c·x − s·y, s·x + c·y), c = 1 − s·tau, s = sin φ, tau = tan φ/2: a form in
// which rounding nearly cancels in the lengths (Rutishauser, Numer. Math. 9 (1966)).
func Rotate(x, y []float64, s, tau float64) {
	if y = y[:len(x)]; Vector() && len(x) >= vectorRotate {
		m := whole(len(x))
		rotateVector(x[:m], y, s, tau)
		x, y = x[m:], y[m:]
	}
	y = y[:len(x)]
	for j, g := range x {
		h := y[j]
		x[j] = g - s*(h+tau*g)
		y[j] = h + s*(g-tau*h)
	}
}

func whole(n int) int { return n &^ (Lanes() - 1) }
