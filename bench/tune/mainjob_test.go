package tune

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
	"stable/mat/kernel"
)

var list = []kit.Command{{Name: "main", Run: Main}, {Name: "tune", Run: Tune}}

func bench(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	return kittest.Bench(ctx, list, args...)
}

// complaints is stderr but for progress and the time that a search expects to take.
func complaints(stderr string) string {
	var rest []string
	for line := range strings.Lines(stderr) {
		if !slow.MatchString(line) {
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "")
}

var slow = regexp.MustCompile(`^ *\d+ %|^bench: this takes `)

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
		"features 30, scaled to mean 0 and deviation 1, as measured on the training rows", "evaluations for each",
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
