package mat

import "stable/mat/kernel"

const (
	maxPanel     = 16  // columns of a panel, at most: two vectors of 512 bits
	kVector      = 256 // inner indices that a panel of vectors holds: 32 KB
	kVectorSmall = 64
)

// vector is run by vector registers. The tile takes single numbers of A, so it takes them from
// wherever they are; only the rows of a symmetric matrix, which go along a row and on down a
// column, are copied.
func (g *product) vector() {
	switch small := g.k <= kVectorSmall; {
	case g.a.kind == symmetric && small:
		g.vectorCopiedSmall()
	case g.a.kind == symmetric:
		g.vectorCopiedLarge()
	case small:
		g.vectorSmall()
	default:
		g.vectorLarge()
	}
}

// Four functions with buffers of their own on the stack, because clearing the large ones would cost
// more than a small product does.

func (g *product) vectorSmall() {
	var panel [kVectorSmall * maxPanel]float64
	a, lda, step := g.a.from(0)
	g.vectorBlock(panel[:], a, lda, step, 0, g.m, 0, g.k)
}

func (g *product) vectorLarge() {
	var panel [kVector * maxPanel]float64
	for p := 0; p < g.k; p += kVector {
		a, lda, step := g.a.from(p)
		g.vectorBlock(panel[:], a, lda, step, 0, g.m, p, min(kVector, g.k-p))
		g.set = false
	}
}

func (g *product) vectorCopiedSmall() {
	var panel [kVectorSmall * maxPanel]float64
	var rows [mBlock * kVectorSmall]float64
	g.vectorCopied(panel[:], rows[:], 0, g.k)
}

func (g *product) vectorCopiedLarge() {
	var panel [kVector * maxPanel]float64
	var rows [mBlock * kVector]float64
	for p := 0; p < g.k; p += kVector {
		g.vectorCopied(panel[:], rows[:], p, min(kVector, g.k-p))
		g.set = false
	}
}

// vectorCopied is vectorBlock for copies of mBlock rows of A at a time.
func (g *product) vectorCopied(panel, buf []float64, p, k int) {
	for i := 0; i < g.m; i += mBlock {
		rows := min(mBlock, g.m-i)
		g.a.pack(buf, k, i, rows, p, k)
		g.vectorBlock(panel, buf, k, 1, i, rows, p, k)
	}
}

// vectorBlock is block, panel by panel of B, for a whose rows start there, lda apart, with entries
// step apart.
func (g *product) vectorBlock(buf, a []float64, lda, step, i0, rows, p, k int) {
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
		b, ldb := buf, nr
		switch {
		case g.b.kind != across:
			g.b.packPanel(buf, nr, j, w, p, k)
		case w == nr && k <= kVectorSmall:
			b, ldb = g.b.data[p*g.b.stride+j:], g.b.stride // few rows do not get into each other's way in the cache
		default:
			kernel.PackPanel(buf, nr, g.b.data[p*g.b.stride+j:], g.b.stride, k, w)
		}
		kernel.Panel(g.c[(i0+i)*g.ldc+j:], g.ldc, rows-i, w, diag, a[i*lda:], lda, step, b, ldb, k, g.alpha, g.set)
	}
}

// packPanel copies entries p to p+k−1 of rows j to j+w−1 of x to the columns of a panel of width
// nr, filled up with zeros.
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
