package minmax

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/bilevel/implicit"
	"stable/chol"
	"stable/mat"
	"stable/mat/mattest"
)

// square has its saddle point at (a, b): with u = x − a and v = y − b,
//
//	s = ½ Σ p_i u_i² + uᵀK v − ½ Σ q_j v_j² − bend·Σ log cosh(v_j) + noise·(eᵀu + e′ᵀv + uᵀN v),
//
// where names 2i, 2i+1 have opposite noise.
type square struct {
	p, q, a, b  []float64
	k           *mat.Dense
	noise, bend float64
	size        uint64
}

// newSquare has p_1 < 0: s is not convex in x, but F is.
func newSquare(noise, bend float64) *square {
	return &square{p: []float64{-0.1, 0.5, 1}, q: []float64{1, 2, 3, 4}, a: []float64{0.5, -1, 2},
		b: []float64{1, 0, -2, 0.3}, k: mat.DenseOf(3, 4, []float64{2, 0, 0, 1, 0, 1, 1, 0, 0, 1, -2, 0}),
		noise: noise, bend: bend, size: 8}
}

func (s *square) Dims() (int, int) { return len(s.p), len(s.q) }
func (s *square) Stream() uint64   { return s.size }

func (s *square) at(x, y []float64, zeta []bilevel.Sample) (u, v, e, f []float64, n *mat.Dense) {
	u, v, e, f = slices.Clone(x), slices.Clone(y), make([]float64, len(x)), make([]float64, len(y))
	n = mat.DenseOf(s.k.Rows, s.k.Cols, slices.Clone(s.k.Data))
	mat.Axpy(u, -1, s.a)
	mat.Axpy(v, -1, s.b)
	for _, z := range zeta {
		w := s.noise / float64(len(zeta))
		if z%2 == 1 {
			w = -w
		}
		rng := rand.New(rand.NewPCG(11, uint64(z)%8/2))
		for _, d := range [][]float64{e, f, n.Data} {
			for i := range d {
				d[i] += w * rng.NormFloat64()
			}
		}
	}
	return u, v, e, f, n
}

func (s *square) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	u, v, e, f, n := s.at(x, y, zeta)
	w := make([]float64, len(x))
	mat.MulVec(w, n, v)
	sum := mat.Dot(u, w) + mat.Dot(e, u) + mat.Dot(f, v)
	for i, u := range u {
		sum += s.p[i] * u * u / 2
	}
	for j, v := range v {
		sum -= s.q[j]*v*v/2 + s.bend*math.Log(math.Cosh(v))
	}
	return sum, nil
}

func (s *square) Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error {
	u, v, e, f, n := s.at(x, y, zeta)
	mat.MulVec(sx, n, v)
	mat.MulVecTrans(sy, n, u)
	for i := range sx {
		sx[i] += s.p[i]*u[i] + e[i]
	}
	for j := range sy {
		sy[j] += f[j] - s.q[j]*v[j] - s.bend*math.Tanh(v[j])
	}
	return nil
}

func (s *square) Cross(sxy *mat.Dense, x, y []float64, zeta []bilevel.Sample) error {
	_, _, _, _, n := s.at(x, y, zeta)
	mat.Copy(sxy, n)
	return nil
}

func (s *square) Hess(syy *mat.Sym, _, y []float64, _ []bilevel.Sample) error {
	syy.Zero()
	for j, v := range y {
		c := math.Cosh(v - s.b[j])
		syy.Set(j, j, -s.q[j]-s.bend/(c*c))
	}
	return nil
}

type promising struct{ *square }

func (s promising) ConvexityAt([]float64) float64 { return slices.Min(s.q) }

func TestAdaptedProblemsAreRight(t *testing.T) {
	for name, s := range map[string]Saddle{
		"promise":      promising{newSquare(0.5, 2)},
		"quadratic":    newSquare(0.5, 0),
		"nonquadratic": newSquare(0.5, 2),
		"simulator": &square{p: []float64{1}, q: []float64{0.5, 3}, a: []float64{1}, b: []float64{1, 1},
			k: mattest.Dense(1, 2, 1), noise: 1, bend: 1},
	} {
		r, err := check.Problem(Adapt(s), check.Options{MuG: 0.5})
		require.NoError(t, err)
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
	*square
	err error
}

func (s convexIn) Hess(syy *mat.Sym, x, y []float64, zeta []bilevel.Sample) error {
	_ = s.square.Hess(syy, x, y, zeta)
	syy.Set(2, 2, 1)
	return s.err
}

func TestNoMaximum(t *testing.T) {
	err := Adapt(convexIn{newSquare(0, 0), nil}).Solution(make([]float64, 4), []float64{1, 2, 3})
	assert.ErrorIs(t, err, implicit.ErrNoSolution)
	assert.ErrorIs(t, err, chol.ErrNotPosDef)
	_, err = Adapt(convexIn{newSquare(0, 0), bilevel.ErrNoExact}).Objective(nil, []float64{1, 2, 3})
	assert.ErrorIs(t, err, bilevel.ErrNoExact)
}
