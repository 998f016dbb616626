package kernel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat/kernel"
	"stable/mat/mattest"
)

// each runs f on count rows of every length (in) and copies for the kernel (out), then compares.
func each(t *testing.T, count int, f func(in, out [][]float64, near func(want, got float64))) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 65, 100, 511} {
			plain := mattest.Dense(count, n, 5)
			all := mattest.Pad(plain, 3)
			var in, out [][]float64
			for i := range count {
				in, out = append(in, plain.Row(i)), append(out, all.Row(i))
			}
			f(in, out, func(want, got float64) {
				assert.InDelta(t, want, got, 4*float64(n)*mattest.Eps, "n = %d", n)
			})
			for i := range in {
				assert.LessOrEqual(t, mattest.MaxDiffVec(in[i], out[i]), 16*mattest.Eps, "n = %d, row %d", n, i)
			}
			mattest.CheckPad(t, all)
		}
	})
}

func TestRank2Mul(t *testing.T) {
	const v0, w0, x0, v1, w1, x1 = 0.5, -0.25, 2, 1.5, -3, 0.75
	each(t, 6, func(in, out [][]float64, near func(want, got float64)) {
		s0, s1 := kernel.Rank2Mul(out[0], out[1], out[2], out[3], out[4], out[5], v0, w0, x0, v1, w1, x1)
		var r0, r1 float64
		for j := range in[0] {
			a0 := in[0][j] - v0*in[3][j] - w0*in[2][j]
			a1 := in[1][j] - v1*in[3][j] - w1*in[2][j]
			r0 += a0 * in[4][j]
			r1 += a1 * in[4][j]
			in[0][j], in[1][j] = a0, a1
			in[5][j] += x0*a0 + x1*a1
		}
		near(r0, s0)
		near(r1, s1)
	})
}

func TestReflect(t *testing.T) {
	f := [4]float64{0.5, -0.25, 2, -3}
	each(t, 6, func(in, out [][]float64, near func(want, got float64)) {
		s0, s1, s2, s3 := kernel.Reflect(out[0], out[1], out[2], out[3], out[4], out[5], f[0], f[1], f[2], f[3])
		for i, s := range []float64{s0, s1, s2, s3} {
			r := 0.0
			for j := range in[i] {
				in[i][j] += f[i] * in[4][j]
				r += in[i][j] * in[5][j]
			}
			near(r, s)
		}
	})
}

func TestRotate(t *testing.T) {
	const c, s, tau = 0.8, 0.6, 1. / 3
	each(t, 2, func(in, out [][]float64, _ func(want, got float64)) {
		kernel.Rotate(out[0], out[1], s, tau)
		for j, g := range in[0] {
			in[0][j], in[1][j] = c*g-s*in[1][j], s*g+c*in[1][j]
		}
	})
}

func TestExp(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), 5e-324, 699.9, -699.9, 709.7, 710, -740, -750, math.Inf(1), math.Inf(-1), math.NaN()}
	for k := -90000.5; k < 90000; k += 3.5 { // r is largest at every other one
		x = append(x, k*math.Ln2/128)
	}
	y := make([]float64, len(x))
	kernel.Exp(y, x)
	for i, v := range x {
		want := math.Exp(v)
		if want == 0 || want-want != 0 {
			require.Equal(t, math.Float64bits(want), math.Float64bits(y[i]), "exp(%v)", v)
			continue
		}
		require.InEpsilon(t, want, y[i], 2.2*0x1p-52, "exp(%v)", v)
	}
}
