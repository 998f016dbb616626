package eig

import (
	"math"

	"stable/mat"
)

// probe is a vector u of entries ±1. A few products with it check the rows of Z as a whole matrix
// product would.
type probe struct {
	u     []float64
	image []float64 // Zᵀ·u
}

// reserve makes room for up to n rows of length n.
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

// orthonormal probes Z·Zᵀ = I: ‖Z·Zᵀ·u − u‖_∞ must be of the order of rounding. It leaves Zᵀ·u in
// image.
func (p *probe) orthonormal(z *mat.Dense) bool {
	p.reserve(z.Cols)
	mat.MulVecTrans(p.image, z, p.u[:z.Rows])
	for i, u := range p.u[:z.Rows] {
		if !(math.Abs(mat.Dot(z.Row(i), p.image)-u) <= 64*eps*float64(z.Cols+8)) {
			return false
		}
	}
	return true
}
