package mat

import "stable/mat/kernel"

// A product is c = c + alpha·A·Bᵀ or c = alpha·A·Bᵀ, with A of m × k, B of n × k and c of m × n:
// all forms of the matrix product, since the operands take care of transposition. It equals
//
//	for i, j: c[i][j] (+)= alpha · Σ_p A[i][p]·B[j][p], only for j ≤ i if lower
//
// k goes by blocks that keep a panel of B in the first-level cache. A panel is as wide as the
// register tile, and is copied only if its layout in memory is not the tile's. The tile then goes
// down the rows of A (BLIS: Van Zee and van de Geijn 2015).
type product struct {
	m, n, k int
	a, b    operand
	c       []float64
	ldc     int
	alpha   float64
	set     bool // c is written, not added to
	lower   bool // c is symmetric
}

const (
	kBlock = 128 // inner indices that a panel of B holds
	kSmall = 32  // what counts as small
	kTiny  = 125 // multiplications up to which plain code is faster than vectors
	kThin  = 12  // up to here, no portable tile pays
	mBlock = 32  // rows of A that are copied at a time, if they must be
)

// run computes the product.
func (g *product) run() {
	if g.m == 0 || g.n == 0 {
		return
	}
	if g.k == 0 {
		for i := 0; i < g.m && g.set; i++ {
			clear(g.c[i*g.ldc : i*g.ldc+g.n])
		}
		return
	}
	if kernel.Vector() && g.m*g.n*g.k > kTiny {
		g.vector()
		return
	}
	if g.k <= kThin && g.b.kind == across {
		g.thin()
		return
	}
	for p := 0; p < g.k; p += kBlock {
		k := min(kBlock, g.k-p)
		if g.a.kind == along {
			g.block(g.a.data[p:], g.a.stride, 0, g.m, p, k)
		} else {
			g.copied(p, k)
		}
		g.set = false
	}
}

// thin is run for few inner indices: rows of B are added to rows of c, and nothing is copied.
func (g *product) thin() {
	var buf [kThin]float64
	f := buf[:g.k]
	for i := range g.m {
		g.a.pack(f, g.k, i, 1, 0, g.k)
		for p := range f {
			f[p] *= -g.alpha
		}
		w := g.n
		if g.lower {
			w = i + 1
		}
		row := g.c[i*g.ldc:][:w]
		if g.set {
			clear(row)
		}
		kernel.SubRows(row, f, g.b.data, g.b.stride)
	}
}

// copied is block for an A whose rows do not lie in memory along k: it copies them first. The
// buffer is on the stack; small k take a small one, because clearing it is part of the cost.
func (g *product) copied(p, k int) {
	if k <= kSmall {
		var buf [mBlock * kSmall]float64
		g.copiedBy(buf[:], p, k)
	} else {
		var buf [mBlock * kBlock]float64
		g.copiedBy(buf[:], p, k)
	}
}

func (g *product) copiedBy(buf []float64, p, k int) {
	for i := 0; i < g.m; i += mBlock {
		rows := min(mBlock, g.m-i)
		g.a.pack(buf, k, i, rows, p, k)
		g.block(buf, k, i, rows, p, k)
	}
}

// block adds the part of inner indices p to p+k−1 to rows i0 to i0+rows−1 of c, for a whose rows
// start there.
func (g *product) block(a []float64, lda, i0, rows, p, k int) {
	var buf [kernel.Cols * kBlock]float64
	j := 0
	for ; j+kernel.Cols <= g.n; j += kernel.Cols {
		b, ldb := buf[:], k
		if g.b.kind == along {
			b, ldb = g.b.data[j*g.b.stride+p:], g.b.stride
		} else {
			g.b.pack(b, k, j, kernel.Cols, p, k)
		}
		i := g.firstRow(i0, j)
		if w := min(rows, j+2-i0) - i; g.lower && w > 0 { // rows that end on the diagonal
			var s [2 * kernel.Cols]float64
			kernel.Dots(s[:], kernel.Cols, a[i*lda:], lda, b, ldb, k, w, g.alpha, false)
			for r := range w {
				g.put(i0+i+r, j, s[r*kernel.Cols:][:i0+i+r-j+1])
			}
			i += w
		}
		if i < rows {
			kernel.Dots(g.c[(i0+i)*g.ldc+j:], g.ldc, a[i*lda:], lda, b, ldb, k, rows-i, g.alpha, !g.set)
		}
	}
	if j < g.n {
		g.b.pack(buf[:], k, j, g.n-j, p, k)
		g.lastColumns(buf[:], a, lda, i0, rows, k, j)
	}
}

// lastColumns is block for the one or two columns from j on that do not fill a tile; A and B change
// places in it.
func (g *product) lastColumns(b, a []float64, lda, i0, rows, k, j int) {
	var s [2 * kernel.Cols]float64
	w := g.n - j
	i := g.firstRow(i0, j)
	for ; i+2 < rows; i += 3 {
		kernel.Dots(s[:], 3, b, k, a[i*lda:], lda, k, w, g.alpha, false)
		for r := range 3 {
			g.put(i0+i+r, j, []float64{s[r], s[3+r]}[:g.width(i0+i+r, j)])
		}
	}
	for ; i < rows; i++ {
		kernel.Dots(s[:], 3, a[i*lda:], lda, b, k, k, 1, g.alpha, false)
		g.put(i0+i, j, s[:g.width(i0+i, j)])
	}
}

// firstRow returns the first row of a block from i0 on that has an entry in column j or right of
// it.
func (g *product) firstRow(i0, j int) int {
	if g.lower {
		return max(0, j-i0)
	}
	return 0
}

// width returns how many entries row i has from column j on.
func (g *product) width(i, j int) int {
	if g.lower {
		return min(g.n, i+1) - j
	}
	return g.n - j
}

// put adds s to row i of c from column j on.
func (g *product) put(i, j int, s []float64) {
	c := g.c[i*g.ldc+j:][:len(s)]
	if g.set {
		copy(c, s)
		return
	}
	for p, v := range s {
		c[p] += v
	}
}
