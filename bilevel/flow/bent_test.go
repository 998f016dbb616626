package flow

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/theorem"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// bent has no noise, and constants that are known over the whole space,
//
//	g = ½ yᵀA y − sin(x)ᵀB y + c Σ sin(x_i) sin(y_i) + c Σ cos(y_j),    A = diag(2, 3, …),
//	f = Σ log cosh(x_i − 1) + Σ log cosh(y_j + 1).
type bent struct {
	dx, dy int
	c      float64
	b      *mat.Dense
	v      []float64
	h      *mat.Sym
	factor chol.Cholesky
}

func newBent() *bent {
	p := &bent{dx: 2, dy: 3, c: 0.3, b: mattest.Dense(2, 3, 5), v: make([]float64, 3), h: mat.NewSym(3)}
	mat.Scale(p.b, 1/mat.NormFrob(p.b), p.b)
	return p
}

// constants are global: |∂²g_yy| ≤ 2c, |∂g_xy/∂y| ≤ c, and tanh is bounded by 1 with slope 1.
func (p *bent) constants() theorem.Constants {
	return theorem.Constants{
		Lfy: 1, Lgxy: p.c, Lgyy: 2 * p.c, Cgxy: mat.NormFrob(p.b) + p.c*math.Sqrt(2),
		Cfx: math.Sqrt(float64(p.dx)), Cfy: math.Sqrt(float64(p.dy)), MuG: 2 - 2*p.c,
	}
}

func (p *bent) Dims() (int, int)          { return p.dx, p.dy }
func (p *bent) Streams() (uint64, uint64) { return 0, 0 }

func (p *bent) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	for i, v := range x {
		fx[i] = math.Tanh(v - 1)
	}
	for j, v := range y {
		fy[j] = math.Tanh(v + 1)
	}
	return nil
}

func (p *bent) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	for j, v := range y {
		gy[j] = float64(j+2)*v - p.c*math.Sin(v)
		for i, u := range x {
			gy[j] -= math.Sin(u) * p.b.At(i, j)
		}
		if j < p.dx {
			gy[j] += p.c * math.Sin(x[j]) * math.Cos(v)
		}
	}
	return nil
}

func (p *bent) ValueF(x, y []float64, _ []bilevel.Sample) (f float64, err error) {
	for _, v := range x {
		f += math.Log(math.Cosh(v - 1))
	}
	for _, v := range y {
		f += math.Log(math.Cosh(v + 1))
	}
	return f, nil
}

func (p *bent) ValueG(x, y []float64, _ []bilevel.Sample) (g float64, err error) {
	for j, v := range y {
		g += float64(j+2)*v*v/2 + p.c*math.Cos(v)
		for i, u := range x {
			g -= math.Sin(u) * p.b.At(i, j) * v
		}
		if j < p.dx {
			g += p.c * math.Sin(x[j]) * math.Sin(v)
		}
	}
	return g, nil
}

func (p *bent) CrossG(gxy *mat.Dense, x, y []float64, _ []bilevel.Sample) error {
	for i, u := range x {
		for j, v := range y {
			gxy.Set(i, j, -math.Cos(u)*p.b.At(i, j))
			if i == j {
				gxy.Set(i, j, gxy.At(i, j)+p.c*math.Cos(u)*math.Cos(v))
			}
		}
	}
	return nil
}

func (p *bent) HessG(gyy *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	for j, v := range y {
		h := float64(j+2) - p.c*math.Cos(v)
		if j < p.dx {
			h -= p.c * math.Sin(x[j]) * math.Sin(v)
		}
		gyy.Set(j, j, h)
	}
	return nil
}

// Solution is Newton's method, which needs no damping from 0.
func (p *bent) Solution(y, x []float64) error {
	clear(y)
	for range 50 {
		_ = p.HessG(p.h, x, y, nil)
		_ = p.GradG(p.v, x, y, nil)
		if err := p.factor.Factor(p.h); err != nil {
			return err
		}
		p.factor.SolveVec(p.v, p.v)
		mat.Axpy(y, -1, p.v)
	}
	return nil
}

func (p *bent) Objective(grad, x []float64) (float64, error) {
	y, fx, fy, gxy := make([]float64, p.dy), make([]float64, p.dx), make([]float64, p.dy), mat.NewDense(p.dx, p.dy)
	if err := p.Solution(y, x); err != nil {
		return 0, err
	}
	f := 0.0
	for _, v := range x {
		f += math.Log(math.Cosh(v - 1))
	}
	for _, v := range y {
		f += math.Log(math.Cosh(v + 1))
	}
	if grad != nil {
		_ = p.GradF(fx, fy, x, y, nil)
		_ = p.CrossG(gxy, x, y, nil)
		p.factor.SolveVec(fy, fy)
		mat.MulVec(grad, gxy, fy)
		for i := range grad {
			grad[i] = fx[i] - grad[i]
		}
	}
	return f, nil
}

func TestBentIsWhatItSays(t *testing.T) {
	p := newBent()
	r, err := check.Problem(p, check.Options{ScaleX: 2, ScaleY: 2, MuG: p.constants().MuG})
	require.NoError(t, err)
	assert.NoError(t, r.Err())
}
