package kernel

// Below these lengths the call of a vector function costs more than it saves. From vectorWide on,
// what ends in sums across a vector, or goes along ever shorter rows, is faster by 512 bits than by
// 256.
const (
	vectorAxpy   = 16
	vectorMulVec = 16
	vectorSolve  = 20
	vectorSym    = 16
	vectorWide   = 48
	vectorDot    = 56
	vectorNorm   = 100
)

// Sum returns the sum of a stored vector; beyond its length, t is zero.
func Sum(t *[8]float64) float64 {
	return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}
