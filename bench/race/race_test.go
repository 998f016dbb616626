package race

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/method"
	"stable/mat"
)

func bench(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return kit.Capture(ctx, []kit.Command{{Name: "compare", Run: Compare}, {Name: "figure2", Run: Figure2},
		{Name: "ijcnn1", Run: IJCNN1}, {Name: "survive", Run: Survive},
		{Name: "limit", Run: Limit}, {Name: "untuned", Run: Untuned}}, args...)
}

func race(t *testing.T, out string, args ...string) (stdout string) {
	t.Helper()
	status, stdout, stderr := bench(context.Background(), append(args, "-out", out)...)
	require.Zero(t, status, stderr)
	return stdout
}

func TestTakenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	whole, torn := t.TempDir(), t.TempDir()
	line := []string{"limit", "-methods", "STABLE,TTSA", "-samples", "5000", "-trials", "2", "-tune", "2",
		"-only", "saddle,rank-one f_yy"}
	race(t, whole, line...)
	want := column(t, filepath.Join(whole, "limit.csv"), "error")
	assert.Len(t, want, 2*2*2*2, "problems, methods, outputs, budgets")
	assert.FileExists(t, filepath.Join(whole, "limit.svg"))

	half := kit.Must(os.ReadFile(filepath.Join(whole, "limit.ledger")))
	half = half[:len(half)/2] // in the middle of a line
	require.NoError(t, os.WriteFile(filepath.Join(torn, "limit.ledger"), half, 0o644))
	race(t, torn, line...)
	kept := kit.Must(os.ReadFile(filepath.Join(torn, "limit.ledger")))
	assert.True(t, bytes.HasPrefix(kept, half[:bytes.LastIndexByte(half, '\n')+1]), "finished runs were done again")
	assert.Equal(t, want, column(t, filepath.Join(torn, "limit.csv"), "error"))
}

// Results of one data file are never reported for another, and a source counts once.
func TestRaceKnowsItsData(t *testing.T) {
	p := kit.Must(onTable("x", halves(kit.ShippedData, mostRows, 1), paperBox).make())
	u := tournament{problems: []*problem{p, p}}
	require.Len(t, u.identity().Data, 1)
	assert.Regexp(t, "^[0-9a-f]{64}$", u.identity().Data[0].SHA256)
}

func TestUsage(t *testing.T) {
	for want, args := range map[string][]string{
		`no method is called "TTTSA"; there are STABLE, STABLE-paper, STABLE-guarded, SAA-Newton, BSA`: {
			"compare", "-methods", "TTTSA"},
		"none of these methods takes such": {"compare", "-problem", "quadratic", "-methods", "SCSC"},
		"-samples is 10":                   {"limit", "-samples", "10"},
		"want 1000 to 20000":               {"untuned", "-samples", "100000"},
		"3 in 10 of -samples":              {"compare", "-quick", "-samples", "2000"},
		"-trials is 0":                     {"untuned", "-trials", "0"},
		"-tune is 0":                       {"survive", "-tune", "0"},
		"want 0 < lo < hi":                 {"compare", "-lo", "0"},
		`-form "cube"`:                     {"compare", "-form", "cube"},
		`-problem "tsp"`:                   {"compare", "-problem", "tsp"},
		"-lo and -hi go with -problem hyp": {"compare", "-problem", "quadratic", "-methods", "SCSC", "-form", "exp"},
		"australian_scale.gz exists":       {"figure2", "-data", t.TempDir()},
		"-data is missing":                 {"ijcnn1"},
		`no problem has such a`:            {"limit", "-only", "saddle,nobody"},
		`-only "": no problem`:             {"limit", "-only", "saddle,"},
		"no problem that -quick keeps has": {"untuned", "-quick", "-only", "simplex"},
		"Methods: STABLE, STABLE-paper":    {"compare", "-h"},
	} {
		status, stdout, stderr := bench(context.Background(), args...)
		assert.Contains(t, stdout+stderr, want)
		assert.Equal(t, strings.Contains(strings.Join(args, " "), "-h"), status == 0, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := maker{"late", func() (*problem, error) {
		cancel()
		<-t.Context().Done() // the end of this test
		return nil, nil
	}}
	_, err := new(flags).make(ctx, []maker{late}, kit.Terminal{Stderr: io.Discard})
	assert.ErrorIs(t, err, context.Canceled, "in a minimum that takes long")
}

func TestLineup(t *testing.T) {
	list := kit.Must(lineup("all"))
	for _, e := range list {
		for _, s := range e.grid() {
			assert.NotPanics(t, func() { e.make(&problem{muG: 1, lG: 2, cGxy: 3}, s) })
			text, _ := e.describe(&problem{}, s)
			assert.Regexp(t, `defaults|, β = [^,]*[^, ](, .+)?$`, text)
		}
		alike := strings.HasPrefix(e.Name, "SC") // both variants
		assert.Len(t, e.grid(), map[[2]bool]int{{true, false}: 100, {true, true}: 50, {}: 1}[[2]bool{e.tuned(), alike}], e.Name)
		assert.Positive(t, kit.Style(e.Name), "%s has no look of its own", e.Name)
	}
	assert.Equal(t, []bool{false, true, true}, []bool{list[0].tuned(), list[1].tuned(), list[2].tuned()})
	assert.True(t, list[1].make(&problem{}, list[1].grid()[0]).(bilevel.STABLE).Plain)
	for _, e := range method.Registry() {
		assert.Equal(t, e.Base == "", slices.Contains(names(list), e.Name), e.Name)
		_, err := lineup(e.Name)
		assert.NoError(t, err)
	}
	list = kit.Must(lineup("soba, STABLE-Paper,TTSA"))
	assert.Equal(t, []string{"SOBA", "STABLE-paper", "TTSA"}, names(list))
	list = kit.Must(lineup("untuned"))
	assert.Contains(t, names(list), "SAA-Newton")
	assert.NotContains(t, names(list), "HOAG")
}

func TestCurves(t *testing.T) {
	var u tournament
	of := func(name string, tuned bool, errs ...float64) curve {
		return curve{selection: &selection{entrant: named(name, tuned)}, error: errs,
			lo: []float64{-1, 0.05}, hi: []float64{5, 0.15}}
	}
	one := []curve{of("a", false, 2, 0.1)}
	s := u.series(one)[0]
	assert.InDeltaSlice(t, []float64{2 / 2.5, 0.1 / 1.5}, s.Lo, 1e-15)
	assert.Equal(t, one[0].hi, s.Hi)
	u.median = true
	assert.Equal(t, one[0].lo, u.series(one)[0].Lo)

	curves, vivid := []curve{of("STABLE", false, 100)}, ""
	for i := range 8 {
		curves = append(curves, of(string(rune('a'+i)), i > 1, float64(i)))
	}
	for _, s := range u.series(curves) {
		if !s.Faint {
			vivid += s.Name
		}
	}
	assert.Equal(t, "STABLEabcde", vivid)
	assert.InDelta(t, 0.02, bottom(curves), 1e-15)
	assert.Zero(t, bottom(curves[2:]), "nothing lies below")
}

func TestSurvival(t *testing.T) {
	list := kit.Must(lineup("SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA"))
	u := duel(1)
	u.entrants, u.trials, u.budgets = list, 3, u.budgets[1:]
	u.begin()
	for i, s := range u.selections {
		v := trial{Error: []float64{10, float64(1 + i)}, Evals: []float64{5, []float64{50, 51, 50, 50, 50, 50}[i]}, Reached: 2}
		if i > 3 {
			v.End, v.Reached = "blew up", 1
		}
		for run := range u.trials { // the machine was busy in the last
			v.Seconds = []float64{1, []float64{2, 2, 900}[run]}
			u.done[u.trialKey(s, 0, 0, run)] = v
		}
	}
	text := new(strings.Builder)
	require.NoError(t, u.survival(text))
	assert.Regexp(t, `\+Inf +\+Inf\n`, text.String())
	assert.Regexp(t, `p +5 +2\.5 +5 +0\.5\n`, text.String())
	assert.Regexp(t, `p +2.5, 1e\+05 +2.55, 1e\+05`, text.String())
}

func TestQuickChoosesByThree(t *testing.T) {
	for samples, budgets := range map[uint64][]uint64{6000: nil, 5000: {1000, 5000}} {
		f := flags{Common: kit.Common{Quick: true}, samples: 20000, trials: 10, tune: 3}
		require.NoError(t, f.check(preset{tournament: tournament{budgets: budgets}}, false))
		assert.Equal(t, []any{3, 4, samples}, []any{f.tune, f.trials, f.samples})
	}
}

func TestNoLimitNoFigure(t *testing.T) {
	out := t.TempDir()
	assert.Contains(t, race(t, out, "limit", "-methods", "STABLE", "-only", "tail 1.5", "-samples", "1000", "-trials", "2"),
		"tail 1.5 (chosen): no limit")
	assert.FileExists(t, filepath.Join(out, "limit.csv"))
	assert.NoFileExists(t, filepath.Join(out, "limit.svg"))
}

// At each known solution, the step against ∇F that is projected leads nowhere, and F is F*.
func TestProblemsAreSolved(t *testing.T) {
	makers := kit.Must(everyKind(&flags{Common: kit.Common{Seed: 1}}))
	assert.GreaterOrEqual(t, len(makers), 40)
	names := map[string]bool{}
	for i, m := range makers {
		assert.False(t, names[m.name], "two problems are called %s", m.name)
		names[m.name] = true
		if strings.HasPrefix(m.name, "breast_cancer") || strings.Contains(m.name, "tuning") {
			continue // their minima take long, and are those of another test
		}
		if testing.Short() && i%6 != 0 {
			continue
		}
		p := kit.Must(m.make())
		x0, y0 := p.start(rand.New(rand.NewPCG(1, 2)))
		moved := make([]float64, len(x0))
		p.set.Project(moved, x0)
		assert.InDeltaSlice(t, x0, moved, 1e-12)
		if p.star == nil {
			assert.Contains(t, m.name, "quadratic")
			continue
		}
		c, grad := p.fresh(), make([]float64, len(x0))
		kit.Must(c.ObjectiveFrom(grad, y0, x0))
		step := (mat.Norm(p.star) + 1) / mat.Norm(grad)
		f := kit.Must(c.ObjectiveFrom(grad, y0, p.star))
		assert.InDelta(t, p.best, f, 1e-12*(1+math.Abs(p.best)), m.name)
		copy(moved, p.star)
		mat.Axpy(moved, -step, grad)
		p.set.Project(moved, moved)
		assert.InDeltaSlice(t, p.star, moved, 1e-7*(1+mat.Norm(p.star)), m.name)
		if p.limit != nil {
			assert.Less(t, p.limit.Skew, 1e-6, m.name)
			assert.Positive(t, p.limit.At(1, 1), m.name)
		}
	}
}

func TestByEvaluations(t *testing.T) {
	race, mine, other := &tournament{budgets: []uint64{100, 1000}}, &selection{entrant: &entrant{}}, &selection{entrant: &entrant{}}
	at := func(s *selection, budget int, evals, mean float64) row {
		return row{s, budget, 0, result{evals: evals, Estimate: kit.Estimate{Mean: mean}}}
	}
	rows := []row{at(mine, 0, 8, 1), at(mine, 1, 8, 0.01)}
	for evals, want := range map[float64]float64{8: 1, 8 * math.Sqrt(10): 0.1, 80: 0.01} {
		assert.InEpsilon(t, want, race.by(rows, mine.entrant, at(other, 0, evals, 0)), 1e-9)
	}
	assert.True(t, math.IsNaN(race.by(rows, mine.entrant, at(other, 0, 81, 0))))
}

// The limit depends neither on units, nor on where the solution is, nor on bounds far away.
func TestLimitsOfRecipes(t *testing.T) {
	base := recipe{name: "base", o: noisy(1)}
	want := kit.Must(base.problem(1))
	for _, r := range []recipe{
		{o: base.o, x: 1e4, y: 1e-3}, {o: base.o, mixed: true}, {o: base.o, far: 100, shiftY: 1e3},
		{o: base.o, place: inside(300)},
	} {
		got := kit.Must(r.problem(1))
		assert.InEpsilon(t, want.limit.Xi, got.limit.Xi, 1e-6)
		assert.InEpsilon(t, want.limit.Phi, got.limit.Phi, 1e-6)
	}
	held := kit.Must(recipe{o: base.o, place: corner(3)}.problem(1))
	assert.Equal(t, 7, held.limit.Free)
	held = kit.Must(recipe{o: base.o, place: corner(math.MaxInt)}.problem(1))
	assert.Nil(t, held.limit)
}

func column(t *testing.T, file, name string) map[string]string {
	t.Helper()
	f := kit.Must(os.Open(file))
	defer f.Close()
	lines := kit.Must(csv.NewReader(f).ReadAll())
	assert.Equal(t, []string{"problem", "method", "tuned", "output", "samples", "error", "limit"}, lines[0][:7])
	at, values := slices.Index(lines[0], name), map[string]string{}
	require.GreaterOrEqual(t, at, 0)
	for _, line := range lines[1:] {
		values[strings.Join([]string{line[0], line[1], line[3], line[4]}, ",")] = line[at]
	}
	return values
}

type guest struct{ method.STFBO }

func (guest) Name() string { return "Guest" }

func init() {
	kit.Must(0, method.Register(method.Entry{
		Name: "Guest", Base: method.STFBO{}.Name(), Untuned: true, // a variant starts by name only
		New: func(method.Tuning) bilevel.Method { return guest{} },
	}))
}

// The rivals that ship are those of all of today's problems: F* agrees. A registered guest races, too.
func TestShippedRivals(t *testing.T) {
	out, line := t.TempDir(), []string{"untuned", "-methods", "Guest,S-TFBO", "-samples", "1000", "-trials", "1",
		"-against", "../../testdata/rivals.csv,../../testdata/rivals-large.csv"}
	if testing.Short() {
		line = append(line, "-only", "simplex")
	}
	race(t, out, line...)
	errors := column(t, filepath.Join(out, "untuned-against.csv"), "error")
	ratios := column(t, filepath.Join(out, "untuned-against.csv"), "over best rival")
	assert.Len(t, errors, map[bool]int{false: 50, true: 2}[testing.Short()]*2*2, "problems, methods, outputs")
	for key, v := range errors {
		assert.Equal(t, v, errors[strings.Replace(key, "S-TFBO", "Guest", 1)], key)
		assert.NotEmpty(t, ratios[key])
	}
}

// Against the rivals of an earlier run, methods have the ratios of that run, and no rival runs again.
func TestAgainst(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	short := []string{"untuned", "-samples", "1000", "-trials", "2", "-tune", "1", "-only"}
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	race(t, first, append(short, "saddle,rank-one f_yy", "-methods", "SAA-Newton,SOBA,TTSA")...)
	file := filepath.Join(first, "untuned-rivals.csv")
	want := column(t, filepath.Join(first, "untuned.csv"), "over best rival")
	calls := column(t, filepath.Join(first, "untuned.csv"), "evaluations")
	assert.Equal(t, "2000", calls["saddle,SOBA,last,1000"], "four for each ξ with its φ")

	stdout := race(t, second, append(short, "saddle", "-against", file, "-methods", "SAA-Newton,SOBA")...)
	assert.NotContains(t, stdout, "rivals.csv")
	assert.Contains(t, stdout, "SOBA: last, mean")
	got := column(t, filepath.Join(second, "untuned-against.csv"), "over best rival")
	assert.Len(t, got, 2*2)
	for key, v := range got {
		ratio, before := kit.Must(strconv.ParseFloat(v, 64)), kit.Must(strconv.ParseFloat(want[key], 64))
		assert.InEpsilon(t, before, ratio, 1e-5, key) // the file has six digits
	}

	stdout = race(t, third, append(short, "saddle", "-methods", "SAA-Newton,STABLE")...)
	assert.Regexp(t, `\n\nNo rival .*: SAA-Newton stands for it, .*\n\nSTABLE: last, mean, rival`, stdout)
	stdout = race(t, third, append(short, "saddle", "-against", file)...)
	for _, e := range kit.Must(lineup("untuned")) {
		assert.Contains(t, stdout, e.Name+": last, mean")
	}
	assert.Regexp(t, `\n\nwrote .*\n(At 1000 samples the better output of .*\n)+$`, stdout)
}

func TestAgainstChecks(t *testing.T) {
	out := t.TempDir()
	short := []string{"untuned", "-only", "in a corner", "-samples", "1000", "-trials", "1", "-tune", "1", "-out", out}
	race(t, out, append(short, "-methods", "TTSA")...)
	good := filepath.Join(out, "untuned-rivals.csv")
	text := kit.Must(os.ReadFile(good))
	lines := strings.SplitAfter(string(text), "\n")
	require.Len(t, lines, 9, "six lines on where it comes from, the columns, a rival")
	assert.Contains(t, lines[3], "choice: up to 1 runs of each of 100 settings, in rounds")
	best := strings.TrimSpace(lines[7][strings.LastIndex(lines[7], ",")+1:])
	output := strings.Split(lines[7], ",")[2] + ",TTSA"

	for want, change := range map[string][2]string{
		`:1: the rivals are of another race, "race: limit`:                     {"race: untuned", "race: limit"},
		`:2: the rivals are of another race, "seed: 2"; this one is "seed: 1"`: {"seed: 1", "seed: 2"},
		`:7: the columns are`:                                  {"problem,samples", "samples,problem"},
		`:8: output is "end"`:                                  {output, "end,TTSA"},
		`:8: samples is "1k"`:                                  {"1000,", "1k,"},
		`:8: a rival without a name`:                           {",TTSA", ","},
		`:8: F* of "in a corner" is `:                          {best, "7"},
		`:9: "in a corner" at 1000 samples has a second rival`: {lines[7], lines[7] + lines[7]},
		`no rivals on "in a corner" at 1000 samples`:           {"in a corner,1000", "in a corner,2000"},
		`race them there first`:                                {"in a corner,1000", "In a corner,1000"},
		`:8: error is "-1`:                                     {`",`, `",-1`},
		`:8: trials is "0"`:                                    {",1," + best, ",0," + best},
		`:8: interval is "+Infx"`:                              {",1," + best, "x,1," + best},
		`wrong number of fields`:                               {",1," + best, "," + best},
		`parse error on line 8, column`:                        {`"α`, `α"`},
	} {
		bad := filepath.Join(out, "bad.csv")
		changed := strings.Replace(string(text), change[0], change[1], 1)
		require.NotEqual(t, string(text), changed, want)
		require.NoError(t, os.WriteFile(bad, []byte(changed), 0o644))
		status, _, stderr := bench(context.Background(), append(short, "-against", bad)...)
		assert.NotZero(t, status, want)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, bad)
	}
	status, _, stderr := bench(context.Background(), append(short, "-against", "none.csv")...)
	assert.Equal(t, []any{2, true}, []any{status, strings.Contains(stderr, "none.csv")})
}
