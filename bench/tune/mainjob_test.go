package tune

import (
	"context"
	"encoding/csv"
	"errors"
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

	svg, err := os.ReadFile(filepath.Join(dir, "tuning.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), "best single weight")
	requireReadmeFigure(t, filepath.Join(dir, "tuning.svg"))
	f, err := os.Open(filepath.Join(dir, "tuning.csv"))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	assert.Greater(t, len(rows), 50)
}

func TestMainUsage(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.svm")
	require.NoError(t, os.WriteFile(bad, []byte("1 1:0.5 2:1\n-1 0:3\n"), 0o644))
	blocked := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o644))
	missing, notFolder := kittest.SystemErrors(t, "nowhere.svm", blocked)
	rare := filepath.Join(dir, "rare.csv")
	require.NoError(t, os.WriteFile(rare, []byte("a,y\n"+strings.Repeat("1,0\n", 30)+"2,1\n"), 0o644))
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{1, `rare.csv: 1 rows of class "1", one of 2, are too few`, []string{"-data", rare}},
		{0, "go run ./bench -data", []string{"main", "-h"}},
		{2, "flag provided but not defined: -dta", []string{"-dta", "x"}},
		{2, `unexpected argument "x.csv"`, []string{"-seed", "1", "x.csv"}},
		{2, "-steps is 0", []string{"-steps", "0"}},
		{2, "-save is -1s", []string{"-save", "-1s"}},
		{2, "want 0 < lo < hi", []string{"-lo", "NaN"}},
		{2, "want 0 < lo < hi", []string{"-lo", "2", "-hi", "1"}},
		{1, missing, []string{"-data", "nowhere.svm"}},
		{1, "bad.svm:2:", []string{"-data", bad}},
		{1, notFolder, []string{"-out", blocked}},
		{1, `"colour"`, []string{"-label", "colour"}},
	} {
		status, stdout, stderr := bench(context.Background(), c.args...)
		assert.Equal(t, c.status, status, c.args)
		assert.Contains(t, stdout+stderr, c.want, c.args)
	}
}

// requireReadmeFigure wants README's figure, that of the portable tier on amd64. Elsewhere a rounding
// may decide when a run leaves a plateau, and the texts alone have to agree.
func requireReadmeFigure(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join("..", "tuning.svg"))
	require.NoError(t, err)
	if runtime.GOARCH != "amd64" || kernel.Tier() != "portable" {
		text := regexp.MustCompile(`>[^<>]*[a-z]{2}[^<>]*<`)
		require.Equal(t, text.FindAllString(string(want), -1), text.FindAllString(string(got), -1))
		return
	}
	number := regexp.MustCompile(`-?\d*\.?\d+`)
	shape := func(svg []byte) string { // a sign, or none, in front of a number changes the blank before it
		return regexp.MustCompile(`[# ]+`).ReplaceAllString(number.ReplaceAllString(string(svg), "#"), "#")
	}
	require.Equal(t, shape(want), shape(got), "bench/tuning.svg is another figure: copy out/tuning.svg there")
	a, b := number.FindAllString(string(want), -1), number.FindAllString(string(got), -1)
	for i := range a {
		p, err1 := strconv.ParseFloat(a[i], 64)
		q, err2 := strconv.ParseFloat(b[i], 64)
		require.NoError(t, errors.Join(err1, err2))
		require.InDelta(t, p, q, 1, "bench/tuning.svg, number %d: copy out/tuning.svg there", i)
	}
}
