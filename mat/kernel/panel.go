//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

// Panel multiplies m rows of a by a panel of b, up to two vectors of columns wide:
//
//	for i < m, j < min(w, diag+i+1): c[i·ldc+j] (+)= alpha · Σ_{p<k} a[i·lda+p·step]·b[p·ldb+j]
//
// written where set, added to where not. b has whole vectors, one where w fits in it, else two, and
// zeros beyond w. diag bounds a triangle; for a rectangle it is at least w−1. The tile is four rows
// by two vectors: eight vectors of sums, two of b and one of a fit in 15 registers.
func Panel(c []float64, ldc, m, w, diag int, a []float64, lda, step int, b []float64, ldb, k int, alpha float64, set bool) {
	var edge [4 * 16]float64
	v := simd.VectorBitSize() / 64
	one := w <= v
	nr := 2 * v
	if one {
		nr = v
	}
	for i := 0; i < m; i += 4 {
		rows := min(4, m-i)
		// The rows of a as offsets into one slice: four slices would leave too few registers, and
		// the bounds check before each load keeps the compiler from loading them all ahead, which
		// would spill. Rows that do not exist are stood in for by the last.
		r1, r2, r3 := min(1, rows-1)*lda, min(2, rows-1)*lda, (rows-1)*lda
		// A tile that is not whole goes by way of edge.
		out, ldo, write := c, ldc, set
		whole := rows == 4 && min(w, diag+i+1) == nr
		if whole {
			out = out[i*ldc:]
		} else {
			out, ldo, write = edge[:], nr, true
		}
		var c00, c01, c10, c11, c20, c21, c30, c31 simd.Float64s
		if one {
			for p, q := i*lda, 0; q < k*ldb; p, q = p+step, q+ldb {
				y := simd.LoadFloat64s(b[q : q+v : q+v])
				c00 = simd.BroadcastFloat64s(a[p]).MulAdd(y, c00)
				c10 = simd.BroadcastFloat64s(a[p+r1]).MulAdd(y, c10)
				c20 = simd.BroadcastFloat64s(a[p+r2]).MulAdd(y, c20)
				c30 = simd.BroadcastFloat64s(a[p+r3]).MulAdd(y, c30)
			}
		} else {
			// Four steps at a time, so that the processor foresees the end of the loop.
			p, q := i*lda, 0
			for q+3*ldb < k*ldb {
				y := b[q : q+2*v : q+2*v]
				y0, y1 := simd.LoadFloat64s(y), simd.LoadFloat64s(y[v:])
				c00, c01 = axpy(simd.BroadcastFloat64s(a[p]), y0, y1, c00, c01)
				c10, c11 = axpy(simd.BroadcastFloat64s(a[p+r1]), y0, y1, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(a[p+r2]), y0, y1, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(a[p+r3]), y0, y1, c30, c31)
				p, q = p+step, q+ldb

				y = b[q : q+2*v : q+2*v]
				y0, y1 = simd.LoadFloat64s(y), simd.LoadFloat64s(y[v:])
				c00, c01 = axpy(simd.BroadcastFloat64s(a[p]), y0, y1, c00, c01)
				c10, c11 = axpy(simd.BroadcastFloat64s(a[p+r1]), y0, y1, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(a[p+r2]), y0, y1, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(a[p+r3]), y0, y1, c30, c31)
				p, q = p+step, q+ldb

				y = b[q : q+2*v : q+2*v]
				y0, y1 = simd.LoadFloat64s(y), simd.LoadFloat64s(y[v:])
				c00, c01 = axpy(simd.BroadcastFloat64s(a[p]), y0, y1, c00, c01)
				c10, c11 = axpy(simd.BroadcastFloat64s(a[p+r1]), y0, y1, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(a[p+r2]), y0, y1, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(a[p+r3]), y0, y1, c30, c31)
				p, q = p+step, q+ldb

				y = b[q : q+2*v : q+2*v]
				y0, y1 = simd.LoadFloat64s(y), simd.LoadFloat64s(y[v:])
				c00, c01 = axpy(simd.BroadcastFloat64s(a[p]), y0, y1, c00, c01)
				c10, c11 = axpy(simd.BroadcastFloat64s(a[p+r1]), y0, y1, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(a[p+r2]), y0, y1, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(a[p+r3]), y0, y1, c30, c31)
				p, q = p+step, q+ldb
			}
			for q < k*ldb {
				y := b[q : q+2*v : q+2*v]
				y0, y1 := simd.LoadFloat64s(y), simd.LoadFloat64s(y[v:])
				c00, c01 = axpy(simd.BroadcastFloat64s(a[p]), y0, y1, c00, c01)
				c10, c11 = axpy(simd.BroadcastFloat64s(a[p+r1]), y0, y1, c10, c11)
				c20, c21 = axpy(simd.BroadcastFloat64s(a[p+r2]), y0, y1, c20, c21)
				c30, c31 = axpy(simd.BroadcastFloat64s(a[p+r3]), y0, y1, c30, c31)
				p, q = p+step, q+ldb
			}
		}
		s := simd.BroadcastFloat64s(alpha)
		d0, d1, d2, d3 := out[:nr], out[ldo:][:nr], out[2*ldo:][:nr], out[3*ldo:][:nr]
		if write {
			c00.Mul(s).Store(d0)
			c10.Mul(s).Store(d1)
			c20.Mul(s).Store(d2)
			c30.Mul(s).Store(d3)
			if !one {
				c01.Mul(s).Store(d0[v:])
				c11.Mul(s).Store(d1[v:])
				c21.Mul(s).Store(d2[v:])
				c31.Mul(s).Store(d3[v:])
			}
		} else {
			c00.MulAdd(s, simd.LoadFloat64s(d0)).Store(d0)
			c10.MulAdd(s, simd.LoadFloat64s(d1)).Store(d1)
			c20.MulAdd(s, simd.LoadFloat64s(d2)).Store(d2)
			c30.MulAdd(s, simd.LoadFloat64s(d3)).Store(d3)
			if !one {
				c01.MulAdd(s, simd.LoadFloat64s(d0[v:])).Store(d0[v:])
				c11.MulAdd(s, simd.LoadFloat64s(d1[v:])).Store(d1[v:])
				c21.MulAdd(s, simd.LoadFloat64s(d2[v:])).Store(d2[v:])
				c31.MulAdd(s, simd.LoadFloat64s(d3[v:])).Store(d3[v:])
			}
		}
		if !whole {
			addEdge(c[i*ldc:], ldc, edge[:], nr, rows, w, diag+i+1, set)
		}
	}
	ClearUpper()
}

// addEdge adds the part of a tile that lies inside: rows rows, the first min(w, first+r) columns of
// row r.
func addEdge(c []float64, ldc int, edge []float64, nr, rows, w, first int, set bool) {
	for r := range rows {
		n := min(w, first+r)
		if n <= 0 {
			continue
		}
		d := c[r*ldc:][:n]
		e := edge[r*nr:][:n]
		if set {
			copy(d, e)
			continue
		}
		for j, x := range e {
			d[j] += x
		}
	}
}

// PackPanel copies k rows of w columns of b, the first of them at b[0], the next stride further, to
// a panel whose width is the next whole number of vectors, nr = Lanes() or 2·Lanes(), and fills it
// up with zeros.
func PackPanel(dst []float64, nr int, b []float64, stride, k, w int) {
	v := simd.VectorBitSize() / 64
	switch {
	case w == 2*v:
		for p := range k {
			r := b[p*stride:][:2*v]
			d := dst[p*2*v:][:2*v]
			simd.LoadFloat64s(r).Store(d)
			simd.LoadFloat64s(r[v:]).Store(d[v:])
		}
	case w > v:
		for p := range k {
			r := b[p*stride:][:w]
			d := dst[p*2*v:][:2*v]
			simd.LoadFloat64s(r).Store(d)
			y, _ := simd.LoadFloat64sPart(r[v:])
			y.Store(d[v:])
		}
	default:
		for p := range k {
			y, _ := simd.LoadFloat64sPart(b[p*stride:][:w])
			y.Store(dst[p*v:])
		}
	}
	ClearUpper()
}

// axpy returns c + s·y, for two vectors.
func axpy(s, y0, y1, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	c0 = s.MulAdd(y0, c0)
	c1 = s.MulAdd(y1, c1)
	return c0, c1
}
