package race

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/saa"
)

// bench runs a command line.
func bench(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return kittest.Bench(ctx, []kit.Command{{Name: "compare", Run: Compare}, {Name: "figure2", Run: Figure2},
		{Name: "ijcnn1", Run: IJCNN1}, {Name: "survive", Run: Survive},
		{Name: "limit", Run: Limit}, {Name: "untuned", Run: Untuned}}, args...)
}

// small is the command line of a race that takes a fraction of a second.
func small(out string, more ...string) []string {
	return append([]string{"compare", "-methods", "STABLE,TTSA", "-samples", "1000", "-trials", "3",
		"-tune", "1", "-out", out}, more...)
}

// numbers returns the error columns of the CSV of a race: what does not depend on the clock.
func numbers(t *testing.T, dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "compare.csv"))
	require.NoError(t, err)
	var keep []string
	for _, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, "breast") {
			keep = append(keep, line)
		}
	}
	require.NotEmpty(t, keep)
	return strings.Join(keep, "\n")
}

// A race that is cut into parts, or cut off and taken up, has the results of the whole one.
func TestCompareParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	whole, parts, resumed := t.TempDir(), t.TempDir(), t.TempDir()
	status, stdout, stderr := bench(context.Background(), small(whole)...)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "TTSA")

	for _, p := range []string{"1/3", "2/3", "3/3"} { // the trials are left: each part waits for step sizes of the others
		status, _, stderr := bench(context.Background(), small(parts, "-part", p)...)
		require.Zero(t, status, stderr)
	}
	status, _, stderr = bench(context.Background(), small(parts, "-merge", "3")...)
	require.Zero(t, status, stderr)
	assert.Equal(t, numbers(t, whole), numbers(t, parts))

	// Cut off: the ledger of the whole run, but its last half, and in the middle of a line.
	b, err := os.ReadFile(filepath.Join(whole, "compare.ledger"))
	require.NoError(t, err)
	torn := filepath.Join(resumed, "compare.ledger")
	require.NoError(t, os.WriteFile(torn, b[:len(b)/2], 0o644))
	status, _, stderr = bench(context.Background(), small(resumed)...)
	require.Zero(t, status, stderr)
	assert.Equal(t, numbers(t, whole), numbers(t, resumed))
	kept, err := os.ReadFile(torn)
	require.NoError(t, err)
	good := b[:strings.LastIndexByte(string(b[:len(b)/2]), '\n')+1]
	assert.True(t, strings.HasPrefix(string(kept), string(good)), "finished runs were done again")

	status, _, stderr = bench(context.Background(), small(t.TempDir(), "-merge", "2")...)
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "not finished: part 1 of 2 was never started")
}

// Results of one data file are never reported for another, of a like name, or of the same name with
// other rows; nor are those of another build of the program.
func TestRaceKnowsItsData(t *testing.T) {
	small := func(out, data string) []string {
		return []string{"compare", "-methods", "STABLE", "-samples", "1000", "-trials", "2", "-tune", "1",
			"-data", data, "-out", out}
	}
	dir, out := t.TempDir(), t.TempDir()
	one, two := filepath.Join(dir, "part.one"), filepath.Join(dir, "part.two")
	text, err := os.ReadFile(kittest.SmallData(t))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	require.NoError(t, os.WriteFile(one, text, 0o644))
	require.NoError(t, os.WriteFile(two, []byte(strings.Join(lines[:50], "")), 0o644))

	status, stdout, stderr := bench(context.Background(), small(out, one)...)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "part.one: F*")
	status, stdout, stderr = bench(context.Background(), small(out, two)...)
	assert.Equal(t, 1, status, stdout)
	assert.Contains(t, stderr, "compare.ledger belongs to another run")
	assert.Contains(t, stderr, "part.two")

	require.NoError(t, os.WriteFile(one, []byte(strings.Join(lines[:50], "")), 0o644))
	status, stdout, stderr = bench(context.Background(), small(out, one)...)
	assert.Equal(t, 1, status, stdout)
	assert.Contains(t, stderr, "on other data")
	require.NoError(t, os.WriteFile(one, text, 0o644))
	status, _, stderr = bench(context.Background(), small(out, one)...)
	require.Zero(t, status, stderr)
}

// Every command that keeps results says which data, which options and which build they are of.
func TestIdentities(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r := racingFlags{Common: kit.Common{Seed: 1, Quick: true}}
	arenas, err := surviveArenas("", &r, kit.Terminal{})
	require.NoError(t, err)
	x := experiment{name: "survive", arenas: arenas}
	sum, err := kit.Digest("../../testdata/breast_cancer.csv")
	require.NoError(t, err)
	assert.Equal(t, []kit.Source{{Name: kit.ShippedData, SHA256: sum}}, x.identity().Data)
	build := x.identity().Build
	if program, err := os.Executable(); err == nil { // not every system names it
		build, err = kit.Digest(program)
		require.NoError(t, err)
	}
	assert.NotEmpty(t, build)
	assert.Equal(t, build, x.identity().Build)
	assert.Equal(t, "covtype.libsvm.binary.scale", kit.DataName("x/covtype.libsvm.binary.scale.gz"))
	assert.Equal(t, "part.one", kit.DataName("part.one"))
	assert.Equal(t, "breast_cancer", kit.DataName(kit.ShippedData))
}

// An interrupt keeps what is done and says so.
func TestCompareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(context.Canceled)
	status, _, stderr := bench(ctx, small(t.TempDir())...)
	assert.Equal(t, 130, status)
	assert.Contains(t, stderr, "the same command goes on from there")
}

func TestRacingUsage(t *testing.T) {
	for want, args := range map[string][]string{
		`no method is called "TTTSA"; there are STABLE, STABLE-paper, STABLE-guarded, SAA-Newton, BSA`: {
			"compare", "-methods", "TTTSA"},
		"-samples is 10":                  {"compare", "-samples", "10"},
		"-samples is 2000, of which":      {"compare", "-quick", "-samples", "2000"},
		"-trials is 0":                    {"compare", "-trials", "0"},
		"-tune is 0":                      {"compare", "-tune", "0"},
		"want 0 < lo < hi":                {"compare", "-lo", "0"},
		`-form "cube"`:                    {"compare", "-form", "cube"},
		`-problem "tsp"`:                  {"compare", "-problem", "tsp"},
		`-part "0/3"`:                     {"compare", "-part", "0/3"},
		"australian_scale.gz exists":      {"figure2", "-data", t.TempDir()},
		"Methods: STABLE, STABLE-paper":   {"compare", "-h"},
		"go run ./bench figure2 -data ..": {"figure2", "-h"},
	} {
		status, stdout, stderr := bench(context.Background(), args...)
		assert.Contains(t, stdout+stderr, want)
		assert.Equal(t, want[:2] == "Me" || want[:2] == "go", status == 0, want)
	}
}

// Every tuned entrant has a grid of the same size, whose settings make methods.
func TestLineup(t *testing.T) {
	list, err := lineup("all")
	require.NoError(t, err)
	for _, e := range list {
		for _, s := range e.grid() {
			text, _ := e.describe(&arena{}, s)
			assert.NotEmpty(t, text)
			assert.NotPanics(t, func() { e.make(&arena{muG: 1, lG: 2, cGxy: 3}, s) })
		}
		if e.untuned || e.fixed {
			assert.Len(t, e.grid(), 1)
			continue
		}
		assert.Len(t, e.grid(), 100, e.name)
	}
	_, err = lineup("nobody")
	assert.True(t, errors.Is(err, kit.ErrUsage))

	list, err = lineup("SOBA,SABA,TTSA")
	require.NoError(t, err)
	list, err = leaveOut(list, "saba, TTSA")
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "SOBA", list[0].name)

	// They are those of the registry.
	for _, e := range method.Registry() {
		listed := slices.Contains(entrantNames(), e.Name)
		assert.Equal(t, e.Base == "" && !e.Needs.Composition, listed, e.Name)
		_, err := lineup(e.Name)
		assert.Equal(t, e.Needs.Composition, err != nil, e.Name)
	}
}

// guest is a method of a package that this one does not know.
type guest struct{ saa.Newton }

func (guest) Name() string { return "Guest" }

// The guest is there before the first test and stays, as in a program: no test finds it sooner or
// later than another.
func init() {
	if err := method.Register(method.Entry{
		Name: "Guest", Base: saa.Newton{}.Name(), Untuned: true, // a variant starts by name only
		New: func(method.Tuning) bilevel.Method { return guest{} },
	}); err != nil {
		panic(err)
	}
}

// A registered guest races under its own name.
func TestGuest(t *testing.T) {
	rivals := filepath.Join("..", "rivals.csv")
	status, stdout, stderr := bench(context.Background(), "untuned", "-methods", "Guest,SAA-Newton", "-against", rivals,
		"-only", "simplex", "-samples", "1000", "-trials", "1", "-out", t.TempDir())
	require.Zero(t, status, stderr)
	own, other, ok := strings.Cut(stdout, "SAA-Newton: last iterate")
	require.True(t, ok, stdout)
	own, ok = strings.CutPrefix(own, "Guest: last iterate")
	require.True(t, ok, stdout)
	other, _, _ = strings.Cut(other, "wrote")
	micros := regexp.MustCompile(`, \S+;`) // of a sample, which differ
	assert.Equal(t, strings.Fields(micros.ReplaceAllString(other, "")), strings.Fields(micros.ReplaceAllString(own, "")))
}

// A band of a mean is one that a logarithmic axis can show, and of many curves STABLE's and the best
// are in colour.
func TestBandsAndColours(t *testing.T) {
	var x experiment
	lo, hi := x.band(averages{error: []float64{2, 0.1}, lo: []float64{-1, 0.05}, hi: []float64{5, 0.15}})
	assert.InDeltaSlice(t, []float64{2 / 2.5, 0.1 / 1.5}, lo, 1e-15)
	assert.Equal(t, []float64{5, 0.15}, hi)
	x.median = true
	lo, _ = x.band(averages{error: []float64{2}, lo: []float64{1}, hi: []float64{5}})
	assert.Equal(t, []float64{1}, lo)

	curves := map[string]averages{}
	for i := range 8 {
		e := &entrant{name: string(rune('a' + i))}
		x.entrants = append(x.entrants, e)
		curves[e.name] = averages{error: []float64{float64(i)}}
	}
	x.entrants = append(x.entrants, &entrant{name: "STABLE"})
	curves["STABLE"] = averages{error: []float64{100}}
	assert.Equal(t, map[string]bool{"STABLE": true, "a": true, "b": true, "c": true, "d": true, "e": true},
		x.vivid(curves))
	for _, e := range entrants() {
		assert.Positive(t, kit.Style(e.name), "%s has no look of its own", e.name)
	}
}

// A race chooses a setting by the geometric mean of all its runs, of which none failed, and takes
// the next one where a trial fails, until the last one stays.
func TestChooseAndFallBack(t *testing.T) {
	a, e, untuned := &arena{name: "a"}, &entrant{name: "m"}, &entrant{name: "u", untuned: true}
	x := &experiment{arenas: []*arena{a}, entrants: []*entrant{e, untuned}, samples: 10, trials: 2, tuneTrials: 3, points: 1}
	none, done := map[string][]int{}, map[string]trial{}
	assert.Len(t, x.tuning(none), 100)
	put := func(setting, run int, error float64, end string) {
		done[tuneKey(a, e, setting, run)] = trial{Error: []float64{error, error, error}, End: end}
	}
	for i := range e.grid() {
		for run := range 3 { // an exhaustive choice has left runs of all
			put(i, run, 10+float64(i), "")
		}
	}
	put(0, 0, 1, "blew up")
	final := map[string][]int{"a/m": x.choose(done, none, finalists(100))["a/m"].rank}
	assert.Len(t, final["a/m"], 20)
	assert.NotContains(t, final["a/m"], 0)
	assert.Len(t, x.tuning(final), 140)
	put(1, 1, 1, "")
	put(1, 2, 100, "") // a mean of 37, a geometric mean of 10.3
	put(2, 2, 1, "blew up")
	put(99, 1, 1e-9, "")
	c := x.choose(done, final, tries)["a/m"]
	assert.Equal(t, choice{Diverged: 2, Tried: 100, Samples: 1400, rank: []int{1, 3, 4, 5, 6}}, c)

	chosen := map[string]choice{"a/m": c, "a/u": {rank: []int{0}}}
	race := func(failing ...int) (rounds int) {
		for again := true; again; rounds++ {
			for _, task := range x.racing(chosen) {
				done[task.Key] = trial{Error: []float64{1}, Seconds: []float64{1}, Evals: []float64{1}}
			}
			for _, i := range failing {
				done[raceKey(a, e, i, 1)] = trial{Error: []float64{1}, Seconds: []float64{1}, Evals: []float64{1}, End: "blew up"}
			}
			again = x.fallBack(chosen, done)
		}
		return rounds
	}
	assert.Equal(t, 3, race(1, 3))
	assert.Equal(t, []int{4, 5, 6}, chosen["a/m"].rank)
	assert.Equal(t, 3, race(1, 3, 4, 5, 6))
	assert.Equal(t, 1, x.summarise(a, e, chosen, done).failed)
	for _, i := range final["a/m"] { // however bad, what is in the final comes before what is not
		put(i, 1, 1e9, "")
	}
	assert.Contains(t, final["a/m"], x.choose(done, final, tries)["a/m"].rank[0])
	x.exhaustive = true
	assert.Len(t, x.tuning(none), 300)
}

// Where trials of both rivals diverge, survive compares with their last good iterates.
func TestSurvivalIsNotEmpty(t *testing.T) {
	a, done, chosen := &arena{name: "a"}, map[string]trial{}, map[string]choice{}
	list, err := lineup("SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA")
	require.NoError(t, err)
	x := &experiment{arenas: []*arena{a}, entrants: list, trials: 1, points: 1}
	for i, e := range list {
		r := trial{Error: []float64{float64(1 + i)}, Seconds: []float64{1}, Evals: []float64{1}}
		if i > 3 {
			r.End = "blew up"
		}
		done[raceKey(a, e, 0, 0)], chosen["a/"+e.name] = r, choice{rank: []int{0}}
	}
	text := new(strings.Builder)
	require.NoError(t, x.survival(text, chosen, done))
	assert.Regexp(t, `\+Inf +\+Inf +5\.00 +2\.50 +\n`, text.String())
}

// A short form chooses by as many runs as the long one.
func TestQuickChoosesByThree(t *testing.T) {
	r := racingFlags{Common: kit.Common{Quick: true}, samples: 20000, trials: 10, tune: 3}
	require.NoError(t, r.check())
	assert.Equal(t, 3, r.tune)
	out := t.TempDir()
	status, _, stderr := bench(context.Background(), "untuned", "-quick", "-only", "ball", "-methods", "TTSA",
		"-samples", "1000", "-trials", "1", "-out", out)
	require.Zero(t, status, stderr)
	text, err := os.ReadFile(filepath.Join(out, "untuned-rivals.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "choice: up to 3 runs of each of 100 settings, in rounds")
}
