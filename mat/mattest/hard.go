package mattest

import (
	"fmt"
	"math"

	"stable/mat"
)

// Case is one entry of the hard list.
type Case struct {
	Name   string
	A      *mat.Sym
	Finite bool      // no entry is NaN or infinite
	PosDef bool      // positive definite, and so far from singular that Cholesky must succeed
	Eig    []float64 // the eigenvalues, ascending, where they are known to n·eps·‖A‖; nil otherwise
}

// Hard returns what every factorisation must survive, in new memory: order 0, 1, 2; zero; identity;
// one nonzero; repeated and clustered eigenvalues; rank one; graded over 1e±16; scaled by 1e±150;
// NaN; Inf.
func Hard() []Case {
	cases := []Case{
		{Name: "n=0", A: mat.NewSym(0), PosDef: true, Eig: []float64{}},
		{Name: "n=1", A: diag(3), PosDef: true, Eig: []float64{3}},
		{Name: "n=1/negative", A: diag(-3), Eig: []float64{-3}},
		{Name: "n=1/zero", A: diag(0), Eig: []float64{0}},
		{Name: "n=2", A: two(2, 1, 2), PosDef: true, Eig: []float64{1, 3}},
		{Name: "n=2/indefinite", A: two(1, 2, 1), Eig: []float64{-1, 3}},
		{Name: "n=2/hollow", A: two(0, 1, 0), Eig: []float64{-1, 1}},
		{Name: "zero", A: mat.NewSym(5), Eig: make([]float64, 5)},
		{Name: "identity", A: diag(1, 1, 1, 1, 1, 1, 1), PosDef: true, Eig: []float64{1, 1, 1, 1, 1, 1, 1}},
		{Name: "one nonzero/diagonal", A: with(mat.NewSym(6), 3, 3, -2), Eig: []float64{-2, 0, 0, 0, 0, 0}},
		{Name: "one nonzero/below", A: with(mat.NewSym(6), 4, 1, 2), Eig: []float64{-2, 0, 0, 0, 0, 2}},
		spectrum("repeated", -3, -3, -3, 1, 1, 1, 1, 2, 2),
		spectrum("repeated/positive", 1, 1, 1, 1, 2, 2, 2, 5, 5, 5),
		spectrum("clustered", clustered(16)...),
		spectrum("rank one", append(make([]float64, 11), 4)...),
		spectrum("rank one/negative", append([]float64{-4}, make([]float64, 11)...)...),
		spectrum("near singular", 1e-14, 1e-7, 1, 1, 1, 1),
		{Name: "graded/down", A: graded(9, -4), PosDef: true},
		{Name: "graded/up", A: graded(9, 4), PosDef: true},
		{Name: "graded/indefinite", A: with(graded(9, -4), 8, 8, -1)},
	}
	for _, n := range []int{17, 65} {
		for _, e := range []float64{1, 1e150, 1e-150} {
			cases = append(cases,
				Case{Name: fmt.Sprintf("random/n=%d/scale=%g", n, e), A: scaled(Sym(n, uint64(n)), e)},
				Case{Name: fmt.Sprintf("positive/n=%d/scale=%g", n, e), A: scaled(SPD(n, uint64(n)), e), PosDef: true})
		}
	}
	for i := range cases {
		cases[i].Finite = true
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, n := range []int{1, 9, 65} {
			cases = append(cases,
				Case{Name: fmt.Sprintf("%g/n=%d/first", v, n), A: with(SPD(n, 7), 0, 0, v)},
				Case{Name: fmt.Sprintf("%g/n=%d/below", v, n), A: with(SPD(n, 7), n-1, n/2, v)},
				Case{Name: fmt.Sprintf("%g/n=%d/last", v, n), A: with(SPD(n, 7), n-1, n-1, v)})
		}
	}
	return cases
}

func diag(d ...float64) *mat.Sym {
	s := mat.NewSym(len(d))
	mat.AddDiag(s, d)
	return s
}

func two(a, b, c float64) *mat.Sym { return with(diag(a, c), 1, 0, b) }

func with(s *mat.Sym, i, j int, v float64) *mat.Sym {
	s.Set(i, j, v)
	return s
}

func spectrum(name string, lambda ...float64) Case {
	return Case{Name: name, A: Spectrum(lambda, 5), Eig: lambda, PosDef: lambda[0] > 1e-15}
}

func clustered(n int) []float64 {
	return list(n, func(i int) float64 { return 1 + 1e-12*float64(i) + float64(2*i/n) })
}

// graded is D·C·D, C = SPD(n)/n, D = diag(10^(e·i/2)): its eigenvalues span 10^(e·(n−1)).
func graded(n int, e float64) *mat.Sym {
	s := SPD(n, 3)
	return entries(n, func(i, j int) float64 { return s.At(i, j) / float64(n) * math.Pow(10, e/2*float64(i+j)) })
}

func scaled(s *mat.Sym, e float64) *mat.Sym {
	return entries(s.N, func(i, j int) float64 { return s.At(i, j) * e })
}
