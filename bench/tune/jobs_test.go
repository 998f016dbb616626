package tune

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/mat/kernel"
)

var list = []kit.Command{{Name: "main", Run: Main}, {Name: "tune", Run: Tune}}

func bench(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return kit.Capture(ctx, list, args...)
}

func refuses(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	got, stdout, stderr := bench(context.Background(), args...)
	assert.Equal(t, status, got, "%s: %s", want, stderr)
	assert.Contains(t, stdout+stderr, want)
}

func long(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
}

func TestMainJob(t *testing.T) {
	long(t)
	dir := t.TempDir()
	stdout, stderr := ok(t, "-out", dir)
	assert.Empty(t, stderr)
	gap := map[string]float64{}
	for _, line := range strings.Split(stdout, "\n") {
		for _, name := range []string{"start", "best single weight", "SAA-Newton, x", "least F"} {
			if f := strings.Fields(line); strings.HasPrefix(strings.TrimSpace(line), name) {
				gap[name] = kit.Must(strconv.ParseFloat(f[len(f)-4], 64))
			}
		}
	}
	require.Len(t, gap, 4, stdout)
	assert.Zero(t, gap["least F"])
	assert.Less(t, gap["SAA-Newton, x"], gap["best single weight"])
	assert.Less(t, gap["SAA-Newton, x"], gap["start"]/5)
	for _, want := range []string{"569 rows, classes",
		"features 30, scaled to mean 0 and deviation 1, as measured on the training rows", "intercept: free", "evaluations for each",
		"stopped      arrived", "a step"} {
		assert.Contains(t, stdout, want)
	}

	svg := readText(t, dir, "tuning.svg")
	assert.Contains(t, svg, "best single weight")
	requireReadmeFigure(t, svg)
	assert.Greater(t, strings.Count(readText(t, dir, "tuning.csv"), "\n"), 50)
}

// requireReadmeFigure wants README's figure, that of the portable tier on amd64. Elsewhere a rounding
// may decide when a run leaves a plateau, and the texts alone have to agree.
func requireReadmeFigure(t *testing.T, got string) {
	t.Helper()
	want := readText(t, "..", "tuning.svg")
	text, number := regexp.MustCompile(`>[^<>]*[a-z]{2}[^<>]*<`), regexp.MustCompile(`-?\d*\.?\d+`)
	require.Equal(t, text.FindAllString(want, -1), text.FindAllString(got, -1))
	if runtime.GOARCH == "amd64" && kernel.Tier() == "portable" {
		a, b := number.FindAllString(want, -1), number.FindAllString(got, -1)
		require.Len(t, b, len(a), "bench/tuning.svg is another figure: copy out/tuning.svg there")
		for i := range a {
			p := kit.Must(strconv.ParseFloat(a[i], 64))
			q := kit.Must(strconv.ParseFloat(b[i], 64))
			require.InDelta(t, p, q, 1, "bench/tuning.svg, number %d: copy out/tuning.svg there", i)
		}
	}
}

func tableOf(stdout string) string {
	stdout = regexp.MustCompile(`[\d.]+ evaluations`).ReplaceAllString(stdout, "") // a step that was given up is asked again
	return regexp.MustCompile(`(?m)^(time|wrote|goes on).*\n+`).ReplaceAllString(stdout, "")
}

func filesIn(dir, pattern string) []string {
	return kit.Map(kit.Must(filepath.Glob(filepath.Join(dir, pattern))), filepath.Base)
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	return string(kit.Must(os.ReadFile(filepath.Join(path...))))
}

// countdown is a context that ends after it has been asked some times, and looks at what is there.
type countdown struct {
	context.Context
	left int
	look func()
}

func (c *countdown) Err() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	if c.left == -1 && c.look != nil {
		c.look()
	}
	return context.Canceled
}

func interrupt(t *testing.T, asked int, dir string, args ...string) (stdout string) {
	t.Helper()
	status, stdout, stderr := bench(&countdown{context.Background(), asked, nil}, append(args, "-out", dir)...)
	require.Equal(t, 130, status, stdout+stderr)
	require.Contains(t, stderr, "interrupted")
	return stdout
}

// What was interrupted, or killed in the middle of a write, ends with the table of a run left alone.
func TestMainJobGoesOn(t *testing.T) {
	args := []string{"-data", writeText(t, "small.csv", table(",")), "-steps", "1500"}
	want, _ := ok(t, append(args, "-out", t.TempDir())...)
	goesOn := func(dir string) {
		got, _ := ok(t, append(args, "-out", dir)...)
		assert.Regexp(t, `goes on at step [1-9]\d* of 1500`, got)
		assert.Equal(t, tableOf(want), tableOf(got))
		assert.Equal(t, []string{"tuning.csv", "tuning.svg"}, filesIn(dir, "*"))
	}
	for _, asked := range []int{0, 1, 10, 160, 200} {
		dir := t.TempDir()
		assert.Contains(t, interrupt(t, asked, dir, args...), "canceled")
		interrupt(t, 3, dir, args...)
		goesOn(dir)
	}
	alive, killed := t.TempDir(), t.TempDir()
	copied := func() { require.NoError(t, os.CopyFS(killed, os.DirFS(alive))) }
	bench(&countdown{context.Background(), 30, copied}, append(args, "-out", alive, "-save", "1ns")...)
	kept := filesIn(killed, "*.checkpoint")
	require.Len(t, kept, 1)
	require.NoError(t, os.WriteFile(filepath.Join(killed, "."+kept[0]+".1.tmp"), []byte("torn"), 0o644))
	goesOn(killed)
}

func TestTuneGoesOn(t *testing.T) {
	data, whole := worth(t, 120, 5, 1), t.TempDir()
	args := []string{"tune", data, "-solver", "saa", "-steps", "900"}
	ok(t, append(args, "-out", whole)...)
	for _, steps := range []int{60, 90} { // the search of a single weight asks 50 times
		dir := t.TempDir()
		interrupt(t, steps, dir, args...)
		stdout, _ := ok(t, append(args, "-out", dir)...)
		assert.Contains(t, stdout, "goes on at step")
		assert.Equal(t, readText(t, whole, "model.json"), readText(t, dir, "model.json"))
		assert.Equal(t, []string{"model.json", "tune.csv", "tune.svg"}, filesIn(dir, "*"))
	}
	for _, args := range [][]string{{"tune", data, "-folds", "3"}, append(args, "-save", "0")} {
		dir := t.TempDir()
		interrupt(t, 100, dir, args...)
		assert.Empty(t, filesIn(dir, "*.checkpoint*"))
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile(".old", nil, 0o644))
	ok(t, append(args, "-save", "0")...)
	assert.FileExists(t, ".old")
}

func TestEngineCurve(t *testing.T) {
	r := kit.Must(newTuning(options{Seed: 1, Steps: 400, Lo: 0.1, Hi: 1}, writeText(t, "small.csv", table(","))))
	other := kit.Must(r.begin(r.engine.problem, bilevel.STABLE{MuG: r.engine.problem.StrongConvexity()}))
	for reason, e := range map[bilevel.Reason]*engine{bilevel.Arrived: r.engine, bilevel.StepLimit: other} {
		require.NoError(t, e.run(context.Background(), kit.NewProgress(kit.Terminal{}), kit.Terminal{}))
		require.Equal(t, reason, e.result.Reason)
		assert.Zero(t, e.samples[0])
		assert.Len(t, e.f, len(e.samples))
		assert.EqualValues(t, e.result.Counts.Xi+e.result.Counts.Phi, e.samples[len(e.samples)-1])
	}
	points := 1
	for k := 0.0; k < 400; points++ {
		k = max(k+1, math.Floor(k*math.Pow(400, 1./120)))
	}
	assert.Len(t, other.f, points)
	assert.IsIncreasing(t, other.samples)

	assert.ErrorIs(t, r.reference(&countdown{Context: context.TODO()}, kit.NewProgress(kit.Terminal{})), context.Canceled)
}

func TestCheckpointIdentity(t *testing.T) {
	o := options{Seed: 1, Steps: 5, Lo: 0.1, Hi: 1, every: 1}
	assert.NotEqual(t, o.checkpoint("b", "1"), o.checkpoint("c", "1"))
	more, penal, other := o, o, o
	more.Steps, penal.Intercept, other.Seed = 6, penalised, 2
	paths, splits := map[string]bool{}, map[float64]bool{}
	for _, o := range []options{o, more, penal, other} {
		for _, data := range []string{kit.ShippedData, writeText(t, "small.csv", table(","))} {
			run := kit.Must(newTuning(o, data))
			paths[run.engine.path], splits[run.train.Val[0]] = true, true
		}
	}
	assert.Len(t, paths, 8)
	assert.Len(t, splits, 4, "two seeds, two files")
}

func TestMainJobRefuses(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-data", writeText(t, "small.csv", table(",")), "-steps", "1000"}
	assert.Contains(t, interrupt(t, 10, dir, args...), "nothing to compare: x is not fitted")
	path := filepath.Join(dir, filesIn(dir, "*.checkpoint")[0])
	good := readText(t, path)
	args = append(args, "-out", dir)
	for _, at := range []int{0, 9, 100, len(good) / 2, len(good) - 1} {
		bad := []byte(good)
		bad[at] ^= 1
		for _, content := range []string{string(bad), good[:at]} {
			require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
			status, _, stderr := bench(context.Background(), args...)
			assert.Equal(t, 1, status)
			assert.Contains(t, stderr, ".checkpoint")
			assert.Contains(t, stderr, "-fresh to start over")
		}
	}
	require.NoError(t, os.WriteFile(path+".old", []byte(good), 0o644))
	stdout, stderr := ok(t, args...)
	assert.Contains(t, stderr, "trying the one before")
	assert.Contains(t, stdout, "goes on at step")

	require.NoError(t, os.WriteFile(path, []byte(good[:100]), 0o644))
	stdout, _ = ok(t, append(args, "-fresh")...)
	assert.NotContains(t, stdout, "goes on")
	assert.NoFileExists(t, path)
}

const cancer = "../../testdata/breast_cancer.csv"

func writeText(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func runTune(t *testing.T, args ...string) (m *model, path, stdout string) {
	return tuneWith(t, append([]string{"-steps", "500"}, args...)...)
}

func tuneWith(t *testing.T, args ...string) (m *model, path, stdout string) {
	dir := t.TempDir()
	stdout, stderr := ok(t, append([]string{"tune", "-out", dir}, args...)...)
	assert.Empty(t, stderr)
	path = filepath.Join(dir, "model.json")
	return kit.Must(readModel(path)), path, stdout
}

func ok(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	status, stdout, stderr := bench(context.Background(), args...)
	require.Zero(t, status, stderr)
	return stdout, stderr
}

func chosen(m *model) *result {
	return m.Results[slices.IndexFunc(m.Results, func(r *result) bool { return r.Name == m.Choice.Name })]
}

func linear(n int, seed uint64) string {
	rng, text := rand.New(rand.NewPCG(seed, 1)), "a,b,c,price\n"
	for range n {
		a, b, c := rng.NormFloat64(), 1e3+10*rng.NormFloat64(), rng.NormFloat64()/100
		text += fmt.Sprintf("%v,%v,%v,%v\n", a, b, c, 500+20*a+b-1e3+0.1*rng.NormFloat64())
	}
	return text
}

func TestTune(t *testing.T) {
	long(t)
	m, path, stdout := tuneWith(t, cancer, "-folds", "5")
	for _, want := range []string{
		"569 rows", "427 to train and choose on, in 5 folds × 1; 142 for the test", `"benign" and "malignant"`, "solver   exact", "intercept free",
		"→ average", "ladder, rung 2", " that of one weight for all, which may be chance, on 427 rows", " below that of one weight for all on the 142 test rows", "trained on the 427 rows",
	} {
		assert.Contains(t, stdout, want)
	}
	one := m.Results[1]
	assert.Less(t, one.HeldOut, m.Results[0].HeldOut/5)
	assert.Equal(t, []string{"benign", "malignant"}, m.Classes)
	assert.Equal(t, "mean radius", m.Features[0].Name)
	assert.Equal(t, rowCounts{Design: 427, Folds: 5, Test: 142}, m.Rows)
	assert.Greater(t, one.Share, 0.5) // 30 weights overfit 427 rows
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(readText(t, cancer))))
	assert.Equal(t, []dataFile{{cancer, sum, 569}}, m.Files)

	dir := filepath.Dir(path)
	assert.Greater(t, len(cells(readText(t, dir, "tune.csv"))), 30)
	assert.Contains(t, readText(t, dir, "tune.svg"), "handed out")
	assert.Contains(t, readText(t, dir, "tune.svg"), "worst concave points")
}

func TestTuneSplit(t *testing.T) {
	train, val, test := worth(t, 90, 1, 1), worth(t, 60, 1, 2), worth(t, 50, 1, 3)
	m, _, stdout := runTune(t, train, val, test)
	assert.Equal(t, rowCounts{Design: 150, Folds: 1, Train: 90, Validation: 31, Unseen: 29, Test: 50}, m.Rows)
	assert.Equal(t, 29, m.Choice.Rows)
	assert.Contains(t, stdout, "29 kept back to choose on")
	assert.Equal(t, 1e-5, m.Options.Lo)
	m, _, _ = tuneWith(t, worth(t, 1600, 1, 1), "-folds", "1")
	assert.Equal(t, 0.01/1200, m.Options.Lo)
	other, _, _ := tuneWith(t, train, test, "-folds", "1", "-seed", "2")
	m, _, _ = tuneWith(t, train, test, "-folds", "1")
	assert.NotEqual(t, m.Features, other.Features)
	assert.Equal(t, rowCounts{Design: 90, Folds: 1, Train: 60, Validation: 30, Test: 50}, m.Rows)
	assert.Equal(t, 30, m.Choice.Rows)
	m, _, stdout = runTune(t, train, worth(t, 8, 1, 2), test)
	assert.Equal(t, 0, m.Choice.Rows)
	assert.Equal(t, rungName(1), m.Choice.Name)
	assert.Contains(t, stdout, "there are no held-out rows")
}

func TestTuneInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.json")
	interrupt(t, 70, dir, "tune", cancer, "-steps", "20000") // 51 looks are for single weights
	m := kit.Must(readModel(path))
	assert.Equal(t, "canceled", m.Results[2].Stopped)
	assert.Positive(t, m.Results[2].Steps)
	assert.True(t, m.Choice.Cut)

	before := strings.Replace(readText(t, path), `"cut": true`, `"cut": false`, 1)
	require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
	interrupt(t, 70, dir, "tune", cancer, "-steps", "20000", "-fresh")
	assert.Equal(t, before, readText(t, path), "a finished model stays")
	assert.Len(t, filesIn(dir, "cut-*"), 3)
	interrupt(t, 0, dir, "tune", cancer, "-fresh")
	assert.Equal(t, before, readText(t, path))
}
