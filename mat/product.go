package mat

import "stable/mat/kernel"

// A product, for A of m × k, B of n × k and c of m × n, is
//
//	for i, j: c[i][j] (+)= alpha · Σ_p A[i][p]·B[j][p], only for j ≤ i if lower
//
// k goes by blocks that keep a panel of B, as wide as the register tile, in the first-level cache,
// copied only if it lies across (BLIS: Van Zee, van de Geijn 2015).
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
	kBlock  = 256                           // inner indices at a time
	nBlock  = 8192                          // entries of B kept at a time
	mBlock  = kVector*nVector - nBlock      // entries of A that meet them: 32 KB
	mWhole  = 20000                         // entries of A up to which all rows meet each panel
	kTiny   = 125                           // multiplications up to which vectors are slower
	rowUnit = 6 / kernel.Rows * kernel.Rows // whole tiles
	kThin   = 12                            // up to here, no portable tile pays
)

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
	w, kSize := borrow(), g.k
	if kSize > kBlock {
		kSize = blockOf(g.k, kBlock)
	}
	for p := 0; p < g.k; p += kSize {
		g.panels(w, p, min(kSize, g.k-p))
		g.set = false
	}
	w.giveBack()
}

// thin adds rows of B to rows of c, for few inner indices.
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

// panels adds the part of inner indices p to p+k−1. A small A meets one panel of B at a time; else
// some are kept, and meet as many rows of A as the first-level cache holds.
func (g *product) panels(w *workspace, p, k int) {
	s := block{buf: w.b[:nBlock], p: p, k: k, rows: g.m, cols: g.n}
	if g.a.kind != along || g.m*k > mWhole {
		s.rows, s.cols = mBlock/k/rowUnit*rowUnit, nBlock/k/kernel.Cols*kernel.Cols
		s.step = kernel.Cols * k
	}
	for s.j = 0; s.j < g.n; s.j += s.cols {
		s.fresh = true
		for s.i = 0; s.i < g.m; s.i += s.rows {
			if g.lower && s.i+s.rows <= s.j {
				continue
			}
			s.a, s.lda = w.b[nBlock:], k
			if g.a.kind == along {
				s.a, s.lda = g.a.data[s.i*g.a.stride+p:], g.a.stride
			} else {
				g.a.pack(s.a, k, s.i, min(s.rows, g.m-s.i), p, k)
			}
			g.block(&s)
			s.fresh = false
		}
	}
}

// A block is a part of c, from inner indices p to p+k−1.
type block struct {
	a          []float64 // rows of A
	lda        int
	buf        []float64 // panels of B
	step       int       // between them; 0 if none is used again
	fresh      bool      // they are still to be copied
	i, j, p, k int
	rows, cols int
}

func (g *product) block(s *block) {
	rows, buf := min(s.rows, g.m-s.i), s.buf
	j, end := s.j, min(s.j+s.cols, g.n)
	for ; j+kernel.Cols <= end; j += kernel.Cols {
		b, ldb := buf, s.k
		i := g.firstRow(s.i, j)
		switch {
		case g.b.kind == along:
			b, ldb = g.b.data[j*g.b.stride+s.p:], g.b.stride
		case !s.fresh:
		case kernel.Rows == 2 && g.b.kind == across && !g.lower && rows > 1:
			kernel.DotsCopy(g.c[s.i*g.ldc+j:], g.ldc, s.a, s.lda, b, g.b.data[s.p*g.b.stride+j:], g.b.stride, s.k, g.alpha, !g.set)
			i = 2
		default:
			g.b.pack(b, s.k, j, kernel.Cols, s.p, s.k)
		}
		buf = buf[s.step:]
		if w := min(rows, j+kernel.Cols-1-s.i) - i; g.lower && w > 0 { // on the diagonal
			var t [(kernel.Cols - 1) * kernel.Cols]float64
			kernel.Dots(t[:], kernel.Cols, s.a[i*s.lda:], s.lda, b, ldb, s.k, w, g.alpha, false)
			for r := range w {
				g.put(s.i+i+r, j, t[r*kernel.Cols:][:s.i+i+r-j+1])
			}
			i += w
		}
		if i < rows {
			kernel.Dots(g.c[(s.i+i)*g.ldc+j:], g.ldc, s.a[i*s.lda:], s.lda, b, ldb, s.k, rows-i, g.alpha, !g.set)
		}
	}
	if j < end {
		g.b.pack(buf, s.k, j, end-j, s.p, s.k)
		g.lastColumns(buf, s.a, s.lda, s.i, rows, s.k, j)
	}
}

// lastColumns is block for columns short of a tile: for one, a product with a vector; for more, A and B change places.
func (g *product) lastColumns(b, a []float64, lda, i0, rows, k, j int) {
	var s [3 * kernel.Cols]float64
	w := g.n - j
	i := g.firstRow(i0, j)
	for ; w == 1 && i < rows; i += len(s) {
		t := s[:min(len(s), rows-i)]
		kernel.MulVec(t, a[i*lda:], lda, b[:k])
		for r, v := range t {
			c := &g.c[(i0+i+r)*g.ldc+j]
			if v *= g.alpha; !g.set {
				v += *c
			}
			*c = v
		}
	}
	for ; i+2 < rows; i += 3 {
		kernel.Dots3(s[:], 3, b, k, a[i*lda:], lda, k, w, g.alpha, false)
		for r := range 3 {
			g.put(i0+i+r, j, []float64{s[r], s[3+r], s[6+r]}[:g.width(i0+i+r, j)])
		}
	}
	for ; i < rows; i++ {
		kernel.Dots3(s[:], 3, a[i*lda:], lda, b, k, k, 1, g.alpha, false)
		g.put(i0+i, j, s[:g.width(i0+i, j)])
	}
}

// firstRow returns the first row, from i0 on, that reaches column j.
func (g *product) firstRow(i0, j int) int {
	if g.lower {
		return max(0, j-i0)
	}
	return 0
}

func (g *product) width(i, j int) int {
	if g.lower {
		return min(g.n, i+1) - j
	}
	return g.n - j
}

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
