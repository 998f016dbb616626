package race

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/mat"
)

// The race has at least 40 problems, without those on data that do not ship, of different names. At
// each known solution, the step against ∇F that is projected leads nowhere, F is F*, and starts are
// feasible and reproducible. The halves are of about one size.
func TestProblemsAreSolved(t *testing.T) {
	makers, err := everyKind(&flags{Common: kit.Common{Seed: 1}})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(makers), 40)
	size, names := map[half]int{}, map[string]bool{}
	for i, m := range makers {
		assert.False(t, names[m.name], "two problems are called %s", m.name)
		names[m.name] = true
		if strings.HasPrefix(m.name, "breast_cancer") || strings.Contains(m.name, "tuning") {
			continue // their minima take long, and are those of another test
		}
		if testing.Short() && i%6 != 0 {
			continue
		}
		p, err := m.make()
		require.NoError(t, err)
		assert.Equal(t, m.name, p.name)
		size[p.half]++
		x0, y0 := p.start(rand.New(rand.NewPCG(1, 2)))
		again, _ := p.start(rand.New(rand.NewPCG(1, 2)))
		assert.Equal(t, x0, again)
		feasible := make([]float64, len(x0))
		p.set.Project(feasible, x0)
		assert.InDeltaSlice(t, x0, feasible, 1e-12)
		if p.star == nil {
			assert.Contains(t, p.name, "quadratic")
			continue
		}
		c := p.fresh()
		grad, scale := make([]float64, len(p.star)), make([]float64, len(p.star))
		_, err = c.ObjectiveFrom(scale, y0, x0)
		require.NoError(t, err)
		f, err := c.ObjectiveFrom(grad, y0, p.star)
		require.NoError(t, err)
		assert.InDelta(t, p.best, f, 1e-12*(1+math.Abs(p.best)), p.name)
		moved, step := make([]float64, len(grad)), mat.Norm(p.star)+1
		step /= mat.Norm(scale)
		for i, v := range p.star {
			moved[i] = v - step*grad[i]
		}
		p.set.Project(moved, moved)
		assert.InDeltaSlice(t, p.star, moved, 1e-7*(1+mat.Norm(p.star)), p.name)
		if p.limit != nil {
			assert.Less(t, p.limit.Skew, 1e-6, p.name)
			assert.Positive(t, p.limit.At(1, 1), p.name)
		}
	}
	if !testing.Short() {
		assert.InDelta(t, size[chosen]+7, size[confirmed], 4, "with seven on breast_cancer")
	}
}

// The limit has no units and no place: a problem in foreign units and its twin in natural ones, and
// a bounded problem whose bounds are far away, have equal limits.
func TestLimitsOfRecipes(t *testing.T) {
	base := recipe{name: "base", o: noisy(1)}
	want, err := base.problem(1)
	require.NoError(t, err)
	for _, r := range []recipe{
		{o: base.o, x: 1e4, y: 1e-3}, {o: base.o, mixed: true}, {o: base.o, far: 100, shiftY: 1e3},
		{o: base.o, place: inside(300)},
	} {
		got, err := r.problem(1)
		require.NoError(t, err)
		assert.InEpsilon(t, want.limit.Xi, got.limit.Xi, 1e-6)
		assert.InEpsilon(t, want.limit.Phi, got.limit.Phi, 1e-6)
	}
	held, err := recipe{o: base.o, place: corner(3)}.problem(1)
	require.NoError(t, err)
	assert.Equal(t, 7, held.limit.Free)
	held, err = recipe{o: base.o, place: corner(math.MaxInt)}.problem(1)
	require.NoError(t, err)
	assert.Nil(t, held.limit)
}
