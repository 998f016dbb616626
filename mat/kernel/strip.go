package kernel

// A Strip is four rows of a product on vector registers, or fewer at the lower edge:
//
//	for i < Rows, j < min(N, Diag+i+1): C[i·Ldc+j] (+)= Alpha · Σ_{p<K} A[i·Lda+p·Step]·B_pj
//
// written where Set, else added. Diag bounds a triangle; for a rectangle it is at least N−1. B is
// packed in panels of Panel columns and Padded(K) ≤ PanelRows rows, zero beyond K, PanelStep apart.
// Scratch has EdgeScratch + 4·Padded(K)·Lanes() entries: for a tile across C's edge, and for A, each
// entry spread over a vector.
type Strip struct {
	A, B, C, Scratch []float64
	Lda, Step, Ldc   int
	Rows, N, K, Diag int
	Alpha            float64
	Set              bool
}

func (s *Strip) Run() { stripVector(s) }

const (
	// Panel is the width of a packed panel: one vector of 512 bits, two of 256, four of 128.
	Panel = 8
	// PanelRows is the height of a panel at most.
	PanelRows = 64
	// PanelStep is the distance between panels, an odd number of cache lines.
	PanelStep = (PanelRows + 1) * Panel
	// EdgeScratch is for the edge of a Strip.
	EdgeScratch = 4*3*Panel + 1
	// unrolled inner indices make one step of a tile.
	unrolled = 4
)

// Padded returns the rows of a packed panel for k inner indices: the next multiple of unrolled.
func Padded(k int) int { return (k + unrolled - 1) / unrolled * unrolled }

// panels returns how many panels the tile takes at column j of n: up to three of one vector. Four
// are left as two and two, since one would keep the multipliers waiting.
func panels(n, j int) int {
	rest := (n - j + Panel - 1) / Panel
	switch {
	case Lanes() < Panel:
		return 1
	case rest == 4:
		return 2
	}
	return min(rest, 3)
}

// A tile is four rows by some panels of a product, c (+)= alpha·a·b: for each inner index, a has
// four entries, each spread over a vector, and then one more entry.
type tile struct {
	a, b, c []float64
	ldc     int
	alpha   float64
	set     bool
}

// PackRows packs w columns of k rows of b, stride apart, as panels.
func PackRows(dst, b []float64, stride, k, w int) { packRowsVector(dst, b, stride, k, w) }
