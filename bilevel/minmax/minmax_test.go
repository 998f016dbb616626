package minmax

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/implicit"
	"stable/chol"
	"stable/mat"
)

// square has its saddle point at (a, b): with u = x − a and v = y − b,
//
//	s = ½ Σ p_i u_i² + uᵀK v − ½ Σ q_j v_j² − bend·Σ log(2 cosh(v_j)) + noise·(eᵀu + e′ᵀv + uᵀN v),
//
// where names 2i, 2i+1 have opposite noise.
type square struct {
	s *auto.Problem // f = g = s
}

// newSquare has p_1 < 0: s is not convex in x, but F is.
func newSquare(noise, bend float64, size uint64) square {
	p, q, a, b := []float64{-0.1, 0.5, 1}, []float64{1, 2, 3, 4}, []float64{0.5, -1, 2}, []float64{1, 0, -2, 0.3}
	k := []float64{2, 0, 0, 1, 0, 1, 1, 0, 0, 1, -2, 0}
	at := func(x, y auto.Vec, noise float64, zeta bilevel.Sample) auto.Num {
		if zeta%2 == 1 {
			noise = -noise
		}
		rng := rand.New(rand.NewPCG(11, uint64(zeta)%8/2))
		noisy := func(v []float64) auto.Vec {
			v = slices.Clone(v)
			for i := range v {
				v[i] += noise * rng.NormFloat64()
			}
			return auto.Data(v)
		}
		u, v := x.Sub(auto.Data(a)), y.Sub(auto.Data(b))
		e, f := noisy(make([]float64, 3)), noisy(make([]float64, 4))
		linear := e.Dot(u).Add(f.Dot(v)).Add(noisy(k).Mat(3, 4).MulVec(v).Dot(u))
		squares := u.WeightedSquares(auto.Data(p)).Sub(v.WeightedSquares(auto.Data(q)))
		return squares.Scale(0.5).Add(linear).Sub(v.Scale(2).Softplus().Sub(v).Sum().Scale(bend))
	}
	term := func(x, y auto.Vec, zeta bilevel.Sample) auto.Num { return at(x, y, noise, zeta) }
	mean := func(x, y auto.Vec) auto.Num { return at(x, y, 0, 0) }
	return square{bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 4, Upper: size, Lower: size,
		F: term, G: term, MeanF: mean, MeanG: mean}))}
}

func (s square) Dims() (int, int) { return s.s.Dims() }

func (s square) Stream() uint64 {
	size, _ := s.s.Streams()
	return size
}

func (s square) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	return s.s.ValueF(x, y, zeta)
}

func (s square) Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error {
	return s.s.GradF(sx, sy, x, y, zeta)
}

func (s square) Cross(sxy *mat.Dense, x, y []float64, zeta []bilevel.Sample) error {
	return s.s.CrossG(sxy, x, y, zeta)
}

func (s square) Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error {
	return s.s.HessG(syy, x, y, zeta)
}

type promising struct{ square }

func (promising) ConvexityAt([]float64) float64 { return 1 }

func TestAdaptedProblemsAreRight(t *testing.T) {
	for name, s := range map[string]Saddle{
		"promise":      promising{newSquare(0.5, 0, 8)},
		"nonquadratic": newSquare(0.5, 2, 8),
		"simulator":    newSquare(1, 1, 0),
	} {
		r := bileveltest.Must(check.Problem(Adapt(s), check.Options{MuG: 0.5}))
		assert.NoError(t, r.Err(), name)
		done := map[string]bool{}
		for _, p := range r.Passed {
			done[p.Check], done[p.Oracle] = true, true
		}
		assert.Equal(t, name == "promise", done["ConvexityAt"], name)
		for _, want := range []string{check.Derivative, check.BatchMean, check.Unbiased, check.Convexity, check.Truth} {
			assert.True(t, done[want], "%s: %s was not checked", name, want)
		}
	}
}

type convexIn struct {
	square
	err error
}

func (s convexIn) Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error {
	_ = s.square.Hess(syy, x, y, zeta)
	syy.Set(2, 2, 1)
	return s.err
}

func TestErrorsComeThrough(t *testing.T) {
	loss := func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.Sum().Add(y.Sum()).Square() }
	simulator := square{bileveltest.Must(auto.New(auto.Losses{Dx: 3, Dy: 4, F: loss, G: loss}))}
	p, x, y := Adapt(simulator), make([]float64, 3), make([]float64, 4)
	assert.ErrorIs(t, p.GradF(x, y, x, y, nil), bilevel.ErrNoExact)
	assert.ErrorIs(t, p.GradG(y, x, y, nil), bilevel.ErrNoExact)
	_, err := p.ValueG(x, y, nil)
	assert.ErrorIs(t, err, bilevel.ErrNoExact)
	assert.ErrorIs(t, p.CrossG(mat.NewDense(3, 4), x, y, nil), bilevel.ErrNoExact)
}

func TestNoMaximum(t *testing.T) {
	err := Adapt(convexIn{newSquare(0, 0, 8), nil}).Solution(make([]float64, 4), []float64{1, 2, 3})
	assert.ErrorIs(t, err, implicit.ErrNoSolution)
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	_, err = Adapt(convexIn{newSquare(0, 0, 8), bilevel.ErrNoExact}).Objective(nil, []float64{1, 2, 3})
	assert.ErrorIs(t, err, bilevel.ErrNoExact)
}
