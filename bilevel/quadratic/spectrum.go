package quadratic

import (
	"math"
	"math/rand/v2"

	"stable/mat"
)

// spectrum returns Q·diag(λ)·Qᵀ, λ from mu to l in equal ratios, Q a random orthogonal product of
// Householder reflections of growing order (Stewart, SIAM J. Numer. Anal. 17, 1980; LAPACK dlagsy).
// 4n³/3 flops.
func spectrum(rng *rand.Rand, n int, mu, l float64) *mat.Sym {
	s := mat.NewSym(n)
	for i := range n {
		s.Set(i, i, mu)
		if i > 0 {
			s.Set(i, i, mu*math.Pow(l/mu, float64(i)/float64(n-1)))
		}
	}
	u, w := make([]float64, n), make([]float64, n)
	for k := n - 2; k >= 0; k-- {
		t := s.View(k, n-k)
		reflect(rng, &t, u[k:], w[k:])
	}
	return s
}

// reflect sets s = H·s·H for a random reflection H = I − τ·u·uᵀ, τ = 2/uᵀu: with w = τ·s·u −
// ½τ²·(uᵀs u)·u that is s − u·wᵀ − w·uᵀ.
func reflect(rng *rand.Rand, s *mat.Sym, u, w []float64) {
	gaussian(rng, u)
	tau := 2 / mat.Dot(u, u)
	mat.MulVecSym(w, s, u)
	half := tau * tau / 2 * mat.Dot(u, w)
	for i := range w {
		w[i] = tau*w[i] - half*u[i]
	}
	for i := range s.N {
		row := s.Row(i)
		for j := range row {
			row[j] -= u[i]*w[j] + w[i]*u[j]
		}
	}
}

func gaussian(rng *rand.Rand, x []float64) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}
