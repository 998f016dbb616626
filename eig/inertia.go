package eig

import (
	"math"

	"stable/mat"
)

// inertia holds B = A − mu·I = L·D·Lᵀ, with L unit lower triangular and D diagonal, computed
// without pivoting. B has as many negative eigenvalues as D has negative entries (Sylvester's law
// of inertia).
//
// Without pivoting, a small pivot spoils the factors. growth measures this: B + E = L·D·Lᵀ with ‖E‖
// of order n·eps·growth (Golub and Van Loan, section 4.4.1). Where B is positive definite, growth
// is at most the largest entry of B; where a few of its eigenvalues are negative, it is rarely much
// more.
type inertia struct {
	n      int
	l      mat.Dense // L
	d      []float64
	inv    []float64 // 1/d
	dl     mat.Dense // rows of L·D, of one block
	sums   []float64 // diagonal of |L|·|D|·|L|ᵀ
	growth float64   // its largest entry
}

const (
	blockSize = 16
	trusted   = 16     // a growth up to trusted·‖A‖_F is no worse than other rounding
	hopeless  = 0x1p20 // beyond, L·D·Lᵀ is useless
)

// reserve makes room for a matrix of order n.
func (s *inertia) reserve(n int) {
	s.n = n
	resize(&s.l, n, n)
	s.d, s.inv, s.sums = grow(s.d, n), grow(s.inv, n), grow(s.sums, n)
	s.dl.Data = grow(s.dl.Data, min(blockSize, n)*n)
}

// count factors A − mu·I and returns the number of eigenvalues of A below mu. It gives up and
// returns false at the first pivot that is too small, or when the number exceeds most. norm is max
// |A|. n³/3 flops.
//
// It goes by columns of blocks, each updated by all earlier ones (left-looking), so that the work
// is one long product per block.
func (s *inertia) count(a *mat.Sym, mu, norm float64, most int) (k int, ok bool) {
	n := a.N
	s.reserve(n)
	clear(s.sums)
	s.growth = 0
	floor := norm * 0x1p-50
	for j := 0; j < n; j += blockSize {
		b := min(blockSize, n-j)
		s.panel(a, j, b)
		for i := j; i < j+b; i++ {
			d := s.row(i, j, i-j) - mu
			if !(math.Abs(d) >= floor && math.Abs(d) <= norm*hopeless) {
				return 0, false
			}
			if d < 0 {
				k++
			}
			if k > most {
				return 0, false
			}
			s.d[i], s.inv[i] = d, 1/d
			s.l.Data[i*n+i] = 1
			s.growth = max(s.growth, s.sums[i]+math.Abs(d))
		}
		i := j + b
		for ; i+4 <= n; i += 4 {
			s.rows4(i, j, b)
		}
		for ; i < n; i++ {
			s.row(i, j, b)
		}
	}
	return k, true
}

// panel sets columns j to j+b−1 of L, from row j on, to those of A minus the contribution of the
// earlier columns, without the shift:
//
//	B_·j − L_·0…j−1 · (L·D)_j,0…j−1ᵀ
//
// The entries above the diagonal have no meaning.
func (s *inertia) panel(a *mat.Sym, j, b int) {
	for i := j; i < s.n; i++ {
		w := min(b, i-j+1)
		copy(s.l.Row(i)[j:j+w], a.Row(i)[j:j+w])
	}
	if j == 0 {
		return
	}
	resize(&s.dl, b, j)
	for i := range b {
		row := s.dl.Row(i)
		for c, v := range s.l.Row(j + i)[:j] {
			row[c] = v * s.d[c]
		}
	}
	panel, left := s.l.View(j, j, s.n-j, b), s.l.View(j, 0, s.n-j, j)
	mat.AddMulTransB(&panel, -1, &left, &s.dl)
}

// row turns row i of the panel of columns j to j+w−1 from U = L·D into L,
//
//	u_c = b_ic − Σ_{q<c} u_q·l_cq,  l_ic = u_c/d_c,
//
// and returns the next entry, b_ic − Σ u_q·l_iq for c = j+w = i, if row i ends there: the pivot.
func (s *inertia) row(i, j, w int) float64 {
	n := s.n
	x := s.l.Data[i*n+j : i*n+n]
	var buf [blockSize]float64
	u := buf[:w]
	sum, left := 0.0, 0.0
	for c := range u {
		l := s.l.Data[(j+c)*n+j : (j+c)*n+j+c]
		v := x[c]
		for q, g := range l {
			v -= u[q] * g
		}
		u[c] = v
	}
	for c, v := range u {
		l := v * s.inv[j+c]
		x[c] = l
		sum += math.Abs(v * l)
		left += v * l
	}
	s.sums[i] += sum
	if j+w == i {
		return x[w] - left
	}
	return 0
}

// rows4 is row for four rows below the block. The subtractions in one row depend on each other;
// those in four rows run side by side.
func (s *inertia) rows4(i, j, w int) {
	n := s.n
	a := s.l.Data
	x0, x1, x2, x3 := a[i*n+j:i*n+j+w], a[(i+1)*n+j:(i+1)*n+j+w], a[(i+2)*n+j:(i+2)*n+j+w], a[(i+3)*n+j:(i+3)*n+j+w]
	// u_c = b_ic − Σ_{q<c} u_q·l_cq, in place of b
	for c := range x0 {
		l := a[(j+c)*n+j : (j+c)*n+j+c]
		v0, v1, v2, v3 := x0[c], x1[c], x2[c], x3[c]
		y0, y1, y2, y3 := x0[:len(l)], x1[:len(l)], x2[:len(l)], x3[:len(l)]
		for q, g := range l {
			v0 -= y0[q] * g
			v1 -= y1[q] * g
			v2 -= y2[q] * g
			v3 -= y3[q] * g
		}
		x0[c], x1[c], x2[c], x3[c] = v0, v1, v2, v3
	}
	inv, sums := s.inv[j:j+w], s.sums[i:i+4]
	for r, x := range [...][]float64{x0, x1, x2, x3} {
		sum := 0.0
		for c, v := range x {
			l := v * inv[c]
			x[c] = l
			sum += math.Abs(v * l)
		}
		sums[r] += sum
	}
}

// solve sets x = (A − mu·I)⁻¹·b. 2n² flops.
func (s *inertia) solve(x, b []float64) {
	mat.SolveLowerVec(x, &s.l, b)
	for i, v := range s.inv {
		x[i] *= v
	}
	mat.SolveLowerTransVec(x, &s.l, x)
}
