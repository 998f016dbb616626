package eig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
	"stable/mat/mattest"
)

// rows returns count vectors of length n, in slices with NaN around them that no kernel may read or
// write.
func rows(count, n int) (all *mat.Dense, x [][]float64) {
	all = mattest.Pad(mattest.Dense(count, n, 5), 3)
	for i := range count {
		x = append(x, all.Row(i))
	}
	return all, x
}

func TestPass2(t *testing.T) {
	const v0, w0, x0, v1, w1, x1 = 0.5, -0.25, 2, 1.5, -3, 0.75
	for name, pass2 := range map[string]func(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64){
		"dispatched": eig.Pass2, "go": eig.Pass2Go,
	} {
		for _, n := range append([]int{0, 511}, sizes...) {
			_, in := rows(6, n)
			all, out := rows(6, n)
			s0, s1 := pass2(out[0], out[1], out[2], out[3], out[4], out[5], v0, w0, x0, v1, w1, x1)
			var r0, r1 float64
			for j := range n {
				a0 := in[0][j] - v0*in[3][j] - w0*in[2][j]
				a1 := in[1][j] - v1*in[3][j] - w1*in[2][j]
				r0 += a0 * in[4][j]
				r1 += a1 * in[4][j]
				in[0][j], in[1][j] = a0, a1
				in[5][j] += x0*a0 + x1*a1
			}
			tol := 4 * float64(n) * mattest.Eps
			assert.InDelta(t, r0, s0, tol, name)
			assert.InDelta(t, r1, s1, tol, name)
			for i := range in {
				assert.LessOrEqual(t, mattest.MaxDiffVec(in[i], out[i]), 16*mattest.Eps, "%s: n = %d, row %d",
					name, n, i)
			}
			mattest.CheckPad(t, all)
		}
	}
}

func TestReflect4(t *testing.T) {
	f := [4]float64{0.5, -0.25, 2, -3}
	for name, reflect4 := range map[string]func(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64){
		"dispatched": eig.Reflect4, "go": eig.Reflect4Go,
	} {
		for _, n := range append([]int{0, 511}, sizes...) {
			_, in := rows(6, n)
			all, out := rows(6, n)
			s0, s1, s2, s3 := reflect4(out[0], out[1], out[2], out[3], out[4], out[5], f[0], f[1], f[2], f[3])
			for i, s := range []float64{s0, s1, s2, s3} {
				r := 0.0
				for j := range n {
					in[i][j] += f[i] * in[4][j]
					r += in[i][j] * in[5][j]
				}
				assert.InDelta(t, r, s, 4*float64(n)*mattest.Eps, name)
			}
			for i := range in {
				assert.LessOrEqual(t, mattest.MaxDiffVec(in[i], out[i]), 16*mattest.Eps, "%s: n = %d, row %d",
					name, n, i)
			}
			mattest.CheckPad(t, all)
		}
	}
}

func TestRotate(t *testing.T) {
	const c, s, tau = 0.8, 0.6, 1. / 3
	for name, rotate := range map[string]func(x, y []float64, s, tau float64){"dispatched": eig.Rotate, "go": eig.RotateGo} {
		for _, n := range append([]int{0, 511}, sizes...) {
			_, in := rows(2, n)
			all, out := rows(2, n)
			rotate(out[0], out[1], s, tau)
			for j, g := range in[0] {
				in[0][j], in[1][j] = c*g-s*in[1][j], s*g+c*in[1][j]
			}
			for i := range in {
				assert.LessOrEqual(t, mattest.MaxDiffVec(in[i], out[i]), 2*mattest.Eps, "%s: n = %d, row %d",
					name, n, i)
			}
			mattest.CheckPad(t, all)
		}
	}
}

// TestRoutesWithoutVectors runs the routes with the vector code that this build has switched off.
func TestRoutesWithoutVectors(t *testing.T) {
	if !kernel.Vector() {
		t.Skip("no vector code in this build or on this machine")
	}
	for _, n := range []int{17, 65, 129} {
		for name, a := range map[string]*mat.Sym{"half": mattest.Sym(n, 1), "few": few(n, 3, 0.1)} {
			want, p := mat.NewSym(n), mat.NewSym(n)
			var tr eig.Truncator
			_, err := tr.Truncate(want, a, 0.1)
			require.NoError(t, err)
			was := kernel.SetLanes(0)
			_, err = tr.Truncate(p, a, 0.1)
			kernel.SetLanes(was)
			require.NoError(t, err)
			requireProjection(t, a, p, 0.1)
			assert.LessOrEqual(t, norm(difference(p, want)), bound*scaleOf(a, 0.1), "%s of %d", name, n)
		}
	}
}
