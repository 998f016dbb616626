// Package compose holds stochastic compositional problems
//
//	min over x in X   F(x) = E_ξ[f(E_φ[h(x; φ)]; ξ)],    h: R^dx → R^dy,  f: R^dy → R,
//
// as bilevel problems (Chen, Sun, Xiao, Yin, AISTATS 2022, section 1):
//
//	g(x, y; φ) = ½‖y‖² − h(x; φ)ᵀy,    y*(x) = E h(x; φ),    g_y = y − h,  g_xy = −∇h,  g_yy = I.
//
// [Adapt] makes one of a [Composition], for every bilevel.Method; [SCGD] and [SCSC] are for such
// problems alone. [MeanVariance] is an example with a closed-form solution.
package compose

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
	"stable/mat/kernel"
)

// Composition is a compositional problem. Samples, batches, destinations and ErrNoExact are as in bilevel.Problem.
type Composition interface {
	// Dims returns the lengths of x and of y = h(x).
	Dims() (dx, dy int)

	// Streams returns how many samples ξ (of f) and φ (of h) there are; 0: an unbounded simulator.
	Streams() (outer, inner uint64)

	// Inner writes h(x; φ), of length dy.
	Inner(h, x []float64, phi []bilevel.Sample) error

	// Gradients writes ∇h(x; φ), dx × dy: entry (i, j) is ∂h_j/∂x_i.
	Gradients(dh *mat.Dense, x []float64, phi []bilevel.Sample) error

	// Outer returns f(y; ξ), and writes f'(y; ξ), of length dy, into df unless df is nil.
	Outer(df, y []float64, xi []bilevel.Sample) (float64, error)
}

// Problem is a Composition as a bilevel problem, for one goroutine at a time.
type Problem struct {
	c  Composition
	dh *mat.Dense // for products
	v  []float64  // of length dy
	w  []float64  // of length dy
}

// Adapt returns c as a bilevel problem. Its oracles allocate nothing that those of c do not.
func Adapt(c Composition) *Problem {
	dx, dy := c.Dims()
	return &Problem{c: c, dh: mat.NewDense(dx, dy), v: make([]float64, dy), w: make([]float64, dy)}
}

func (p *Problem) Composition() Composition { return p.c }

func (p *Problem) Dims() (dx, dy int)             { return p.c.Dims() }
func (p *Problem) Streams() (upper, lower uint64) { return p.c.Streams() }

func (p *Problem) GradF(fx, fy, _, y []float64, xi []bilevel.Sample) error {
	clear(fx)
	_, err := p.c.Outer(fy, y, xi)
	return err
}

func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := p.c.Inner(gy, x, phi)
	for j, v := range y {
		gy[j] = v - gy[j]
	}
	return err
}

func (p *Problem) CrossG(gxy *mat.Dense, x, _ []float64, phi []bilevel.Sample) error {
	err := p.c.Gradients(gxy, x, phi)
	mat.Scale(gxy, -1, gxy)
	return err
}

func (p *Problem) HessG(gyy *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	return nil
}

func (p *Problem) ConvexityAt([]float64) float64 { return 1 }

func (p *Problem) HessVecG(dst, _, _, v []float64, _ []bilevel.Sample) error {
	copy(dst, v)
	return nil
}

func (p *Problem) CrossVecG(dst, x, _, v []float64, phi []bilevel.Sample) error {
	err := p.c.Gradients(p.dh, x, phi)
	mat.MulVec(dst, p.dh, v)
	kernel.Scale(dst, -1, dst)
	return err
}

func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return p.CrossVecG(gx, x, y, y, phi)
}

func (p *Problem) ValueF(_, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.c.Outer(nil, y, xi)
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	if err := p.c.Inner(p.v, x, phi); err != nil {
		return 0, err
	}
	return mat.Dot(y, y)/2 - mat.Dot(p.v, y), nil
}

// Solution writes y*(x) = h(x).
func (p *Problem) Solution(y, x []float64) error { return p.c.Inner(y, x, nil) }

// Objective returns F(x) = f(h(x)) and writes ∇F = ∇h f'(h(x)) into grad unless grad is nil.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	if err := p.c.Inner(p.v, x, nil); err != nil {
		return 0, err
	}
	if grad == nil {
		return p.c.Outer(nil, p.v, nil)
	}
	if err := p.c.Gradients(p.dh, x, nil); err != nil {
		return 0, err
	}
	f, err := p.c.Outer(p.w, p.v, nil)
	mat.MulVec(grad, p.dh, p.w)
	return f, err
}

// MeanVariance is Markowitz's portfolio choice, min over x of
//
//	F(x) = −E[rᵀx] + λ Var[rᵀx],
//
// with weights x and returns r drawn uniformly from the rows of a table: h(x; r) = (rᵀx, (rᵀx)²)
// and f(m, s) = −m + λ(s − m²), without noise (Wang, Fang, Liu, 2017, section 5, in another form).
// It is safe for concurrent use.
type MeanVariance struct {
	returns *mat.Dense
	risk    float64
}

// NewMeanVariance returns the problem for a table, which it keeps, with a scenario in each row and
// an asset in each column, and λ = risk > 0. The error for a table that is empty or not finite
// wraps bilevel.ErrOption.
func NewMeanVariance(returns *mat.Dense, risk float64) (*MeanVariance, error) {
	if returns == nil || returns.Rows < 1 || returns.Cols < 1 {
		return nil, option.Bad("compose: NewMeanVariance: returns is empty")
	}
	for i := range returns.Rows {
		if j := mat.NotFinite(returns.Row(i)); j >= 0 {
			return nil, option.Bad("compose: NewMeanVariance: returns[%d, %d] is %v", i, j, returns.At(i, j))
		}
	}
	if !(risk > 0) || math.IsInf(risk, 1) {
		return nil, option.Bad("compose: NewMeanVariance: risk is %v, want a finite weight > 0", risk)
	}
	return &MeanVariance{returns, risk}, nil
}

func (m *MeanVariance) Dims() (dx, dy int) { return m.returns.Cols, 2 }

func (m *MeanVariance) Streams() (outer, inner uint64) { return 0, uint64(m.returns.Rows) }

func (m *MeanVariance) each(phi []bilevel.Sample, f func(r []float64, w float64)) error {
	for s, w := range bilevel.Each(phi, m.returns.Rows) {
		if uint64(s) >= uint64(m.returns.Rows) {
			return fmt.Errorf("compose: sample %d of %d scenarios", s, m.returns.Rows)
		}
		f(m.returns.Row(int(s)), w)
	}
	return nil
}

// Inner writes the means of rᵀx and (rᵀx)².
func (m *MeanVariance) Inner(h, x []float64, phi []bilevel.Sample) error {
	clear(h)
	return m.each(phi, func(r []float64, w float64) {
		v := mat.Dot(r, x)
		h[0] += w * v
		h[1] += w * v * v
	})
}

// Gradients writes the means of r and 2(rᵀx) r into the columns.
func (m *MeanVariance) Gradients(dh *mat.Dense, x []float64, phi []bilevel.Sample) error {
	dh.Zero()
	return m.each(phi, func(r []float64, w float64) {
		v := 2 * mat.Dot(r, x)
		for i, ri := range r {
			d := dh.Row(i)
			d[0] += w * ri
			d[1] += w * v * ri
		}
	})
}

// Outer returns −m + λ(s − m²), and writes (−1 − 2λm, λ).
func (m *MeanVariance) Outer(df, y []float64, _ []bilevel.Sample) (float64, error) {
	if df != nil {
		df[0], df[1] = -1-2*m.risk*y[0], m.risk
	}
	return -y[0] + m.risk*(y[1]-y[0]*y[0]), nil
}

// Optimum returns x* = Σ⁻¹μ/(2λ), the minimiser of F over all of R^dx, for mean μ and covariance Σ
// of the scenarios, and F(x*) = −μᵀx*/2. The error wraps chol.ErrNotPosDef where Σ is numerically
// singular. Cost: dx² flops a scenario and dx³/3.
func (m *MeanVariance) Optimum() (x []float64, f float64, err error) {
	n := m.returns.Cols
	mean, d, cov := make([]float64, n), make([]float64, n), mat.NewSym(n)
	_ = m.each(nil, func(r []float64, w float64) { mat.Axpy(mean, w, r) })
	_ = m.each(nil, func(r []float64, w float64) {
		copy(d, r)
		mat.Axpy(d, -1, mean)
		mat.RankOne(cov, w, d)
	})
	var c chol.Cholesky
	err = c.Factor(cov)
	if err == nil && !(float64(n)*0x1p-52*c.Cond() < 1) { // rounding has made a pivot of 0 positive
		err = chol.ErrNotPosDef
	}
	if err != nil {
		return nil, 0, fmt.Errorf("compose: covariance of the returns: %w", err)
	}
	x = make([]float64, n)
	c.SolveVec(x, mean)
	for i := range x {
		x[i] /= 2 * m.risk
	}
	return x, -mat.Dot(mean, x) / 2, nil
}
