package mat_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

func FuzzProjectFrob(f *testing.F) {
	mattest.Fuzz(f, func(t *testing.T, b mattest.Bytes) { requireProjectFrob(t, b.Dense(), math.Abs(b.Float())) },
		[]byte{1, 1, 0, 3}, []byte{1, 2, 0, 3, 0, 4, 0, 0, 2}, []byte{2, 2, 6, 3, 6, 3, 6, 3, 6, 3, 0, 0, 1},
		[]byte{1, 2, 6, 5, 6, 5, 1, 6, 5}, []byte{1, 2, 6, 0, 0, 1, 0, 0, 1}, []byte{2, 1, 6, 3, 6, 4, 0, 5, 1, 128})
}

func TestProjectFrobAtTheEdges(t *testing.T) {
	for _, x := range [][]float64{
		{3, -4}, {0, 0}, {}, {1.7e308, 1.7e308}, {1.5e308, 1.5e308}, {3e200, -4e200}, {3e-200, -4e-200},
		{3e170, -4e170, 1e-170}, {3e160, -4e160}, {2, nan}, {2, inf}, {2, -inf},
	} {
		for _, radius := range []float64{0, 1, 2, 2.5, 5, 2.5e200, 2.5e-200, 2.5e-170, 2.5e-150, inf, -1, nan, -inf} {
			requireProjectFrob(t, mat.DenseOf(1, len(x), x), radius)
		}
	}
}

func TestProjectFrobAccuracy(t *testing.T) { mattest.EachKernel(t, testProjectFrobAccuracy) }

func testProjectFrobAccuracy(t *testing.T) {
	outside, count := 0, mattest.Count(500, 2000, 60_000)
	for k := range count {
		_, s := mattest.Draw(k)
		a, rng := mattest.Full(s), mattest.Rand(uint64(k))
		radius := mat.NormFrob(a) * math.Pow(10, 4*rng.Float64()-3)
		if requireProjectFrob(t, a, radius) > radius {
			outside++
		}
	}
	require.Greater(t, outside, count/2)
	require.Less(t, outside, count)
}

const below = 0x1p-1070

// requireProjectFrob compares with what is exact, and returns ‖a‖_F.
func requireProjectFrob(t *testing.T, a *mat.Dense, radius float64) (norm float64) {
	t.Helper()
	a = mattest.Pad(a, 2)
	if !(radius >= 0) {
		assert.PanicsWithValue(t, "mat: ProjectFrob: radius is negative or NaN", func() { mat.ProjectFrob(a, a, radius) })
		return 0
	}
	p, again := mattest.Pad(mat.NewDense(a.Rows, a.Cols), 1), mat.NewDense(a.Rows, a.Cols)
	norm = mat.ProjectFrob(p, a, radius)
	mattest.CheckPad(t, p)
	if most := mat.MaxAbs(a); !mattest.Finite(most) {
		same(t, most, norm)
		require.Equal(t, mattest.Bits(a), mattest.Bits(p))
		return norm
	}
	want, entries := mattest.ExactDense(a), float64(a.Rows*a.Cols)
	size := want.NormExact()
	rel, slack := 4*entries*mattest.Eps, entries*below
	if f := mattest.Float(size); f <= math.MaxFloat64*(1-rel) {
		require.InDelta(t, f, norm, rel*f+slack)
	} else {
		require.GreaterOrEqual(t, norm, math.MaxFloat64*(1-2*rel))
	}
	if math.IsInf(radius, 1) {
		require.Equal(t, mattest.Bits(a), mattest.Bits(p))
	}
	if r := new(big.Float).SetPrec(320).SetFloat64(radius); size.Cmp(r) > 0 {
		r.Quo(r, size)
		for k := range a.Rows * a.Cols {
			v := want.At(k/a.Cols, k%a.Cols)
			v.Mul(v, r)
		}
	}
	goal := want.Norm()
	require.LessOrEqual(t, want.Sub(mattest.ExactDense(p)).Norm(), rel*goal+slack)
	require.LessOrEqual(t, mattest.ExactDense(p).Norm(), radius*(1+rel)+slack)

	mat.ProjectFrob(again, p, radius)
	require.LessOrEqual(t, mattest.ExactDense(again).Sub(mattest.ExactDense(p)).Norm(),
		rel*mattest.ExactDense(p).Norm()+below, "not idempotent")
	mat.ProjectFrob(a, a, radius)
	mattest.CheckPad(t, a)
	require.Equal(t, mattest.Bits(p), mattest.Bits(a))
	return norm
}
