package race

import (
	"context"
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
	keep := regexp.MustCompile("(?m)^breast.*$").FindAllString(string(b), -1)
	require.NotEmpty(t, keep)
	return strings.Join(keep, "\n")
}

// A race that is cut off and taken up has the results of the whole one, and does nothing twice.
func TestTakenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	whole, resumed := t.TempDir(), t.TempDir()
	status, stdout, stderr := bench(context.Background(), small(whole)...)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "TTSA")
	b, err := os.ReadFile(filepath.Join(whole, "compare.ledger"))
	require.NoError(t, err)
	torn := filepath.Join(resumed, "compare.ledger") // in the middle of a line
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
	dir, out := t.TempDir(), t.TempDir()
	one, two := filepath.Join(dir, "part.one"), filepath.Join(dir, "part.two")
	text, err := os.ReadFile(kittest.SmallData(t))
	require.NoError(t, err)
	less := []byte(strings.Join(strings.SplitAfter(string(text), "\n")[:50], ""))
	for _, c := range []struct {
		file string
		text []byte
		says string // nothing where it succeeds
	}{
		{one, text, ""}, {two, less, "part.two"}, {one, less, "compare.ledger belongs to another run, on other data"}, {one, text, ""},
	} {
		require.NoError(t, os.WriteFile(c.file, c.text, 0o644))
		status, _, stderr := bench(context.Background(), "compare", "-methods", "STABLE", "-samples", "1000",
			"-trials", "2", "-tune", "1", "-data", c.file, "-out", out)
		assert.Equal(t, c.says == "", status == 0, stderr)
		assert.Contains(t, stderr, c.says)
	}
}

// A race says of which data, each once, and which build it is.
func TestIdentity(t *testing.T) {
	source := kit.Source{Name: "x", SHA256: "123"}
	u := tournament{problems: []*problem{{data: []kit.Source{source}}, {data: []kit.Source{source}}}}
	assert.Equal(t, []kit.Source{source}, u.identity().Data)
	if program, err := os.Executable(); err == nil { // not every system names it
		build, err := kit.Digest(program)
		require.NoError(t, err)
		assert.Equal(t, build, u.identity().Build)
	}
	assert.Equal(t, "covtype.libsvm.binary.scale", kit.DataName("x/covtype.libsvm.binary.scale.gz"))
}

// An interrupt keeps what is done and says so.
func TestCompareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(context.Canceled)
	status, _, stderr := bench(ctx, small(t.TempDir())...)
	assert.Equal(t, 130, status)
	assert.Contains(t, stderr, "the same command goes on from there")
}

func TestUsage(t *testing.T) {
	for want, args := range map[string][]string{
		`no method is called "TTTSA"; there are STABLE, STABLE-paper, STABLE-guarded, SAA-Newton, BSA`: {
			"compare", "-methods", "TTTSA"},
		"none of these methods takes such": {"compare", "-problem", "quadratic", "-methods", "SCSC"},
		"-samples is 10":                   {"limit", "-samples", "10"},
		"3 in 10 of -samples":              {"compare", "-quick", "-samples", "2000"},
		"-trials is 0":                     {"untuned", "-trials", "0"},
		"-tune is 0":                       {"survive", "-tune", "0"},
		"want 0 < lo < hi":                 {"compare", "-lo", "0"},
		`-form "cube"`:                     {"compare", "-form", "cube"},
		`-problem "tsp"`:                   {"compare", "-problem", "tsp"},
		`-part "0/3"`:                      {"compare", "-part", "0/3"},
		"australian_scale.gz exists":       {"figure2", "-data", t.TempDir()},
		"-data is missing":                 {"ijcnn1", "-data", ""},
		`no problem has such a`:            {"limit", "-only", "nobody"},
		`-without "X": no meth`:            {"untuned", "-only", "saddle", "-without", "SOBA,X"},
		`-without "TTSA" leave`:            {"untuned", "-only", "saddle", "-without", "TTSA", "-methods", "TTSA"},
		"Methods: STABLE, STABLE-paper":    {"compare", "-h"},
		"go run ./bench figure2 -data ..":  {"figure2", "-h"},
		"-only quadratic,saddle -samples":  {"limit", "-h"},
		"-only simplex,ball -methods":      {"untuned", "-h"},
	} {
		status, stdout, stderr := bench(context.Background(), args...)
		assert.Contains(t, stdout+stderr, want)
		assert.Equal(t, strings.Contains(strings.Join(args, " "), "-h"), status == 0, want)
	}
}

// Every tuned entrant has a grid of the same size, whose settings make methods; the entrants are
// those of the registry.
func TestLineup(t *testing.T) {
	list, err := lineup("all", "")
	require.NoError(t, err)
	for _, e := range list {
		for _, s := range e.grid() {
			text, _ := e.describe(&problem{}, s)
			assert.NotEmpty(t, text)
			assert.NotPanics(t, func() { e.make(&problem{muG: 1, lG: 2, cGxy: 3}, s) })
		}
		assert.Len(t, e.grid(), map[bool]int{true: 100, false: 1}[e.tuned()], e.name)
		assert.Positive(t, kit.Style(e.name), "%s has no look of its own", e.name)
	}
	for _, e := range method.Registry() {
		assert.Equal(t, e.Base == "", slices.Contains(names(list), e.Name), e.Name)
		_, err := lineup(e.Name, "")
		assert.NoError(t, err)
	}
	_, err = lineup("nobody", "")
	assert.ErrorIs(t, err, kit.ErrUsage)
	list, err = lineup("SOBA,SABA,TTSA", "saba, TTSA")
	require.NoError(t, err)
	assert.Equal(t, []string{"SOBA"}, names(list))
	list, err = lineup("untuned", "")
	require.NoError(t, err)
	assert.Contains(t, names(list), "SAA-Newton")
	assert.NotContains(t, names(list), "HOAG")
}

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
	own, other, ok := strings.Cut(stdout, "SAA-Newton: last, mean")
	require.True(t, ok, stdout)
	_, own, ok = strings.Cut(own, "Guest: last, mean")
	require.True(t, ok, stdout)
	other, _, _ = strings.Cut(other, "wrote")
	micros := regexp.MustCompile(`, [0-9.e+]+(\n|  )`) // of a sample, which differ
	assert.Equal(t, strings.Fields(micros.ReplaceAllString(other, "")), strings.Fields(micros.ReplaceAllString(own, "")))
}

// A band of a mean is one that a logarithmic axis can show; of many curves STABLE's and the best are
// in colour; the axis of errors ends at a hundredth of the best tuned one.
func TestCurves(t *testing.T) {
	var u tournament
	one := curve{selection: &selection{entrant: &entrant{name: "a"}}, error: []float64{2, 0.1}, lo: []float64{-1, 0.05}, hi: []float64{5, 0.15}}
	s := u.series([]curve{one})[0]
	assert.InDeltaSlice(t, []float64{2 / 2.5, 0.1 / 1.5}, s.Lo, 1e-15)
	assert.Equal(t, one.hi, s.Hi)
	u.median = true
	assert.Equal(t, one.lo, u.series([]curve{one})[0].Lo)

	curves := []curve{{selection: &selection{entrant: &entrant{name: "STABLE"}}, error: []float64{100}}}
	for i := range 8 {
		e := &entrant{name: string(rune('a' + i))}
		if i > 1 {
			e.change = guarded
		}
		curves = append(curves, curve{selection: &selection{entrant: e}, error: []float64{float64(i)}})
	}
	vivid := ""
	for _, s := range u.series(curves) {
		if !s.Faint {
			vivid += s.Name
		}
	}
	assert.Equal(t, "STABLEabcde", vivid)
	assert.InDelta(t, 0.02, bottom(curves), 1e-15)
	assert.Zero(t, bottom(curves[2:]), "nothing lies below")
}

// Where trials of both rivals diverge, survive compares with their last good iterates; at equal
// evaluations it takes the errors of earlier marks.
func TestSurvival(t *testing.T) {
	list, err := lineup("SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA", "")
	require.NoError(t, err)
	u := duel(1)
	u.entrants, u.trials, u.budgets = list, 1, u.budgets[1:]
	u.begin()
	for i, s := range u.selections {
		v := trial{Error: []float64{10, float64(1 + i)}, Seconds: []float64{1, 2}, Evals: []float64{5, 50}, Reached: 2}
		if i > 3 {
			v.End, v.Reached = "blew up", 1
		}
		if i == 1 {
			v.Evals[1] = 51
		}
		u.done[u.trialKey(s, 0, 0, 0)] = v
	}
	text := new(strings.Builder)
	require.NoError(t, u.survival(text))
	assert.Regexp(t, `\+Inf +\+Inf\n`, text.String())
	assert.Regexp(t, `p +5 +2\.5 +5 +0\.5\n`, text.String())
	assert.Regexp(t, `p +2.5, 1e\+05 +2.55, 1e\+05`, text.String())
}

// A short form chooses by as many runs as the long one.
func TestQuickChoosesByThree(t *testing.T) {
	f := flags{Common: kit.Common{Quick: true}, samples: 20000, trials: 10, tune: 3}
	require.NoError(t, f.check(preset{}, false))
	assert.Equal(t, []any{3, 4, uint64(6000)}, []any{f.tune, f.trials, f.samples})
	out := t.TempDir()
	status, _, stderr := bench(context.Background(), "untuned", "-quick", "-only", "ball", "-methods", "TTSA",
		"-samples", "1000", "-trials", "1", "-out", out)
	require.Zero(t, status, stderr)
	text, err := os.ReadFile(filepath.Join(out, "untuned-rivals.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "choice: up to 3 runs of each of 100 settings, in rounds")
}

// A race that is cut into parts has the numbers of the whole one, which name every column, and a
// figure where there is one: parts that were started once, of which the report does what they left,
// or again until they are done.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, rounds := range map[string]int{"limit": 1, "untuned": 5} { // two of the choice, in halves, and the trials
		race := func(out string, more ...string) (stdout string) {
			status, stdout, stderr := bench(context.Background(), append([]string{name, "-methods", "STABLE,TTSA", "-samples", "5000",
				"-trials", "2", "-tune", "2", "-only", "saddle,rank-one f_yy", "-out", out}, more...)...)
			require.Zero(t, status, stderr)
			return stdout
		}
		whole, parts := t.TempDir(), t.TempDir()
		assert.Contains(t, race(whole), "saddle")
		var stdout string
		for i := range 2 * rounds {
			stdout = race(parts, "-part", []string{"1/2", "2/2"}[i%2])
		}
		assert.Equal(t, name == "limit", strings.Contains(stdout, "or -merge 2 does the rest"))
		race(parts, "-merge", "2")
		want, got := column(t, filepath.Join(whole, name+".csv"), "error"), column(t, filepath.Join(parts, name+".csv"), "error")
		assert.Equal(t, want, got)
		assert.Len(t, want, 2*2*2*2, "problems, methods, outputs, budgets")
		_, err := os.Stat(filepath.Join(whole, name+".svg"))
		assert.Equal(t, name == "limit", err == nil)
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
