package hyperopt

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

func TestCurvatureAgreesWithDifferences(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, _ []float64) {
		s := newDescent(p)
		copy(s.trial.x, x)
		require.NoError(t, s.evaluate())
		s.at, s.trial = s.trial, s.at
		s.p.Uniform(s.trial.x, 1)
		require.NoError(t, s.evaluate()) // leaves nothing that belongs to x in the workspace
		require.NoError(t, s.curvature(s.folds[0], s.at.y[0]))
		grad := make([]float64, len(x))
		for i := range x {
			for j := range x {
				want := slopeOf(func(z []float64) float64 {
					_, err := p.Objective(grad, z)
					require.NoError(t, err)
					return grad[j]
				}, x, i, 2e-4)
				assert.InDelta(t, want, s.hess.At(i, j), 1e-6*(1+mat.NormFrobSym(&s.hess)))
			}
		}
	})
}

func TestTurn(t *testing.T) {
	v := mat.NewDense(3, 3) // I − 2·wwᵀ with w = (1, 2, 2)/3
	copy(v.Data, []float64{7. / 9, -4. / 9, -4. / 9, -4. / 9, 1. / 9, -8. / 9, -4. / 9, -8. / 9, 1. / 9})
	of := func(values ...float64) *mat.Sym {
		a := mat.NewSym(3)
		for k, lambda := range values {
			mat.RankOne(a, lambda, v.Row(k))
		}
		return a
	}
	got := of(-3, 1e-12, 2)
	require.NoError(t, new(descent).turn(got))
	mat.AddScaledSym(got, got, -1, of(3, 3e-8, 2))
	assert.LessOrEqual(t, mat.NormFrobSym(got), 1e-14)
}

func TestPropose(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, _ *rand.Rand, x, _ []float64) {
		q := p.logForm()
		s := newDescent(q)
		for i, v := range x {
			s.trial.x[i] = math.Log(p.ridge(v))
		}
		s.trial.x[0], s.trial.x[1] = q.opt.Lo, q.opt.Hi
		require.NoError(t, s.evaluate())
		s.at, s.trial = s.trial, s.at
		require.NoError(t, s.model())
		for _, s.radius = range []float64{1e-3, 0.1, 100} {
			predicted := s.propose()
			assert.Equal(t, -s.quad.At(s.quad.S), predicted)
			assert.Positive(t, predicted)
			longest := 0.0
			for i, u := range s.trial.x {
				assert.True(t, q.opt.Lo <= u && u <= q.opt.Hi)
				assert.InDelta(t, s.at.x[i]+s.step[i], u, 1e-14)
				longest = max(longest, math.Abs(s.step[i]))
			}
			assert.Equal(t, longest, s.longest)
			assert.LessOrEqual(t, s.longest, s.radius)
			if s.radius < 1 {
				assert.Equal(t, s.radius, s.longest)
			}
			if s.radius == 1e-3 {
				y := make([]float64, len(x))
				require.NoError(t, q.Solution(y, s.trial.x))
				assert.Less(t, distance(s.trial.y[0], y), 0.01*distance(s.at.y[0], y))
			}
		}
	})
}

func distance(x, y []float64) float64 {
	d := append([]float64(nil), x...)
	mat.Axpy(d, -1, y)
	return mat.Norm(d)
}

func TestMinimise(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		m, err := p.Minimise()
		require.NoError(t, err)
		checkMinimum(t, p, m, rng, 500)
		assert.LessOrEqual(t, m.ProjGrad, 1e-13)
		again, err := p.Minimise(m.X)
		require.NoError(t, err)
		assert.InDelta(t, m.F, again.F, 1e-15)
		lo, _ := p.Box()
		grid, err := p.GridSearch(Geometric(p.ridge(lo[0])/2, p.ridge(p.opt.Hi)/2, 50))
		require.NoError(t, err)
		assert.LessOrEqual(t, m.F, grid[Best(grid)].Loss+1e-14)
		_, err = p.Minimise([]float64{math.NaN(), 1, 1, 1, 1, 1})
		assert.ErrorIs(t, err, ErrNoSolution)
		assert.Panics(t, func() { _, _ = p.Minimise(x[:2]) })
	})
}

// checkMinimum holds a minimum to its claims and to random points, half of them close by.
func checkMinimum(t *testing.T, p *Problem, m *Minimum, rng *rand.Rand, points int) {
	t.Helper()
	grad, x := make([]float64, len(m.X)), make([]float64, len(m.X))
	f, err := p.Objective(grad, m.X)
	require.NoError(t, err)
	assert.InDelta(t, f, m.F, 1e-13*math.Abs(f))
	assert.InDelta(t, m.F, p.Loss().Mean(p.Validation(), m.Y), 1e-13)
	lo, hi := p.Box()
	for i := range x {
		assert.True(t, lo[i] <= m.X[i] && m.X[i] <= hi[i])
		x[i] = m.X[i] - min(max(m.X[i]-grad[i], lo[i]), hi[i])
	}
	assert.InDelta(t, mat.Norm(x), m.ProjGrad, 1e-12)
	for k := range points {
		for i := range x {
			x[i] = lo[i] + (hi[i]-lo[i])*rng.Float64()
			if k%2 == 0 {
				x[i] = m.X[i] + 0.01*(x[i]-m.X[i])
			}
		}
		f, err := p.Objective(nil, x)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, f, m.F-1e-14)
	}
}

func TestMinimiseOnRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Run("breast cancer", func(t *testing.T) {
		d := breastCancer(t)
		d, err := data.Standardise(d).Apply(d)
		require.NoError(t, err)
		minimiseHalves(t, d)
	})
	for _, name := range []string{"australian/australian_scale.gz", "ijcnn1/ijcnn1.trn.gz"} {
		t.Run(name, func(t *testing.T) {
			d, err := data.Open(filepath.Join(dataDir(t), filepath.FromSlash(name)), data.ReadOptions{})
			require.NoError(t, err)
			minimiseHalves(t, d)
		})
	}
}

func minimiseHalves(t *testing.T, d *data.Data) {
	rng := rand.New(rand.NewPCG(2, 3))
	parts, err := d.Split(1, 1, 1)
	require.NoError(t, err)
	var values []float64
	for _, form := range []Form{Raw, Exp} {
		p, err := New(parts[0], parts[1], Options{Form: form})
		require.NoError(t, err)
		m, err := p.Minimise()
		require.NoError(t, err)
		assert.LessOrEqual(t, m.ProjGrad, 1e-12)
		checkMinimum(t, p, m, rng, 20)
		values = append(values, m.F)
	}
	assert.InDelta(t, values[0], values[1], 1e-13) // the same problem in two forms
}

func TestGridSearch(t *testing.T) {
	forms(t, Options{}, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		grid, err := p.GridSearch([]float64{1e-3, 0.1, 10})
		require.NoError(t, err)
		for k, g := range grid {
			p.Uniform(x, g.Lambda)
			f, err := p.Objective(nil, x)
			require.NoError(t, err)
			assert.InDelta(t, f, g.Loss, 1e-14)
			assert.InDelta(t, f, p.Loss().Mean(p.val, g.Y), 1e-14)
			assert.GreaterOrEqual(t, g.Loss, grid[Best(grid)].Loss, k)
		}
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			_, err := p.GridSearch([]float64{1, bad})
			assert.ErrorContains(t, err, "weight 1")
		}
	})
	assert.Equal(t, -1, Best(nil))
	assert.Nil(t, Geometric(1, 2, 0))
	assert.Equal(t, []float64{3}, Geometric(3, 9, 1))
	s := Geometric(0.01, 1, 3)
	assert.Equal(t, []float64{0.01, 1}, []float64{s[0], s[2]})
	assert.InDelta(t, 0.1, s[1], 1e-16)
}

func TestDegenerateBox(t *testing.T) {
	data := random(rand.New(rand.NewPCG(7, 9)), 20, 1, false)
	for _, form := range []Form{Raw, Exp} {
		p, err := New(data, data, Options{Form: form, Lo: 0.5, Hi: 0.5})
		require.NoError(t, err)
		m, err := p.Minimise()
		require.NoError(t, err)
		assert.Equal(t, []float64{0.5}, m.X)
		assert.Zero(t, m.ProjGrad)
	}
	data.Dim = maxDense + 1
	p, err := New(data, data, Options{})
	require.NoError(t, err)
	_, err = p.Minimise(make([]float64, data.Dim))
	assert.True(t, errors.Is(err, ErrNoSolution))
}
