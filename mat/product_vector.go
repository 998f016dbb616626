package mat

import "stable/mat/kernel"

const (
	kVector = kernel.PanelRows  // inner indices at a time
	nVector = 24 * kernel.Panel // columns of B packed at a time
)

// vector packs what the caches hold of B, and runs strips of four rows of A along it, copied where A is symmetric.
func (g *product) vector() {
	work := borrow()
	s := kernel.Strip{Ldc: g.ldc, B: work.b[:], Scratch: work.scratch[:], Alpha: g.alpha, Set: g.set}
	kSize, nSize := blockOf(g.k, kVector), blockOf(g.n, nVector)
	for p := 0; p < g.k; p += kSize {
		s.K = min(kSize, g.k-p)
		for j := 0; j < g.n; j += nSize {
			s.N = min(nSize, g.n-j)
			g.packPanels(work.b[:], j, s.N, p, s.K)
			if g.a.kind == symmetric {
				g.symmetricStrips(s, j, p)
			} else {
				g.strips(s, j, p)
			}
		}
		s.Set = false
	}
	work.giveBack()
}

// blockOf returns the size of equal parts of n, multiples of 8 up to most.
func blockOf(n, most int) int {
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + 7) &^ 7
}

func (g *product) packPanels(dst []float64, j, n, p, k int) {
	if g.b.kind == across {
		kernel.PackRows(dst, g.b.data[p*g.b.stride+j:], g.b.stride, k, n)
		return
	}
	for ; n > 0; n -= kernel.Panel {
		g.b.packPanel(dst, j, min(n, kernel.Panel), p, k)
		dst = dst[kernel.PanelStep:]
		j += kernel.Panel
	}
}

// strips multiplies A, from inner index p on, by the packed columns from j on.
func (g *product) strips(s kernel.Strip, j, p int) {
	a, lda, step := g.a.from(p)
	s.Lda, s.Step = lda, step
	i := 0
	if g.lower {
		i = j
	}
	for ; i < g.m; i += 4 {
		s.A = a[i*lda:]
		g.strip(&s, i, j)
	}
}

func (g *product) symmetricStrips(s kernel.Strip, j, p int) {
	var copied [4 * kVector]float64
	s.A, s.Lda, s.Step = copied[:], s.K, 1
	for i := 0; i < g.m; i += 4 {
		g.a.pack(copied[:], s.K, i, min(4, g.m-i), p, s.K)
		g.strip(&s, i, j)
	}
}

func (g *product) strip(s *kernel.Strip, i, j int) {
	s.Rows = min(4, g.m-i)
	s.C = g.c[i*g.ldc+j:]
	s.Diag = s.N
	if g.lower {
		s.Diag = i - j
	}
	s.Run()
}

// packPanel copies entries p to p+k−1 of rows j to j+w−1 to columns of a panel, zero-filled.
func (x *operand) packPanel(dst []float64, j, w, p, k int) {
	r := 0
	for ; r+1 < w; r += 2 {
		s0, s1 := x.data[(j+r)*x.stride+p:][:k], x.data[(j+r+1)*x.stride+p:][:k]
		at := r
		for q, v := range s0 {
			d := dst[at : at+2]
			d[0], d[1] = v, s1[q]
			at += kernel.Panel
		}
	}
	for ; r < kernel.Panel; r++ {
		for q := range k {
			if r < w {
				dst[q*kernel.Panel+r] = x.data[(j+r)*x.stride+p+q]
			} else {
				dst[q*kernel.Panel+r] = 0
			}
		}
	}
	clear(dst[k*kernel.Panel : kernel.Padded(k)*kernel.Panel])
}
