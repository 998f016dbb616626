package race

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
)

// duel is a tournament of tuned entrants on one problem, with runs that put fills in: of the choice
// for a b from 0 on, else trials to the last budget.
func duel(runs int, names ...string) *tournament {
	p := &problem{name: "p", set: bilevel.Space{}, fresh: func() contest { return nil }}
	t := &tournament{problems: []*problem{p}, budgets: []uint64{10, 20}, marks: []uint64{10, 20}, flags: flags{tune: runs, trials: 2},
		mean: true, entrants: kit.Map(names, func(name string) *entrant { return named(name, true) })}
	t.begin()
	return t
}

func named(name string, tuned bool) *entrant {
	return &entrant{method.Entry{Name: name, Needs: method.Needs{Alpha: tuned}, Variants: [2]method.Variant{{Name: "a"}, {Name: "b"}}}}
}

func (t *tournament) putAll(s *selection, b, runs int) {
	for _, i := range s.going {
		for r := range runs {
			t.put(s, i, b, r, 10+float64(i), 10+float64(i), 3)
		}
	}
}

func (t *tournament) put(s *selection, setting, b, i int, last, mean float64, reached int) {
	v := trial{Error: []float64{last, last - 0.5, last + 0.5}, Mean: []float64{mean, mean, mean}, Reached: reached}
	if reached < 3 {
		v.End = "blew up"
	}
	t.done[t.choiceKey(s, setting, b, i)] = v
}

// The best settings by either output, of those that did not fail, go on, half of them by each.
func TestSelection(t *testing.T) {
	u := duel(1, "m")
	s := u.selections[0]
	require.Len(t, u.tuning(0, false), 100)
	for i := range s.going {
		u.put(s, i, 0, 0, 10+float64(i), 200-float64(i), 3)
	}
	u.put(s, 97, 0, 0, 2, 300, 3)
	u.put(s, 5, 0, 0, 1, 1, 2)
	u.put(s, 6, 0, 0, 3, 1, 3)
	u.final(0)
	assert.Empty(t, u.tuning(0, true))
	u.judge(0)
	assert.Equal(t, [][]int{{97, 6, 0, 1, 2}, {6, 99, 98, 96, 95}}, s.rank[0])
	assert.InDelta(t, 1, s.least[0], 1e-14)
	assert.Equal(t, []any{100, 1, uint64(1000)}, []any{s.tried, s.blown, s.spent})
	assert.Len(t, s.going, keeps[0])
	assert.Subset(t, s.going, []int{97, 6, 0, 1, 4, 7, 99, 98, 96})
	assert.NotContains(t, s.going, 5)
	assert.NotContains(t, s.going, 50)

	assert.Len(t, u.tuning(1, false), keeps[0])
	u.putAll(s, 1, 1)
	u.put(s, 4, 1, 0, 3, 4, 3)
	u.final(1)
	u.judge(1)
	assert.Equal(t, []int{4, 4}, []int{s.rank[1][0][0], s.rank[1][1][0]})
	assert.Equal(t, map[int]int{97: 0, 6: 0, 4: 1}, s.longest())
	assert.Len(t, u.racing(), 3*u.trials)
}

// The best settings by one run make all runs: none may fail, and the geometric mean decides.
func TestFinals(t *testing.T) {
	u := duel(3, "m")
	s := u.selections[0]
	u.putAll(s, 0, 3)
	u.put(s, 1, 0, 0, 1, 1, 0)
	u.put(s, 50, 0, 1, 0.6, 0.6, 3)
	u.final(0)
	assert.Len(t, s.finals, finalists(100))
	assert.NotContains(t, s.finals, 50)
	assert.NotContains(t, s.finals, 1)
	assert.Len(t, u.tuning(0, true), 2*len(s.finals))

	u.put(s, 7, 0, 1, 1, 1, 3)      // its mean is that of 17, 17 and 1
	u.put(s, 7, 0, 2, 1000, 100, 3) // and its geometric mean is 25.7 and 11.9
	u.put(s, 3, 0, 2, 1, 100, 0)
	u.judge(0)
	assert.Equal(t, [][]int{{0, 2, 4, 5, 6}, {0, 7, 2, 4, 5}}, s.rank[0])
	assert.Equal(t, []any{100, 2, uint64(1400)}, []any{s.tried, s.blown, s.spent})

	// However bad the finals, what has one run comes behind them, but before what failed.
	u.begin()
	s = u.selections[0]
	u.putAll(s, 0, 1)
	u.final(0)
	for _, i := range s.finals {
		u.put(s, i, 0, 1, 500, 500, map[bool]int{true: 3}[i == 8])
		u.put(s, i, 0, 2, 500, 500, 3)
	}
	u.judge(0)
	assert.Equal(t, []int{8, 20, 21, 22, 23}, s.rank[0][0])

	u.ablate = true
	u.begin()
	u.final(0)
	assert.Len(t, u.tuning(0, true), 2*100)
}

// A setting of which a trial failed gives way to the next, at the budgets where it failed.
func TestFallBack(t *testing.T) {
	u := duel(1, "m")
	s := u.selections[0]
	for b := range u.budgets {
		u.putAll(s, b, 1)
		u.final(b)
		u.judge(b)
	}
	race := func(reached func(setting int) int) (rounds int) {
		for again := true; again; rounds++ {
			for i, upto := range s.longest() {
				for run := range u.trials {
					v := trial{Error: []float64{4, 3}, Mean: []float64{4, 3}, Seconds: []float64{1, 3}, Evals: []float64{20, 80}, Reached: 2}
					if n := reached(i); n <= upto && run == 1 {
						v.End, v.Reached = "blew up", n
					}
					u.done[u.trialKey(s, i, upto, run)] = v
				}
			}
			again = u.fallBack()
		}
		return rounds
	}
	assert.Equal(t, 3, race(func(setting int) int { return []int{1, 0, 2, 2, 2}[setting] }))
	assert.Equal(t, 0, s.rank[0][0][0], "it failed at the second budget only")
	assert.Equal(t, 2, s.rank[1][0][0])
	r := u.result(s, 1, 0)
	assert.Zero(t, r.diverged)
	assert.Equal(t, []float64{4, 1.5e5}, []float64{r.evals, r.micros}, "of a sample")
	assert.Zero(t, u.result(s, 0, 1).diverged)

	assert.Equal(t, tries, race(func(int) int { return 0 }))
	for b := range u.budgets {
		r := u.result(s, b, 0)
		assert.Equal(t, tries-1, r.setting)
		assert.Equal(t, 1, r.diverged)
		assert.InDelta(t, math.Inf(1), r.Mean, 0)
		assert.InDelta(t, 4-float64(b), r.held.Mean, 1e-15)
	}
	u.problems[0].limit, u.Out = &observe.Limit{Xi: 1, Phi: 1}, t.TempDir()
	text := new(strings.Builder)
	require.NoError(t, u.limits(text), "nothing can be drawn")
	assert.Contains(t, text.String(), "no .svg: no number can be drawn\nwrote "+filepath.Join(u.Out, ".csv"))
}

func TestNoCellIsEmpty(t *testing.T) {
	u := duel(1, "b", "a")
	u.entrants[1].Needs.Alpha, u.budgets, u.trials, u.Out = false, u.budgets[:1], 4, t.TempDir() // a is untuned
	b, a := u.selections[0], u.selections[1]
	failed := func(s *selection, o, n int, mean float64) row {
		r := row{s, 0, o, result{diverged: n, held: kit.Estimate{Mean: mean, Half: 0.1},
			Estimate: kit.Estimate{Mean: math.Inf(1), Half: math.Inf(1)}}}
		if n == 0 {
			r.Estimate = r.held
		}
		return r
	}
	ours := failed(a, 0, 0, 1)
	best := u.rivals([]row{ours, failed(a, 1, 0, 1), failed(b, 0, 2, 5), failed(b, 1, 1, 4)})
	r, ok := best.best(b.problem, 0)
	require.True(t, ok, "the cell is empty")
	assert.InDelta(t, 4, r.error, 0)
	assert.Equal(t, "b (failed in 1 of 4 trials)", r.String())
	assert.InDelta(t, 0.25, best.over(ours), 0)
	require.NoError(t, u.writeRivals(io.Discard, best))
	u.given = kit.Must(u.readRivals(filepath.Join(u.Out, "-rivals.csv")))
	assert.Equal(t, best, u.given)
	before := u.identity().Options
	b.problem.best = -1
	assert.NotEqual(t, before, u.identity().Options, "runs with another F* are not these")
	text := new(strings.Builder)
	ours.output = 1
	assert.Equal(t, "At 10 samples the better output of a is ahead of the best rival on 1 of 1 problems, "+
		"with 0.25 times its error in the geometric mean and 0.25 at worst (p).\n",
		u.comparisonSummary(text, a.entrant, []row{failed(a, 0, 0, 3), ours}, best))
	assert.Contains(t, text.String(), "0.75 0.25 b (failed in 1 of 4 trials)")
	assert.Regexp(t, `finite sums +– +–\nstreams +1 of 1, 0.75, 0.75 +1 of 1, 0.25, 0.25 +p\n`, text.String())

	best = u.rivals([]row{failed(b, 0, 2, 5), failed(b, 1, 0, 400)})
	r, ok = best.best(b.problem, 0)
	assert.True(t, ok)
	assert.InDelta(t, 400, r.error, 0)
	assert.Equal(t, "b", r.String())
}

func TestComparisonFits(t *testing.T) {
	u := duel(1, "SOBA", "SAA-Newton")
	u.entrants[1].Needs.Alpha, u.budgets, u.trials = false, []uint64{1000, 5000, 20000}, 4
	p := u.problems[0]
	p.name, p.half, p.limit = "breast_cancer stream raw 0.001…1", confirmed, &observe.Limit{Xi: 1e-12, Phi: 1e-12}
	var rows []row
	for _, s := range u.selections {
		for i := range 6 {
			mean := math.Pow(1.234e5, float64(i)-2.5)
			if s.entrant.rival() {
				mean = 1
			}
			rows = append(rows, row{s, i / 2, i % 2, result{Estimate: kit.Estimate{Mean: mean}, evals: 123.4, micros: 1234}})
		}
	}
	text := new(strings.Builder)
	u.comparisonSummary(text, u.entrants[1], rows, u.rivals(rows))
	assert.Contains(t, text.String(), "k  2e-13 2e-08 SOBA  0.0028 351 SOBA")
	for _, line := range strings.Split(text.String(), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 120, line)
	}
}

// From the second budget on, a rival that is far behind the best one has no trial, and says so.
func TestOutOfRace(t *testing.T) {
	u := duel(1, "good", "bad")
	u.trials, u.budgets, u.marks = 1, []uint64{10, 20, 30}, []uint64{10, 20, 30}
	u.begin()
	good, bad := u.selections[0], u.selections[1]
	for b, n := range []int{200, 2 * keeps[0], keeps[1]} {
		for i := range 100 {
			u.put(good, i, b, 0, 1, 1, 3)
			u.put(bad, i, b, 0, 11, 11, 3)
		}
		assert.Len(t, u.tuning(b, false), n)
		u.final(b)
		u.judge(b)
	}
	assert.Equal(t, []int{3, 1}, []int{good.in, bad.in})
	for _, task := range u.racing() {
		u.done[task.Key] = trial{Error: []float64{1, 1, 1}, Mean: make([]float64, 3), Seconds: make([]float64, 3),
			Evals: make([]float64, 3), Reached: 3}
	}
	rows := u.rows()
	for _, r := range rows {
		assert.Equal(t, r.selection == bad && r.budget > 0, r.out)
		assert.Equal(t, r.out, r.told() == "out of the race")
	}
	slices.Reverse(rows)
	for at, best := range u.rivals(rows) {
		assert.True(t, at.budget == 0 || best.method == "good")
	}
}

// A setting that fails in a trial alone gives way in a whole race; a method that refuses has failed.
func TestRacesFallBack(t *testing.T) {
	p := kit.Must(quadraticSum("q", quadratic.Options{Seed: 1}).make())
	ttsa := kit.Must(method.Lookup("TTSA"))
	var weak string // fails from its fourth run on
	var runs atomic.Int64
	e := &entrant{ttsa}
	e.New = func(u method.Tuning) bilevel.Method {
		switch {
		case weak == "all", fmt.Sprint(u) == weak && runs.Add(1) > 3:
			return method.TTSA{} // which is refused
		case weak == "first":
			weak = fmt.Sprint(u)
		}
		return ttsa.New(u)
	}
	race := func() (*selection, result) {
		u := &tournament{problems: []*problem{p}, entrants: []*entrant{e}, budgets: []uint64{300}, marks: []uint64{100, 300},
			flags: flags{trials: 2, tune: 3}, mean: true}
		u.begin()
		require.NoError(t, kit.Play(kit.Common{Out: t.TempDir()}, "x", kit.Identity{},
			func(c *kit.Campaign[trial]) error {
				return u.play(context.Background(), c, kit.Terminal{Stderr: io.Discard})
			}))
		s := u.selections[0]
		ends := map[float64]bool{u.done[u.choiceKey(s, s.rank[0][0][0], 0, 0)].held(0, 2): true}
		for _, v := range u.trialsOf(s, 0, 0) {
			ends[v.held(0, 1)] = true
		}
		assert.Equal(t, weak == "all", len(ends) < 3, "each run has a seed of its own")
		assert.Equal(t, weak == "all", u.curveOf(s).failed > 0)
		return s, u.result(s, 0, 0)
	}
	s, r := race()
	rank := s.rank[0][0]
	require.Len(t, rank, tries)
	assert.Zero(t, r.diverged)
	weak = "first"
	e.make(p, e.grid()[rank[0]])
	runs.Store(0)
	s, r = race()
	assert.Equal(t, rank[1:], s.rank[0][0])
	assert.Zero(t, r.diverged)
	weak = "all"
	s, r = race()
	assert.Equal(t, []int{100, 100, 2}, []int{s.tried, s.blown, r.diverged})
	assert.Contains(t, kit.Must(new(tournament).run(t.Context(), p, idle{}, 1, []uint64{300})).End, "drew no sample")
}

type idle struct{ method.STFBO }

func (m idle) Start(*bilevel.Iteration) (bilevel.Stepper, error) { return m, nil }
func (idle) Step(*bilevel.Iteration) error                       { return nil }
func (idle) Vectors(func(string, []float64))                     {}
func (idle) State(*bilevel.State)                                {}
