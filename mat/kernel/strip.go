package kernel

// A Strip is four rows of a product on vector registers, or fewer at the lower edge:
//
//	for i < Rows, j < min(N, Diag+i+1): C[i·Ldc+j] (+)= Alpha · Σ_{p<K} A[i·Lda+p·Step]·B_pj
//
// written where Set, else added. Diag bounds a triangle; for a rectangle it is at least N−1. B is
// packed in panels of PanelAt's widths, each of Padded(K) rows, zero beyond N and K. Scratch has
// EdgeScratch entries, for a tile across C's edge, and 4·Padded(K)·Lanes(), for A with each entry
// spread over a vector.
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
	MaxPanel = 3 * 8
	// unrolled inner indices make one step of a tile.
	unrolled = 8
)

// Run computes the strip.
func (s *Strip) Run() { stripVector(s) }

// EdgeScratch is what a Strip needs besides 4·Padded(K)·Lanes() entries of Scratch.
const EdgeScratch = 8 + 4*MaxPanel

// Padded returns the rows of a packed panel for k inner indices: the next multiple of unrolled.
func Padded(k int) int { return (k + unrolled - 1) / unrolled * unrolled }

// PanelAt returns the width w of the panel at column j of n, packed as nr: three vectors of 512
// bits, two of 256 (15 registers), or the rest. Four vectors are left as two and two, since one
// would keep the multipliers waiting.
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

// PackRows packs w columns of k rows of b, stride apart, as a panel nr wide. It writes Padded(k)·nr
// entries of dst.
func PackRows(dst []float64, nr int, b []float64, stride, k, w int) {
	packRowsVector(dst, nr, b, stride, k, w)
}
