package compose

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
)

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
