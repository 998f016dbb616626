//go:build ignore

package kernel

import "simd"

func stripVector(s *Strip) {
	spreadVector(s)
	scratch := (*[EdgeScratch]float64)(s.Scratch)
	alpha, edge := scratch[:lanes], scratch[8:]
	simd.BroadcastFloat64s(s.Alpha).Store(alpha)
	var t tileVector
	t.a, t.alpha = s.Scratch[EdgeScratch:][:4*lanes*Padded(s.K)], alpha
	b := s.B
	for j := 0; j < min(s.N, s.Diag+s.Rows); {
		w, nr := PanelAt(s.N, j)
		t.b, t.c, t.ldc, t.set = b[:nr*Padded(s.K)], edge, nr, true
		whole := s.Rows == 4 && min(w, s.Diag+1-j) == nr
		if whole {
			t.c, t.ldc, t.set = s.C[j:], s.Ldc, s.Set
		}
		switch nr {
		case 3 * lanes: //gen:512
			tile3Vector(&t) //gen:512
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
	archsimd.ClearAVXUpperBits()
}

// spreadVector sets the scratch after edge, [(4·p+i)·lanes+l] = A[i·Lda+p·Step] for l < lanes. A
// row that is not there is stood in for by the last; inner indices beyond K are zeros.
func spreadVector(s *Strip) {
	k, d := s.K, s.Scratch[EdgeScratch:]
	last := s.Rows - 1
	r1, r2, r3 := min(1, last)*s.Lda, min(2, last)*s.Lda, last*s.Lda
	p := 0
	if s.Step == 1 {
		a0 := s.A[:k]
		a1, a2, a3 := s.A[r1:][:len(a0)], s.A[r2:][:len(a0)], s.A[r3:][:len(a0)]
		for ; len(a0) >= 4; p += 4 {
			x0, x1, x2, x3 := (*[4]float64)(a0), (*[4]float64)(a1), (*[4]float64)(a2), (*[4]float64)(a3)
			x := (*[16 * lanes]float64)(d)
			simd.BroadcastFloat64s(x0[0]).Store(x[:1*lanes])
			simd.BroadcastFloat64s(x1[0]).Store(x[1*lanes : 2*lanes])
			simd.BroadcastFloat64s(x2[0]).Store(x[2*lanes : 3*lanes])
			simd.BroadcastFloat64s(x3[0]).Store(x[3*lanes : 4*lanes])
			simd.BroadcastFloat64s(x0[1]).Store(x[4*lanes : 5*lanes])
			simd.BroadcastFloat64s(x1[1]).Store(x[5*lanes : 6*lanes])
			simd.BroadcastFloat64s(x2[1]).Store(x[6*lanes : 7*lanes])
			simd.BroadcastFloat64s(x3[1]).Store(x[7*lanes : 8*lanes])
			simd.BroadcastFloat64s(x0[2]).Store(x[8*lanes : 9*lanes])
			simd.BroadcastFloat64s(x1[2]).Store(x[9*lanes : 10*lanes])
			simd.BroadcastFloat64s(x2[2]).Store(x[10*lanes : 11*lanes])
			simd.BroadcastFloat64s(x3[2]).Store(x[11*lanes : 12*lanes])
			simd.BroadcastFloat64s(x0[3]).Store(x[12*lanes : 13*lanes])
			simd.BroadcastFloat64s(x1[3]).Store(x[13*lanes : 14*lanes])
			simd.BroadcastFloat64s(x2[3]).Store(x[14*lanes : 15*lanes])
			simd.BroadcastFloat64s(x3[3]).Store(x[15*lanes : 16*lanes])
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

// A tileVector is four rows by one to three vectors of a product, with a spread and b packed:
//
//	for i < 4, j: c[i·ldc+j] (+)= alpha · Σ_p a_pi·b_pj
type tileVector struct {
	a, b, c []float64
	alpha   []float64
	ldc     int
	set     bool
}

// put3Vector sets c = f·s, or adds that to it.
//
//gen:512
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
	archsimd.ClearAVXUpperBits()
}
