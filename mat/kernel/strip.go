package kernel

// A Strip is four rows of a product on vector registers, or fewer at the lower edge:
//
//	for i < Rows, j < min(N, Diag+i+1): C[i·Ldc+j] (+)= Alpha · Σ_{p<K} A[i·Lda+p·Step]·B_pj
//
// written where Set, added to where not. Diag bounds a triangle; for a rectangle it is at least
// N−1. B is packed: panel after panel, each as wide as PanelAt says, its Padded(K) rows one after
// the other, with zeros beyond N and K. Scratch has EdgeScratch and 4·Padded(K)·Lanes() entries:
// for a tile that does not lie inside C, and for A, each entry spread over a vector, once for all
// panels.
type Strip struct {
	C          []float64
	Ldc        int
	A          []float64
	Lda, Step  int
	B, Scratch []float64
	Rows       int
	N, K       int
	Diag       int
	Alpha      float64
	Set        bool
}

const (
	// MaxPanel is the largest width of a panel: three vectors of 512 bits.
	MaxPanel = 3 * 8
	// unrolled is the number of inner indices that a tile takes at a time.
	unrolled = 8
)

// Run computes the strip.
func (s *Strip) Run() { stripVector(s) }

// EdgeScratch is what a Strip needs besides 4·Padded(K)·Lanes() entries of Scratch.
const EdgeScratch = 8 + 4*MaxPanel

// Padded returns the number of rows of a packed panel for k inner indices: the next multiple of
// what the tile takes at a time.
func Padded(k int) int { return (k + unrolled - 1) / unrolled * unrolled }

// PanelAt returns the width of the panel that begins at column j of n: w columns, packed as nr,
// three vectors of 512 bits, or two of 256 (with three the 15 registers run out), or what is left.
// Four vectors are left as two and two, since one would keep the multipliers waiting.
func PanelAt(n, j int) (w, nr int) {
	lanes, most := Lanes(), 3
	if lanes == 4 {
		most = 2
	}
	rest := (n - j + lanes - 1) / lanes
	vectors := min(rest, most)
	if rest == 4 {
		vectors = 2
	}
	nr = vectors * lanes
	return min(n-j, nr), nr
}

// PackRows packs a panel of w columns, nr wide: k rows of b, the first of them at b[0], the next
// stride further. It writes Padded(k)·nr entries of dst.
func PackRows(dst []float64, nr int, b []float64, stride, k, w int) {
	packRowsVector(dst, nr, b, stride, k, w)
}
