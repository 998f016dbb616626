package mat_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

func FuzzProjectFrob(f *testing.F) {
	for _, s := range [][]byte{
		{}, {1, 1, 0, 3}, {1, 2, 0, 3, 0, 4, 0, 0, 2}, {2, 2, 6, 3, 6, 3, 6, 3, 6, 3, 0, 0, 1}, {1, 2, 6, 5, 6, 5, 1, 6,
			5}, {1, 2, 6, 0, 0, 1, 0, 0, 1},
		{2, 1, 6, 3, 6, 4, 0, 5, 1, 128},
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := mattest.Bytes(data)
		a := b.Dense()
		radius := math.Abs(b.Float())
		if math.IsNaN(radius) {
			require.Panics(t, func() { mat.ProjectFrob(a, a, radius) })
			return
		}
		p := mattest.Pad(mat.NewDense(a.Rows, a.Cols), 1)
		norm := mat.ProjectFrob(p, a, radius)
		mattest.CheckPad(t, p)
		mattest.CheckPad(t, a)
		if !mattest.Finite(mat.MaxAbs(a)) {
			require.False(t, mattest.Finite(norm))
			requireSameBits(t, a, p)
			return
		}
		requireProjection(t, a, p, norm, radius)
		again := mat.NewDense(a.Rows, a.Cols)
		mat.ProjectFrob(again, p, radius)
		require.LessOrEqual(t, mattest.ExactDense(again).Sub(mattest.ExactDense(p)).Norm(),
			frobUnit(a)*4*mattest.ExactDense(p).Norm()+below, "not idempotent")
		mat.ProjectFrob(a, a, radius)
		requireSameBits(t, p, a)
	})
}

const below = 0x1p-1070

func frobUnit(a *mat.Dense) float64 { return float64(a.Rows*a.Cols) * mattest.Eps }

func requireProjection(t *testing.T, a, p *mat.Dense, norm, radius float64) (err, rel float64) {
	t.Helper()
	exact, size := mattest.ExactDense(a), mattest.ExactDense(a).NormExact()
	rel = frobUnit(a)
	if f := mattest.Float(size); mattest.Finite(f) {
		require.InDelta(t, f, norm, 4*rel*f+below)
	}
	if math.IsInf(radius, 1) {
		requireSameBits(t, a, p)
		return 0, 0
	}
	want := mattest.NewExact(a.Rows, a.Cols)
	factor := big.NewFloat(1)
	if r := new(big.Float).SetPrec(320).SetFloat64(radius); size.Cmp(r) > 0 {
		factor = r.Quo(r, size)
	}
	for i := range a.Rows {
		for j := range a.Cols {
			want.At(i, j).Mul(exact.At(i, j), factor)
		}
	}
	goal := want.Norm()
	err = mattest.ExactDense(p).Sub(want).Norm()
	require.LessOrEqual(t, err, 4*rel*goal+float64(a.Rows*a.Cols)*below)
	require.LessOrEqual(t, mattest.ExactDense(p).Norm(), radius*(1+4*rel)+float64(a.Rows*a.Cols)*below)
	if goal == 0 {
		return 0, 1
	}
	return err, rel * goal
}

func requireSameBits(t *testing.T, want, got *mat.Dense) {
	t.Helper()
	for i := range want.Rows {
		for j := range want.Cols {
			require.Equal(t, math.Float64bits(want.At(i, j)), math.Float64bits(got.At(i, j)))
		}
	}
}

func TestProjectFrobAccuracy(t *testing.T) { mat.EachKernel(t, testProjectFrobAccuracy) }

func testProjectFrobAccuracy(t *testing.T) {
	count := 2000
	switch {
	case mattest.Long():
		count = 60_000
	case testing.Short():
		count = 500
	}
	worst, outside := 0.0, 0
	for k := range count {
		_, s := mattest.Draw(k)
		a := mattest.Full(s)
		rng := mattest.Rand(uint64(k))
		radius := mat.NormFrob(a) * math.Pow(10, 4*rng.Float64()-3)
		p := mat.NewDense(a.Rows, a.Cols)
		norm := mat.ProjectFrob(p, a, radius)
		err, unit := requireProjection(t, a, p, norm, radius)
		if norm > radius {
			outside++
		}
		if err > 0 {
			worst = max(worst, err/unit)
		}
	}
	require.Greater(t, outside, count/2)
	require.Less(t, outside, count)
	t.Logf("%d matrices, %d outside; ‖P − P*‖ at most %.3g·mn·eps·‖P*‖", count, outside, worst)
}
