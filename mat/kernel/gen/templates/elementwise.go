//go:build ignore

package kernel

import "simd"

func recurVector(s Shape, dst []float64, ldd int, tau float64, h []float64, ldh int, old []float64, ldo int, now []float64, ldn int) {
	f := simd.BroadcastFloat64s(1 - tau)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, a, b, c := dst[i*ldd:][:w], h[i*ldh:][:w], old[i*ldo:][:w], now[i*ldn:][:w]
		j := 0
		for ; j+lanes <= w; j += lanes {
			t := simd.LoadFloat64s(a[j : j+lanes : j+lanes]).Sub(simd.LoadFloat64s(b[j : j+lanes : j+lanes]))
			f.MulAdd(t, simd.LoadFloat64s(c[j:j+lanes:j+lanes])).Store(d[j : j+lanes : j+lanes])
		}
		if j < w {
			t, _ := simd.LoadFloat64sPart(a[j:])
			o, _ := simd.LoadFloat64sPart(b[j:])
			n, _ := simd.LoadFloat64sPart(c[j:])
			f.MulAdd(t.Sub(o), n).StorePart(d[j:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

//gen:128,256
func addScaledVector(s Shape, dst []float64, ldd int, a []float64, lda int, f float64, b []float64, ldb int) {
	g := simd.BroadcastFloat64s(f)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, p, q := dst[i*ldd:][:w], a[i*lda:][:w], b[i*ldb:][:w]
		j := 0
		for ; j+lanes <= w; j += lanes {
			g.MulAdd(simd.LoadFloat64s(q[j:j+lanes:j+lanes]), simd.LoadFloat64s(p[j:j+lanes:j+lanes])).Store(d[j : j+lanes : j+lanes])
		}
		if j < w {
			t, _ := simd.LoadFloat64sPart(p[j:])
			u, _ := simd.LoadFloat64sPart(q[j:])
			g.MulAdd(u, t).StorePart(d[j:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

//gen:128,256
func outerVector(s Shape, a []float64, lda int, f float64, x, y []float64) {
	b := simd.BroadcastFloat64s(f)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, q := a[i*lda:][:w], y[:w]
		g := simd.BroadcastFloat64s(x[i]).Mul(b)
		j := 0
		for ; j+lanes <= w; j += lanes {
			r := d[j : j+lanes : j+lanes]
			g.MulAdd(simd.LoadFloat64s(q[j:j+lanes:j+lanes]), simd.LoadFloat64s(r)).Store(r)
		}
		if j < w {
			t, _ := simd.LoadFloat64sPart(d[j:])
			u, _ := simd.LoadFloat64sPart(q[j:])
			g.MulAdd(u, t).StorePart(d[j:])
		}
	}
	archsimd.ClearAVXUpperBits()
}

// sumSquaresVector keeps four vectors of sums over all rows.
func sumSquaresVector(s Shape, a []float64, lda int) float64 {
	var s0, s1, s2, s3 simd.Float64s
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		x := a[i*lda:][:w]
		j := 0
		for ; j+4*lanes <= w; j += 4 * lanes {
			r := x[j : j+4*lanes : j+4*lanes]
			y := simd.LoadFloat64s(r)
			s0 = y.MulAdd(y, s0)
			y = simd.LoadFloat64s(r[lanes:])
			s1 = y.MulAdd(y, s1)
			y = simd.LoadFloat64s(r[2*lanes:])
			s2 = y.MulAdd(y, s2)
			y = simd.LoadFloat64s(r[3*lanes:])
			s3 = y.MulAdd(y, s3)
		}
		for ; j+lanes <= w; j += lanes {
			y := simd.LoadFloat64s(x[j : j+lanes : j+lanes])
			s0 = y.MulAdd(y, s0)
		}
		if j < w {
			y, _ := simd.LoadFloat64sPart(x[j:])
			s1 = y.MulAdd(y, s1)
		}
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	archsimd.ClearAVXUpperBits()
	return Sum(&t)
}

// sumSquaresSubVector is sumSquaresVector for the differences of two matrices.
//
//gen:128,256
func sumSquaresSubVector(s Shape, a []float64, lda int, b []float64, ldb int) float64 {
	var s0, s1, s2, s3 simd.Float64s
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		x, z := a[i*lda:][:w], b[i*ldb:][:w]
		j := 0
		for ; j+4*lanes <= w; j += 4 * lanes {
			r, q := x[j:j+4*lanes:j+4*lanes], z[j:j+4*lanes:j+4*lanes]
			y := simd.LoadFloat64s(r).Sub(simd.LoadFloat64s(q))
			s0 = y.MulAdd(y, s0)
			y = simd.LoadFloat64s(r[lanes:]).Sub(simd.LoadFloat64s(q[lanes:]))
			s1 = y.MulAdd(y, s1)
			y = simd.LoadFloat64s(r[2*lanes:]).Sub(simd.LoadFloat64s(q[2*lanes:]))
			s2 = y.MulAdd(y, s2)
			y = simd.LoadFloat64s(r[3*lanes:]).Sub(simd.LoadFloat64s(q[3*lanes:]))
			s3 = y.MulAdd(y, s3)
		}
		for ; j+lanes <= w; j += lanes {
			y := simd.LoadFloat64s(x[j : j+lanes : j+lanes]).Sub(simd.LoadFloat64s(z[j : j+lanes : j+lanes]))
			s0 = y.MulAdd(y, s0)
		}
		if j < w {
			y, _ := simd.LoadFloat64sPart(x[j:])
			t, _ := simd.LoadFloat64sPart(z[j:])
			y = y.Sub(t)
			s1 = y.MulAdd(y, s1)
		}
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	archsimd.ClearAVXUpperBits()
	return Sum(&t)
}
