package tune

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
)

func TestRefuses(t *testing.T) {
	good, goodPath, _ := runTune(t, cancer, "-steps", "5")
	altered := func(change func(m *model)) string {
		m := *good
		change(&m)
		return writeText(t, "m.json", string(kit.Must(json.Marshal(m))))
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
	_, missing := os.Open("nowhere.csv") // in this system's words
	notFolder := os.MkdirAll(blocked, 0o755)
	few := writeText(t, "few.svm", "2 1:1 2:2\n3 1:2 2:5\n1 1:4\n2.5 2:1\n")
	rare := writeText(t, "rare.csv", "a,y\n"+rows(30, "1,0")+"2,1\n")
	type refusal struct {
		status int
		want   string
		args   []string
	}
	tune := []refusal{
		{2, "0 data files, want one to three", nil},
		{2, "4 data files", []string{"a", "b", "c", "d"}},
		{2, "-steps is 0,", []string{two, "-steps", "0"}},
		{2, "-steps is -1", []string{two, "-steps", "-1"}},
		{2, "-id is empty", []string{two, "-id", ""}},
		{2, "-apply is empty", []string{two, "-apply", ""}},
		{2, "want 0 < lo < hi", []string{two, "-lo", "0"}},
		{2, "-hi 1e+06, want 1e-15 ≤ lo and hi ≤ 1e5", []string{two, "-hi", "1e6"}},
		{2, "-lo 1e-300 -hi 10, want 1e-15 ≤ lo", []string{two, "-lo", "1e-300"}},
		{2, `-intercept is "log"`, []string{two, "-intercept", "log"}},
		{2, `-loss is "hinge"`, []string{two, "-loss", "hinge"}},
		{2, "-unlabelled goes with -apply", []string{two, "-unlabelled"}},
		{2, "2 data files, want one", []string{"-apply", goodPath, two, two}},
		{1, missing.Error(), []string{"nowhere.csv"}},
		{1, notFolder.Error(), []string{two, "-out", blocked}},
		{1, "3.csv: 3 rows, want at least 4", []string{writeText(t, "3.csv", "a,y\n1,1.5\n2,2\n3,3\n"), "-loss", "squared"}},
		{1, "all validation rows (1) are of one class", []string{two, writeText(t, "v.csv", "a,b,y\n1,1,1\n"), two}},
		{1, "deviation 0", []string{writeText(t, "flat.csv", "a,y\n"+rows(9, "1,5")), "-loss", "squared"}},
		{1, "e+79 on the", []string{writeText(t, "huge.csv", "a,y\n"+rows(9, "1,-1e80\n2,1e80")), "-loss", "squared"}},
		{1, `bad.csv:3: column "a", "x": not a number (-categorical`,
			[]string{two, writeText(t, "bad.csv", "a,b,y\n1,2,0\nx,2,1\n")}},
		{1, "for a regression, use -loss squared", []string{writeText(t, "r.csv", "a,y\n1,1.5\n2,2.5\n3,3.5\n")}},
		{1, `z.csv: 1 row of class "x", one of 3, too few to split into 3 parts: want at least 4 of each; -class sets one`,
			[]string{writeText(t, "z.csv", "a,k\n1,x\n2,y\n3,z\n")}},
		{2, "-clean goes with classes and -solver exact", []string{two, "-clean", "-loss", "squared"}},
		{2, "-clean goes with folds", []string{two, "-clean", "-folds", "1"}},
		{2, "l.svm is LIBSVM text; -label", []string{writeText(t, "l.svm", "1 1:1\n0 1:2\n"), "-label", "y"}},
		{2, "h.svm is LIBSVM text; -label", []string{writeText(t, "h.svm", "1 1:1\n0 1:2\n"), "-headerless"}},
		{1, "(a later file has the classes of the first; for a", []string{two, writeText(t, "third.csv", "a,b,y\n1,1,7\n")}},
		{2, `-impute is "zero", want median or mean`, []string{two, "-impute", "zero"}},
		{1, `renamed.csv:1: no column is named "b"; there are "a", "c", "y"`, []string{two, renamed}},
		{1, "two.csv has 2 features, another file 3", []string{two, writeText(t, "w.svm", "0 3:1\n1 1:1\n")}},
		{1, "no column beside the label tells", []string{writeText(t, "none.svm", rows(8, "1\n0"))}},
		{0, "one.svm: 1 rows", []string{writeText(t, "one.svm", "1.5 1:2 2:3\n"), few, few, "-loss", "squared"}},
		{0, "features 4096,", []string{writeText(t, "wide.svm", rows(8, wide+"\n0 1:1"))}},
		{2, "-solver saa takes 4095 features, and there are 4096", []string{writeText(t, "wide.svm", rows(8, wide+"\n0 1:1")), "-solver", "saa"}},
		{1, "wide.svm: 4097 features with a value other than 0 in the 4512 rows that are not for the test, want 1 to 4095",
			[]string{writeText(t, "wide.svm", rows(8, wide+"\n0 1:1")+rows(3000, "1 2:1\n0 1:1"))}},
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
		{1, "feature 1: index 0 after 0, of 30", []string{two, "-apply", altered(func(m *model) { m.Features = []feature{{}} })}},
		{1, `unknown loss "x"`, []string{two, "-apply", altered(func(m *model) { m.Options.Loss = "x" })}},
		{1, "its columns are of 2 features, those of the model of 30: was it", []string{two, "-unlabelled", "-apply",
			altered(func(m *model) { m.Columns = []data.Column{{Name: "a"}, {Name: "b"}} })}},
		{1, `two.csv:1: no column is named "mean radius"; there are "a", "b", "y"`, []string{two, "-apply", goodPath}},
	}
	main := []refusal{
		{1, `rare.csv: 30 rows of class "0" and 1 row of class "1", too few`, []string{"-data", rare}},
		{0, "go run ./bench -data", []string{"-h"}},
		{2, `unexpected argument "x.csv"`, []string{"-seed", "1", "x.csv"}},
		{2, "-steps is 0", []string{"-steps", "0"}},
		{2, "-save is -1s", []string{"-save", "-1s"}},
		{2, "want 0 < lo < hi", []string{"-lo", "NaN"}},
		{2, "want 0 < lo < hi", []string{"-lo", "2", "-hi", "1"}},
		{1, missing.Error(), []string{"-data", "nowhere.csv"}},
		{1, notFolder.Error(), []string{"-out", blocked}},
		{1, `"colour"`, []string{"-label", "colour"}},
		{1, `"x": not a number (main wants numbers and`, []string{"-data", writeText(t, "text.csv", "a,y\nx,1\n2,0\n")}},
		{1, `a third label "2", after "1" and "0" (main wants`, []string{"-data", writeText(t, "three.csv", "a,y\n1,1\n2,0\n3,2\n")}},
	}
	if runtime.GOOS == "linux" { // where nobody makes a file in /proc
		tune = append(tune, refusal{1, "bench: open /proc/.", []string{two, "-out", "/proc"}})
	}
	for command, list := range map[string][]refusal{"main": main, "tune": tune} {
		for _, c := range list {
			args := append([]string{command, "-out", t.TempDir()}, c.args...)
			refuses(t, c.status, c.want, args...)
		}
	}
	good.Results[0].Test["loss"] = math.NaN()
	assert.Error(t, good.encode(io.Discard))
	good.Features[3].Coefficient = math.Inf(1)
	assert.ErrorContains(t, good.check(), "feature 4")
}

func TestAwkwardFiles(t *testing.T) {
	good, many := table(","), "a,y\n"
	for i := range 70 {
		many += fmt.Sprintf("1,%d\n", i)
	}
	bare := good[strings.Index(good, "\n")+1:]
	first := regexp.MustCompile(`(?m)^(.*),(.*)$`).ReplaceAllString(good, "$2,$1")
	for _, c := range []struct {
		name, text, want string // want: of the error; empty: it is read
		args             []string
	}{
		{"any.svm", strings.Repeat("4 1:1 3:1\n2 1:-1 2:0.5\n", 8), "", nil},
		{"unmarked.csv", strings.Join(strings.Split(good, ""), "\x00"), "unmarked.csv: the first line holds a byte 0", nil},
		{"table.xlsx", "PK\x03\x04\x14\x00\x06", "table.xlsx: a spreadsheet", nil},
		{"list.json", `[{"age": 1}]`, "list.json: JSON, but", nil},
		{"rows.json", "[1, 2]\n[3, 4]\n", "rows.json: JSON, but", nil},
		{"bracket.csv", "[" + strings.Replace(good, ",", "],", 1), "", nil},
		{"headless.csv", bare, "headless.csv:1: the first line holds numbers", nil},
		{"headless.csv", bare, "", []string{"-headerless", "-label", "3", "-drop", "2"}},
		{"mac.csv", strings.ReplaceAll(good, "\n", "\r"), "mac.csv: its lines end in a carriage return alone", nil},
		{"nan.csv", good + "NaN,2,no", `nan.csv:42: column "age", "NaN": value is NaN (-impute`, nil},
		{"question.csv", good + "?,2,no", `question.csv:42: column "age", "?": missing value (-impute`, nil},
		{"question.csv", good + "?,2,no", "", []string{"-impute", "median"}},
		{"nolabel.csv", good + "1,2,",
			`nolabel.csv:42: label column "bought": "": missing value (leave the rows without a label out`, nil},
		{"regress.csv", good, `regress.csv:2: label column "bought": "`, []string{"-loss", "squared"}},
		{"three.csv", table(",", "a", "b", "c"), "", nil},
		{"many.csv", many, `many.csv:66: label column "y": more than 64 classes (`, nil},
		{"three.csv", table(",", "a", "b", "c"), `no row has the label "d", which -class names`, []string{"-class", "d"}},
		{"numbers.csv", table(",", "0", "1", "2"), "", []string{"-class", "0.0"}},
		{"one.csv", table(",", "yes", "yes"), "one.csv: all rows (40) are of one class", nil},
		{"gap.svm", strings.Repeat("1 2:1 40:3\n-1 7:2\n", 20), "", nil},
		{"pair.svm", "1 2.5 3\n0 1.5 2\n", `pair.svm:1: "2.5" is not index:value (read as LIBSVM; a table`, nil},
		{"blanks.txt", strings.ReplaceAll(good, ",", "   "), "", nil},
		{"first.csv", first, `-label names the column of the label, where it is not the last`, nil},
		{"void.csv", "a,b,y\n1,,x\n2,NA,z\n", `void.csv: column "b" has no value (-drop leaves`, []string{"-impute", "mean"}},
		{"first.csv", first, "", []string{"-label", "bought"}},
		{"table.parquet", "PAR1\x15\x04\x15", "table.parquet: a Parquet file", nil},
		{"par.csv", strings.Replace(good, "age", "PAR1", 1), "", nil},
		{"packed.zst", "\x28\xb5\x2f\xfd\x04\x58", "packed.zst: a zstd file", nil},
		{"weka.arff", "% remark\n@RELATION shop\n@attribute age numeric\n@data\n1,yes\n", "weka.arff: ARFF", nil},
		{"apart.csv", "a,b,class\n" + strings.Repeat("1,2,x\n2,1,y\n3,5,z\n", 4), "", nil},
	} {
		dir := t.TempDir()
		path := writeText(t, c.name, c.text)
		args := append([]string{"tune", path, "-out", dir}, c.args...)
		if c.want != "" {
			refuses(t, 1, c.want, args...)
			continue
		}
		ok(t, args...)
		_, stderr := ok(t, "tune", "-apply", filepath.Join(dir, "model.json"), path)
		assert.Regexp(t, `rows, loss .*, accuracy (1|0\.[4-9])`, stderr, c.name)
	}
}
