//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

func recurVector(s Shape, dst []float64, ldd int, tau float64, h []float64, ldh int, old []float64, ldo int, now []float64, ldn int) {
	if wide() {
		recurAVX512(s, dst, ldd, tau, h, ldh, old, ldo, now, ldn)
		return
	}
	f := spread(1 - tau)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, a, b, c := dst[i*ldd:][:w], h[i*ldh:][:w], old[i*ldo:][:w], now[i*ldn:][:w]
		j := 0
		for ; j+lanes <= w; j += lanes {
			// Not through load, which would cost arm64 two registers.
			t := archsimd.LoadFloat64x2Array((*array)(a[j : j+lanes : j+lanes])).
				Sub(archsimd.LoadFloat64x2Array((*array)(b[j : j+lanes : j+lanes])))
			f.MulAdd(t, archsimd.LoadFloat64x2Array((*array)(c[j:j+lanes:j+lanes]))).
				StoreArray((*array)(d[j : j+lanes : j+lanes]))
		}
		if j < w {
			t, _ := loadPart(a[j:])
			o, _ := loadPart(b[j:])
			n, _ := loadPart(c[j:])
			f.MulAdd(t.Sub(o), n).StorePart(d[j:])
		}
	}
	clearUpper()
}

func addScaledVector(s Shape, dst []float64, ldd int, a []float64, lda int, f float64, b []float64, ldb int) {
	g := spread(f)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, p, q := dst[i*ldd:][:w], a[i*lda:][:w], b[i*ldb:][:w]
		j := 0
		for ; j+lanes <= w; j += lanes {
			g.MulAdd(load(q[j:j+lanes:j+lanes]), load(p[j:j+lanes:j+lanes])).Store(d[j : j+lanes : j+lanes])
		}
		if j < w {
			t, _ := loadPart(p[j:])
			u, _ := loadPart(q[j:])
			g.MulAdd(u, t).StorePart(d[j:])
		}
	}
	clearUpper()
}

func outerVector(s Shape, a []float64, lda int, f float64, x, y []float64) {
	b := spread(f)
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		d, q := a[i*lda:][:w], y[:w]
		g := spread(x[i]).Mul(b)
		j := 0
		for ; j+lanes <= w; j += lanes {
			r := d[j : j+lanes : j+lanes]
			g.MulAdd(load(q[j:j+lanes:j+lanes]), load(r)).Store(r)
		}
		if j < w {
			t, _ := loadPart(d[j:])
			u, _ := loadPart(q[j:])
			g.MulAdd(u, t).StorePart(d[j:])
		}
	}
	clearUpper()
}

// sumSquaresVector keeps four vectors of sums over all rows.
func sumSquaresVector(s Shape, a []float64, lda int) float64 {
	var s0, s1, s2, s3 vec
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		x := a[i*lda:][:w]
		j := 0
		for ; j+4*lanes <= w; j += 4 * lanes {
			r := x[j : j+4*lanes : j+4*lanes]
			y := archsimd.LoadFloat64x2Array((*array)(r))
			s0 = y.MulAdd(y, s0)
			y = archsimd.LoadFloat64x2Array((*array)(r[lanes:]))
			s1 = y.MulAdd(y, s1)
			y = archsimd.LoadFloat64x2Array((*array)(r[2*lanes:]))
			s2 = y.MulAdd(y, s2)
			y = archsimd.LoadFloat64x2Array((*array)(r[3*lanes:]))
			s3 = y.MulAdd(y, s3)
		}
		for ; j+lanes <= w; j += lanes {
			y := load(x[j : j+lanes : j+lanes])
			s0 = y.MulAdd(y, s0)
		}
		if j < w {
			y, _ := loadPart(x[j:])
			s1 = y.MulAdd(y, s1)
		}
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	clearUpper()
	return Sum(&t)
}

// sumSquaresSubVector is sumSquaresVector for the differences of two matrices.
func sumSquaresSubVector(s Shape, a []float64, lda int, b []float64, ldb int) float64 {
	var s0, s1, s2, s3 vec
	for i := 0; i < s.Rows; i++ {
		w := s.width(i)
		x, z := a[i*lda:][:w], b[i*ldb:][:w]
		j := 0
		for ; j+4*lanes <= w; j += 4 * lanes {
			r, q := x[j:j+4*lanes:j+4*lanes], z[j:j+4*lanes:j+4*lanes]
			y := load(r).Sub(load(q))
			s0 = y.MulAdd(y, s0)
			y = load(r[lanes:]).Sub(load(q[lanes:]))
			s1 = y.MulAdd(y, s1)
			y = load(r[2*lanes:]).Sub(load(q[2*lanes:]))
			s2 = y.MulAdd(y, s2)
			y = load(r[3*lanes:]).Sub(load(q[3*lanes:]))
			s3 = y.MulAdd(y, s3)
		}
		for ; j+lanes <= w; j += lanes {
			y := load(x[j : j+lanes : j+lanes]).Sub(load(z[j : j+lanes : j+lanes]))
			s0 = y.MulAdd(y, s0)
		}
		if j < w {
			y, _ := loadPart(x[j:])
			t, _ := loadPart(z[j:])
			y = y.Sub(t)
			s1 = y.MulAdd(y, s1)
		}
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	clearUpper()
	return Sum(&t)
}
