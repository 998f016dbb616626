package theory

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/flow"
	"stable/mat/mattest"
)

func bench(args ...string) (status int, stdout, stderr string) {
	return kit.Capture(context.Background(), []kit.Command{{Name: "table1", Run: Table1}, {Name: "theorems", Run: Theorems}}, args...)
}

// Interrupted in the middle of a line and taken up on more cores, a command has the same results.
func TestTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, wants := range map[string][]string{
		"table1":   {"STABLE-paper", "BSA", "TTSA", "stocBiO", "nonconvex"},
		"theorems": {"the theorem’s steps", "β as printed", "100", "claimed exponent -0.5"},
	} {
		var printed, dirs [2]string
		for i := range dirs {
			runtime.GOMAXPROCS(1 + i)
			if dirs[i] = t.TempDir(); i == 1 {
				b := kit.Must(os.ReadFile(filepath.Join(dirs[0], name+".ledger")))
				require.NoError(t, os.WriteFile(filepath.Join(dirs[1], name+".ledger"), b[:len(b)/3], 0o644))
			}
			status, stdout, stderr := bench(name, "-quick", "-length", "0.1", "-groups", "3", "-out", dirs[i])
			require.Zero(t, status, stderr)
			printed[i] = strings.ReplaceAll(stdout, dirs[i], "DIR")
		}
		assert.Equal(t, printed[0], printed[1])
		for _, want := range wants {
			assert.Contains(t, printed[0], want)
		}
		for _, ending := range []string{".csv", ".svg"} {
			assert.Equal(t, kit.Must(os.ReadFile(filepath.Join(dirs[0], name+ending))),
				kit.Must(os.ReadFile(filepath.Join(dirs[1], name+ending))), name+ending)
		}
	}
}

func TestTheoryUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"-length is 0,": {"table1", "-length", "0"},
		"-groups is 2":  {"table1", "-groups", "2"},
	} {
		status, stdout, stderr := bench(args...)
		assert.Equal(t, 2, status, want)
		assert.Contains(t, stdout+stderr, want)
	}
}

func TestWalk(t *testing.T) {
	g := regimes(1)[1]
	p := g.problem
	w := walk{problem: p,
		method: plainSTABLE(p, bilevel.Constant(0.05), bilevel.Constant(0.05),
			bilevel.Constant(0.05)), rho: g.rho, radius: g.radius, seed: 3}
	run := func(marks ...int) reading {
		w.marks = marks
		return kit.Must(w.run(context.Background())).Reading
	}
	full := run(mattest.List(4000, func(i int) int { return i + 1 })...) // marks at every step: nothing is left out
	sampled := run(4000)
	assert.InEpsilon(t, full[upper][3999], sampled[upper][0], 0.02)
	assert.Equal(t, full[lower][3999], sampled[lower][0])
	assert.Equal(t, 4000.0, sampled[xi][0])
	assert.Equal(t, full[upper][499], run(500, 600)[upper][0], "all iterates count at the start")
	assert.Greater(t, full[upper][0], 10*sampled[upper][0])
}

func TestSeries(t *testing.T) {
	r, ctx := regimes(1)[0].rows[0], context.Background()
	for _, each := range []bool{false, true} {
		runs := chain([]int{2, 5}, each, func(k int, s *series) {
			s.per, s.walk = 3, func(trial int) walk { return r.walk(r.choices()[0], k, uint64(trial)) }
		})
		require.NoError(t, kit.Play(kit.Common{Out: t.TempDir()}, "x", kit.Identity{},
			func(l *kit.Campaign[outcome]) error { return complete(ctx, l, runs, 2, "x", kit.Terminal{}) }))
		groups, failed := joined(runs)
		assert.Zero(t, failed)
		for g, got := range groups {
			var want reading
			for trial := 3 * g; trial < 3*g+3; trial++ {
				w := r.walk(r.choices()[0], 5, uint64(trial))
				w.marks = []int{2, 5}
				want.add(kit.Must(w.run(ctx)).Reading, 1./3)
			}
			assert.Equal(t, want, got, each)
		}
	}
}

func TestWalkDiverges(t *testing.T) {
	p := regimes(1)[0].problem
	w := walk{problem: p, method: plainSTABLE(p, bilevel.Constant(10), bilevel.Constant(0.1), bilevel.Constant(0.1)),
		radius: 1, marks: []int{1, 10, 1000, 2000}}
	r := kit.Must(w.run(context.Background()))
	assert.NotEmpty(t, r.End)
	u := r.Reading[upper]
	assert.Equal(t, u[2], u[3])
	assert.Greater(t, u[3], 1e6)
	assert.False(t, math.IsInf(u[3], 0))
}

// V never rises up to twice the bound, and does from the worst start beyond the threshold.
func TestFlows(t *testing.T) {
	p := flowProblem(1)
	list, bound, threshold := flows(p, p.Constants(2))
	assert.Positive(t, bound)
	assert.GreaterOrEqual(t, threshold, 2.0)
	for _, d := range list {
		assert.Equal(t, d.ratio > threshold, d.rises > 0, d.ratio)
		assert.Less(t, d.end, 0.1)
		assert.Equal(t, []float64{1, d.end}, []float64{d.v[0], kit.Last(d.v)})
		assert.True(t, len(d.v) > 300 && len(d.v) <= 602 && slices.Max(d.v) <= d.top, len(d.v))
	}
	x0, y0, least := steepStart(p)
	for share, rises := range map[float64]bool{0.97: false, 1.03: true} { // V' changes its sign at the threshold
		d := descend(p, p.Constants(2), flow.Options{Alpha: share * least, Beta: 1, X0: x0, Y0: y0})
		assert.Equal(t, rises, d.rises > 0, share)
	}
}

func TestRowsBudget(t *testing.T) {
	all := complexity{options: options{length: 1}}
	all.begin()
	for _, r := range all.all {
		list := all.horizons(r)
		assert.Equal(t, r.steps[1], kit.Last(list))
		assert.IsIncreasing(t, list)
		assert.True(t, list[0] >= r.steps[0] && list[0] < 2*r.steps[0])
		const n = 8000
		k := r.within(n)
		assert.LessOrEqual(t, r.samples(k), float64(n), r.name)
		assert.Greater(t, r.samples(k+1), float64(n), r.name)
		c := r.choices()[0]
		w := r.walk(c, k, 1)
		w.marks = []int{k}
		d := kit.Must(w.run(context.Background()))
		require.Empty(t, d.End)
		u := d.Reading
		assert.InEpsilon(t, float64(n), u[xi][0]+u[phi][0], 0.3, r.key+" "+r.name)
		if r.alpha != nil {
			assert.Len(t, r.choices(), 16, r.name)
			assert.Equal(t, "ab", r.edge(c))
			assert.Empty(t, r.edge([2]float64{r.alpha[1], r.beta[1]}))
		}
	}
}

func TestComplexityFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	covered := 0
	for range 200 {
		var groups []reading
		for range 8 {
			r := reading{xi: kit.Ratios(10, 1e5, 30)}
			for _, n := range r[xi] {
				r[phi] = append(r[phi], n*n)
				r[upper] = append(r[upper], 5*math.Pow(n, -1/1.5)*math.Exp(0.05*rng.NormFloat64()))
			}
			groups = append(groups, r)
		}
		f, other := fit(groups, upper, xi), fit(groups, upper, phi)
		assert.InDelta(t, 1.5, f.exponent.Mean, 0.1)
		assert.InDelta(t, 2*f.exponent.Mean, other.exponent.Mean, 1e-9)
		assert.InDelta(t, 100, f.from/f.to, 1e-9, "two decades")
		assert.InEpsilon(t, math.Pow(5/f.to, 1.5), kit.Last(f.n), 0.15)
		if math.Abs(f.exponent.Mean-1.5) <= f.exponent.Half {
			covered++
		}
	}
	assert.Greater(t, covered, 170) // of 200; the last crossing leans to the later of two near ones
}
