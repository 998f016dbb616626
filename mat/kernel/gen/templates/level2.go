//go:build ignore

package kernel

import "simd"

func dotVector(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 simd.Float64s
	i := 0
	for ; i+4*lanes <= len(x); i += 4 * lanes {
		a, b := x[i:i+4*lanes:i+4*lanes], y[i:i+4*lanes:i+4*lanes]
		sQ = simd.LoadFloat64s(a[Q*lanes:]).MulAdd(simd.LoadFloat64s(b[Q*lanes:]), sQ) //gen:times 4
	}
	for ; i+lanes <= len(x); i += lanes {
		s0 = simd.LoadFloat64s(x[i:]).MulAdd(simd.LoadFloat64s(y[i:]), s0)
	}
	if i < len(x) {
		a, _ := simd.LoadFloat64sPart(x[i:])
		b, _ := simd.LoadFloat64sPart(y[i:])
		s1 = a.MulAdd(b, s1)
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	archsimd.ClearAVXUpperBits()
	return Sum(&t)
}

func axpyVector(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	a := simd.BroadcastFloat64s(s)
	i := 0
	for ; i+2*lanes <= len(y); i += 2 * lanes {
		p, q := y[i:i+2*lanes:i+2*lanes], x[i:i+2*lanes:i+2*lanes]
		a.MulAdd(simd.LoadFloat64s(q), simd.LoadFloat64s(p)).Store(p)
		a.MulAdd(simd.LoadFloat64s(q[lanes:]), simd.LoadFloat64s(p[lanes:])).Store(p[lanes:])
	}
	for i < len(y) {
		p, _ := simd.LoadFloat64sPart(y[i:])
		q, _ := simd.LoadFloat64sPart(x[i:])
		i += a.MulAdd(q, p).StorePart(y[i:])
	}
	archsimd.ClearAVXUpperBits()
}

// mulVecVector goes down the rows by four, and along them with one vector of sums a row. The last
// vector of a row reaches back over the one before, whose entries are masked in it; x is at least
// one vector long.
//
//gen:wide len(x) >= vectorAxpy
func mulVecVector(dst, a []float64, lda int, x []float64) {
	n := len(x)
	whole := n / lanes * lanes
	var zero simd.Float64s
	rest := simd.LoadFloat64s(onesLast[8-lanes+n-whole:]).Greater(zero)
	tail := simd.LoadFloat64s(x[n-lanes:]).Masked(rest)
	for i := 0; i < len(dst); i += 4 {
		last := len(dst) - 1 - i
		a0, a1, a2, a3 := a[i*lda:][:n], a[(i+min(1, last))*lda:][:n], a[(i+min(2, last))*lda:][:n], a[(i+min(3, last))*lda:][:n]
		var s0, s1, s2, s3 simd.Float64s
		for j := 0; j < whole; j += lanes {
			y := simd.LoadFloat64s(x[j : j+lanes : j+lanes])
			sQ = simd.LoadFloat64s(aQ[j:j+lanes:j+lanes]).MulAdd(y, sQ) //gen:times 4
		}
		if whole < n {
			sQ = simd.LoadFloat64s(aQ[n-lanes:]).Masked(rest).MulAdd(tail, sQ) //gen:times 4
		}
		sum4Vector(dst[i:], s0, s1, s2, s3)
	}
	archsimd.ClearAVXUpperBits()
}

// mulVecTransVector holds four vectors of dst in registers while it goes down all rows, or one
// where little is left. The last ones reach back over the ones before, so that none is short: dst
// is at least one vector long.
func mulVecTransVector(dst, a []float64, lda int, x []float64) {
	n := len(dst)
	j := 0
	for n-j > 2*lanes && n >= 4*lanes {
		j = min(j, n-4*lanes)
		var s0, s1, s2, s3 simd.Float64s
		at := j
		for _, xi := range x {
			y := simd.BroadcastFloat64s(xi)
			r := a[at : at+4*lanes : at+4*lanes]
			sQ = y.MulAdd(simd.LoadFloat64s(r[Q*lanes:]), sQ) //gen:times 4
			at += lda
		}
		d := dst[j : j+4*lanes]
		sQ.Store(d[Q*lanes:]) //gen:times 4
		j += 4 * lanes
	}
	for ; j < n; j += lanes {
		j = min(j, n-lanes)
		var s simd.Float64s
		at := j
		for _, xi := range x {
			s = simd.BroadcastFloat64s(xi).MulAdd(simd.LoadFloat64s(a[at:at+lanes:at+lanes]), s)
			at += lda
		}
		s.Store(dst[j:])
	}
	archsimd.ClearAVXUpperBits()
}

// mulVecSymVector takes four rows at a time: the sums of the rows stay in registers, those of the
// columns go through dst.
//
//gen:wide len(x) >= vectorWide
func mulVecSymVector(dst, a []float64, lda int, x []float64) {
	n := len(x)
	dst = dst[:n]
	var t [4]float64
	i := 0
	for ; i+3 < n; i += 4 {
		a0, a1, a2, a3 := a[i*lda:][:i+1], a[(i+1)*lda:][:i+2], a[(i+2)*lda:][:i+3], a[(i+3)*lda:][:i+4]
		f0, f1, f2, f3 := simd.BroadcastFloat64s(x[i]), simd.BroadcastFloat64s(x[i+1]), simd.BroadcastFloat64s(x[i+2]), simd.BroadcastFloat64s(x[i+3])
		var s0, s1, s2, s3 simd.Float64s
		j := 0
		for ; j+lanes <= i; j += lanes {
			y := simd.LoadFloat64s(x[j : j+lanes : j+lanes])
			d := simd.LoadFloat64s(dst[j : j+lanes : j+lanes])
			r := simd.LoadFloat64s(a0[j : j+lanes : j+lanes])
			s0, d = r.MulAdd(y, s0), r.MulAdd(f0, d)
			r = simd.LoadFloat64s(a1[j : j+lanes : j+lanes])
			s1, d = r.MulAdd(y, s1), r.MulAdd(f1, d)
			r = simd.LoadFloat64s(a2[j : j+lanes : j+lanes])
			s2, d = r.MulAdd(y, s2), r.MulAdd(f2, d)
			r = simd.LoadFloat64s(a3[j : j+lanes : j+lanes])
			s3, d = r.MulAdd(y, s3), r.MulAdd(f3, d)
			d.Store(dst[j : j+lanes : j+lanes])
		}
		sum4Vector(t[:], s0, s1, s2, s3)
		archsimd.ClearAVXUpperBits()
		r0, r1, r2, r3 := t[0], t[1], t[2], t[3]
		x0, x1, x2, x3 := x[i], x[i+1], x[i+2], x[i+3]
		for ; j < i; j++ {
			y, b0, b1, b2, b3 := x[j], a0[j], a1[j], a2[j], a3[j]
			rQ += bQ * y //gen:times 4
			dst[j] += b0*x0 + b1*x1 + b2*x2 + b3*x3
		}
		// The corner.
		dst[i] = r0 + a0[i]*x0 + a1[i]*x1 + a2[i]*x2 + a3[i]*x3
		dst[i+1] = r1 + a1[i]*x0 + a1[i+1]*x1 + a2[i+1]*x2 + a3[i+1]*x3
		dst[i+2] = r2 + a2[i]*x0 + a2[i+1]*x1 + a2[i+2]*x2 + a3[i+2]*x3
		dst[i+3] = r3 + a3[i]*x0 + a3[i+1]*x1 + a3[i+2]*x2 + a3[i+3]*x3
	}
	archsimd.ClearAVXUpperBits()
	symRest(dst, a, lda, x, i)
}

// subRowsVector is mulVecTransVector, subtracted from what is there, two vectors at a time. What
// the last one is subtracted from is read beforehand.
func subRowsVector(y, s, x []float64, ld int) {
	n := len(y)
	tail := simd.LoadFloat64s(y[n-lanes:])
	j := 0
	for ; j+2*lanes <= n; j += 2 * lanes {
		var s0, s1 simd.Float64s
		at := j
		for _, si := range s {
			t := simd.BroadcastFloat64s(si)
			r := x[at : at+2*lanes : at+2*lanes]
			s0 = t.MulAdd(simd.LoadFloat64s(r), s0)
			s1 = t.MulAdd(simd.LoadFloat64s(r[lanes:]), s1)
			at += ld
		}
		d := y[j : j+2*lanes]
		simd.LoadFloat64s(d).Sub(s0).Store(d)
		simd.LoadFloat64s(d[lanes:]).Sub(s1).Store(d[lanes:])
	}
	for ; j < n; j += lanes {
		old := tail
		if j+lanes < n {
			old = simd.LoadFloat64s(y[j:])
		} else {
			j = n - lanes
		}
		var t simd.Float64s
		at := j
		for _, si := range s {
			t = simd.BroadcastFloat64s(si).MulAdd(simd.LoadFloat64s(x[at:at+lanes:at+lanes]), t)
			at += ld
		}
		old.Sub(t).Store(y[j:])
	}
	archsimd.ClearAVXUpperBits()
}
