package kernel

// A Shape is Rows rows of Cols entries, or, if Lower, of one more each, from First on.
type Shape struct {
	Rows, Cols int
	Lower      bool
	First      int
}

func (s Shape) width(i int) int {
	if s.Lower {
		return s.First + i
	}
	return s.Cols
}

// vectors tells whether rows, or all of them at once, are long enough; strides must not.
func (s Shape) vectors() bool {
	if s.Lower {
		return Vector() && s.Rows >= vectorLower
	}
	return Vector() && s.Rows*s.Cols >= vectorShape
}

// Recur sets dst = (1−tau)·(h − old) + now, each with its stride.
func Recur(s Shape, dst []float64, ldd int, tau float64, h []float64, ldh int, old []float64, ldo int, now []float64, ldn int) {
	if s.vectors() && (!s.Lower || s.Rows >= vectorRecur) {
		recurVector(s, dst, ldd, tau, h, ldh, old, ldo, now, ldn)
		return
	}
	f := 1 - tau
	if s.Rows == 1 {
		recurRow(dst[:s.width(0)], f, h, old, now)
		return
	}
	if !s.Lower || s.Rows == 0 || ldh != ldd || ldo != ldd || ldn != ldd {
		for i := range s.Rows {
			recurRow(dst[i*ldd:][:s.width(i)], f, h[i*ldh:], old[i*ldo:], now[i*ldn:])
		}
		return
	}
	size := (s.Rows-1)*ldd + s.width(s.Rows-1)
	dst, h, old, now = dst[:size], h[:size], old[:size], now[:size]
	for at, end := 0, s.First; end <= size; at, end = at+ldd, end+ldd+1 {
		for j := at; j < end; j++ { // slices of short rows would cost more than tests of j
			dst[j] = f*(h[j]-old[j]) + now[j]
		}
	}
}

func recurRow(dst []float64, f float64, h, old, now []float64) {
	h, old, now = h[:len(dst)], old[:len(dst)], now[:len(dst)]
	j := 0
	for ; j < len(dst)-3; j += 4 {
		dst[j] = f*(h[j]-old[j]) + now[j]
		dst[j+1] = f*(h[j+1]-old[j+1]) + now[j+1]
		dst[j+2] = f*(h[j+2]-old[j+2]) + now[j+2]
		dst[j+3] = f*(h[j+3]-old[j+3]) + now[j+3]
	}
	for ; j < len(dst); j++ {
		dst[j] = f*(h[j]-old[j]) + now[j]
	}
}

// AddScaled sets dst = a + f·b, each with its stride.
func AddScaled(s Shape, dst []float64, ldd int, a []float64, lda int, f float64, b []float64, ldb int) {
	if s.vectors() {
		addScaledVector(s, dst, ldd, a, lda, f, b, ldb)
		return
	}
	for i := range s.Rows {
		w := s.width(i)
		addScaledRow(dst[i*ldd:][:w], a[i*lda:], f, b[i*ldb:])
	}
}

func addScaledRow(dst, a []float64, f float64, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for j := range dst {
		dst[j] = a[j] + f*b[j]
	}
}

// Outer sets a_ij += f·x_i·y_j.
func Outer(s Shape, a []float64, lda int, f float64, x, y []float64) {
	if Vector() && len(y) >= vectorAxpy {
		outerVector(s, a, lda, f, x, y)
		return
	}
	for i, v := range x[:s.Rows] {
		axpyRow(a[i*lda:][:s.width(i)], f*v, y)
	}
}

func axpyRow(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += s * v
	}
}

// Scale sets dst = f·a, over the length of dst.
func Scale(dst []float64, f float64, a []float64) {
	a = a[:len(dst)]
	for j, v := range a {
		dst[j] = f * v
	}
}

// SumSquares returns Σ a_ij², in an order that does not depend on the stride.
func SumSquares(s Shape, a []float64, lda int) float64 {
	if Vector() && (s.Rows > 1 && s.width(s.Rows-1) > 7 || s.Cols >= vectorNorm) {
		return sumSquaresVector(s, a, lda)
	}
	t := 0.0
	for i := range s.Rows {
		x := a[i*lda : i*lda+s.width(i)]
		var s0, s1, s2, s3 float64
		p := 0
		for ; p < len(x)-3; p += 4 {
			v0, v1, v2, v3 := x[p], x[p+1], x[p+2], x[p+3]
			s0 += v0 * v0
			s1 += v1 * v1
			s2 += v2 * v2
			s3 += v3 * v3
		}
		for ; p < len(x); p++ {
			s0 += x[p] * x[p]
		}
		t += (s0 + s1) + (s2 + s3)
	}
	return t
}

// SumSquaresSub returns Σ (a_ij − b_ij)², each with its stride.
func SumSquaresSub(s Shape, a []float64, lda int, b []float64, ldb int) float64 {
	if Vector() {
		return sumSquaresSubVector(s, a, lda, b, ldb)
	}
	t := 0.0
	for i := range s.Rows {
		t += sumSquaresSubRow(a[i*lda:][:s.width(i)], b[i*ldb:])
	}
	return t
}

func sumSquaresSubRow(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i < len(x)-3; i += 4 {
		v0, v1, v2, v3 := x[i]-y[i], x[i+1]-y[i+1], x[i+2]-y[i+2], x[i+3]-y[i+3]
		s0 += v0 * v0
		s1 += v1 * v1
		s2 += v2 * v2
		s3 += v3 * v3
	}
	for ; i < len(x); i++ {
		v := x[i] - y[i]
		s0 += v * v
	}
	return (s0 + s1) + (s2 + s3)
}
