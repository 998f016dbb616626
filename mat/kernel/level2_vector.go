//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

func dotVector(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 vec
	i := 0
	for ; i+4*lanes <= len(x); i += 4 * lanes {
		a, b := x[i:i+4*lanes:i+4*lanes], y[i:i+4*lanes:i+4*lanes]
		s0 = load(a[0*lanes:]).MulAdd(load(b[0*lanes:]), s0)
		s1 = load(a[1*lanes:]).MulAdd(load(b[1*lanes:]), s1)
		s2 = load(a[2*lanes:]).MulAdd(load(b[2*lanes:]), s2)
		s3 = load(a[3*lanes:]).MulAdd(load(b[3*lanes:]), s3)
	}
	for ; i+lanes <= len(x); i += lanes {
		s0 = load(x[i:]).MulAdd(load(y[i:]), s0)
	}
	if i < len(x) {
		a, _ := loadPart(x[i:])
		b, _ := loadPart(y[i:])
		s1 = a.MulAdd(b, s1)
	}
	var t [8]float64
	s0.Add(s1).Add(s2.Add(s3)).Store(t[:])
	clearUpper()
	return Sum(&t)
}

func axpyVector(y []float64, s float64, x []float64) {
	if wide() {
		axpyAVX512(y, s, x)
		return
	}
	x = x[:len(y)]
	a := spread(s)
	i := 0
	for ; i+2*lanes <= len(y); i += 2 * lanes {
		p, q := y[i:i+2*lanes:i+2*lanes], x[i:i+2*lanes:i+2*lanes]
		a.MulAdd(load(q), load(p)).Store(p)
		a.MulAdd(load(q[lanes:]), load(p[lanes:])).Store(p[lanes:])
	}
	for i < len(y) {
		p, _ := loadPart(y[i:])
		q, _ := loadPart(x[i:])
		i += a.MulAdd(q, p).StorePart(y[i:])
	}
	clearUpper()
}

// mulVecVector goes down the rows by four, and along them with one vector of sums a row. The last
// vector of a row reaches back over the one before, masked in it; x is at least one vector long.
func mulVecVector(dst, a []float64, lda int, x []float64) {
	if wide() && len(x) >= vectorAxpy {
		mulVecAVX512(dst, a, lda, x)
		return
	}
	n := len(x)
	whole := n / lanes * lanes
	var zero vec
	rest := load(onesLast[8-lanes+n-whole:]).Greater(zero)
	tail := load(x[n-lanes:]).Masked(rest)
	for i := 0; i < len(dst); i += 4 {
		last := len(dst) - 1 - i
		a0, a1, a2, a3 := a[i*lda:][:n], a[(i+min(1, last))*lda:][:n], a[(i+min(2, last))*lda:][:n], a[(i+min(3, last))*lda:][:n]
		var s0, s1, s2, s3 vec
		for j := 0; j < whole; j += lanes {
			y := load(x[j : j+lanes : j+lanes])
			s0 = load(a0[j:j+lanes:j+lanes]).MulAdd(y, s0)
			s1 = load(a1[j:j+lanes:j+lanes]).MulAdd(y, s1)
			s2 = load(a2[j:j+lanes:j+lanes]).MulAdd(y, s2)
			s3 = load(a3[j:j+lanes:j+lanes]).MulAdd(y, s3)
		}
		if whole < n {
			s0 = load(a0[n-lanes:]).Masked(rest).MulAdd(tail, s0)
			s1 = load(a1[n-lanes:]).Masked(rest).MulAdd(tail, s1)
			s2 = load(a2[n-lanes:]).Masked(rest).MulAdd(tail, s2)
			s3 = load(a3[n-lanes:]).Masked(rest).MulAdd(tail, s3)
		}
		sum4Vector(dst[i:], s0, s1, s2, s3)
	}
	clearUpper()
}

// mulVecTransVector holds four vectors of dst in registers while it goes down all rows, or one
// where little is left. The last ones reach back over the ones before, so that none is short: dst
// is at least one vector long.
func mulVecTransVector(dst, a []float64, lda int, x []float64) {
	if wide() {
		mulVecTransAVX512(dst, a, lda, x)
		return
	}
	n := len(dst)
	j := 0
	for n-j > 2*lanes && n >= 4*lanes {
		j = min(j, n-4*lanes)
		var s0, s1, s2, s3 vec
		at := j
		for i := range x {
			y := spread(x[i])
			r := a[at : at+4*lanes : at+4*lanes]
			s0 = y.MulAdd(load(r[0*lanes:]), s0)
			s1 = y.MulAdd(load(r[1*lanes:]), s1)
			s2 = y.MulAdd(load(r[2*lanes:]), s2)
			s3 = y.MulAdd(load(r[3*lanes:]), s3)
			at += lda
		}
		d := dst[j : j+4*lanes]
		s0.Store(d[0*lanes:])
		s1.Store(d[1*lanes:])
		s2.Store(d[2*lanes:])
		s3.Store(d[3*lanes:])
		j += 4 * lanes
	}
	for ; j < n; j += lanes {
		j = min(j, n-lanes)
		var s vec
		at := j
		for _, xi := range x {
			s = spread(xi).MulAdd(load(a[at:at+lanes:at+lanes]), s)
			at += lda
		}
		s.Store(dst[j:])
	}
	clearUpper()
}

// mulVecSymVector takes four rows at a time: sums of rows stay in registers, those of columns go through dst.
func mulVecSymVector(dst, a []float64, lda int, x []float64) {
	if wide() && len(x) >= vectorWide {
		mulVecSymAVX512(dst, a, lda, x)
		return
	}
	n := len(x)
	dst = dst[:n]
	var t [4]float64
	i := 0
	for ; i+3 < n; i += 4 {
		a0, a1, a2, a3 := a[i*lda:][:i+1], a[(i+1)*lda:][:i+2], a[(i+2)*lda:][:i+3], a[(i+3)*lda:][:i+4]
		f0, f1, f2, f3 := spread(x[i]), spread(x[i+1]), spread(x[i+2]), spread(x[i+3])
		var s0, s1, s2, s3 vec
		j := 0
		for ; j+lanes <= i; j += lanes {
			y := load(x[j : j+lanes : j+lanes])
			d := load(dst[j : j+lanes : j+lanes])
			r := load(a0[j : j+lanes : j+lanes])
			s0, d = r.MulAdd(y, s0), r.MulAdd(f0, d)
			r = load(a1[j : j+lanes : j+lanes])
			s1, d = r.MulAdd(y, s1), r.MulAdd(f1, d)
			r = load(a2[j : j+lanes : j+lanes])
			s2, d = r.MulAdd(y, s2), r.MulAdd(f2, d)
			r = load(a3[j : j+lanes : j+lanes])
			s3, d = r.MulAdd(y, s3), r.MulAdd(f3, d)
			d.StoreArray((*array)(dst[j : j+lanes : j+lanes]))
		}
		sum4Vector(t[:], s0, s1, s2, s3)
		clearUpper()
		r0, r1, r2, r3 := t[0], t[1], t[2], t[3]
		x0, x1, x2, x3 := x[i], x[i+1], x[i+2], x[i+3]
		for ; j < i; j++ {
			y, b0, b1, b2, b3 := x[j], a0[j], a1[j], a2[j], a3[j]
			r0 += b0 * y
			r1 += b1 * y
			r2 += b2 * y
			r3 += b3 * y
			dst[j] += b0*x0 + b1*x1 + b2*x2 + b3*x3
		}
		// The corner.
		dst[i] = r0 + a0[i]*x0 + a1[i]*x1 + a2[i]*x2 + a3[i]*x3
		dst[i+1] = r1 + a1[i]*x0 + a1[i+1]*x1 + a2[i+1]*x2 + a3[i+1]*x3
		dst[i+2] = r2 + a2[i]*x0 + a2[i+1]*x1 + a2[i+2]*x2 + a3[i+2]*x3
		dst[i+3] = r3 + a3[i]*x0 + a3[i+1]*x1 + a3[i+2]*x2 + a3[i+3]*x3
	}
	clearUpper()
	symRest(dst, a, lda, x, i)
}

// subRowsVector is mulVecTransVector, subtracted from what is there, two vectors at a time. What
// the last one is subtracted from is read beforehand.
func subRowsVector(y, s, x []float64, ld int) {
	if wide() {
		subRowsAVX512(y, s, x, ld)
		return
	}
	n := len(y)
	tail := load(y[n-lanes:])
	j := 0
	for ; j+2*lanes <= n; j += 2 * lanes {
		var s0, s1 vec
		at := j
		for i := range s {
			t := spread(s[i])
			r := x[at : at+2*lanes : at+2*lanes]
			s0 = t.MulAdd(load(r), s0)
			s1 = t.MulAdd(load(r[lanes:]), s1)
			at += ld
		}
		d := y[j : j+2*lanes]
		load(d).Sub(s0).Store(d)
		load(d[lanes:]).Sub(s1).Store(d[lanes:])
	}
	for ; j < n; j += lanes {
		old := tail
		if j+lanes < n {
			old = load(y[j:])
		} else {
			j = n - lanes
		}
		var t vec
		at := j
		for _, si := range s {
			t = spread(si).MulAdd(load(x[at:at+lanes:at+lanes]), t)
			at += ld
		}
		old.Sub(t).Store(y[j:])
	}
	clearUpper()
}
