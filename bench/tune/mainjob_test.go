package tune

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
	"stable/bilevel"
	"stable/mat/kernel"
)

var list = []kit.Command{{Name: "main", Run: Main}, {Name: "tune", Run: Tune}}

func bench(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return kittest.Bench(ctx, list, args...)
}

func complaints(stderr string) string { return progress.ReplaceAllString(stderr, "") }

var progress = regexp.MustCompile(`(?m)^ *\d+ %.*\n?`)

func TestMainJob(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	dir := t.TempDir()
	stdout, stderr := ok(t, "-out", dir)
	assert.Empty(t, complaints(stderr))
	gap := map[string]float64{}
	for _, line := range strings.Split(stdout, "\n") {
		for _, name := range []string{"start", "best single weight", "SAA-Newton, x", "least F"} {
			if f := strings.Fields(line); strings.HasPrefix(strings.TrimSpace(line), name) {
				v, err := strconv.ParseFloat(f[len(f)-4], 64)
				require.NoError(t, err, line)
				gap[name] = v
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
			p, err1 := strconv.ParseFloat(a[i], 64)
			q, err2 := strconv.ParseFloat(b[i], 64)
			require.NoError(t, errors.Join(err1, err2))
			require.InDelta(t, p, q, 1, "bench/tuning.svg, number %d: copy out/tuning.svg there", i)
		}
	}
}

func tableOf(stdout string) string {
	stdout = regexp.MustCompile(`[\d.]+ evaluations`).ReplaceAllString(stdout, "") // a step that was given up is asked again
	return regexp.MustCompile(`(?m)^(time|wrote|goes on).*\n+`).ReplaceAllString(stdout, "")
}

func filesIn(t *testing.T, dir, pattern string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
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

func TestSeed(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for file, command := range map[string][]string{"tuning.csv": {"main"}, "model.json": {"tune", cancer}} {
		text := func(seed string) string {
			dir := t.TempDir()
			ok(t, append(command, "-seed", seed, "-steps", "300", "-out", dir)...)
			return readText(t, dir, file)
		}
		assert.Equal(t, text("5"), text("5"))
		assert.NotEqual(t, text("5"), text("6"))
	}
}

// What was interrupted, or killed in the middle of a write, ends with the table of a run left alone.
func TestMainJobGoesOn(t *testing.T) {
	args := []string{"-data", kittest.SmallData(t), "-steps", "1500"}
	want, _ := ok(t, append(args, "-out", t.TempDir())...)
	goesOn := func(dir string) {
		got, _ := ok(t, append(args, "-out", dir)...)
		assert.Regexp(t, `goes on at step [1-9]\d* of 1500`, got)
		assert.Equal(t, tableOf(want), tableOf(got))
		assert.Equal(t, []string{"tuning.csv", "tuning.svg"}, filesIn(t, dir, "*"))
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
	kept := filesIn(t, killed, "*.checkpoint")
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
		assert.Equal(t, []string{"model.json", "tune.csv", "tune.svg"}, filesIn(t, dir, "*"))
	}
	for _, args := range [][]string{{"tune", data, "-folds", "3"}, append(args, "-save", "0")} {
		dir := t.TempDir()
		interrupt(t, 100, dir, args...)
		assert.Empty(t, filesIn(t, dir, "*.checkpoint*"))
	}
}

func TestEngineCurve(t *testing.T) {
	r, err := newTuning(options{Seed: 1, Steps: 400, Lo: 0.1, Hi: 1}, kittest.SmallData(t))
	require.NoError(t, err)
	other, err := r.begin(r.engine.problem, bilevel.STABLE{MuG: r.engine.problem.StrongConvexity()})
	require.NoError(t, err)
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

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, r.reference(ctx, kit.NewProgress(kit.Terminal{})), context.Canceled)
}

func TestCheckpointIdentity(t *testing.T) {
	o := options{Seed: 1, Steps: 5, Lo: 0.1, Hi: 1, every: 1}
	assert.NotEqual(t, o.checkpoint("b", "1"), o.checkpoint("c", "1"))
	more, penal := o, o
	more.Steps, penal.Intercept = 6, penalised
	paths := map[string]bool{}
	for _, o := range []options{o, more, penal} {
		for _, data := range []string{kit.ShippedData, kittest.SmallData(t)} {
			r, err := newTuning(o, data)
			require.NoError(t, err)
			paths[r.engine.path] = true
		}
	}
	assert.Len(t, paths, 6)
}

func TestMainJobRefuses(t *testing.T) {
	dir := t.TempDir()
	args := []string{"-data", kittest.SmallData(t), "-steps", "1000"}
	assert.Contains(t, interrupt(t, 10, dir, args...), "nothing to compare: x is not fitted")
	path := filepath.Join(dir, filesIn(t, dir, "*.checkpoint")[0])
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
	assert.Contains(t, stdout, "goes on at step 10")

	require.NoError(t, os.WriteFile(path, []byte(good[:100]), 0o644))
	stdout, _ = ok(t, append(args, "-fresh")...)
	assert.NotContains(t, stdout, "goes on")
	assert.NoFileExists(t, path)
}
