package kernel

// A Strip is four rows of a product on vector registers, or fewer at the lower edge:
//
//	for i < Rows, j < min(N, Diag+i+1): C[i·Ldc+j] (+)= Alpha · Σ_{p<K} A[i·Lda+p·Step]·B_pj
//
// written where Set, added to where not. Diag bounds a triangle; for a rectangle it is at least N−1.
// B is packed: panel after panel, each as wide as PanelAt says, its Padded(K) rows one after the
// other, with zeros beyond N and K. Each entry of A is spread over a whole vector first, once for
// all panels: a broadcast from a register takes a port of the second multiplier on Intel. The tile
// that does the work then has nothing to do but load, multiply and add, on addresses that the
// compiler knows. Room is for that, and for a tile that does not lie inside C: EdgeRoom and 4·Padded(K)·Lanes() entries.
type Strip struct {
	C         []float64
	Ldc       int
	A         []float64
	Lda, Step int
	B, Room   []float64
	Rows      int
	N, K      int
	Diag      int
	Alpha     float64
	Set       bool
}

const (
	// MaxPanel is the largest width of a panel: three vectors of 512 bits.
	MaxPanel = 3 * 8
	// unrolled is the number of inner indices that a tile takes at a time.
	unrolled = 8
)

// Run computes the strip.
func (s *Strip) Run() { stripVector(s) }

// EdgeRoom is what a Strip needs besides 4·Padded(K)·Lanes() entries of Room.
const EdgeRoom = 8 + 4*MaxPanel

// Padded returns the number of rows of a packed panel for k inner indices: the next multiple of
// what the tile takes at a time.
func Padded(k int) int { return (k + unrolled - 1) / unrolled * unrolled }

// PanelAt returns the width of the panel that begins at column j of n: w columns, packed as nr,
// which is a whole number of vectors. The tile is four rows by three vectors of 512 bits (twelve
// sums), or two of 256 (eight: with twelve the 15 registers run out). Four vectors are left as two
// and two, since one would keep the multipliers waiting.
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
