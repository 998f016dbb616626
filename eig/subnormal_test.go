package eig_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/mattest"
)

func times2(s *mat.Sym, k int) *mat.Sym {
	for i := range s.N {
		for j, v := range s.Row(i) {
			s.Set(i, j, math.Ldexp(v, k))
		}
	}
	return s
}

// Results are those of a multiple by a power of two, up to their own rounding.
func TestSubnormal(t *testing.T) {
	routes := map[eig.Route]int{}
	for _, k := range []int{-420, -980, -1022, -1030, -1044, -1070} { // even, for square roots
		for _, n := range []int{1, 2, 3, 4, 14, 36, 54, 122} {
			lambda := make([]float64, n) // few of them below 0
			for i := range lambda {
				lambda[i] = 1 + float64(i)/float64(n)
			}
			lambda[0], lambda[n/2] = -1, -0.5
			for what, a := range map[string]*mat.Sym{"random": mattest.Sym(n, 1), "few": mattest.Spectrum(lambda, 1),
				"zero": mat.NewSym(n)} {
				where := fmt.Sprintf("%s, n=%d, times 2^%d", what, n, k)
				times2(a, k)
				big := mat.NewSym(n)
				mat.CopySym(big, a)
				times2(big, -k)
				decompositions(t, where, a, big, k)
				for _, mu := range []float64{0, 0.25, -0.25, -2} {
					routes[projections(t, fmt.Sprint(where, ", mu=", mu), a, big, mu, k)]++
				}
			}
		}
	}
	for _, r := range []eig.Route{eig.RouteClear, eig.RouteKrylov, eig.RouteTridiagonal} {
		assert.Greater(t, routes[r], 10, r)
	}
}

func decompositions(t *testing.T, where string, a, big *mat.Sym, k int) {
	n := a.N
	var s eig.Symmetric
	var e eig.Jacobi
	require.NoError(t, s.Factor(a), where)
	require.NoError(t, e.Factor(a), where)
	full, r := mat.NewDense(n, n), mat.NewDense(n, n)
	mat.CopyFull(full, big)
	for name, d := range map[string]decomposition{"symmetric, ": &s, "": &e} {
		mat.Mul(r, d.VectorsT(), full)
		for i, v := range d.Values() {
			mat.Axpy(r.Row(i), -math.Ldexp(v, -k), d.VectorsT().Row(i))
		}
		unit, rounding := float64(n)*mattest.Eps, math.Sqrt(float64(n))*math.Ldexp(1, -1074-k)
		assert.LessOrEqual(t, mat.NormFrob(r), constants[name+"eigenvectors"]*unit*norm(big)+rounding, "%s%s", name, where)
		mat.MulTransB(r, d.VectorsT(), d.VectorsT())
		for i := range n {
			r.Set(i, i, r.At(i, i)-1)
		}
		assert.LessOrEqual(t, mat.NormFrob(r), constants[name+"orthogonality"]*unit, "%s%s", name, where)
	}
}

func projections(t *testing.T, where string, a, big *mat.Sym, mu float64, k int) eig.Route {
	var tr eig.Truncator
	want := mat.NewSym(a.N)
	rep, err := tr.Truncate(want, big, mu)
	require.NoError(t, err, where)
	rep.MinEigenvalue, rep.Change = math.Ldexp(rep.MinEigenvalue, k), math.Ldexp(rep.Change, k)
	got := mattest.PadSym(mat.NewSym(a.N), 1)
	small, err := tr.Truncate(got, a, math.Ldexp(mu, k))
	require.NoError(t, err, where)
	mattest.CheckPadSym(t, got)
	assert.Equal(t, rep, small, where)
	assert.Equal(t, mattest.Full(times2(want, k)).Data, mattest.Full(got).Data, where)
	return rep.Route
}
