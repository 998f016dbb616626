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

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/method"
)

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

// The guest is there before the first test, as in a program.
func init() {
	kit.Must(0, method.Register(method.Entry{
		Name: "Guest", Base: method.STFBO{}.Name(), Untuned: true, // a variant starts by name only
		New: func(method.Tuning) bilevel.Method { return guest{} },
	}))
}

// The rivals that this module ships are of the problems that it makes today, all of them: F* agrees.
// A registered guest races under its own name.
func TestShippedRivals(t *testing.T) {
	out, line := t.TempDir(), []string{"untuned", "-methods", "Guest,S-TFBO", "-samples", "1000", "-trials", "1",
		"-against", "../rivals.csv,../rivals-large.csv"}
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
	status, _, stderr := bench(context.Background(), append(short, "-against", filepath.Join(out, "none.csv"))...)
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "none.csv")
}
