package mattest

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"stable/mat"
)

// Long reports whether STABLE_LONG=1 asks for long tests of accuracy.
func Long() bool { return os.Getenv("STABLE_LONG") != "" }

// Count returns long if Long asks for it, else short or usual, as -short says.
func Count(short, usual, long int) int {
	switch {
	case Long():
		return long
	case testing.Short():
		return short
	}
	return usual
}

// families make matrices of order n, most from Higham, Accuracy and Stability, chapter 28.
var families = []struct {
	name string
	make func(n int, rng *rand.Rand) *mat.Sym
}{
	{"hilbert", func(n int, rng *rand.Rand) *mat.Sym {
		shift := float64(rng.IntN(3))
		return SymOf(n, func(i, j int) float64 { return 1 / (float64(i+j+1) + shift) })
	}},
	{"wilkinson", func(n int, rng *rand.Rand) *mat.Sym {
		off := math.Pow(10, -float64(rng.IntN(9)))
		return SymOf(n, func(i, j int) float64 {
			if i == j {
				return math.Abs(float64(i) - float64(n-1)/2)
			}
			return off * float64(1-min(i-j-1, 1))
		})
	}},
	{"kahan", func(n int, rng *rand.Rand) *mat.Sym { // KᵀK: K's diagonal hides its smallest singular value
		c := 0.05 + 0.9*rng.Float64()
		k := DenseOf(n, n, func(i, j int) float64 {
			switch {
			case i == j:
				return math.Pow(1-c*c, float64(i)/2)
			case i > j:
				return 0
			}
			return -c * math.Pow(1-c*c, float64(i)/2)
		})
		return SymOf(n, Mul(Trans(k), k).At)
	}},
	{"graded", func(n int, rng *rand.Rand) *mat.Sym {
		s, span := Spectrum(between(n, rng, 1, 10), rng.Uint64()), 24*rng.Float64()
		d := List(n, func(int) float64 { return math.Pow(10, -span*rng.Float64()) })
		return SymOf(n, func(i, j int) float64 { return s.At(i, j) * d[i] * d[j] })
	}},
	{"graded/indefinite", func(n int, rng *rand.Rand) *mat.Sym {
		s, d := Sym(n, rng.Uint64()), math.Pow(10, -4*rng.Float64())
		return SymOf(n, func(i, j int) float64 { return s.At(i, j) * math.Pow(d, float64(i+j)/2) })
	}},
	{"clustered", func(n int, rng *rand.Rand) *mat.Sym {
		width := math.Pow(10, -16*rng.Float64())
		l := List(n, func(int) float64 { return float64(1+rng.IntN(2)) + width*rng.NormFloat64() })
		return Spectrum(l, rng.Uint64())
	}},
	{"near multiple", func(n int, rng *rand.Rand) *mat.Sym { // the eigenvectors turn with the last bits
		l := List(n, func(int) float64 { return float64(rng.IntN(3)-1) * (1 + Eps*float64(rng.IntN(8))) })
		return Spectrum(l, rng.Uint64())
	}},
	{"toeplitz", func(n int, rng *rand.Rand) *mat.Sym {
		t := List(n, func(int) float64 { return rng.NormFloat64() })
		t[0] = math.Abs(t[0]) * math.Sqrt(float64(n))
		return SymOf(n, func(i, j int) float64 { return t[i-j] })
	}},
	{"kac murdock szego", func(n int, rng *rand.Rand) *mat.Sym {
		rho := 1 - math.Pow(10, -12*rng.Float64())
		return SymOf(n, func(i, j int) float64 { return math.Pow(rho, float64(i-j)) })
	}},
	{"near singular", func(n int, rng *rand.Rand) *mat.Sym {
		l := between(n, rng, 1, 2)
		l[rng.IntN(n)] = math.Copysign(math.Pow(10, -10-8*rng.Float64()), rng.Float64()-0.2)
		return Spectrum(l, rng.Uint64())
	}},
	{"rank deficient", func(n int, rng *rand.Rand) *mat.Sym {
		b := Dense(n, rng.IntN(n+1), rng.Uint64())
		return SymOf(n, Mul(b, Trans(b)).At)
	}},
	{"geometric", func(n int, rng *rand.Rand) *mat.Sym {
		span := 16 * rng.Float64()
		return Spectrum(List(n, func(i int) float64 { return math.Pow(10, -span*float64(i)/float64(n)) }), rng.Uint64())
	}},
	{"normal spectrum", func(n int, rng *rand.Rand) *mat.Sym {
		return Spectrum(List(n, func(int) float64 { return rng.NormFloat64() }), rng.Uint64())
	}},
	{"uniform", func(n int, rng *rand.Rand) *mat.Sym { return Sym(n, rng.Uint64()) }},
	{"dominant", func(n int, rng *rand.Rand) *mat.Sym { return SPD(n, rng.Uint64()) }},
	{"small integers", func(n int, rng *rand.Rand) *mat.Sym {
		return SymOf(n, func(i, j int) float64 { return float64(rng.IntN(5) - 2 + 4*(1-min(i-j, 1))) })
	}},
	{"min", func(n int, _ *rand.Rand) *mat.Sym {
		return SymOf(n, func(i, j int) float64 { return float64(min(i, j) + 1) })
	}},
	{"sparse", func(n int, rng *rand.Rand) *mat.Sym {
		return SymOf(n, func(i, j int) float64 {
			if i != j && rng.IntN(3) > 0 {
				return 0
			}
			return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(7)-3))
		})
	}},
	{"arrow", func(n int, rng *rand.Rand) *mat.Sym {
		return SymOf(n, func(i, j int) float64 {
			if i == j || i == n-1 {
				return rng.Float64()
			}
			return 0
		})
	}},
}

func between(n int, rng *rand.Rand, low, high float64) []float64 {
	return List(n, func(int) float64 { return low + (high-low)*rng.Float64() })
}

// hard is what every factorisation must survive, and families seldom make.
var hard = []*mat.Sym{
	diag(3), diag(-3), diag(0), with(diag(2, 2), 1, 0, 1), with(diag(1, 1), 1, 0, 2), with(diag(0, 0), 1, 0, 1),
	mat.NewSym(5), diag(1, 1, 1, 1, 1, 1, 1), diag(0, 0, 0, -2, 0, 0), with(mat.NewSym(6), 4, 1, 2),
	Spectrum([]float64{-3, -3, -3, 1, 1, 1, 1, 2, 2}, 5),
	Spectrum([]float64{1, 1, 1, 1, 2, 2, 2, 5, 5, 5}, 5),
	Spectrum(List(16, func(i int) float64 { return 1 + 1e-12*float64(i) + float64(i/8) }), 5),
	Spectrum(append(make([]float64, 11), 4), 5),
	Spectrum(append(make([]float64, 11), -4), 5),
	Spectrum([]float64{1e-14, 1e-7, 1, 1, 1, 1}, 5),
	graded(9, -4), graded(9, 4), with(graded(9, -4), 8, 8, -1),
}

func diag(d ...float64) *mat.Sym {
	s := mat.NewSym(len(d))
	mat.AddDiag(s, d)
	return s
}

func with(s *mat.Sym, i, j int, v float64) *mat.Sym {
	s.Set(i, j, v)
	return s
}

// graded is D·C·D, C = SPD(n)/n, D = diag(10^(e·i/2)): its eigenvalues span 10^(e·(n−1)).
func graded(n int, e float64) *mat.Sym {
	s := SPD(n, 3)
	return SymOf(n, func(i, j int) float64 { return s.At(i, j) / float64(n) * math.Pow(10, e/2*float64(i+j)) })
}

// NotFinite returns matrices with one NaN or ±Inf: first, last, or below the diagonal.
func NotFinite() (all []*mat.Sym) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, n := range []int{1, 9, 65} {
			all = append(all, with(SPD(n, 7), 0, 0, v), with(SPD(n, 7), n-1, n/2, v), with(SPD(n, 7), n-1, n-1, v))
		}
	}
	return all
}

// Draw returns matrix number k of an endless list, in new memory, and its kind: hard ones first,
// then most of order 1 to 8, one in 16 up to 17, one in 512 up to 40; one in four times 1e±150.
func Draw(k int) (name string, a *mat.Sym) {
	if k < len(hard) {
		return "hard", scaled(hard[k], 1)
	}
	rng := Rand(uint64(k) + 1<<40)
	f := families[k%len(families)]
	n := 1 + rng.IntN(8)
	switch r := rng.IntN(512); {
	case r == 0:
		n = 18 + rng.IntN(23)
	case r < 32:
		n = 9 + rng.IntN(9)
	}
	a = f.make(n, rng)
	switch rng.IntN(8) {
	case 0:
		return f.name + "/large", scaled(a, 1e150*(0.5+rng.Float64()))
	case 1:
		return f.name + "/small", scaled(a, 1e-150*(0.5+rng.Float64()))
	}
	return f.name, a
}

func scaled(s *mat.Sym, e float64) *mat.Sym {
	return SymOf(s.N, func(i, j int) float64 { return s.At(i, j) * e })
}
