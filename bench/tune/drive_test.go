package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
)

func tableOf(stdout string) string {
	stdout = regexp.MustCompile(`[\d.]+ evaluations`).ReplaceAllString(stdout, "") // a step that was given up is asked again
	return regexp.MustCompile(`(?m)^(time|wrote|goes on).*\n+`).ReplaceAllString(stdout, "")
}

func requireFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.ElementsMatch(t, want, names)
}

func kept(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// countdown is a context that ends after it has been asked some times: once a step, or more often
// in a long one.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func interrupt(t *testing.T, steps int, dir string, args ...string) (stdout string) {
	t.Helper()
	status, stdout, stderr := bench(&countdown{context.Background(), steps}, append(args, "-out", dir)...)
	require.Equal(t, 130, status, stdout+stderr)
	require.Contains(t, stderr, "interrupted")
	kept(t, dir)
	return stdout
}

func TestSeed(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for file, command := range map[string]string{"tuning.csv": "main", "model.json": "tune"} {
		text := func(seed string) string {
			dir := t.TempDir()
			args := []string{command, "-seed", seed, "-steps", "300", "-out", dir}
			if command == "tune" {
				args = append(args, cancer)
			}
			ok(t, args...)
			b, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			return string(b)
		}
		assert.Equal(t, text("5"), text("5"))
		assert.NotEqual(t, text("5"), text("6"))
	}
}

func TestMainJobGoesOn(t *testing.T) {
	whole, data := t.TempDir(), kittest.SmallData(t)
	want, _ := ok(t, "-data", data, "-out", whole, "-steps", "1500")
	for _, asked := range []int{0, 1, 10, 160, 200} {
		parts := t.TempDir()
		assert.Contains(t, interrupt(t, asked, parts, "-data", data, "-steps", "1500"), "canceled")
		interrupt(t, 3, parts, "-data", data, "-steps", "1500")
		got, _ := ok(t, "-data", data, "-out", parts, "-steps", "1500")
		assert.Regexp(t, `goes on at step [1-9]\d* of 1500`, got)
		assert.Equal(t, tableOf(want), tableOf(got))
		requireFiles(t, parts, "tuning.svg", "tuning.csv")
	}
}

func TestTuneGoesOn(t *testing.T) {
	data, whole := worth(t, 120, 5, 1), t.TempDir()
	args := []string{"tune", data, "-solver", "saa", "-steps", "900"}
	_, _ = ok(t, append(args, "-out", whole)...)
	want, err := os.ReadFile(filepath.Join(whole, "model.json"))
	require.NoError(t, err)
	for _, steps := range []int{60, 90} { // the search of a single weight asks 50 times
		dir := t.TempDir()
		interrupt(t, steps, dir, args...)
		stdout, _ := ok(t, append(args, "-out", dir)...)
		assert.Contains(t, stdout, "goes on at step")
		got, err := os.ReadFile(filepath.Join(dir, "model.json"))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
		requireFiles(t, dir, "model.json", "tune.svg", "tune.csv")
	}
	for _, args := range [][]string{{"tune", data, "-folds", "3"}, append(args, "-save", "0")} {
		dir := t.TempDir()
		status, _, _ := bench(&countdown{context.Background(), 100}, append(args, "-out", dir)...)
		require.Equal(t, 130, status)
		files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint*"))
		require.NoError(t, err)
		assert.Empty(t, files)
	}
}

func TestEngineCurve(t *testing.T) {
	r, err := newTuning(job{data: kittest.SmallData(t), seed: 1, steps: 400, lo: 0.1, hi: 1})
	require.NoError(t, err)
	require.NoError(t, r.engine.run(context.Background(), kit.NewProgress(kit.Terminal{}), kit.Terminal{}))
	e, err := newEngine(r.engine.problem, adaptive(r.engine.problem), 400, 1) // which does not arrive
	require.NoError(t, err)
	require.NoError(t, e.run(context.Background(), kit.NewProgress(kit.Terminal{}), kit.Terminal{}))
	require.Len(t, e.samples, len(e.f))
	want := []int{0}
	for i := 1; e.mark(i) < 400; i++ {
		want = append(want, e.mark(i))
	}
	assert.Len(t, e.f, len(want)+1)
	for i, samples := range e.samples[1:] {
		assert.Greater(t, samples, e.samples[i])
	}
}

func TestCheckpointIdentity(t *testing.T) {
	id := kit.Identity{Options: "a", Data: []kit.Source{{Name: "d", SHA256: "1"}}, Build: "b"}
	before := checkpoint("out", id)
	id.Build = "c"
	assert.NotEqual(t, before, checkpoint("out", id))
	paths := map[string]bool{}
	for _, j := range []job{
		{data: kit.ShippedData, seed: 1, steps: 5, lo: 0.1, hi: 1, every: 1},
		{data: kit.ShippedData, seed: 1, steps: 6, lo: 0.1, hi: 1, every: 1},
		{data: kit.ShippedData, seed: 1, steps: 5, lo: 0.1, hi: 1, every: 1, intercept: "free"},
		{data: kittest.SmallData(t), seed: 1, steps: 5, lo: 0.1, hi: 1, every: 1},
	} {
		r, err := newTuning(j)
		require.NoError(t, err)
		paths[r.engine.path] = true
	}
	assert.Len(t, paths, 4)
}

func TestMainJobRefuses(t *testing.T) {
	dir, small := t.TempDir(), kittest.SmallData(t)
	args := []string{"-data", small, "-steps", "1000"}
	interrupt(t, 10, dir, args...)
	path := kept(t, dir)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	args = append(args, "-out", dir)
	for _, at := range []int{0, 9, 100, len(good) / 2, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		for _, content := range [][]byte{bad, good[:at]} {
			require.NoError(t, os.WriteFile(path, content, 0o644))
			status, _, stderr := bench(context.Background(), args...)
			assert.Equal(t, 1, status)
			assert.Contains(t, stderr, ".checkpoint")
			assert.Contains(t, stderr, "-fresh to start over")
		}
	}
	require.NoError(t, os.WriteFile(path+".old", good, 0o644))
	stdout, stderr := ok(t, args...)
	assert.Contains(t, stderr, "trying the one before")
	assert.Contains(t, stdout, "goes on at step 10")

	require.NoError(t, os.WriteFile(path, good[:100], 0o644))
	stdout, stderr = ok(t, append(args, "-fresh")...)
	assert.NotContains(t, stdout, "goes on")
	assert.NoFileExists(t, path)
}

// A process killed at random moments ends with the table of one left alone. BENCH_KILLS: how often.
func TestKilledMainJob(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("BENCH_KILLS")); err == nil {
		kills = n
	}
	if _, err := exec.LookPath("go"); err != nil || runtime.GOARCH == "wasm" {
		t.Skip("no processes to be had here")
	}
	program := filepath.Join(t.TempDir(), "bench.exe")
	out, err := exec.Command("go", "build", "-o", program, "stable/bench").CombinedOutput()
	require.NoError(t, err, "%s", out)

	whole, parts, data := t.TempDir(), t.TempDir(), kittest.SmallData(t)
	start := func(ctx context.Context, dir string) (stdout string, err error) {
		c := exec.CommandContext(ctx, program, "-data", data, "-out", dir, "-steps", "10000", "-save", "1ms") // its end is SIGKILL
		var o, e bytes.Buffer
		c.Stdout, c.Stderr = &o, &e
		if err = c.Run(); err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %s", err, e.String())
		}
		return o.String(), err
	}
	begin := time.Now()
	want, err := start(context.Background(), whole)
	if notStarted := (*fs.PathError)(nil); errors.As(err, &notStarted) {
		t.Skip("a program for another processor: ", err)
	}
	require.NoError(t, err)
	alone := time.Since(begin)

	window := alone // shorter where processes come to their end, longer where they do not come far
	killed, resumed, finished := 0, 0, 0
	for rng := rand.New(rand.NewPCG(1, 2)); killed < kills || resumed == 0 || finished == 0; {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if killed < kills || resumed == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.Float64()*float64(window)))
		}
		stdout, err := start(ctx, parts)
		cancel()
		wentOn := strings.Contains(stdout, "goes on at step")
		if wentOn {
			resumed++
		}
		if err == nil {
			finished++
			require.Equal(t, tableOf(want), tableOf(stdout))
			requireFiles(t, parts, "tuning.svg", "tuning.csv")
			window -= window / 4
			continue
		}
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded, "%v", err)
		killed++
		if !wentOn {
			window += window / 4
		}
	}
	t.Logf("%d kills, %d times resumed, %d times finished", killed, resumed, finished)
}
