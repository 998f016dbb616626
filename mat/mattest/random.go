package mattest

import (
	"math/rand/v2"

	"stable/mat"
)

// Rand returns the generator that the other functions draw from.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(1, seed)) }

// Vec returns a vector with entries uniform on (−0.5, 0.5).
func Vec(n int, seed uint64) []float64 {
	rng := Rand(seed)
	return List(n, func(int) float64 { return rng.Float64() - 0.5 })
}

// Dense returns entries uniform on (−0.5, 0.5). Dense(n, n, uint64(n)) is the benchmarks' input.
func Dense(rows, cols int, seed uint64) *mat.Dense {
	return mat.DenseOf(rows, cols, Vec(rows*cols, seed))
}

// Sym returns (A + Aᵀ)/2, A = Dense(n, n, seed): about half its eigenvalues are negative.
func Sym(n int, seed uint64) *mat.Sym {
	a := Dense(n, n, seed)
	return SymOf(n, func(i, j int) float64 { return (a.At(i, j) + a.At(j, i)) / 2 })
}

// SPD returns Sym(n, seed) + n·I, with a condition number near 1.
func SPD(n int, seed uint64) *mat.Sym { return Plus(Sym(n, seed), float64(n)) }

// Orthogonal returns a product of n random Householder reflections.
func Orthogonal(n int, seed uint64) *mat.Dense {
	q, rng := One(n), Rand(seed)
	for range n {
		v := DenseOf(1, n, func(int, int) float64 { return rng.NormFloat64() })
		vv, s := Mul(v, Trans(v)).At(0, 0), Mul(v, q).Row(0)
		// q = (I − 2vvᵀ/vᵀv)·q
		for j := range s {
			s[j] = 2 * s[j] / vv
		}
		for i, u := range v.Row(0) {
			qi := q.Row(i)[:len(s)]
			for j, w := range s {
				qi[j] -= w * u
			}
		}
	}
	return q
}

// Spectrum returns Q·diag(lambda)·Qᵀ for Q = Orthogonal(len(lambda), seed), rounded.
func Spectrum(lambda []float64, seed uint64) *mat.Sym {
	return Compose(Orthogonal(len(lambda), seed), lambda)
}

// Compose returns Q·diag(lambda)·Qᵀ, rounded.
func Compose(q *mat.Dense, lambda []float64) *mat.Sym {
	return SymOf(len(lambda), func(i, j int) (v float64) {
		qi, qj := q.Row(i), q.Row(j)
		for k, l := range lambda {
			v += qi[k] * l * qj[k]
		}
		return v
	})
}

// Plus returns a + c·I.
func Plus(a *mat.Sym, c float64) *mat.Sym {
	s := SymOf(a.N, a.At)
	mat.AddIdentity(s, c)
	return s
}

// SymOf returns the matrix with entries f(i, j), i ≥ j.
func SymOf(n int, f func(i, j int) float64) *mat.Sym {
	s := mat.NewSym(n)
	for i := range n {
		for j := range i + 1 {
			s.Set(i, j, f(i, j))
		}
	}
	return s
}

// DenseOf returns the matrix with entries f(i, j).
func DenseOf(rows, cols int, f func(i, j int) float64) *mat.Dense {
	return mat.DenseOf(rows, cols, List(rows*cols, func(k int) float64 { return f(k/cols, k%cols) }))
}

// List returns f(0), …, f(n−1).
func List[T any](n int, f func(i int) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}
