//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

func stripVector(s *Strip) {
	if wide() {
		stripAVX512(s)
		return
	}
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
		switch {
		case lanes == Panel && n == 3:
			tile3Vector(&t)
		case lanes == Panel && n == 2:
			tile2Vector(&t)
		default:
			tile1Vector(&t)
		}
		if !whole {
			edgeVector(s, edge, j, w, n*Panel)
		}
		t.b = t.b[n*PanelStep:]
		j += w
	}
	clearUpper()
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
			spread4Vector((*[4 * lanes]float64)(x[:]), x0[0], x1[0], x2[0], x3[0])
			spread4Vector((*[4 * lanes]float64)(x[4*lanes:]), x0[1], x1[1], x2[1], x3[1])
			spread4Vector((*[4 * lanes]float64)(x[8*lanes:]), x0[2], x1[2], x2[2], x3[2])
			spread4Vector((*[4 * lanes]float64)(x[12*lanes:]), x0[3], x1[3], x2[3], x3[3])
			a0, a1, a2, a3, d = a0[4:], a1[4:], a2[4:], a3[4:], d[16*lanes:]
		}
	}
	for ; p < k; p++ {
		a := s.A[p*s.Step:]
		spread4Vector((*[4 * lanes]float64)(d), a[0], a[r1], a[r2], a[r3])
		d = d[4*lanes:]
	}
	var zero vec
	for d = d[:4*lanes*(Padded(k)-p)]; len(d) > 0; d = d[lanes:] {
		zero.StoreArray((*array)(d))
	}
}

// spread4Vector sets d to four vectors, of one entry each.
func spread4Vector(d *[4 * lanes]float64, x0, x1, x2, x3 float64) {
	spread(x0).StoreArray((*array)(d[:lanes]))
	spread(x1).StoreArray((*array)(d[lanes : 2*lanes]))
	spread(x2).StoreArray((*array)(d[2*lanes : 3*lanes]))
	spread(x3).StoreArray((*array)(d[3*lanes:]))
}

// put4Vector sets four rows to f·s, or adds that to them.
func put4Vector(c0, c1, c2, c3 []float64, set bool, f, s0, s1, s2, s3 vec) {
	if set {
		s0, s1, s2, s3 = s0.Mul(f), s1.Mul(f), s2.Mul(f), s3.Mul(f)
	} else {
		s0, s1 = s0.MulAdd(f, load(c0)), s1.MulAdd(f, load(c1))
		s2, s3 = s2.MulAdd(f, load(c2)), s3.MulAdd(f, load(c3))
	}
	s0.StoreArray((*array)(c0))
	s1.StoreArray((*array)(c1))
	s2.StoreArray((*array)(c2))
	s3.StoreArray((*array)(c3))
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
			v := load(e[q:])
			if !s.Set {
				old, _ := loadPart(c[q:])
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
				x, y := load(r[q:q+lanes]), load(r[Panel+q:Panel+q+lanes])
				x.Store(d[q : q+lanes])
				y.Store(d[PanelStep+q : PanelStep+q+lanes])
			}
			from, to = from[min(stride, len(from)):], to[Panel:]
		}
		if k < Padded(k) {
			clearUpper()
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
				load(r[q : q+lanes]).Store(d[q : q+lanes])
			}
		}
		for ; p < k; p++ {
			clearUpper()
			copy(dst[p*Panel:(p+1)*Panel], b[p*stride:][:min(w, Panel)])
		}
		if k < Padded(k) {
			clearUpper()
			clear(dst[k*Panel : Padded(k)*Panel])
		}
		b, dst = b[min(Panel, len(b)):], dst[PanelStep:]
	}
	clearUpper()
}
