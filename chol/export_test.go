package chol

import "stable/mat"

func Dominant(a *mat.Sym, shift float64) bool { return dominant(a, shift, make([]float64, a.N)) }

func CondEstimate(c *Cholesky) float64 {
	return max(1, c.estimate())
}

const CondExact = condExact
