package kernel

// Pairs are the rows of a product on vector registers, two at a time:
//
//	for i < Rows, j < N: C[i·Ldc+j] (+)= Alpha · Σ_{p<K} A[i·Lda+p]·B_pj
//
// written where Set, added to where not. N is at most PairWidth(). B is one panel as PackRows makes
// it, of as many whole vectors as N takes, with zeros beyond K. Two entries of A at a time are
// spread over registers, for up to seven vectors of B: that is seldom enough to do without a copy
// of A that is spread beforehand, as a Strip wants it.
type Pairs struct {
	C       []float64
	Ldc     int
	A       []float64
	Lda     int
	B, Room []float64 // Room: as a Strip's
	Rows    int
	N, K    int
	Alpha   float64
	Set     bool
}

// pairRoom is what Pairs take of Room: two vectors, and the ends of two rows.
const pairRoom = 8 + 8 + 2*unrolled

// Run computes the rows.
func (s *Pairs) Run() { pairsVector(s) }

// PairWidth returns the largest width of Pairs: seven vectors of 512 bits (fourteen sums), or four
// of 256 (eight: more do not leave room for their operands).
func PairWidth() int {
	if Lanes() == 8 {
		return 7 * 8
	}
	return 4 * Lanes()
}

// PairsUpTo returns the order of the products up to which Pairs are faster than Strips. Wider ones
// go over A too often, or, with 256 bits, take an entry of A for too few columns.
func PairsUpTo() int {
	if Lanes() == 8 {
		return 320
	}
	return PairWidth()
}
