package eig

import (
	"math"

	"stable/mat"
)

// probe is a vector u of entries ±1, whose few products check the rows of Z together.
type probe struct {
	u     []float64
	image []float64 // Zᵀ·u
}

func (p *probe) reserve(n int) {
	p.image = grow(p.image, n)
	if len(p.u) >= n {
		return
	}
	p.u = make([]float64, n)
	for i := range p.u {
		p.u[i] = float64(1 - i*(i+1)/2%3%2*2)
	}
}

// orthonormal tests ‖Z·Zᵀ·u − u‖_∞ at the level of rounding, and leaves Zᵀ·u in image.
func (p *probe) orthonormal(z *mat.Dense) bool {
	p.reserve(z.Cols)
	u, tol := p.u[:z.Rows], 64*eps*float64(z.Cols+8)
	mat.MulVecTrans(p.image, z, u)
	for i, v := range u {
		if !(math.Abs(mat.Dot(z.Row(i), p.image)-v) <= tol) {
			return false
		}
	}
	return true
}
