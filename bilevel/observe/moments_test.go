package observe

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
	"stable/chol"
	"stable/mat"
)

// By hand: (1, 0), (3, 0), (5, 6) have the mean (3, 2) and Σ‖h − mean‖² = 4 + 0 + 4 + 4 + 4 + 16 =
// 32.
func TestRepeat(t *testing.T) {
	draws := [][]float64{{1, 0}, {3, 0}, {5, 6}}
	m, err := Repeat(3, []float64{0, -2}, func(h []float64, i int) error {
		copy(h, draws[i])
		return nil
	})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{3, 2}, m.Mean, 1e-15)
	assert.InDelta(t, 5, m.Bias, 1e-15)
	assert.InDelta(t, 16, m.Variance, 1e-13)
	assert.InDelta(t, math.Sqrt(16./3), m.StdErr, 1e-14)

	_, err = Repeat(1, nil, nil)
	assert.ErrorIs(t, err, bilevel.ErrOption)
	broken := errors.New("broken")
	_, err = Repeat(5, []float64{0}, func([]float64, int) error { return broken })
	assert.ErrorIs(t, err, broken)
}

// inverse returns ‖B A⁻¹‖_F², and A⁻¹b.
func inverse(t testing.TB, b *mat.Dense, a *mat.Sym, v []float64) (norm2 float64, solved []float64) {
	var c chol.Cholesky
	require.NoError(t, c.Factor(a))
	bt := mat.NewDense(b.Cols, b.Rows)
	mat.CopyTrans(bt, b)
	c.Solve(bt, bt)
	n := mat.NormFrob(bt)
	solved = make([]float64, len(v))
	c.SolveVec(solved, v)
	return n * n, solved
}

func exact(t testing.TB, p *quadratic.Problem, x,
	y []float64) (fx, fy []float64, gxy *mat.Dense, gyy *mat.Sym, grad []float64) {
	dx, dy := p.Dims()
	fx, fy, grad, gxy, gyy = make([]float64, dx), make([]float64, dy), make([]float64, dx), mat.NewDense(dx,
		dy), mat.NewSym(dy)
	require.NoError(t, p.GradF(fx, fy, x, y, nil))
	require.NoError(t, p.CrossG(gxy, x, y, nil))
	require.NoError(t, p.HessG(gyy, x, y, nil))
	_, err := p.Objective(grad, x)
	require.NoError(t, err)
	return fx, fy, gxy, gyy, grad
}

// agree allows five standard errors of the mean, and six of a Gaussian's variance, √(2/n).
func agree(t testing.TB, m Moments, mean []float64, grad []float64, variance float64) {
	t.Helper()
	assert.Less(t, distance(mean, m.Mean), 5*m.StdErr)
	assert.InDelta(t, distance(mean, grad), m.Bias, 5*m.StdErr)
	assert.Greater(t, distance(mean, grad), 10*m.StdErr, "the bias is lost in the noise")
	assert.InEpsilon(t, variance, m.Variance, 6*math.Sqrt(2/float64(m.N)))
}

// Given H: mean f_x − H_xy H_yy⁻¹ f_y, variance (σ_fx² + σ_fy²‖H_xy H_yy⁻¹‖_F²/dy)/batch.
func TestHypergradientMoments(t *testing.T) {
	p := problem(t, noisy)
	for _, batch := range []int{1, 4} {
		o := observer(t, p, Options{})
		s, err := bilevel.New(p.Clone(),
			bilevel.STABLE{Alpha: bilevel.Constant(0.05), Beta: bilevel.Constant(0.1), MuG: 0.5},
			bilevel.Options{Seed: 2, Y0: []float64{3, 3, -3, 3}})
		require.NoError(t, err)
		_, err = o.Hypergradient(s, 10, 1, 1)
		require.ErrorIs(t, err, bilevel.ErrOption, "before the first step")
		for range 5 {
			require.NoError(t, s.Step())
		}
		e := s.Estimator()
		x, y := e.Point()
		fx, fy, _, _, grad := exact(t, p, x, y)
		norm2, w := inverse(t, e.Hxy(), e.Hyy(), fy)
		mean := make([]float64, len(x))
		mat.MulVec(mean, e.Hxy(), w)
		for i := range mean {
			mean[i] = fx[i] - mean[i]
		}
		m, err := o.Hypergradient(s, 20000, batch, 3)
		require.NoError(t, err)
		agree(t, m, mean, grad, (0.25+0.25*norm2/4)/float64(batch))
	}
}

// The mean of TTSA is that of N terms, f_x − g_xy (1/L) Σ_{q<N} (I − A/L)^q f_y, at y⁰ where β = 0.
func TestFirstStepOfTTSA(t *testing.T) {
	const lg, terms = 4, 2
	p := problem(t, noisy)
	x, y := []float64{1, -1, 0.5}, []float64{3, 3, -3, 3}
	fx, fy, gxy, gyy, grad := exact(t, p, x, y)
	sum, term, next := make([]float64, 4), fy, make([]float64, 4)
	for range terms {
		mat.Axpy(sum, 1./lg, term)
		mat.MulVecSym(next, gyy, term)
		mat.Axpy(term, -1./lg, next)
	}
	mean := make([]float64, 3)
	mat.MulVec(mean, gxy, sum)
	for i := range mean {
		mean[i] = fx[i] - mean[i]
	}
	m, err := observer(t, p,
		Options{}).FirstStep(method.TTSA{Alpha: bilevel.Constant(0.5), Beta: bilevel.Constant(0),
		Neumann: method.Neumann{LG: lg, Terms: terms}},
		bilevel.Options{X0: x, Y0: y}, 0.5, 20000)
	require.NoError(t, err)
	agree(t, m, mean, grad, m.Variance)
}

// H⁰ from b samples, no noise on g_yy: with w = A⁻¹(f_y + noise), J = g_xy A⁻¹, the variance is
// σ_fx² + σ_fy²‖J‖_F²/dy + (σ_gxy²/b)(‖A⁻¹f_y‖² + σ_fy²‖A⁻¹‖_F²/dy)/dy.
func TestFirstStepOfSTABLE(t *testing.T) {
	const b = 3
	opt := noisy
	opt.SigmaGyy = 0
	p := problem(t, opt)
	x, y := []float64{1, -1, 0.5}, []float64{3, 3, -3, 3}
	fx, fy, gxy, gyy, grad := exact(t, p, x, y)
	j2, w := inverse(t, gxy, gyy, fy)
	identity := mat.NewDense(4, 4)
	for i := range 4 {
		identity.Set(i, i, 1)
	}
	a2, _ := inverse(t, identity, gyy, fy)
	mean := make([]float64, 3)
	mat.MulVec(mean, gxy, w)
	for i := range mean {
		mean[i] = fx[i] - mean[i]
	}
	variance := 0.25 + 0.25*j2/4 + 0.09/b*(mat.Dot(w, w)+0.25*a2/4)/4
	method := bilevel.STABLE{Alpha: bilevel.Constant(1), Beta: bilevel.Constant(0), MuG: 0.5, InitBatch: b, Plain: true}
	o := observer(t, p, Options{})
	draws := 20000
	if testing.Short() {
		draws = 5000
	}
	m, err := o.FirstStep(method, bilevel.Options{X0: x, Y0: y}, 1, draws)
	require.NoError(t, err)
	agree(t, m, mean, grad, variance)

	method.Plain, method.Trust = false, 1e-6
	_, err = o.FirstStep(method, bilevel.Options{X0: x, Y0: y}, 1, 10)
	assert.ErrorContains(t, err, "trust region of STABLE")
	_, err = o.FirstStep(method, bilevel.Options{Set: bilevel.NonNegative{}}, 1, 10)
	assert.ErrorContains(t, err, "not the whole space")
	_, err = o.FirstStep(method, bilevel.Options{}, 0, 10)
	assert.ErrorContains(t, err, "alpha is 0")
	_, err = o.FirstStep(bilevel.STABLE{}, bilevel.Options{}, 1, 10)
	assert.ErrorIs(t, err, bilevel.ErrOption)
}
