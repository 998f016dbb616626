package race

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// The race has at least 40 problems, without those on data that do not ship, of different names. At
// each known solution, the step against ∇F that is projected leads nowhere, F is F*, and starts are
// feasible and reproducible. The halves are of about one size.
func TestProblemsAreSolved(t *testing.T) {
	makers, err := untunedProblems(&leagueFlags{Common: kit.Common{Seed: 1}}, kit.Terminal{})
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
		a := p.arena
		x0, y0 := a.start(rand.New(rand.NewPCG(1, 2)))
		again, _ := a.start(rand.New(rand.NewPCG(1, 2)))
		assert.Equal(t, x0, again)
		feasible := make([]float64, len(x0))
		a.set.Project(feasible, x0)
		assert.InDeltaSlice(t, x0, feasible, 1e-12)
		if a.star == nil {
			assert.Contains(t, p.name, "quadratic")
			continue
		}
		c := a.fresh()
		grad, scale := make([]float64, len(a.star)), make([]float64, len(a.star))
		_, err = c.ObjectiveFrom(scale, y0, x0)
		require.NoError(t, err)
		f, err := c.ObjectiveFrom(grad, y0, a.star)
		require.NoError(t, err)
		assert.InDelta(t, a.best, f, 1e-12*(1+math.Abs(a.best)), p.name)
		moved, step := make([]float64, len(grad)), mat.Norm(a.star)+1
		step /= mat.Norm(scale)
		for i, v := range a.star {
			moved[i] = v - step*grad[i]
		}
		a.set.Project(moved, moved)
		assert.InDeltaSlice(t, a.star, moved, 1e-7*(1+mat.Norm(a.star)), p.name)
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
	base := recipe{name: "base", o: noisy(1, nil)}
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

// covtype has features that are 0 in all of its first rows: F is flat in their weights, which the
// limit leaves out.
func TestLimitOfFlatWeights(t *testing.T) {
	folder := os.Getenv("STABLE_DATA")
	if folder == "" || testing.Short() {
		t.Skip("wants STABLE_DATA, and takes seconds")
	}
	makers, err := tuningStreams(&leagueFlags{Common: kit.Common{Seed: 1}, data: folder}, kit.Terminal{})
	require.NoError(t, err)
	i := slices.IndexFunc(makers, func(m maker[*problem]) bool {
		return strings.HasPrefix(m.name, "covtype") && strings.Contains(m.name, "stream raw")
	})
	require.GreaterOrEqual(t, i, 0)
	p, err := makers[i].make()
	require.NoError(t, err)
	require.NotNil(t, p.limit)
	held := 0
	for j, v := range p.star {
		if b := p.set.(bilevel.Box); v <= b.Lo[j] || v >= b.Hi[j] {
			held++
		}
	}
	assert.Positive(t, p.limit.Free)
	assert.Less(t, p.limit.Free, len(p.star)-held, "a weight in which F is flat counts")
	assert.Positive(t, p.limit.Xi)
	assert.Positive(t, p.limit.Phi)
}

// duel is a league of an entrant on a problem, and of runs of the choice that its puts fill in.
func duel(runs int) (l *league, p *problem, e *entrant, done map[string]trial,
	put func(setting, b, t int, last, mean float64)) {
	e, done = &entrant{name: "m"}, map[string]trial{}
	p = &problem{arena: &arena{name: "p"}, field: []*entrant{e}}
	l = &league{problems: []*problem{p}, entrants: []*entrant{e}, budgets: []uint64{10, 20}, tuneTrials: runs, trials: 2}
	return l, p, e, done, func(setting, b, t int, last, mean float64) {
		done[l.choiceKey(p, e, setting, b, t)] = trial{
			Error: []float64{last, last - 0.5, last + 0.5}, Mean: []float64{mean, mean, mean},
		}
	}
}

// One round takes the setting with the least error for each output apart, and a run that failed
// counts up to where it came. The best settings by either output go on, half of them by each.
func TestPicks(t *testing.T) {
	l, p, e, done, put := duel(1)
	field := l.begin()
	require.Len(t, l.tuning(0, false, field), 100)
	for i := range e.grid() {
		put(i, 0, 0, 10+float64(i), 200-float64(i))
	}
	put(97, 0, 0, 2, 300)
	put(5, 0, 0, 1, 1)
	put(6, 0, 0, 3, 1)
	for i, used := range map[int]uint64{5: 9, 6: 12} {
		r := done[l.choiceKey(p, e, i, 0, 0)]
		r.End, r.Used = "blew up", used
		done[l.choiceKey(p, e, i, 0, 0)] = r
	}
	l.final(0, field, done)
	assert.Empty(t, l.tuning(0, true, field))
	l.judge(0, field, done)
	c := field[place{"p", "m"}]
	assert.Equal(t, [2][]int{{97, 6, 0, 1, 2}, {6, 99, 98, 96, 95}}, c.rank[0])
	assert.InDeltaSlice(t, []float64{2, 1}, c.least[0][:], 1e-14)
	assert.Len(t, c.going, keeps[0])
	for _, i := range []int{97, 6, 0, 1, 4, 7, 99, 98, 96} {
		assert.Contains(t, c.going, i)
	}
	assert.NotContains(t, c.going, 5)
	assert.NotContains(t, c.going, 50)

	assert.Len(t, l.tuning(1, false, field), keeps[0])
	for _, i := range c.going {
		put(i, 1, 0, 7, 7)
	}
	put(4, 1, 0, 3, 4)
	l.final(1, field, done)
	l.judge(1, field, done)
	assert.Equal(t, 4, c.rank[1][0][0])
	assert.Equal(t, 4, c.rank[1][1][0])
	assert.Equal(t, map[int]int{97: 0, 6: 0, 4: 1}, c.lengths())
	assert.Len(t, l.racing(field), 3*l.trials)
}

// The best settings by one run make all runs. None of these may fail, and the geometric mean of
// their errors decides; runs of a setting outside of the final, as an exhaustive choice has left
// them, do not.
func TestFinals(t *testing.T) {
	l, p, e, done, put := duel(3)
	field := l.begin()
	for i := range e.grid() {
		for r := range 3 {
			put(i, 0, r, 10+float64(i), 10+float64(i))
		}
	}
	put(50, 0, 1, 0.6, 0.6)
	l.final(0, field, done)
	c := field[place{"p", "m"}]
	assert.Equal(t, finalists(100), len(c.finals))
	assert.Less(t, 100+2*finalists(100), 2*100, "the choice costs more than two runs of every setting")
	assert.NotContains(t, c.finals, 50)
	assert.Len(t, l.tuning(0, true, field), 2*len(c.finals))

	put(7, 0, 1, 1, 1)      // its mean is that of 17, 17 and 1
	put(7, 0, 2, 1000, 100) // and its geometric mean is 25.7 and 11.9
	put(3, 0, 2, 1, 100)
	r := done[l.choiceKey(p, e, 3, 0, 2)]
	r.End = "blew up"
	done[l.choiceKey(p, e, 3, 0, 2)] = r
	l.judge(0, field, done)
	assert.Equal(t, [2][]int{{0, 1, 2, 4, 5}, {0, 1, 7, 2, 4}}, c.rank[0])

	// However bad the finals, what has one run comes behind them, but before what failed.
	field = l.begin()
	l.final(0, field, done)
	c = field[place{"p", "m"}]
	failing := func(i int) {
		r := done[l.choiceKey(p, e, i, 0, 1)]
		r.End = "blew up"
		done[l.choiceKey(p, e, i, 0, 1)] = r
	}
	for _, i := range c.finals {
		put(i, 0, 1, 500, 500)
		put(i, 0, 2, 500, 500)
		if i != 8 {
			failing(i)
		}
	}
	l.judge(0, field, done)
	assert.Equal(t, []int{8, 20, 21, 22, 23}, c.rank[0][0])

	l.exhaustive, field = true, l.begin()
	l.final(0, field, done)
	assert.Len(t, l.tuning(0, true, field), 2*100)
}

// A setting of which a trial failed gives way to the next in the choice, at the budgets where it
// failed, until the last one stays.
func TestFallBack(t *testing.T) {
	l, p, e, done, put := duel(1)
	field := l.begin()
	for b := range l.budgets {
		for i := range e.grid() {
			put(i, b, 0, 10+float64(i), 10+float64(i))
		}
		l.final(b, field, done)
		l.judge(b, field, done)
	}
	c := field[place{"p", "m"}]
	race := func(failing func(setting int) uint64) (rounds int) {
		for again := true; again; rounds++ {
			for i, upto := range c.lengths() {
				for run := range l.trials {
					r := trial{Error: []float64{4, 4, 4, 3, 3, 3}, Mean: []float64{4, 4, 4, 3, 3, 3}, Used: 20}
					if used := failing(i); used < l.budgets[upto] && run == 1 {
						r.End, r.Used = "blew up", used
					}
					done[l.trialKey(p, e, i, upto, run)] = r
				}
			}
			again = l.fallBack(field, done)
		}
		return rounds
	}
	late := func(setting int) uint64 { return []uint64{15, 5, 20, 20, 20}[setting] }
	assert.Equal(t, 3, race(late))
	assert.Equal(t, 0, c.rank[0][0][0], "it failed at the second budget only")
	assert.Equal(t, 2, c.rank[1][0][0])
	assert.Zero(t, l.result(p, e, 1, 0, field, done).diverged)
	assert.Zero(t, l.result(p, e, 0, 1, field, done).diverged)

	assert.Equal(t, tries, race(func(int) uint64 { return 5 }))
	for b := range l.budgets {
		r := l.result(p, e, b, 0, field, done)
		assert.Equal(t, tries-1, r.setting)
		assert.Equal(t, 1, r.diverged)
		assert.InDelta(t, math.Inf(1), r.Mean, 0)
		assert.InDelta(t, 4-float64(b), r.held.Mean, 1e-15)
	}
}

// Where trials of all rivals fail, the one with the least error of last good iterates stands, and
// says so, in the file of rivals too. One that does not fail stands before it, however far behind.
func TestNoStandingIsEmpty(t *testing.T) {
	a, b := &entrant{name: "a", untuned: true}, &entrant{name: "b"}
	p := &problem{arena: &arena{name: "p"}, field: []*entrant{a, b}}
	l := &league{problems: []*problem{p}, entrants: p.field, budgets: []uint64{10}, trials: 4, folder: t.TempDir()}
	failed := func(e *entrant, o, n int, mean float64) row {
		r := row{problem: p, entrant: e, output: o, result: result{diverged: n,
			Estimate: kit.Estimate{Mean: math.Inf(1), Half: math.Inf(1)}, held: kit.Estimate{Mean: mean, Half: 0.1}}}
		if n == 0 {
			r.Estimate = r.held
		}
		return r
	}
	at := standing{p, 0}
	best := l.rivals([]row{failed(a, 0, 0, 1), failed(a, 1, 0, 1), failed(b, 0, 2, 5), failed(b, 1, 1, 4)})
	r, output, ok := best.best(at)
	require.True(t, ok, "the standing is empty")
	assert.Equal(t, "mean", output)
	assert.InDelta(t, 4, r.error, 0)
	assert.Equal(t, " (failed in 1 of 4 trials)", r.mark())
	assert.InDelta(t, 0.25, best.over(failed(a, 0, 0, 1)), 0)
	require.NoError(t, l.writeRivals(&strings.Builder{}, best))
	read, err := l.readRivals(filepath.Join(l.folder, "-rivals.csv"))
	require.NoError(t, err)
	assert.Equal(t, best, read)
	text := new(strings.Builder)
	require.NoError(t, l.versusTable(text, a, []row{failed(a, 0, 0, 1)}, best))
	assert.Contains(t, text.String(), "b mean (failed in 1 of 4 trials)")

	best = l.rivals([]row{failed(b, 0, 2, 5), failed(b, 1, 0, 400)})
	r, _, ok = best.best(at)
	assert.True(t, ok)
	assert.InDelta(t, 400, r.error, 0)
	assert.Empty(t, r.mark())
}

// From the second budget on, a rival that is far behind the best one has no trial, and says so; one
// that took a late start is not far behind at the first. An exhaustive choice keeps everything.
func TestOutOfRace(t *testing.T) {
	good, bad := &entrant{name: "good"}, &entrant{name: "bad"}
	p := &problem{arena: &arena{name: "p"}, field: []*entrant{good, bad}}
	for _, exhaustive := range []bool{false, true} {
		l := &league{problems: []*problem{p}, entrants: p.field, budgets: []uint64{10, 20, 30}, tuneTrials: 1,
			trials:     1,
			exhaustive: exhaustive}
		done := map[string]trial{}
		for b := range l.budgets {
			for i := range good.grid() {
				for e, v := range map[*entrant]float64{good: 1, bad: 11} {
					done[l.choiceKey(p, e, i, b, 0)] = trial{Error: []float64{v, v, v}, Mean: []float64{v, v, v}}
				}
			}
		}
		field := l.begin()
		rounds := []int{200, 2 * keeps[0], keeps[1]}
		if exhaustive {
			rounds = []int{200, 200, 200}
		}
		for b, n := range rounds {
			assert.Len(t, l.tuning(b, false, field), n)
			l.final(b, field, done)
			l.judge(b, field, done)
		}
		c := field[place{"p", "bad"}]
		assert.Equal(t, 3, field[place{"p", "good"}].in)
		for _, t := range l.racing(field) {
			done[t.Key] = trial{Error: make([]float64, 9), Mean: make([]float64, 9)}
		}
		rows, text := l.rows(field, done), new(strings.Builder)
		require.NoError(t, l.outs(text, rows))
		if exhaustive {
			assert.Equal(t, 3, c.in)
			assert.Empty(t, text.String())
			continue
		}
		assert.Equal(t, 1, c.in)
		assert.Contains(t, text.String(), "bad")
		assert.NotContains(t, text.String(), "good")
		for _, r := range rows {
			assert.Equal(t, r.entrant == bad && r.budget > 0, r.out)
			assert.Equal(t, r.out, r.told() == "out of the race")
		}
	}
}

// leagues are short command lines of limit and untuned.
func leagues(name, out string, more ...string) []string {
	return append([]string{name, "-methods", "STABLE,TTSA", "-samples", "5000", "-trials", "2", "-tune", "2",
		"-only", "saddle,rank-one f_yy", "-out", out}, more...)
}

// A league that is cut into parts has the numbers of the whole one, which name every column, and a
// figure where there is one: parts that were started once, of which the report does what they left,
// or again until they are done.
func TestLeagueParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, name := range []string{"limit", "untuned"} {
		whole, parts := t.TempDir(), t.TempDir()
		status, stdout, stderr := bench(context.Background(), leagues(name, whole)...)
		require.Zero(t, status, stderr)
		assert.Contains(t, stdout, "saddle")
		for range map[string]int{"limit": 1, "untuned": 5}[name] { // two rounds of the choice, in two halves each, and the trials
			for _, p := range []string{"1/2", "2/2"} {
				status, stdout, stderr = bench(context.Background(), leagues(name, parts, "-part", p)...)
				require.Zero(t, status, stderr)
			}
		}
		assert.Equal(t, name == "limit", strings.Contains(stdout, "or -merge 2 does the rest"))
		status, _, stderr = bench(context.Background(), leagues(name, parts, "-merge", "2")...)
		require.Zero(t, status, stderr)
		want, err := os.ReadFile(filepath.Join(whole, name+".csv"))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(parts, name+".csv"))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
		lines := strings.Split(strings.TrimSpace(string(got)), "\n")
		assert.True(t, strings.HasPrefix(lines[0], "problem,method,tuned,output,samples,error,limit,"), lines[0])
		assert.Len(t, lines, 1+2*2*2*2) // problems, methods, outputs, budgets
		if name == "limit" {
			assert.FileExists(t, filepath.Join(whole, "limit.svg"))
		}
	}
}

// A problem without a limit has numbers, and no panel in the figure.
func TestNoLimitNoFigure(t *testing.T) {
	out := t.TempDir()
	status, stdout, stderr := bench(context.Background(), "limit", "-methods", "STABLE", "-only", "tail 1.5",
		"-samples", "1000", "-trials", "2", "-out", out)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "tail 1.5 (chosen): no limit")
	assert.FileExists(t, filepath.Join(out, "limit.csv"))
	assert.NoFileExists(t, filepath.Join(out, "limit.svg"))
}

func TestLeagueUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"-samples is 10":         {"limit", "-samples", "10"},
		"-trials is 0":           {"untuned", "-trials", "0"},
		"-tune is 0":             {"untuned", "-tune", "0"},
		`no problem has such a`:  {"limit", "-only", "nobody"},
		`-without "X": no meth`:  {"untuned", "-only", "saddle", "-without", "SOBA,X"},
		`-without "TTSA" leave`:  {"untuned", "-only", "saddle", "-without", "TTSA", "-methods", "TTSA"},
		`no method is called "X`: {"limit", "-only", "saddle", "-methods", "X"},
		"go run ./bench limit":   {"limit", "-h"},
		"go run ./bench untuned": {"untuned", "-h"},
	} {
		_, stdout, stderr := bench(context.Background(), args...)
		assert.Contains(t, stdout+stderr, want)
	}
}

// brittle is a method that fails in its first step.
type brittle struct{ bilevel.Method }

type broken struct{ bilevel.Stepper }

func (m brittle) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	s, err := m.Method.Start(it)
	return broken{s}, err
}

func (broken) Step(*bilevel.Iteration) error { return errors.New("broken") }

// A setting that fails in a trial, and in no run of the choice, gives way in a whole race.
func TestRacesFallBack(t *testing.T) {
	a, err := quadraticArena("q", quadratic.Options{Seed: 1})
	require.NoError(t, err)
	ttsa, out := find("TTSA"), kit.Terminal{Stdout: io.Discard, Stderr: io.Discard}
	var weak setting // fails from its fourth run on
	var runs atomic.Int64
	e := *ttsa
	e.method = func(a *arena, s setting, alpha, beta bilevel.Schedule) bilevel.Method {
		m := ttsa.method(a, s, alpha, beta)
		if s == weak && runs.Add(1) > 3 {
			return brittle{m}
		}
		return m
	}
	p := &problem{arena: a, field: []*entrant{&e}}
	share := kit.Share{Part: 1, Of: 1}
	experiments := func() []int {
		x := &experiment{name: "x", arenas: []*arena{a}, entrants: p.field, samples: 300, trials: 2, tuneTrials: 3,
			points: 3, folder: t.TempDir(), share: share}
		chosen, done, err := x.run(context.Background(), out)
		require.NoError(t, err)
		assert.Zero(t, x.summarise(a, &e, chosen, done).failed)
		return chosen["q/TTSA"].rank
	}
	leagues := func() []int {
		l := &league{name: "l", problems: []*problem{p}, entrants: p.field, budgets: []uint64{300}, trials: 2, tuneTrials: 3,
			folder: t.TempDir(), share: share}
		chosen, done, err := l.play(context.Background(), out)
		require.NoError(t, err)
		assert.Zero(t, l.result(p, &e, 0, 0, chosen, done).diverged)
		return chosen[place{"q", "TTSA"}].rank[0][0]
	}
	for _, race := range []func() []int{experiments, leagues} {
		weak = setting{}
		rank := race()
		require.Len(t, rank, tries)
		weak = e.grid()[rank[0]]
		runs.Store(0)
		assert.Equal(t, rank[1:], race())
	}
}
