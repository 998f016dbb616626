package kernel

// Below these lengths the call of a vector function costs more than it saves; serve has exceptions
// for MulVec. From vectorWide on, what goes along ever shorter rows is faster by 512 bits than by
// 256.
const (
	vectorSym    = 12
	vectorAxpy   = 16
	vectorMulVec = 22
	vectorTrans  = 16
	vectorSolve  = 20
	vectorWide   = 48
	vectorDot    = 56
	vectorNorm   = 100
)

// Sum returns the sum of a stored vector; beyond its length, t is zero.
func Sum(t *[8]float64) float64 {
	return ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
}

// onesLast masks the entries of a last vector that no vector before it has.
var onesLast = [16]float64{8: 1, 1, 1, 1, 1, 1, 1, 1}
