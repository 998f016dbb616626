package tune

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func cells(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return rows
}

func numbers(t *testing.T, rows [][]string, column int) (values []float64) {
	t.Helper()
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[column], 64)
		require.NoError(t, err)
		values = append(values, v)
	}
	return values
}

func withoutLast(text string) string {
	return regexp.MustCompile(`(?m)[,;][^,;]*$`).ReplaceAllString(strings.TrimSpace(text), "")
}

func TestTuneApply(t *testing.T) {
	rows := linear(30, 2)
	train, test := writeText(t, "train.csv", linear(90, 1)), writeText(t, "test.csv", rows)
	m, model, _ := runTune(t, train, test, "-loss", "squared", "-lo", "1e-6")
	assert.Equal(t, rowCounts{Design: 90, Folds: 1, Train: 60, Validation: 15, Unseen: 15, Test: 30}, m.Rows)
	assert.Less(t, chosen(m).Test["rmse"], 1.0) // of a target with deviation 22 and noise 0.1
	stdout, stderr := ok(t, "tune", test, "-apply", model)
	assert.Equal(t, fmt.Sprintf("30 rows, loss %.6g, rmse %.6g\n", chosen(m).Test["loss"], chosen(m).Test["rmse"]), stderr)
	assert.Contains(t, stdout, "row,prediction\n1,")
	assert.Equal(t, 31, strings.Count(stdout, "\n"))

	far, _, _ := runTune(t, train, writeText(t, "far.csv", "a,b,c,price\n1,2,3,1e300\n"), "-loss", "squared")
	assert.Equal(t, math.MaxFloat64/2, chosen(far).Test["loss"])
	unlabelled, stderr := ok(t, "tune", "-apply", model, writeText(t, "bare.csv", withoutLast(rows)))
	assert.Equal(t, "30 rows, no labels\n", stderr)
	assert.Equal(t, stdout, unlabelled)
}

func TestTuneApplyClasses(t *testing.T) {
	m, model, _ := runTune(t, writeText(t, "t.svm", strings.Repeat("2 1:1 3:1\n1 1:-1 2:0.5\n", 8)))
	require.Len(t, m.Features, 3)
	stdout, stderr := ok(t, "tune", "-apply", model, writeText(t, "few.svm", "2 1:1\n1 1:1\n"))
	assert.Contains(t, stderr, "2 rows, loss ")
	assert.Contains(t, stderr, "accuracy 0.5\n")
	rows := cells(t, stdout)
	assert.Equal(t, []string{"row", "score", "probability", "class"}, rows[0])
	score, p := numbers(t, rows, 1)[0], numbers(t, rows, 2)[0]
	assert.Positive(t, score)
	assert.InDelta(t, 1/(1+math.Exp(-score)), p, 1e-5)
	assert.Equal(t, "2", rows[1][3])

	zeros := writeText(t, "zeros.svm", "0 1:1\n0 1:1\n")
	status, _, stderr := bench(context.Background(), "tune", "-apply", model, zeros)
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "zeros.svm:1: label")
	ignored, _ := ok(t, "tune", "-apply", model, zeros, "-unlabelled")
	assert.Equal(t, stdout, ignored)
	status, _, stderr = bench(context.Background(), "tune", "-apply", model, writeText(t, "wide.svm", "1 1:1\n2 4:1\n"))
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "wide.svm:2: index 4 is above the dimension 3")
	assert.Equal(t, `"a,""b"""`, csvField(`a,"b"`))
}

func TestTuneApplyColumns(t *testing.T) {
	text := "id;city;age;bought\n"
	for i := range 12 {
		text += fmt.Sprintf("r%d;Oslo;3%d,5;yes\ns%d;Rome;;no\nt%d;Lima;20;no\n", i, i%10, i, i)
	}
	path := writeText(t, "shop.csv", text)
	m, model, stdout := tuneWith(t, path, "-drop", "id", "-categorical", "-impute", "median")
	assert.Contains(t, stdout, "features 4")
	assert.Equal(t, "city=Lima", m.Features[0].Name)
	require.Len(t, m.Columns, 2)
	want, stderr := ok(t, "tune", "-apply", model, path)
	assert.Contains(t, stderr, "36 rows, loss ")
	assert.Contains(t, stderr, "accuracy 1\n")
	stdout, stderr = ok(t, "tune", "-apply", model, writeText(t, "bare.csv", withoutLast(text)))
	assert.Equal(t, "12 cells are missing or unknown, and were filled\n36 rows, no labels\n", stderr)
	assert.Equal(t, want, stdout)
}

func TestTuneApplyImpute(t *testing.T) {
	head, rows, numeric := "id,city,age,bought\n", "", "age,bought\n"
	for i := range 12 {
		rows += fmt.Sprintf("r%d,Oslo,%d,yes\ns%d,Rome,2%d,no\nt%d,Oslo,2%d,no\n", i, 30+i%2, i, i%4, i, i%3)
		numeric += fmt.Sprintf("%d,yes\n2%d,no\n2%d,no\n", 30+i%2, i%4, i%3)
	}
	_, model, _ := tuneWith(t, writeText(t, "shop.csv", head+rows), "-id", "id", "-categorical")
	unknown := writeText(t, "unknown.csv", head+"a,Oslo,30,yes\nb,Bonn,30,yes\n\"c,d\",Rome,,no\n")
	status, _, stderr := bench(context.Background(), "tune", "-apply", model, unknown)
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, `unknown.csv:3: column "city", "Bonn": not among the 2 texts of this column`)
	assert.Contains(t, stderr, "(with -apply, -impute")
	dir := filepath.Join(t.TempDir(), "new")
	stdout, stderr := ok(t, "tune", "-apply", model, unknown, "-impute", "median", "-id", "id", "-out", dir)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "2 cells are missing or unknown, and were filled\n3 rows, loss ")
	got := cells(t, readText(t, dir, "predictions.csv"))
	assert.Equal(t, []string{"row", "id", "score", "probability", "class"}, got[0])
	assert.Equal(t, []string{"a", "b", "c,d"}, []string{got[1][1], got[2][1], got[3][1]})
	assert.Equal(t, got[1][2], got[2][2], "Oslo is the most frequent text")
	assert.NotEqual(t, got[1][2], got[3][2])

	_, plain, _ := tuneWith(t, writeText(t, "plain.csv", numeric))
	for cell, want := range map[string]int{"": 0, "NA": 0, "x": 1} {
		status, _, stderr = bench(context.Background(), "tune", "-apply", plain, "-impute", "mean",
			writeText(t, "cell.csv", "age\n30\n"+cell+",\n"))
		assert.Equal(t, want, status, "%q: %s", cell, stderr)
	}
}

func TestTuneStandardInput(t *testing.T) {
	text := table(",")
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	read := func(text string) {
		f, err := os.Open(writeText(t, "rows", text))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		os.Stdin = f
	}
	read(text)
	fromStdin, model, stdout := tuneWith(t, "-")
	assert.Contains(t, stdout, "data     standard input: 40 rows\n")
	fromFile, _, _ := tuneWith(t, writeText(t, "rows.csv", text))
	assert.Equal(t, fromFile.Features, fromStdin.Features)
	assert.Equal(t, fromFile.Files[0].SHA256, fromStdin.Files[0].SHA256)
	read("income,age\n1,2\n-1,-2\n")
	stdout, stderr := ok(t, "tune", "-apply", model, "-")
	assert.Equal(t, "2 rows, no labels\n", stderr)
	assert.Equal(t, 3, strings.Count(stdout, "\n"))
	read("income,age\n1,x\n")
	_, _, stderr = bench(context.Background(), "tune", "-apply", model, "-")
	assert.Contains(t, stderr, `standard input:2: column "age", "x"`)
}

func TestTuneApplyByName(t *testing.T) {
	rows, shuffled, blank := "v,w,label\n", "outcome,w,v\n", "w,label,v\n"
	for i := range 24 {
		v, w, label := i%5, (i*7)%11, []string{"no", "yes"}[i%5/3]
		rows += fmt.Sprintf("%d,%d,%s\n", v, w, label)
		shuffled += fmt.Sprintf("%s,%d,%d\n", label, w, v)
		blank += fmt.Sprintf("%d,,%d\n", w, v)
	}
	train, other, empty := writeText(t, "train.csv", rows), writeText(t, "o.csv", shuffled), writeText(t, "blank.csv", blank)
	_, model, _ := runTune(t, train)
	want, _ := ok(t, "tune", "-apply", model, train)
	got, stderr := ok(t, "tune", "-apply", model, other)
	assert.Contains(t, stderr, "24 rows, loss ")
	assert.Equal(t, want, got)
	for _, path := range []string{other, empty} {
		got, stderr = ok(t, "tune", "-apply", model, path, "-unlabelled")
		assert.Equal(t, "24 rows, no labels\n", stderr)
		assert.Equal(t, want, got)
	}
	more := writeText(t, "more.csv", "id,v,w,label\n1,2,3,yes\n")
	_, stderr = ok(t, "tune", "-apply", model, more, "-drop", "id")
	assert.Contains(t, stderr, "1 row, loss ")
	for path, want := range map[string]string{
		empty: `blank.csv:2: label column "label": "": missing value (leave the rows`,
		more:  `more.csv:1: column "id" is neither the label nor one of the 2 features`,
	} {
		status, _, stderr := bench(context.Background(), "tune", "-apply", model, path)
		assert.Equal(t, 1, status)
		assert.Contains(t, stderr, want)
	}
	_, _, stdout := runTune(t, train, other)
	assert.Contains(t, stdout, "features 2")
}
