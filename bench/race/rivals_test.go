package race

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// against is a command line that races the untuned methods against a file of rivals.
func against(file, out string, more ...string) []string {
	return append([]string{"untuned", "-only", "saddle", "-samples", "1000", "-trials", "2",
		"-against", file, "-out", out}, more...)
}

// column is one of a CSV file of numbers, by problem, method, output and samples.
func column(t *testing.T, file, name string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"problem", "method", "tuned", "output", "samples", "error", "limit"}, lines[0][:7])
	at, values := slices.Index(lines[0], name), map[string]string{}
	require.GreaterOrEqual(t, at, 0)
	for _, line := range lines[1:] {
		values[strings.Join([]string{line[0], line[1], line[3], line[4]}, ",")] = line[at]
	}
	return values
}

// The rivals that this module ships are of the problems that it makes today, all of them: F* agrees.
func TestShippedRivals(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	folder := t.TempDir()
	status, stdout, stderr := bench(context.Background(), "untuned", "-methods", "S-TFBO", "-samples", "1000",
		"-trials", "1", "-against", "../rivals.csv,../rivals-large.csv", "-out", folder)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "of 50")
	for _, ratio := range column(t, filepath.Join(folder, "untuned-against.csv"), "over best rival") {
		assert.NotEmpty(t, ratio)
	}
}

// Methods that race against the rivals of an earlier run have the ratios that they had in it, and
// no rival runs again. A tuned method can be the one that is compared, too.
func TestAgainst(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	first, again := t.TempDir(), t.TempDir()
	status, stdout, stderr := bench(context.Background(), "untuned", "-methods", "SAA-Newton,SOBA,TTSA",
		"-only", "saddle,rank-one f_yy", "-samples", "1000", "-trials", "2", "-tune", "1", "-out", first)
	require.Zero(t, status, stderr)
	file := filepath.Join(first, "untuned-rivals.csv")
	assert.Contains(t, stdout, "wrote "+file)

	status, stdout, stderr = bench(context.Background(), against(file, again, "-methods", "SAA-Newton")...)
	require.Zero(t, status, stderr)
	assert.NotContains(t, stdout, "rivals.csv")
	want := column(t, filepath.Join(first, "untuned.csv"), "over best rival")
	got := column(t, filepath.Join(again, "untuned-against.csv"), "over best rival")
	assert.Len(t, got, 2)
	calls := column(t, filepath.Join(first, "untuned.csv"), "evaluations")
	assert.Equal(t, "2000", calls["saddle,SOBA,last,1000"], "four for each ξ with its φ")
	for key, v := range got {
		a, err := strconv.ParseFloat(v, 64)
		require.NoError(t, err)
		b, err := strconv.ParseFloat(want[key], 64)
		require.NoError(t, err)
		assert.InEpsilon(t, b, a, 1e-5, key) // the file has six digits
	}

	// The other problem is in a file of its own.
	status, _, stderr = bench(context.Background(), "untuned", "-methods", "SOBA",
		"-only", "nonconvex", "-samples", "1000", "-trials", "2", "-tune", "1", "-out", again)
	require.Zero(t, status, stderr)
	both, out := file+","+filepath.Join(again, "untuned-rivals.csv"), t.TempDir()
	status, _, stderr = bench(context.Background(), against(both, out, "-methods", "SAA-Newton",
		"-only", "saddle,nonconvex")...)
	require.Zero(t, status, stderr)
	got = column(t, filepath.Join(out, "untuned-against.csv"), "over best rival")
	for _, name := range []string{"saddle", "nonconvex", "quadratic nonconvex"} {
		assert.NotEmpty(t, got[name+",SAA-Newton,mean,1000"], name)
	}

	again = t.TempDir()
	status, stdout, stderr = bench(context.Background(), against(file, again, "-methods", "SOBA", "-tune", "1")...)
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "SOBA: last, mean")
	got = column(t, filepath.Join(again, "untuned-against.csv"), "error")
	want = column(t, filepath.Join(first, "untuned.csv"), "error")
	for key, v := range got {
		assert.Equal(t, want[key], v, key)
	}

	status, stdout, stderr = bench(context.Background(), against(file, t.TempDir())...)
	require.Zero(t, status, stderr)
	list, err := lineup("untuned", "")
	require.NoError(t, err)
	for _, e := range list {
		assert.Contains(t, stdout, e.name+": last, mean")
	}
	assert.Regexp(t, `\n\nwrote .*\n(At 1000 samples the better output of .*\n)+$`, stdout)
}

// A file of rivals of another race, or one that is damaged, is refused with its line.
func TestAgainstChecks(t *testing.T) {
	out := t.TempDir()
	status, _, stderr := bench(context.Background(), "untuned", "-methods", "TTSA", "-only", "in a corner",
		"-samples", "1000", "-trials", "1", "-tune", "1", "-out", out)
	require.Zero(t, status, stderr)
	good := filepath.Join(out, "untuned-rivals.csv")
	text, err := os.ReadFile(good)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	require.Len(t, lines, 10, "six lines on where it comes from, the columns, two rivals")
	fields := strings.Split(strings.TrimSpace(lines[8]), ",")
	best := fields[len(fields)-1]

	for want, change := range map[string][2]string{
		`:1: the rivals are of another race, "race: limit`:        {"race: untuned", "race: limit"},
		`:2: the rivals are of another race, "seed: 2"`:           {"seed: 1", "seed: 2"},
		`:7: the columns are`:                                     {"problem,samples", "samples,problem"},
		`:8: output is "end"`:                                     {",last,", ",end,"},
		`:9: samples is "1k"`:                                     {"1000,mean", "1k,mean"},
		`:8: a rival without a name`:                              {"last,TTSA", "last,"},
		`:8: F* of "in a corner" is `:                             {best, "7"},
		`:9: "in a corner" at 1000 samples has a second rival by`: {"mean,TTSA", "last,TTSA"},
		`no rivals on "in a corner" at 1000 samples`:              {"in a corner,1000", "in a corner,2000"},
		`race them there first`:                                   {"in a corner,1000", "In a corner,1000"},
		`:8: error is "-1`:                                        {`",`, `",-1`},
		`:8: trials is "0"`:                                       {",1," + best, ",0," + best},
		`:8: interval is "+Infx"`:                                 {",1," + best, "x,1," + best},
		`wrong number of fields`:                                  {",1," + best, "," + best},
		`parse error on line 8, column`:                           {`"α`, `α"`},
	} {
		bad := filepath.Join(out, "bad.csv")
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if change[0] == "in a corner,1000" {
			changed = strings.ReplaceAll(string(text), change[0], change[1])
		}
		require.NotEqual(t, string(text), changed, want)
		require.NoError(t, os.WriteFile(bad, []byte(changed), 0o644))
		status, _, stderr = bench(context.Background(), against(bad, out, "-only", "in a corner")...)
		assert.NotZero(t, status, want)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, bad)
	}
	status, _, stderr = bench(context.Background(), against(filepath.Join(out, "none.csv"), out, "-only", "in a corner")...)
	assert.NotZero(t, status)
	assert.Contains(t, stderr, "none.csv")
	status, _, stderr = bench(context.Background(), against(good, out, "-only", "in a corner", "-seed", "2")...)
	assert.NotZero(t, status)
	assert.Contains(t, stderr, `"seed: 1"; this one is "seed: 2"`)
}
