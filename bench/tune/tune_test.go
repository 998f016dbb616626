package tune

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
)

const cancer = "../../testdata/breast_cancer.csv"

func writeText(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func runTune(t *testing.T, args ...string) (m *model, path, stdout string) {
	return tuneWith(t, append([]string{"-steps", "500"}, args...)...)
}

func tuneWith(t *testing.T, args ...string) (m *model, path, stdout string) {
	dir := t.TempDir()
	stdout, stderr := ok(t, append([]string{"tune", "-out", dir}, args...)...)
	assert.Empty(t, complaints(stderr))
	path = filepath.Join(dir, "model.json")
	m, err := readModel(path)
	require.NoError(t, err)
	return m, path, stdout
}

func ok(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	status, stdout, stderr := bench(context.Background(), args...)
	require.Zero(t, status, stderr)
	return stdout, stderr
}

func chosen(m *model) *result {
	return m.Results[slices.IndexFunc(m.Results, func(r *result) bool { return r.Name == m.Choice.Name })]
}

func linear(n int, seed uint64) string {
	rng, text := rand.New(rand.NewPCG(seed, 1)), "a,b,c,price\n"
	for range n {
		a, b, c := rng.NormFloat64(), 1e3+10*rng.NormFloat64(), rng.NormFloat64()/100
		text += fmt.Sprintf("%v,%v,%v,%v\n", a, b, c, 500+20*a+b-1e3+0.1*rng.NormFloat64())
	}
	return text
}

func TestTune(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	m, path, stdout := tuneWith(t, cancer, "-folds", "5")
	for _, want := range []string{
		"569 rows", "427 to train and choose on, in 5 folds × 1; 142 for the test", `"benign" and "malignant"`, "solver   exact", "intercept free",
		"→ average", "ladder, rung 2", " that of one weight for all, which may be chance, on 427 rows", " below that of one weight for all on the 142 test rows", "trained on the 427 rows",
	} {
		assert.Contains(t, stdout, want)
	}
	one := m.Results[1]
	assert.Less(t, one.HeldOut, m.Results[0].HeldOut/5)
	assert.Equal(t, []string{"benign", "malignant"}, m.Classes)
	assert.Equal(t, "mean radius", m.Features[0].Name)
	assert.Equal(t, rowCounts{Design: 427, Folds: 5, Test: 142}, m.Rows)
	assert.Greater(t, one.Share, 0.5) // 30 weights overfit 427 rows
	sum, err := kit.Digest(cancer)
	require.NoError(t, err)
	assert.Equal(t, []dataFile{{cancer, sum, 569}}, m.Files)

	dir := filepath.Dir(path)
	assert.Greater(t, len(cells(t, readText(t, dir, "tune.csv"))), 30)
	assert.Contains(t, readText(t, dir, "tune.svg"), "handed out")
	assert.Contains(t, readText(t, dir, "tune.svg"), "worst concave points")
}

func TestTuneSplit(t *testing.T) {
	train, val, test := worth(t, 90, 1, 1), worth(t, 60, 1, 2), worth(t, 50, 1, 3)
	m, _, stdout := runTune(t, train, val, test)
	assert.Equal(t, rowCounts{Design: 150, Folds: 1, Train: 90, Validation: 31, Unseen: 29, Test: 50}, m.Rows)
	assert.Equal(t, 29, m.Choice.Rows)
	assert.Contains(t, stdout, "29 kept back to choose on")
	assert.Equal(t, 1e-5, m.Options.Lo)
	m, _, _ = tuneWith(t, worth(t, 1600, 1, 1), "-folds", "1")
	assert.Equal(t, 0.01/1200, m.Options.Lo)
	m, _, _ = tuneWith(t, train, test, "-folds", "1")
	assert.Equal(t, rowCounts{Design: 90, Folds: 1, Train: 60, Validation: 30, Test: 50}, m.Rows)
	assert.Equal(t, 30, m.Choice.Rows)
	m, _, stdout = runTune(t, train, worth(t, 8, 1, 2), test)
	assert.Equal(t, 0, m.Choice.Rows)
	assert.Equal(t, rungName(1), m.Choice.Name)
	assert.Contains(t, stdout, "there are no held-out rows")
}

// What model.json predicts for rows as they stand in the file is what the fitted model predicts for
// the prepared rows.
func TestTuneRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	sparse, rng := "", rand.New(rand.NewPCG(3, 1))
	for range 40 {
		sparse += fmt.Sprintf("1 1:%v\n2 1:%v\n", rng.NormFloat64(), 1+rng.NormFloat64())
		sparse += fmt.Sprintf("1 2:%v 9:%v\n2 9:%[2]v\n", 1e3+10*rng.NormFloat64(), rng.NormFloat64()/100)
	}
	for name, c := range map[string]struct{ path, loss string }{
		"classes":    {cancer, "logistic"},
		"sparse":     {writeText(t, "s.svm", sparse), "logistic"},
		"regression": {writeText(t, "r.csv", linear(60, 1)), "squared"},
	} {
		run := searchOn(t, options{Seed: 3, Lo: 1e-3, Hi: 1, Loss: c.loss}, c.path)
		require.NoError(t, run.run(context.Background(), kit.Terminal{}), name)
		fitted, err := run.newModel()
		require.NoError(t, err, name)
		var text bytes.Buffer
		require.NoError(t, fitted.encode(&text))
		m, err := readModel(writeText(t, "model.json", text.String()))
		require.NoError(t, err, name)
		assert.Equal(t, fitted.Features, m.Features, name)

		raw, labelled, err := m.open(options{}, c.path)
		require.NoError(t, err, name)
		assert.True(t, labelled)
		prepared, err := run.scaler.Apply(narrow(raw, run.used))
		require.NoError(t, err)
		prepared = data.WithBias(prepared)
		y := run.chosen().y
		coefficient := make([]float64, raw.Dim)
		for _, f := range m.Features {
			coefficient[f.Index-1] = f.Coefficient
		}
		for i, got := range m.scores(raw) {
			want, direct, size := 0.0, m.RawIntercept, math.Abs(m.RawIntercept)
			col, val := prepared.Row(i)
			for k, j := range col {
				want += val[k] * y[j]
			}
			want = run.target.Mean + run.target.Deviation*want
			require.InDelta(t, want, got, 1e-12*max(1, math.Abs(want)), "%s, row %d", name, i)
			col, val = raw.Row(i)
			for k, j := range col {
				direct += val[k] * coefficient[j]
				size += math.Abs(val[k] * coefficient[j])
			}
			require.InDelta(t, got, direct, 1e-13*size, "%s, row %d", name, i)
		}
	}
}

func TestTuneOddColumns(t *testing.T) {
	train := writeText(t, "a.svm", strings.Repeat("1 1:1 2:7\n-1 1:-1 2:7\n1 1:2 2:7\n-1 1:0.5 2:7\n", 4))
	val := writeText(t, "b.svm", "1 1:1 2:7 3:5\n-1 1:-2 2:7\n")
	test := writeText(t, "c.svm", "1 1:1 2:7 4:1e300\n-1 1:-2 2:7\n")
	m, _, _ := runTune(t, train, val, test)
	assert.Equal(t, 4, m.Dim)
	require.Len(t, m.Features, 3) // the fourth is in a test row alone
	assert.NotZero(t, m.Features[0].Coefficient)
	assert.NotZero(t, m.Features[2].Coefficient) // of a validation row: the model is trained on these, too
	assert.Less(t, m.Results[2].Test["loss"], math.Ln2)

	m, _, _ = runTune(t, writeText(t, "d.csv", "x,same,y\n"+strings.Repeat("1,4,a\n2,4,b\n3,4,a\n", 6)))
	assert.Equal(t, feature{Index: 2, Name: "same", Centre: 4, Factor: 1, Weight: m.Features[1].Weight}, m.Features[1])
}

// What has no entry outside of the test is left out of the search, and of the model unless named.
func TestTuneEmptyColumns(t *testing.T) {
	far := strings.Repeat("1 3:1 900000:7\n-1 3:-1 900000:5\n1 3:2 900000:7\n-1 3:0.5 900000:4\n", 4)
	near := strings.NewReplacer(" 3:", " 1:", " 900000:", " 2:").Replace(far)
	m, path, stdout := runTune(t, writeText(t, "far.svm", far))
	assert.Contains(t, stdout, "features 2, scaled to mean 0")
	assert.Contains(t, stdout, "empty    899998 more")
	assert.Equal(t, 900000, m.Dim)
	require.Len(t, m.Features, 2)
	assert.Equal(t, []int{3, 900000}, []int{m.Features[0].Index, m.Features[1].Index})
	same, samePath, _ := runTune(t, writeText(t, "near.svm", near))
	for j := range same.Features {
		same.Features[j].Index = m.Features[j].Index
	}
	assert.Equal(t, same.Features, m.Features)
	got, _ := ok(t, "tune", "-apply", path, writeText(t, "far.svm", far+"1 17:4\n"))
	want, _ := ok(t, "tune", "-apply", samePath, writeText(t, "near.svm", near+"1\n"))
	assert.Equal(t, want, got)

	rows := strings.Repeat("0,1,0,a\n0,2,0,b\n0,3,0,a\n", 6)
	m, path, stdout = runTune(t, writeText(t, "named.csv", "u,v,w,y\n"+rows))
	assert.Contains(t, stdout, "empty    2 more")
	require.Len(t, m.Features, 3)
	assert.Equal(t, feature{Index: 1, Name: "u", Factor: 1}, m.Features[0])
	assert.Equal(t, feature{Index: 3, Name: "w", Factor: 1}, m.Features[2])
	ok(t, "tune", "-apply", path, writeText(t, "w.csv", "w,v,u,y\n5,1,6,a\n"))
}

func TestTuneInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.json")
	interrupt(t, 70, dir, "tune", cancer, "-steps", "20000") // 51 looks are for single weights
	m, err := readModel(path)
	require.NoError(t, err)
	assert.Equal(t, "canceled", m.Results[2].Stopped)
	assert.Positive(t, m.Results[2].Steps)
	assert.True(t, m.Choice.Cut)

	before := readText(t, path)
	status, _, stderr := bench(&countdown{context.Background(), 0, nil}, "tune", cancer, "-fresh", "-out", dir)
	assert.Equal(t, 130, status)
	assert.Contains(t, stderr, "interrupted")
	assert.Equal(t, before, readText(t, path))
}
