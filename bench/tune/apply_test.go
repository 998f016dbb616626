package tune

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTuneApply(t *testing.T) {
	train := writeText(t, "train.csv", linear(90, 1, "a,b,c,price\n", csvRow))
	test := writeText(t, "test.csv", linear(30, 2, "a,b,c,price\n", csvRow))
	bare := writeText(t, "bare.csv", linear(30, 2, "a,b,c\n", func(v [3]float64, _ float64) string {
		return fmt.Sprintf("%v,%v,%v", v[0], v[1], v[2])
	}))
	m, model, _ := runTune(t, train, test, "-loss", "squared", "-lo", "1e-6")
	assert.Equal(t, rowCounts{Design: 90, Folds: 1, Train: 60, Validation: 15, Unseen: 15, Test: 30}, m.Rows)
	assert.Less(t, chosen(m).Test["rmse"], 1.0) // of a target with deviation 22 and noise 0.1
	stdout, stderr := ok(t, "tune", test, "-apply", model)
	var loss, rmse float64
	_, err := fmt.Sscanf(stderr, "30 rows, loss %g, rmse %g", &loss, &rmse)
	require.NoError(t, err, stderr)
	assert.InEpsilon(t, chosen(m).Test["loss"], loss, 1e-5)
	assert.InEpsilon(t, chosen(m).Test["rmse"], rmse, 1e-5)
	assert.Contains(t, stdout, "row,prediction\n1,")
	assert.Equal(t, 31, strings.Count(stdout, "\n"))

	unlabelled, stderr := ok(t, "tune", "-apply", model, bare)
	assert.Equal(t, "30 rows, no labels\n", stderr)
	assert.Equal(t, stdout, unlabelled)
}

func TestTuneApplyClasses(t *testing.T) {
	m, model, _ := runTune(t, writeText(t, "t.svm", strings.Repeat("2 1:1 3:1\n1 1:-1 2:0.5\n", 8)))
	require.Len(t, m.Features, 3)
	stdout, stderr := ok(t, "tune", "-apply", model, writeText(t, "few.svm", "2 1:1\n1 1:1\n"))
	assert.Contains(t, stderr, "2 rows, loss ")
	assert.Contains(t, stderr, "accuracy 0.5\n")
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"row", "score", "probability", "class"}, rows[0])
	score, err := strconv.ParseFloat(rows[1][1], 64)
	require.NoError(t, err)
	p, err := strconv.ParseFloat(rows[1][2], 64)
	require.NoError(t, err)
	assert.Positive(t, score)
	assert.InDelta(t, 1/(1+math.Exp(-score)), p, 1e-5)
	assert.Equal(t, "2", rows[1][3])

	zeros := writeText(t, "zeros.svm", "0 1:1\n0 1:1\n")
	status, _, stderr := bench(context.Background(), "tune", "-apply", model, zeros)
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "zeros.svm:1: label")
	ignored, stderr := ok(t, "tune", "-apply", model, zeros, "-unlabelled")
	assert.Equal(t, stdout, ignored)
	status, _, stderr = bench(context.Background(), "tune", "-apply", model, writeText(t, "wide.svm", "1 1:1\n2 4:1\n"))
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "wide.svm:2: index 4 is above the dimension 3")
	assert.Equal(t, `"a,""b"""`, csvField(`a,"b"`))
}

func TestTuneApplyToTraining(t *testing.T) {
	for name, text := range map[string]string{
		"latin.csv": "gr\xf6\xdfe,b,klasse\n" + strings.Repeat("1,2,sch\xf6n\n3,4,gut\n", 8),
		"any.svm":   strings.Repeat("4 1:1 3:1\n2 1:-1 2:0.5\n", 8),
	} {
		path := writeText(t, name, text)
		_, model, _ := runTune(t, path)
		stdout, stderr := ok(t, "tune", "-apply", model, path)
		assert.Contains(t, stderr, "16 rows, loss ", name)
		assert.Contains(t, stderr, "accuracy 1\n", name)
		assert.Equal(t, 17, strings.Count(stdout, "\n"), name)
	}
}

func TestTuneApplyColumns(t *testing.T) {
	head, rows := "id;city;age;bought\n", ""
	for i := range 12 {
		rows += fmt.Sprintf("r%d;Oslo;3%d,5;yes\ns%d;Rome;;no\nt%d;Lima;20;no\n", i, i%10, i, i)
	}
	path := writeText(t, "shop.csv", head+rows)
	m, model, stdout := tuneWith(t, path, "-drop", "id", "-categorical", "-impute", "median")
	assert.Contains(t, stdout, "features 4")
	assert.Equal(t, "city=Lima", m.Features[0].Name)
	require.Len(t, m.Columns, 2)
	want, stderr := ok(t, "tune", "-apply", model, path)
	assert.Contains(t, stderr, "36 rows, loss ")
	assert.Contains(t, stderr, "accuracy 1\n")

	bare := writeText(t, "bare.csv",
		strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(head+rows, ";bought", ""), ";yes", ""), ";no", ""))
	stdout, stderr = ok(t, "tune", "-apply", model, bare)
	assert.Equal(t, "12 cells are missing or unknown, and were filled\n36 rows, no labels\n", stderr)
	assert.Equal(t, want, stdout)
}

func TestTuneApplyImpute(t *testing.T) {
	head, rows := "id,city,age,bought\n", ""
	for i := range 12 {
		rows += fmt.Sprintf("r%d,Oslo,%d,yes\ns%d,Rome,2%d,no\nt%d,Oslo,2%d,no\n", i, 30+i%2, i, i%4, i, i%3)
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
	text, err := os.ReadFile(filepath.Join(dir, "predictions.csv"))
	require.NoError(t, err)
	got, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"row", "id", "score", "probability", "class"}, got[0])
	assert.Equal(t, []string{"a", "b", "c,d"}, []string{got[1][1], got[2][1], got[3][1]})
	assert.Equal(t, got[1][2], got[2][2], "Oslo is the most frequent text")
	assert.NotEqual(t, got[1][2], got[3][2])

	numbers := "age,bought\n"
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		numbers += strings.Join(strings.Split(row, ",")[2:], ",") + "\n"
	}
	_, plain, _ := tuneWith(t, writeText(t, "plain.csv", numbers))
	for cell, want := range map[string]int{"": 1, "NA": 1, "x": -1} {
		status, _, stderr = bench(context.Background(), "tune", "-apply", plain, "-impute", "mean",
			writeText(t, "cell.csv", "age\n30\n"+cell+",\n"))
		assert.Equal(t, want < 0, status != 0, "%q: %s", cell, stderr)
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
	rows, shuffled, blank := "", "", ""
	for i := range 24 {
		v, w, label := i%5, (i*7)%11, []string{"no", "yes"}[i%5/3]
		rows += fmt.Sprintf("%d,%d,%s\n", v, w, label)
		shuffled += fmt.Sprintf("%s,%d,%d\n", label, w, v)
		blank += fmt.Sprintf("%d,,%d\n", w, v)
	}
	_, model, _ := runTune(t, writeText(t, "train.csv", "v,w,label\n"+rows))
	apply := func(name, text string, args ...string) (int, string, string) {
		return bench(context.Background(),
			append([]string{"tune", "-apply", model, writeText(t, name, text)}, args...)...)
	}
	status, want, stderr := apply("same.csv", "v,w,label\n"+rows)
	require.Zero(t, status, stderr)
	status, got, stderr := apply("shuffled.csv", "outcome,w,v\n"+shuffled)
	require.Zero(t, status, stderr)
	assert.Contains(t, stderr, "24 rows, loss ")
	assert.Equal(t, want, got)
	for _, text := range []string{"outcome,w,v\n" + shuffled, "w,label,v\n" + blank} {
		status, got, stderr = apply("ignored.csv", text, "-unlabelled")
		require.Zero(t, status, stderr)
		assert.Equal(t, "24 rows, no labels\n", stderr)
		assert.Equal(t, want, got)
	}
	status, _, stderr = apply("blank.csv", "w,label,v\n"+blank)
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, `blank.csv:2: label column "label": "": missing value (leave the rows`)
	status, _, stderr = apply("more.csv", "id,v,w,label\n1,2,3,yes\n")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, `more.csv:1: column "id" is neither the label nor one of the 2 features`)

	test := writeText(t, "test.csv", "outcome,w,v\n"+shuffled)
	_, _, stdout := runTune(t, writeText(t, "train.csv", "v,w,label\n"+rows), test)
	assert.Contains(t, stdout, "features 2")
}
