package mat

import "stable/mat/kernel"

const (
	maxPanel  = 16  // columns of a panel, at most: two vectors of 512 bits
	kVector   = 256 // inner indices that a panel holds: 32 KB
	kVectorLo = 64  // the same for small products, which do not pay for a large buffer
)

// vector is run by vector registers. Two buffers on the stack, because clearing the large one would cost more than a small product.
func (g *product) vector() {
	if g.k <= kVectorLo {
		var buf [kVectorLo * maxPanel]float64
		g.vectorBlocks(buf[:], kVectorLo)
	} else {
		var buf [kVector * maxPanel]float64
		g.vectorBlocks(buf[:], kVector)
	}
}

func (g *product) vectorBlocks(buf []float64, step int) {
	for p := 0; p < g.k; p += step {
		k := min(step, g.k-p)
		if g.a.kind == along {
			g.vectorBlock(buf, g.a.data[p:], g.a.stride, 0, g.m, p, k)
		} else {
			g.vectorCopied(buf, p, k)
		}
		g.set = false
	}
}

// vectorCopied is vectorBlock where the rows of A do not lie in memory along k.
func (g *product) vectorCopied(buf []float64, p, k int) {
	var rowsOfA [mBlock * kVector]float64
	for i := 0; i < g.m; i += mBlock {
		rows := min(mBlock, g.m-i)
		g.a.pack(rowsOfA[:], k, i, rows, p, k)
		g.vectorBlock(buf, rowsOfA[:], k, i, rows, p, k)
	}
}

// vectorBlock is block, panel by panel of B.
func (g *product) vectorBlock(buf, a []float64, lda, i0, rows, p, k int) {
	v := kernel.Lanes()
	for j := 0; j < g.n; j += 2 * v {
		w := min(2*v, g.n-j)
		nr := 2 * v
		if w <= v {
			nr = v
		}
		i, diag := 0, g.n
		if g.lower {
			i = max(0, j-i0)
			diag = i0 + i - j
		}
		if i >= rows {
			break
		}
		if g.b.kind == across {
			kernel.PackPanel(buf, nr, g.b.data[p*g.b.stride+j:], g.b.stride, k, w)
		} else {
			g.b.packPanel(buf, nr, j, w, p, k)
		}
		kernel.Panel(g.c[(i0+i)*g.ldc+j:], g.ldc, rows-i, w, diag, a[i*lda:], lda, buf, k, g.alpha, g.set)
	}
}

// packPanel copies entries p to p+k−1 of rows j to j+w−1 of x to the columns of a panel of width nr, filled up with zeros.
func (x *operand) packPanel(dst []float64, nr, j, w, p, k int) {
	r := 0
	for ; r+1 < w; r += 2 {
		s0, s1 := x.data[(j+r)*x.stride+p:][:k], x.data[(j+r+1)*x.stride+p:][:k]
		at := r
		for q, v := range s0 {
			d := dst[at : at+2]
			d[0], d[1] = v, s1[q]
			at += nr
		}
	}
	for ; r < nr; r++ {
		for q := range k {
			if r < w {
				dst[q*nr+r] = x.data[(j+r)*x.stride+p+q]
			} else {
				dst[q*nr+r] = 0
			}
		}
	}
}
