package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a context that ends after it has been asked some times, by any goroutine.
type asked struct {
	context.Context
	left atomic.Int64
}

func (c *asked) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// stopTune runs tune until its context has been asked so often, and says whether that was an
// interrupt.
func stopTune(t *testing.T, after int, args ...string) (interrupted bool) {
	t.Helper()
	ctx := &asked{Context: context.Background()}
	ctx.left.Store(int64(after))
	status, stdout, stderr := bench(ctx, append([]string{"tune"}, args...)...)
	if status != 0 {
		require.Equal(t, 130, status, stdout+stderr)
	}
	return status != 0
}

// A tune that was interrupted, once and again, goes on to the same model, figure and numbers, and
// cleans up.
func TestTuneGoesOn(t *testing.T) {
	data := worth(t, 120, 5, 1)
	for name, args := range map[string][]string{
		"folds":  {data, "-folds", "3"},
		"split":  {data, "-folds", "1"},
		"stable": {data, "-solver", "stable", "-steps", "1500"},
	} {
		if name == "stable" && testing.Short() {
			continue
		}
		whole := t.TempDir()
		status, _, stderr := bench(context.Background(), append([]string{"tune", "-out", whole}, args...)...)
		require.Zero(t, status, stderr)
		want := leaves(t, whole, "")
		goesOn := 0
		stops := []int{6, 25, 2, 12, 17, 40, 400, 1200}
		if testing.Short() {
			stops = stops[:2]
		}
		for _, after := range stops {
			dir := t.TempDir()
			all := append([]string{"-out", dir}, args...)
			if !stopTune(t, after, all...) {
				continue
			}
			kept := filepath.Join(dir, "tune.checkpoint")
			if _, err := os.Stat(kept); err != nil { // it had found nothing yet
				continue
			}
			if stopTune(t, after/2+3, all...) {
				status, stdout, stderr := bench(context.Background(), append([]string{"tune"}, all...)...)
				require.Zero(t, status, stderr)
				assert.Contains(t, stdout, "goes on", "%s, %d", name, after)
			}
			requireSame(t, want, leaves(t, dir, ""))
			goesOn++
		}
		assert.GreaterOrEqual(t, goesOn, 2, name)
	}
}

// A state of other options or data is refused by what differs; a damaged one gives way to the one
// before, and is refused where there is none; -fresh begins again.
func TestTuneRefusesStates(t *testing.T) {
	data, dir := worth(t, 120, 5, 1), t.TempDir()
	args := []string{data, "-folds", "3", "-out", dir}
	require.True(t, stopTune(t, 12, args...))
	path := filepath.Join(dir, "tune.checkpoint")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := func(want string, args ...string) {
		t.Helper()
		status, _, stderr := bench(context.Background(), append([]string{"tune"}, args...)...)
		assert.Equal(t, 1, status)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, "-fresh to start over")
	}
	refused("with other options (-seed 1); this one is -seed 2\n", append(args, "-seed", "2")...)
	refused("with other options", append(args, "-lo", "1e-4")...)
	refused("with other options", append(args, "-drop", "v3")...)
	text, err := os.ReadFile(data)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(data, []byte(string(text)+firstRow(string(text))), 0o644))
	refused("on other data, "+data, args...)
	require.NoError(t, os.WriteFile(data, text, 0o644))

	require.NoError(t, os.RemoveAll(path+".old"))
	for _, at := range []int{0, 9, 60, len(good) / 2, len(good) - 1} {
		require.NoError(t, os.WriteFile(path, good[:at], 0o644)) // torn
		refused("damaged", args...)
		bad := append([]byte(nil), good...)
		bad[at] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o644))
		refused("damaged", args...)
	}
	require.NoError(t, os.WriteFile(path+".old", good, 0o644))
	status, stdout, stderr := bench(context.Background(), append([]string{"tune"}, args...)...)
	require.Zero(t, status, stderr)
	assert.Contains(t, stderr, "trying the one before")
	assert.Contains(t, stdout, "goes on")
	assert.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, good[:100], 0o644))
	status, stdout, stderr = bench(context.Background(), append([]string{"tune", "-fresh"}, args...)...)
	require.Zero(t, status, stderr)
	assert.NotContains(t, stdout, "goes on")
	assert.NoFileExists(t, path)

	require.True(t, stopTune(t, 12, append(args, "-save", "0")...))
	assert.NoFileExists(t, path)
}

// firstRow is the first row of a CSV text.
func firstRow(text string) string {
	lines := strings.SplitN(text, "\n", 3)
	return lines[1] + "\n"
}
