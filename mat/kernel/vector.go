package kernel

// Below these lengths the call of a vector function costs more than it saves; sums across a vector
// pay later than updates.
const (
	vectorAxpy   = 16
	vectorMulVec = 28
	vectorSolve  = 40
	vectorDot    = 56
	vectorSym    = 96
	vectorNorm   = 100
)

// Sum returns the sum of a stored vector; beyond its length, t is zero.
func Sum(t *[8]float64) float64 {
	return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}
