package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit/kittest"
)

func TestTuneModelNotFinite(t *testing.T) {
	m, _, _ := runTune(t, cancer, "-steps", "5")
	m.Results[0].Test["loss"] = math.NaN()
	assert.Error(t, m.encode(io.Discard))
	m.Features[3].Coefficient = math.Inf(1)
	assert.ErrorContains(t, m.check(), "feature 4")
}

func TestRefuses(t *testing.T) {
	good, goodPath, _ := runTune(t, cancer, "-steps", "5")
	altered := func(change func(m *model)) string {
		m := *good
		change(&m)
		b, err := json.Marshal(m)
		require.NoError(t, err)
		return writeText(t, "m.json", string(b))
	}
	torn := readText(t, goodPath)[:2000]
	rows := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	wide := "1"
	for j := range 4096 {
		wide += fmt.Sprintf(" %d:1", 3*j+1)
	}
	two := writeText(t, "two.csv", "a,b,y\n"+rows(8, "1,2,0\n3,4,1"))
	renamed := writeText(t, "renamed.csv", "a,c,y\n"+rows(8, "1,2,0\n3,4,1"))
	blocked := writeText(t, "file", "")
	missing, notFolder := kittest.SystemErrors(t, "nowhere.csv", blocked)
	rare := writeText(t, "rare.csv", "a,y\n"+rows(30, "1,0")+"2,1\n")
	type refusal struct {
		status int
		want   string
		args   []string
	}
	tune := []refusal{
		{0, "go run ./bench tune", []string{"-h"}},
		{2, "0 data files, want one to three", nil},
		{2, "4 data files", []string{"a", "b", "c", "d"}},
		{2, "-steps is 0,", []string{two, "-steps", "0"}},
		{2, "-steps is -1", []string{two, "-steps", "-1"}},
		{2, "want 0 < lo < hi", []string{two, "-lo", "0"}},
		{2, `-intercept is "log"`, []string{two, "-intercept", "log"}},
		{2, `-loss is "hinge"`, []string{two, "-loss", "hinge"}},
		{2, "-unlabelled goes with -apply", []string{two, "-unlabelled"}},
		{2, "2 data files, want one", []string{"-apply", goodPath, two, two}},
		{1, missing, []string{"nowhere.csv"}},
		{1, notFolder, []string{two, "-out", blocked}},
		{1, "3.csv: 3 rows, want at least 4",
			[]string{writeText(t, "3.csv", "a,y\n1,1.5\n2,2\n3,3\n"), "-loss", "squared"}},
		{1, "all validation rows (1) are of one class", []string{two, writeText(t, "v.csv", "a,b,y\n1,1,1\n"), two}},
		{1, "deviation 0", []string{writeText(t, "flat.csv", "a,y\n"+rows(9, "1,5")), "-loss", "squared"}},
		{1, `bad.csv:3: column "a", "x": not a number (-categorical`,
			[]string{two, writeText(t, "bad.csv", "a,b,y\n1,2,0\nx,2,1\n")}},
		{1, "for a regression, use -loss squared", []string{writeText(t, "r.csv", "a,y\n1,1.5\n2,2.5\n3,3.5\n")}},
		{1, `z.csv: 1 rows of class "x", one of 3, are too few to split into 3 parts: want at least 4 of each; -class sets one`,
			[]string{writeText(t, "z.csv", "a,k\n1,x\n2,y\n3,z\n")}},
		{2, "-clean goes with classes and -solver exact", []string{two, "-clean", "-loss", "squared"}},
		{2, "-clean goes with folds", []string{two, "-clean", "-folds", "1"}},
		{2, `-impute is "zero", want median or mean`, []string{two, "-impute", "zero"}},
		{1, `renamed.csv:1: no column is named "b"; there are "a", "c", "y"`, []string{two, renamed}},
		{1, "two.csv has 2 features, another file 3", []string{two, writeText(t, "w.svm", "0 3:1\n1 1:1\n")}},
		{1, "0 features", []string{writeText(t, "none.svm", rows(8, "1\n0"))}},
		{1, "wide.svm: 4096 features with a value other than 0", []string{writeText(t, "wide.svm", rows(8, wide+"\n0 1:1"))}},
		{1, fmt.Sprintf("torn.json:%d:", 1+strings.Count(torn, "\n")), []string{two, "-apply", writeText(t, "torn.json", torn)}},
		{1, "two.csv:1: not a model written by tune", []string{two, "-apply", two}},
		{1, "bare.csv:1: the first line holds numbers: a header with the names of the columns is missing (the model finds", []string{writeText(t, "bare.csv", "1,2\n"), "-apply", goodPath}},
		{2, "-class says how a model is trained", []string{two, "-apply", goodPath, "-class", "1"}},
		{2, "-clean says how a model is trained", []string{two, "-apply", goodPath, "-clean"}},
		{1, "kind.json:2:", []string{two, "-apply", writeText(t, "kind.json", "{\n\"features\": 7}")}},
		{1, "not a model written by tune", []string{two, "-apply", writeText(t, "other.json", "{}")}},
		{1, "version 2, want 1", []string{two, "-apply", altered(func(m *model) { m.Version = 2 })}},
		{1, "classes", []string{two, "-apply", altered(func(m *model) { m.Classes = nil })}},
		{1, "0 features", []string{two, "-apply", altered(func(m *model) { m.Features = nil })}},
		{1, "feature 1 has index 0 after 0, of 30", []string{two, "-apply", altered(func(m *model) {
			m.Features = append([]feature{{}}, m.Features[1:]...)
		})}},
		{1, `unknown loss "x"`, []string{two, "-apply", altered(func(m *model) { m.Options.Loss = "x" })}},
		{1, `two.csv:1: no column is named "mean radius"; there are "a", "b", "y"`, []string{two, "-apply", goodPath}},
	}
	main := []refusal{
		{1, `rare.csv: 1 rows of class "1", one of 2, are too few`, []string{"-data", rare}},
		{0, "go run ./bench -data", []string{"-h"}},
		{2, "flag provided but not defined: -dta", []string{"-dta", "x"}},
		{2, `unexpected argument "x.csv"`, []string{"-seed", "1", "x.csv"}},
		{2, "-steps is 0", []string{"-steps", "0"}},
		{2, "-save is -1s", []string{"-save", "-1s"}},
		{2, "want 0 < lo < hi", []string{"-lo", "NaN"}},
		{2, "want 0 < lo < hi", []string{"-lo", "2", "-hi", "1"}},
		{1, missing, []string{"-data", "nowhere.csv"}},
		{1, notFolder, []string{"-out", blocked}},
		{1, `"colour"`, []string{"-label", "colour"}},
	}
	for command, list := range map[string][]refusal{"main": main, "tune": tune} {
		for _, c := range list {
			status, stdout, stderr := bench(context.Background(), append([]string{command, "-out", t.TempDir()}, c.args...)...)
			assert.Equal(t, c.status, status, "%s: %s", c.want, stderr)
			assert.Contains(t, stdout+stderr, c.want)
		}
	}
}
