package flow

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/implicit"
	"stable/bilevel/theorem"
	"stable/mat"
	"stable/mat/mattest"
)

// bent has no noise, and constants that are known over the whole space,
//
//	g = ½ yᵀA y − sin(x)ᵀB y + κ Σ sin(x_i) sin(y_i) + κ Σ cos(y_j),    A = diag(2, 3, 4), ‖B‖ = 1,
//	f = Σ log cosh(x_i − 1) + Σ log cosh(y_j + 1).
type bent struct {
	*auto.Problem
	truth *implicit.Function
}

const kappa = 0.3

func newBent(t testing.TB) bent {
	b := mattest.Dense(2, 3, 5)
	mat.Scale(b, 1/mat.NormFrob(b), b)
	logCosh := func(u auto.Vec) auto.Num { return u.Scale(2).Softplus().Sub(u).Shift(-math.Ln2).Sum() }
	p, err := auto.New(auto.Losses{
		Dx: 2, Dy: 3, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return logCosh(x.Shift(-1)).Add(logCosh(y.Shift(1))) },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			g := y.WeightedSquares(auto.Data([]float64{2, 3, 4})).Scale(0.5).Add(y.Cos().Sum().Scale(kappa))
			for i := range 2 {
				g = g.Add(x.At(i).Sin().Mul(y.At(i).Sin().Scale(kappa).Sub(y.Dot(auto.Data(b.Row(i))))))
			}
			return g
		},
	})
	require.NoError(t, err)
	return bent{p, implicit.New(p)}
}

// constants are global: |∂²g_yy| ≤ 2κ, |∂g_xy/∂y| ≤ κ.
func (bent) constants() theorem.Constants {
	return theorem.Constants{
		Lfy: 1, Lgxy: kappa, Lgyy: 2 * kappa, Cgxy: 1 + kappa*math.Sqrt2, Cfx: math.Sqrt2, Cfy: math.Sqrt(3), MuG: 2 - 2*kappa,
	}
}

func (p bent) Solution(y, x []float64) error {
	clear(y)
	return p.truth.Solve(y, x, 0)
}

func (p bent) Objective(grad, x []float64) (float64, error) {
	if grad == nil {
		grad = make([]float64, 2)
	}
	y := make([]float64, 3)
	if err := p.Solution(y, x); err != nil {
		return 0, err
	}
	return p.truth.Gradient(grad, x, y)
}
