package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
)

// leaves is what a run of the main job leaves: its figure, its numbers, and what it prints but for
// times and paths.
func leaves(t *testing.T, dir, stdout string) map[string]string {
	t.Helper()
	r := map[string]string{"stdout": regexp.MustCompile(`(?m)^(time|wrote|goes on).*\n+`).ReplaceAllString(stdout, "")}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		r[e.Name()] = string(b)
	}
	return r
}

// requireSame compares results, and names the file that differs.
func requireSame(t *testing.T, want, got map[string]string) {
	t.Helper()
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name := range want {
		require.True(t, want[name] == got[name], "%s differs:\n%.2000s\n%.2000s", name, want[name], got[name])
	}
}

// countdown is a context that ends after it has been asked some times: once a step.
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

// interrupt runs the main job for some steps, and leaves a checkpoint in dir.
func interrupt(t *testing.T, steps int, dir string, args ...string) {
	t.Helper()
	status, stdout, stderr := bench(&countdown{context.Background(), steps}, append([]string{"-out", dir}, args...)...)
	require.Equal(t, 130, status, stdout+stderr)
	require.FileExists(t, filepath.Join(dir, "tuning.checkpoint"))
}

// An interrupted run goes on where it was, to the same result, and cleans up.
func TestMainJobGoesOn(t *testing.T) {
	whole, data := t.TempDir(), kittest.SmallData(t)
	status, want, stderr := bench(context.Background(), "-data", data, "-out", whole, "-steps", "1500")
	require.Zero(t, status, stderr)
	for _, steps := range []int{0, 1, 700} {
		parts := t.TempDir()
		interrupt(t, steps, parts, "-data", data, "-steps", "1500")
		interrupt(t, 100, parts, "-data", data, "-steps", "1500")
		status, got, stderr := bench(context.Background(), "-data", data, "-out", parts, "-steps", "1500")
		require.Zero(t, status, stderr)
		assert.Contains(t, got, fmt.Sprintf("goes on at step %d of 1500", steps+100))
		requireSame(t, leaves(t, whole, want), leaves(t, parts, got))
	}
}

// Another command, another data file, and a damaged checkpoint with none before it are refused;
// -fresh begins again.
func TestMainJobRefuses(t *testing.T) {
	dir, small := t.TempDir(), kittest.SmallData(t)
	interrupt(t, 300, dir, "-data", small, "-steps", "1000")
	path := filepath.Join(dir, "tuning.checkpoint")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := func(want string, args ...string) {
		t.Helper()
		status, _, stderr := bench(context.Background(), append([]string{"-data", small, "-out", dir}, args...)...)
		assert.Equal(t, 1, status)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, "-fresh to start over")
	}
	refused("belongs to another run", "-steps", "1001")
	refused("belongs to another run", "-steps", "1000", "-seed", "2")
	refused("belongs to another run", "-steps", "1000", "-bias=false")
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(small, append(data, "1,1,1,true\n"...), 0o644))
	refused("belongs to another run", "-steps", "1000")
	require.NoError(t, os.WriteFile(small, data, 0o644))

	line := bytes.IndexByte(good, '\n')
	for _, at := range []int{0, 5, 9, 40, line, line + 1, line + 9, line + 100, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		refused("tuning.checkpoint: ", "-steps", "1000")
		require.NoError(t, os.WriteFile(path, good[:at], 0o644))
		refused("damaged", "-steps", "1000")
	}

	// With a good one before it, that one serves.
	require.NoError(t, os.WriteFile(path+".old", good, 0o644))
	status, stdout, stderr := bench(context.Background(), "-data", small, "-out", dir, "-steps", "1000")
	require.Zero(t, status, stderr)
	assert.Contains(t, stderr, "trying the one before")
	assert.Contains(t, stdout, "goes on at step 300")

	require.NoError(t, os.WriteFile(path, good[:100], 0o644))
	status, stdout, stderr = bench(context.Background(), "-data", small, "-out", dir, "-steps", "1000", "-fresh")
	require.Zero(t, status, stderr)
	assert.NotContains(t, stdout, "goes on")
	assert.NoFileExists(t, path)
}

// A bookmark says which data and which build it is of.
func TestMainJobIdentity(t *testing.T) {
	job, err := newTuning(job{data: kit.ShippedData, seed: 1, steps: 5, lo: 0.1, hi: 1})
	require.NoError(t, err)
	sum, err := kit.Digest(cancer)
	require.NoError(t, err)
	assert.Equal(t, []kit.Source{{Name: kit.ShippedData, SHA256: sum}}, job.mark.identity.Data)
	assert.Equal(t, kit.Build(), job.mark.identity.Build)
}

// A process that is killed at random moments, again and again, ends with the files of one that was
// left alone. BENCH_KILLS sets how often.
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
	stdout, err := start(context.Background(), whole)
	if notStarted := (*fs.PathError)(nil); errors.As(err, &notStarted) {
		t.Skip("a program for another processor: ", err)
	}
	require.NoError(t, err)
	want, alone := leaves(t, whole, stdout), time.Since(begin)

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
			requireSame(t, want, leaves(t, parts, stdout))
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
