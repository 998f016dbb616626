//go:build ignore

package kernel

import "simd"

func stripVector(s *Strip) {
	var t tile
	t.a, t.b, t.alpha = s.Scratch[4*3*Panel:][:4*lanes*Padded(s.K)+1], s.B, s.Alpha // before vectors are in use
	spreadVector(s)
	edge := s.Scratch[:4*3*Panel]
	for j := 0; j < min(s.N, s.Diag+s.Rows); {
		n := panels(s.N, j)
		w := min(n*Panel, s.N-j)
		t.c, t.ldc, t.set = edge, n*Panel, true
		whole := s.Rows == 4 && min(w, s.Diag+1-j) == n*Panel
		if whole {
			t.c, t.ldc, t.set = s.C[j:], s.Ldc, s.Set
		}
		switch n {
		case 3: //gen:512
			tile3Vector(&t) //gen:512
		case 2: //gen:512
			tile2Vector(&t) //gen:512
		default:
			tile1Vector(&t)
		}
		if !whole {
			edgeVector(s, edge, j, w, n*Panel)
		}
		t.b = t.b[n*PanelStep:]
		j += w
	}
	archsimd.ClearAVXUpperBits()
}

// spreadVector sets the scratch after edge, [(4·p+i)·lanes+l] = A[i·Lda+p·Step] for l < lanes. A
// row that is not there is stood in for by the last; inner indices beyond K are zeros.
func spreadVector(s *Strip) {
	k, d := s.K, s.Scratch[4*3*Panel:]
	last := s.Rows - 1
	r1, r2, r3 := min(1, last)*s.Lda, min(2, last)*s.Lda, last*s.Lda
	p := 0
	if s.Step == 1 {
		a0 := s.A[:k]
		a1, a2, a3 := s.A[r1:][:len(a0)], s.A[r2:][:len(a0)], s.A[r3:][:len(a0)]
		for ; len(a0) >= 4; p += 4 {
			x0, x1, x2, x3 := (*[4]float64)(a0), (*[4]float64)(a1), (*[4]float64)(a2), (*[4]float64)(a3)
			x := (*[16 * lanes]float64)(d)
			simd.BroadcastFloat64s(xQ[0]).Store(x[(0+Q)*lanes : (1+Q)*lanes])   //gen:times 4
			simd.BroadcastFloat64s(xQ[1]).Store(x[(4+Q)*lanes : (5+Q)*lanes])   //gen:times 4
			simd.BroadcastFloat64s(xQ[2]).Store(x[(8+Q)*lanes : (9+Q)*lanes])   //gen:times 4
			simd.BroadcastFloat64s(xQ[3]).Store(x[(12+Q)*lanes : (13+Q)*lanes]) //gen:times 4
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
		zero.Store(x[Q*lanes : (Q+1)*lanes]) //gen:times 4
		d = d[4*lanes:]
	}
}

// put1Vector sets c = f·s, or adds that to it.
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

// packRowsVector packs two panels at a time, and whole rows as long as there is memory for them:
// what comes from beyond w stands in columns that nobody asks for.
func packRowsVector(dst, b []float64, stride, k, w int) {
	for ; w > Panel && (k-1)*stride+2*Panel <= len(b); w -= 2 * Panel {
		from, to := b, dst
		for range k {
			r, d := (*[2 * Panel]float64)(from), (*[PanelStep + Panel]float64)(to)
			for q := 0; q < Panel; q += lanes {
				x, y := simd.LoadFloat64s(r[q:q+lanes]), simd.LoadFloat64s(r[Panel+q:Panel+q+lanes])
				x.Store(d[q : q+lanes])
				y.Store(d[PanelStep+q : PanelStep+q+lanes])
			}
			from, to = from[min(stride, len(from)):], to[Panel:]
		}
		if k < Padded(k) {
			archsimd.ClearAVXUpperBits()
			clear(dst[k*Panel : Padded(k)*Panel])
			clear(dst[PanelStep+k*Panel : PanelStep+Padded(k)*Panel])
		}
		b, dst = b[2*Panel:], dst[2*PanelStep:]
	}
	for ; w > 0; w -= Panel {
		p := 0
		for ; p < k && p*stride+Panel <= len(b); p++ {
			r, d := (*[Panel]float64)(b[p*stride:]), (*[Panel]float64)(dst[p*Panel:])
			for q := 0; q < Panel; q += lanes {
				simd.LoadFloat64s(r[q : q+lanes]).Store(d[q : q+lanes])
			}
		}
		for ; p < k; p++ {
			archsimd.ClearAVXUpperBits()
			copy(dst[p*Panel:(p+1)*Panel], b[p*stride:][:min(w, Panel)])
		}
		if k < Padded(k) {
			archsimd.ClearAVXUpperBits()
			clear(dst[k*Panel : Padded(k)*Panel])
		}
		b, dst = b[min(Panel, len(b)):], dst[PanelStep:]
	}
	archsimd.ClearAVXUpperBits()
}
