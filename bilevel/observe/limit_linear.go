package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/chol"
	"stable/mat"
)

// linear is the linearisation of Ψ at a solution; see LocalLimit for the letters.
type linear struct {
	p       *bilevel.Completed
	x, y, v []float64
	lower   chol.Cholesky // of g_yy
	gt, mt  *mat.Dense    // Gᵀ and (RP)ᵀ, dy × dx
	hess    mat.Sym       // ∇²F

	t     *mat.Dense    // the directions in which x can move, row by row
	block chol.Cholesky // of T(∇²F + λI)Tᵀ
	r, s  []float64     // of length t.Rows
	c     *mat.Dense    // (∇²F)⁻¹Cov r on them, of both kinds
	n     float64       // samples of the kind

	// The exact values at (x, y, v), and those of a sample or of a neighbour.
	mean, one parts

	wx, wy []float64 // scratch
}

// sizes are lengths over which second derivatives change.
func sizes(v []float64) []float64 {
	most, s := mat.MaxAbs(mat.DenseOf(1, len(v), v)), make([]float64, len(v))
	for i, a := range v {
		s[i] = cmp.Or(max(math.Abs(a), most/1000), 1)
	}
	return s
}

type parts struct {
	fx, cross    []float64 // f_x and g_xy v, of length dx
	fy, gy, bent []float64 // f_y, g_y and g_yy v, of length dy
}

func newLinear(p bilevel.Problem, x []float64) *linear {
	dx, dy := p.Dims()
	v := func(n int) []float64 { return make([]float64, n) }
	return &linear{
		p: bilevel.Complete(p), x: slices.Clone(x), y: v(dy), v: v(dy), gt: mat.NewDense(dy, dx), mt: mat.NewDense(dy, dx),
		mean: parts{fx: v(dx), cross: v(dx), fy: v(dy), gy: v(dy), bent: v(dy)},
		one:  parts{fx: v(dx), cross: v(dx), fy: v(dy), gy: v(dy), bent: v(dy)},
		wx:   v(dx), wy: v(dy),
	}
}

func (l *linear) upperAt(q *parts, x, y []float64, xi []bilevel.Sample) error {
	return l.p.GradF(q.fx, q.fy, x, y, xi)
}

func (l *linear) bendAt(q *parts, x, y []float64, phi []bilevel.Sample) error {
	return cmp.Or(l.p.CrossVecG(q.cross, x, y, l.v, phi), l.p.HessVecG(q.bent, x, y, l.v, phi))
}

// linearise finds v, G, RP and ∇²F at (x, y), and returns how skew the differences are.
func (l *linear) linearise() (skew float64, err error) {
	dx, dy := l.p.Dims()
	gyy, gxy := mat.NewSym(dy), mat.NewDense(dx, dy)
	if err := cmp.Or(l.p.HessG(gyy, l.x, l.y, nil), l.p.CrossG(gxy, l.x, l.y, nil)); err != nil {
		return 0, err
	}
	if err := l.lower.Factor(gyy); err != nil {
		return 0, fmt.Errorf("observe: LocalLimit: g_yy: %w", err)
	}
	mat.CopyTrans(l.gt, gxy)
	l.lower.Solve(l.gt, l.gt) // Gᵀ = P g_yx
	if err := l.upperAt(&l.mean, l.x, l.y, nil); err != nil {
		return 0, err
	}
	l.lower.SolveVec(l.v, l.mean.fy)
	if err := cmp.Or(l.bendAt(&l.mean, l.x, l.y, nil), l.p.GradG(l.mean.gy, l.x, l.y, nil)); err != nil {
		return 0, err
	}

	// Of Θ = (f_x − g_xy v, g_yy v − f_y): ∂_xΘ = (K, −Aᵀ) and ∂_yΘ = (A, B).
	k, minusA := mat.NewDense(dx, dx), mat.NewDense(dx, dy) // row i: ∂Θ/∂x_i
	at, b := mat.NewDense(dy, dx), mat.NewDense(dy, dy)     // row j: ∂Θ/∂y_j
	if err := cmp.Or(l.differences(k, minusA, l.x), l.differences(at, b, l.y)); err != nil {
		return 0, err
	}

	// Rᵀ = Aᵀ + BGᵀ, (RP)ᵀ = PRᵀ, and ∇²F = K − AGᵀ − GRᵀ, with −A from ∂_xΘ and Aᵀ from ∂_yΘ.
	rt := mat.NewDense(dy, dx)
	mat.Copy(rt, at)
	mat.AddMul(rt, 1, b, l.gt)
	l.lower.Solve(l.mt, rt)
	mat.AddMul(k, 1, minusA, l.gt)
	mat.AddMulTransA(k, -1, l.gt, rt)
	size, off := mat.NormFrob(k), 0.0
	for i := range k.Rows {
		for j := range i {
			d := (k.At(i, j) - k.At(j, i)) / 2
			off = math.Hypot(off, math.Sqrt2*d)
			k.Set(i, j, k.At(i, j)-d)
		}
	}
	l.hess = mat.AsSym(k)
	if off == 0 {
		return 0, nil
	}
	return off / size, nil
}

// reach is the length of a difference in sizes: truncation and rounding errors of about 1e-13 each.
const reach = 0x1p-9

// differences writes ∂Θ/∂z_i into rows i of upper and lower, z being l.x or l.y, by the five-point
// rule (8(Θ₁ − Θ₋₁) − (Θ₂ − Θ₋₂))/(12h). z is put back.
func (l *linear) differences(upper, lower *mat.Dense, z []float64) error {
	scale := sizes(z)
	for i, at := range z {
		u, w := upper.Row(i), lower.Row(i)
		h := scale[i] * reach
		for _, c := range [4]struct{ steps, weight float64 }{{-2, 1}, {-1, -8}, {1, 8}, {2, -1}} {
			z[i] = at + c.steps*h
			err := cmp.Or(l.upperAt(&l.one, l.x, l.y, nil), l.bendAt(&l.one, l.x, l.y, nil))
			z[i] = at
			if err != nil {
				return err
			}
			weight := c.weight / (12 * h)
			for j := range u {
				u[j] += weight * (l.one.fx[j] - l.one.cross[j])
			}
			for j := range w {
				w[j] += weight * (l.one.bent[j] - l.one.fy[j])
			}
		}
	}
	return nil
}

// restrict factors ∇²F on the directions in which x can move and F varies, and returns how many.
func (l *linear) restrict(set bilevel.Set) (int, error) {
	for i, v := range l.mean.fx {
		l.wx[i] = v - l.mean.cross[i] // ∇F
	}
	t, lambda, err := tangent(set, l.x, l.wx)
	if err == nil {
		t = varied(t, &l.hess, sizes(l.x))
	}
	if err != nil || t.Rows == 0 {
		return 0, err
	}
	mat.AddIdentity(&l.hess, lambda)
	ht, tht, tt := mat.NewDense(len(l.x), t.Rows), mat.NewDense(t.Rows, t.Rows), mat.NewDense(len(l.x), t.Rows)
	mat.CopyTrans(tt, t)
	mat.MulSym(ht, &l.hess, tt)
	mat.Mul(tht, t, ht)
	restricted := mat.AsSym(tht)
	if err := l.block.Factor(&restricted); err != nil {
		return 0, fmt.Errorf("observe: LocalLimit: ∇²F in the %d directions in which x can move: %w", t.Rows, err)
	}
	l.t, l.r, l.s, l.c = t, make([]float64, t.Rows), make([]float64, t.Rows), mat.NewDense(t.Rows, t.Rows)
	return t.Rows, nil
}

// fromXi returns ½(r − E r)ᵀ(∇²F)⁻¹(r − E r) for r_ξ = f_x − G f_y.
func (l *linear) fromXi(one []bilevel.Sample) (float64, error) {
	if err := l.upperAt(&l.one, l.x, l.y, one); err != nil {
		return 0, err
	}
	for j := range l.wy {
		l.wy[j] = l.one.fy[j] - l.mean.fy[j]
	}
	mat.MulVecTrans(l.wx, l.gt, l.wy)
	for i := range l.wx {
		l.wx[i] = l.one.fx[i] - l.mean.fx[i] - l.wx[i]
	}
	return l.half(), nil
}

// fromPhi is fromXi for r_φ = −g_xy v + G g_yy v − RP g_y.
func (l *linear) fromPhi(one []bilevel.Sample) (float64, error) {
	if err := cmp.Or(l.bendAt(&l.one, l.x, l.y, one), l.p.GradG(l.one.gy, l.x, l.y, one)); err != nil {
		return 0, err
	}
	for j := range l.wy {
		l.wy[j] = l.one.bent[j] - l.mean.bent[j]
		l.one.gy[j] -= l.mean.gy[j]
	}
	mat.MulVecTrans(l.wx, l.gt, l.wy)
	for i := range l.wx {
		l.wx[i] -= l.one.cross[i] - l.mean.cross[i]
	}
	mat.MulVecTrans(l.one.cross, l.mt, l.one.gy)
	mat.Axpy(l.wx, -1, l.one.cross)
	return l.half(), nil
}

func (l *linear) half() float64 {
	mat.MulVec(l.r, l.t, l.wx)
	l.block.SolveVec(l.s, l.r)
	for i, s := range l.s {
		mat.Axpy(l.c.Row(i), s/l.n, l.r)
	}
	return mat.Dot(l.r, l.s) / 2
}
