package mat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

func TestElementwise(t *testing.T) {
	const tau, s = 0.3, -1.7
	for name, f := range map[string]struct {
		dense func(dst, a, b, c *mat.Dense)
		sym   func(dst, a, b, c *mat.Sym)
		want  func(a, b, c float64) float64
	}{
		"Copy": {
			func(dst, a, _, _ *mat.Dense) { mat.Copy(dst, a) },
			func(dst, a, _, _ *mat.Sym) { mat.CopySym(dst, a) },
			func(a, _, _ float64) float64 { return a }},
		"Scale": {
			func(dst, a, _, _ *mat.Dense) { mat.Scale(dst, s, a) },
			func(dst, a, _, _ *mat.Sym) { mat.ScaleSym(dst, s, a) },
			func(a, _, _ float64) float64 { return s * a }},
		"AddScaled": {
			func(dst, a, b, _ *mat.Dense) { mat.AddScaled(dst, a, s, b) },
			func(dst, a, b, _ *mat.Sym) { mat.AddScaledSym(dst, a, s, b) },
			func(a, b, _ float64) float64 { return a + s*b }},
		"Recur": {
			func(dst, a, b, c *mat.Dense) { mat.Recur(dst, tau, a, b, c) },
			func(dst, a, b, c *mat.Sym) { mat.RecurSym(dst, tau, a, b, c) },
			func(a, b, c float64) float64 { return (1-tau)*(a-b) + c }},
	} {
		t.Run(name, func(t *testing.T) {
			mattest.EachKernel(t, func(t *testing.T) {
				for _, n := range append([]int{0}, mattest.Orders...) {
					a, b, c := mattest.Dense(n, n+2, 1), mattest.Dense(n, n+2, 2), mattest.Dense(n, n+2, 3)
					p, q, r := mattest.Sym(n, 1), mattest.Sym(n, 2), mattest.Sym(n, 3)
					want := mattest.DenseOf(n, n+2, func(i, j int) float64 { return f.want(a.At(i, j), b.At(i, j), c.At(i, j)) })
					wantSym := mattest.SymOf(n, func(i, j int) float64 { return f.want(p.At(i, j), q.At(i, j), r.At(i, j)) })
					for _, pad := range mattest.Strides {
						for alias := range 4 {
							in := []*mat.Dense{mattest.Pad(a, pad), mattest.Pad(b, 2*pad), mattest.Pad(c, 3*pad),
								mattest.Pad(a, 4*pad)}
							dst := in[(alias+3)%4]
							f.dense(dst, in[0], in[1], in[2])
							mattest.CheckPad(t, dst)
							near(t, want, dst, 0)

							ins := []*mat.Sym{mattest.PadSym(p, pad), mattest.PadSym(q, 2*pad), mattest.PadSym(r, 3*pad),
								mattest.PadSym(p, 4*pad)}
							ds := ins[(alias+3)%4]
							f.sym(ds, ins[0], ins[1], ins[2])
							mattest.CheckPadSym(t, ds)
							near(t, mattest.Full(wantSym), mattest.Full(ds), 0)
						}
					}
				}
			})
		})
	}
}

func TestRecurIdentities(t *testing.T) {
	h, old, now, dst := mattest.Dense(9, 7, 1), mattest.Dense(9, 7, 2), mattest.Dense(9, 7, 3), mat.NewDense(9, 7)
	mat.Recur(dst, 1, h, old, now)
	require.Zero(t, mattest.MaxDiff(now, dst))
	mat.Recur(dst, 0.123, h, h, now)
	require.Zero(t, mattest.MaxDiff(now, dst))
}

func TestAddDiagonal(t *testing.T) {
	for _, n := range append([]int{0}, mattest.Orders...) {
		s, d := mattest.PadSym(mattest.Sym(n, 1), 3), mattest.Vec(n, 2)
		mat.AddDiag(s, d)
		mat.AddIdentity(s, 5)
		mattest.CheckPadSym(t, s)
		want := mattest.Sym(n, 1)
		for i := range n {
			want.Set(i, i, want.At(i, i)+d[i]+5)
		}
		require.Zero(t, mattest.MaxDiff(mattest.Full(want), mattest.Full(s)))
	}
}

func TestCopyTransAndFull(t *testing.T) {
	for _, n := range append([]int{0}, mattest.Orders...) {
		for _, m := range []int{0, 1, 3, 8, 17} {
			a := mattest.Dense(n, m, 1)
			dst := mattest.Pad(mat.NewDense(m, n), 2)
			mat.CopyTrans(dst, mattest.Pad(a, 3))
			mattest.CheckPad(t, dst)
			require.Zero(t, mattest.MaxDiff(mattest.Trans(a), dst))
		}
		s := mattest.Sym(n, 2)
		full := mattest.Pad(mat.NewDense(n, n), 2)
		mat.CopyFull(full, mattest.PadSym(s, 3))
		mattest.CheckPad(t, full)
		require.Zero(t, mattest.MaxDiff(mattest.Full(s), full))
		if n > 0 {
			own := mattest.PadSym(s, 0)
			low := own.Lower()
			mat.CopyFull(&low, own)
			require.Zero(t, mattest.MaxDiff(mattest.Full(s), &low))
		}
	}
}
