package race

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
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

// One round takes the setting with the least error for each output apart, and a run that failed
// counts up to where it came. The best settings by either output go on, half of them by each.
func TestPicks(t *testing.T) {
	e := &entrant{name: "m"}
	p := &problem{arena: &arena{name: "p"}, field: []*entrant{e}}
	l := &league{problems: []*problem{p}, entrants: []*entrant{e}, budgets: []uint64{10, 20}, tuneTrials: 1, trials: 1}
	done := map[string]trial{}
	put := func(setting, b int, last, mean float64) {
		done[l.choiceKey(p, e, setting, b, 0)] = trial{
			Error: []float64{last, last - 1, last + 1}, Mean: []float64{mean, mean, mean},
		}
	}
	field := l.begin()
	require.Len(t, l.tuning(0, field), 100)
	for i := range e.grid() {
		put(i, 0, 10+float64(i), 200-float64(i))
	}
	put(97, 0, 2, 300)
	put(5, 0, 1, 1)
	put(6, 0, 3, 1)
	for i, used := range map[int]uint64{5: 9, 6: 12} {
		r := done[l.choiceKey(p, e, i, 0, 0)]
		r.End, r.Used = "blew up", used
		done[l.choiceKey(p, e, i, 0, 0)] = r
	}
	l.judge(0, field, done)
	c := field[place{"p", "m"}]
	assert.Equal(t, [2]int{97, 6}, c.best[0])
	assert.Equal(t, [2]float64{2, 1}, c.least[0])
	assert.Equal(t, 2, c.diverged)
	assert.Len(t, c.going, keeps[0])
	for _, i := range []int{97, 6, 0, 1, 4, 7, 99, 98, 96} {
		assert.Contains(t, c.going, i)
	}
	assert.NotContains(t, c.going, 5)
	assert.NotContains(t, c.going, 50)

	assert.Len(t, l.tuning(1, field), keeps[0])
	for _, i := range c.going {
		put(i, 1, 7, 7)
	}
	put(4, 1, 3, 4)
	l.judge(1, field, done)
	assert.Equal(t, [][2]int{{97, 6}, {4, 4}}, c.best)
	assert.Equal(t, map[int]int{97: 0, 6: 0, 4: 1}, c.lengths())
	assert.Len(t, l.racing(field), 3)
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
			assert.Len(t, l.tuning(b, field), n)
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
	return append([]string{name, "-methods", "STABLE,TTSA", "-samples", "5000", "-trials", "2", "-tune", "1",
		"-only", "saddle,rank-one f_yy", "-out", out}, more...)
}

// A league that is cut into parts has the numbers of the whole one, which name every column, and a
// figure where there is one.
func TestLeagueParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, name := range []string{"limit", "untuned"} {
		whole, parts := t.TempDir(), t.TempDir()
		status, stdout, stderr := bench(context.Background(), leagues(name, whole)...)
		require.Zero(t, status, stderr)
		assert.Contains(t, stdout, "saddle")
		for range 3 { // two rounds of the choice, and the trials
			for _, p := range []string{"1/2", "2/2"} {
				status, _, stderr := bench(context.Background(), leagues(name, parts, "-part", p)...)
				require.Zero(t, status, stderr)
			}
		}
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

// An ablation races the untuned method without one part after the other, and needs no rival.
func TestUntunedAblation(t *testing.T) {
	names := []string{"limit", "untuned"}
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		out := t.TempDir()
		status, stdout, stderr := bench(context.Background(), name, "-ablate", "-only", "saddle",
			"-samples", "1000", "-trials", "1", "-out", out)
		require.Zero(t, status, stderr)
		for _, e := range untunedAblations {
			assert.Contains(t, stdout, e.name)
		}
		assert.FileExists(t, filepath.Join(out, name+"-ablate.csv"))
	}
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
