package hyperopt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"stable/bilevel/hyperopt/data"
)

func foldsOf(t *testing.T, d *data.Data, k int, opt Options) *Folds {
	fractions := make([]float64, k)
	for i := range fractions {
		fractions[i] = 1
	}
	parts, err := d.SplitStratified(1, fractions...)
	require.NoError(t, err)
	f := new(Folds)
	for i := range parts {
		p, err := New(data.Join(append(append([]*data.Data{}, parts[:i]...), parts[i+1:]...)...), parts[i], opt)
		require.NoError(t, err)
		f.Problems = append(f.Problems, p)
	}
	return f
}

func TestFoldsMinimise(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	d := cancerData(t)
	for _, opt := range []Options{{Form: Exp, Lo: -9, Hi: 3}, {Form: Raw, Lo: 1e-4, Hi: 10}} {
		f := foldsOf(t, d, 4, opt)
		grid, err := f.GridSearch([]float64{1e-3, 1e-2})
		require.NoError(t, err)
		x := make([]float64, d.Dim)
		f.Problems[0].Uniform(x, 1e-3)
		calls := 0
		f.Progress = func(k int, value float64) bool {
			if k == 0 {
				assert.InEpsilon(t, grid[0], value, 1e-9)
			}
			calls++
			return true
		}
		m, err := f.Minimise(x)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, calls, m.Iterations)
		assert.Nil(t, m.Y)
		assert.Less(t, m.F, grid[0])
		assert.Less(t, m.ProjGrad, 1e-6)
		mean, gradient := 0.0, make([]float64, d.Dim)
		for _, p := range f.Problems {
			g := make([]float64, d.Dim)
			value, err := p.Objective(g, m.X)
			require.NoError(t, err)
			mean += value / 4
			for i := range g {
				gradient[i] += g[i] / 4
			}
		}
		assert.InEpsilon(t, mean, m.F, 1e-9)
		// y* is solved for from another start here, and the gradient multiplies its rounding by 1/μ_g.
		assert.InDelta(t, m.ProjGrad, f.Problems[0].projGrad(make([]float64, d.Dim), m.X, gradient), 1e-7)
		assert.Positive(t, f.Reads())

		one := &Folds{Problems: f.Problems[:1]}
		want, err := f.Problems[0].Minimise(x)
		require.NoError(t, err)
		got, err := one.Minimise(x)
		require.NoError(t, err)
		assert.Equal(t, want, got)

		f.Progress = func(k int, _ float64) bool { return k < 2 }
		early, err := f.Minimise(x)
		require.NoError(t, err)
		assert.Equal(t, 2, early.Iterations)
		assert.True(t, m.F < early.F && early.F < grid[0])
	}
}

func TestFoldsRefuse(t *testing.T) {
	d := cancerData(t)
	_, err := new(Folds).Minimise(nil)
	assert.ErrorContains(t, err, "no problems")
	f := foldsOf(t, d, 3, Options{})
	_, err = f.Minimise()
	assert.ErrorContains(t, err, "no starts")
	f.Problems[1] = foldsOf(t, d, 3, Options{Form: Exp}).Problems[1]
	_, err = f.Minimise(make([]float64, d.Dim))
	assert.ErrorContains(t, err, "problem 1 has other weights")
	_, err = f.GridSearch([]float64{1})
	assert.ErrorContains(t, err, "problem 1")
}

func cancerData(t *testing.T) *data.Data {
	d := breastCancer(t)
	d, err := data.Standardise(d).Apply(d)
	require.NoError(t, err)
	return d
}

func breastCancer(t testing.TB) *data.Data {
	t.Helper()
	d, err := data.Open(filepath.Join("..", "..", "testdata", "breast_cancer.csv"), data.ReadOptions{LabelColumn: "diagnosis"})
	require.NoError(t, err)
	return d
}

func dataDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("STABLE_DATA")
	if dir == "" {
		t.Skip("STABLE_DATA, the folder of the LIBSVM data sets, is not set")
	}
	return dir
}
