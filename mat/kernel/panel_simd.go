//go:build !amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

func stripVector(s *Strip) {
	spreadVector(s)
	room := (*[EdgeRoom]float64)(s.Room)
	alpha, edge := room[:lanes], room[8:]
	simd.BroadcastFloat64s(s.Alpha).Store(alpha)
	var t tileVector
	t.a, t.alpha = s.Room[EdgeRoom:][:4*lanes*Padded(s.K)], alpha
	b := s.B
	for j := 0; j < min(s.N, s.Diag+s.Rows); {
		w, nr := PanelAt(s.N, j)
		t.b, t.c, t.ldc, t.set = b[:nr*Padded(s.K)], edge, nr, true
		whole := s.Rows == 4 && min(w, s.Diag+1-j) == nr
		if whole {
			t.c, t.ldc, t.set = s.C[j:], s.Ldc, s.Set
		}
		switch nr {
		case 3 * lanes:
			tile3Vector(&t)
		case 2 * lanes:
			tile2Vector(&t)
		default:
			tile1Vector(&t)
		}
		if !whole {
			edgeVector(s, edge, j, w, nr)
		}
		b = b[nr*Padded(s.K):]
		j += w
	}
	ClearUpper()
}

// spreadVector sets the room after edge, [(4·p+i)·lanes+l] = A[i·Lda+p·Step] for l < lanes. A row
// that is not there is stood in for by the last; inner indices beyond K are zeros.
func spreadVector(s *Strip) {
	k, d := s.K, s.Room[EdgeRoom:]
	last := s.Rows - 1
	r1, r2, r3 := min(1, last)*s.Lda, min(2, last)*s.Lda, last*s.Lda
	p := 0
	if s.Step == 1 {
		a0 := s.A[:k]
		a1, a2, a3 := s.A[r1:][:len(a0)], s.A[r2:][:len(a0)], s.A[r3:][:len(a0)]
		for ; len(a0) >= 4; p += 4 {
			x0, x1, x2, x3 := (*[4]float64)(a0), (*[4]float64)(a1), (*[4]float64)(a2), (*[4]float64)(a3)
			x := (*[16 * lanes]float64)(d)
			for q := range 4 { //gen:unroll
				simd.BroadcastFloat64s(x0[q]).Store(x[4*q*lanes : (4*q+1)*lanes])
				simd.BroadcastFloat64s(x1[q]).Store(x[(4*q+1)*lanes : (4*q+2)*lanes])
				simd.BroadcastFloat64s(x2[q]).Store(x[(4*q+2)*lanes : (4*q+3)*lanes])
				simd.BroadcastFloat64s(x3[q]).Store(x[(4*q+3)*lanes : (4*q+4)*lanes])
			}
			a0, a1, a2, a3, d = a0[4:], a1[4:], a2[4:], a3[4:], d[16*lanes:]
		}
	}
	for ; p < k; p++ {
		a := s.A[p*s.Step:]
		x := (*[4 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[0]).Store(x[:lanes])
		simd.BroadcastFloat64s(a[r1]).Store(x[lanes : 2*lanes])
		simd.BroadcastFloat64s(a[r2]).Store(x[2*lanes : 3*lanes])
		simd.BroadcastFloat64s(a[r3]).Store(x[3*lanes:])
		d = d[4*lanes:]
	}
	var zero simd.Float64s
	for ; p < Padded(k); p++ {
		x := (*[4 * lanes]float64)(d)
		zero.Store(x[:lanes])
		zero.Store(x[lanes : 2*lanes])
		zero.Store(x[2*lanes : 3*lanes])
		zero.Store(x[3*lanes:])
		d = d[4*lanes:]
	}
}

// A tileVector is four rows by one to three vectors of a product:
//
//	for i < 4, j: c[i·ldc+j] (+)= alpha · Σ_p a_pi·b_pj
//
// with a spread and b packed.
type tileVector struct {
	a, b, c []float64
	alpha   []float64
	ldc     int
	set     bool
}

func tile3Vector(t *tileVector) {
	var c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32 simd.Float64s
	a, b := t.a, t.b
	for len(a) >= 4*lanes*unrolled {
		x, y := (*[4 * lanes * unrolled]float64)(a), (*[3 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			y0 := simd.LoadFloat64s(y[3*p*lanes : (3*p+1)*lanes])
			y1 := simd.LoadFloat64s(y[(3*p+1)*lanes : (3*p+2)*lanes])
			y2 := simd.LoadFloat64s(y[(3*p+2)*lanes : (3*p+3)*lanes])
			c00, c01, c02 = axpy3Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, y2, c00, c01, c02)
			c10, c11, c12 = axpy3Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, y2, c10, c11, c12)
			c20, c21, c22 = axpy3Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, y2, c20, c21, c22)
			c30, c31, c32 = axpy3Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, y2, c30, c31, c32)
		}
		a, b = a[4*lanes*unrolled:], b[3*lanes*unrolled:]
	}
	f, c := simd.LoadFloat64s(t.alpha), t.c
	put3Vector(c, t.set, f, c00, c01, c02)
	c = c[t.ldc:]
	put3Vector(c, t.set, f, c10, c11, c12)
	c = c[t.ldc:]
	put3Vector(c, t.set, f, c20, c21, c22)
	c = c[t.ldc:]
	put3Vector(c, t.set, f, c30, c31, c32)
}

func tile2Vector(t *tileVector) {
	var c00, c01, c10, c11, c20, c21, c30, c31 simd.Float64s
	a, b := t.a, t.b
	for len(a) >= 4*lanes*unrolled {
		x, y := (*[4 * lanes * unrolled]float64)(a), (*[2 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			y0 := simd.LoadFloat64s(y[2*p*lanes : (2*p+1)*lanes])
			y1 := simd.LoadFloat64s(y[(2*p+1)*lanes : (2*p+2)*lanes])
			c00, c01 = axpy2Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, c00, c01)
			c10, c11 = axpy2Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, c10, c11)
			c20, c21 = axpy2Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, c20, c21)
			c30, c31 = axpy2Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, c30, c31)
		}
		a, b = a[4*lanes*unrolled:], b[2*lanes*unrolled:]
	}
	f, c := simd.LoadFloat64s(t.alpha), t.c
	put2Vector(c, t.set, f, c00, c01)
	c = c[t.ldc:]
	put2Vector(c, t.set, f, c10, c11)
	c = c[t.ldc:]
	put2Vector(c, t.set, f, c20, c21)
	c = c[t.ldc:]
	put2Vector(c, t.set, f, c30, c31)
}

func tile1Vector(t *tileVector) {
	var c0, c1, c2, c3 simd.Float64s
	a, b := t.a, t.b
	for len(a) >= 4*lanes*unrolled {
		x, y := (*[4 * lanes * unrolled]float64)(a), (*[lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			y0 := simd.LoadFloat64s(y[p*lanes : (p+1)*lanes])
			c0 = simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]).MulAdd(y0, c0)
			c1 = simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]).MulAdd(y0, c1)
			c2 = simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]).MulAdd(y0, c2)
			c3 = simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]).MulAdd(y0, c3)
		}
		a, b = a[4*lanes*unrolled:], b[lanes*unrolled:]
	}
	f, c := simd.LoadFloat64s(t.alpha), t.c
	put1Vector(c, t.set, f, c0)
	c = c[t.ldc:]
	put1Vector(c, t.set, f, c1)
	c = c[t.ldc:]
	put1Vector(c, t.set, f, c2)
	c = c[t.ldc:]
	put1Vector(c, t.set, f, c3)
}

// axpy3Vector returns c + x·y, for three vectors. MulAdd overwrites what it is called on: y would
// have to be copied, x is not used again.
func axpy3Vector(x, y0, y1, y2, c0, c1, c2 simd.Float64s) (simd.Float64s, simd.Float64s, simd.Float64s) {
	c0 = y0.MulAdd(x, c0)
	c1 = y1.MulAdd(x, c1)
	c2 = x.MulAdd(y2, c2)
	return c0, c1, c2
}

// axpy2Vector is axpy3Vector for two vectors.
func axpy2Vector(x, y0, y1, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	c0 = y0.MulAdd(x, c0)
	c1 = x.MulAdd(y1, c1)
	return c0, c1
}

// put3Vector sets c = f·s, or adds that to it.
func put3Vector(c []float64, set bool, f, s0, s1, s2 simd.Float64s) {
	put2Vector(c, set, f, s0, s1)
	put1Vector(c[2*lanes:], set, f, s2)
}

func put2Vector(c []float64, set bool, f, s0, s1 simd.Float64s) {
	put1Vector(c, set, f, s0)
	put1Vector(c[lanes:], set, f, s1)
}

func put1Vector(c []float64, set bool, f, s simd.Float64s) {
	if set {
		s.Mul(f).Store(c)
	} else {
		s.MulAdd(f, simd.LoadFloat64s(c)).Store(c)
	}
}

// edgeVector copies from edge, or adds, the part of a tile that lies inside C: the first min(w,
// Diag+i+1−j) columns of row i.
func edgeVector(s *Strip, edge []float64, j, w, nr int) {
	for i := 0; i < s.Rows; i++ {
		n := min(w, s.Diag+i+1-j)
		if n <= 0 {
			continue
		}
		c, e := s.C[i*s.Ldc+j:][:n], edge[i*nr:]
		for q := 0; q < n; q += lanes {
			v := simd.LoadFloat64s(e[q:])
			if !s.Set {
				old, _ := simd.LoadFloat64sPart(c[q:])
				v = v.Add(old)
			}
			v.StorePart(c[q:])
		}
	}
}

// packRowsVector packs whole vectors as long as there is memory for them: what comes from beyond w
// stands in columns that nobody asks for.
func packRowsVector(dst []float64, nr int, b []float64, stride, k, w int) {
	whole := k
	for whole > 0 && (whole-1)*stride+nr > len(b) {
		whole--
	}
	switch nr {
	case 3 * lanes:
		for p := 0; p < whole; p++ {
			r, d := (*[3 * lanes]float64)(b[p*stride:]), (*[3 * lanes]float64)(dst[p*nr:])
			x, y, z := simd.LoadFloat64s(r[:lanes]), simd.LoadFloat64s(r[lanes:2*lanes]), simd.LoadFloat64s(r[2*lanes:])
			x.Store(d[:lanes])
			y.Store(d[lanes : 2*lanes])
			z.Store(d[2*lanes:])
		}
	case 2 * lanes:
		for p := 0; p < whole; p++ {
			r, d := (*[2 * lanes]float64)(b[p*stride:]), (*[2 * lanes]float64)(dst[p*nr:])
			x, y := simd.LoadFloat64s(r[:lanes]), simd.LoadFloat64s(r[lanes:])
			x.Store(d[:lanes])
			y.Store(d[lanes:])
		}
	default:
		for p := 0; p < whole; p++ {
			r, d := b[p*stride:], dst[p*nr:][:nr]
			for len(d) >= lanes {
				simd.LoadFloat64s(r).Store(d)
				r, d = r[lanes:], d[lanes:]
			}
		}
	}
	for p := whole; p < k; p++ {
		r, d := b[p*stride:][:w], dst[p*nr:][:nr]
		for q := 0; q < nr; q += lanes {
			v, _ := simd.LoadFloat64sPart(r[min(q, w):])
			v.Store(d[q:])
		}
	}
	var zero simd.Float64s
	for q := k * nr; q < Padded(k)*nr; q += lanes {
		zero.Store(dst[q:])
	}
	ClearUpper()
}
