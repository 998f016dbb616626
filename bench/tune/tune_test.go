package tune

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bench/kit/kittest"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
)

const cancer = "../../testdata/breast_cancer.csv"

// writeText writes a file into the test's own folder and returns its path.
func writeText(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// runTune runs tune on one split with few steps of STABLE: see tuneWith.
func runTune(t *testing.T, args ...string) (m *model, path, stdout string) {
	return tuneWith(t, append([]string{"-steps", "500"}, args...)...)
}

// tuneWith runs tune into a folder of its own and returns the model and what it prints.
func tuneWith(t *testing.T, args ...string) (m *model, path, stdout string) {
	dir := t.TempDir()
	status, stdout, stderr := bench(context.Background(), append([]string{"tune", "-out", dir}, args...)...)
	require.Zero(t, status, stderr)
	assert.Empty(t, complaints(stderr))
	path = filepath.Join(dir, "model.json")
	m, err := readModel(path)
	require.NoError(t, err)
	return m, path, stdout
}

// chosen is the result that the model was made of.
func chosen(m *model) result {
	return m.Results[slices.IndexFunc(m.Results, func(r result) bool { return r.Name == m.Choice.Name })]
}

// linear writes rows of three features of very different means and a target (noise 0.1) or its
// sign.
func linear(n int, seed uint64, header string, line func(v [3]float64, target float64) string) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString(header)
	for range n {
		v := [3]float64{rng.NormFloat64(), 1e3 + 10*rng.NormFloat64(), rng.NormFloat64() / 100}
		b.WriteString(line(v, 500+20*v[0]+v[1]-1e3+0.1*rng.NormFloat64()) + "\n")
	}
	return b.String()
}

func csvRow(v [3]float64, target float64) string {
	return fmt.Sprintf("%v,%v,%v,%v", v[0], v[1], v[2], target)
}

// The exact solver on folds: the weights are those of a local minimum, the choice rests on rows that
// no search saw, and the model is trained on all rows but the test's.
func TestTune(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	m, path, stdout := tuneWith(t, cancer)
	for _, want := range []string{
		"569 rows", "427 in 5 folds, 142 test", `"benign" and "malignant"`, "solver   exact", "a weight each",
		"one weight for all",
		"5-fold loss", "converged after", "on 427 rows that neither search saw", "trained on the 427 rows",
	} {
		assert.Contains(t, stdout, want)
	}
	require.Len(t, m.Results, 2)
	each, single := m.Results[0], m.Results[1]
	assert.Less(t, each.Validation["loss"], single.Validation["loss"])
	assert.Equal(t, 19, single.Tried)
	assert.Equal(t, []string{"benign", "malignant"}, m.Classes)
	assert.Equal(t, "mean radius", m.Features[0].Name)
	assert.Equal(t, rowCounts{Design: 427, Folds: 5, Test: 142}, m.Rows)
	assert.Equal(t, "one weight for all", m.Choice.Name) // 31 weights overfit 427 rows
	for _, f := range m.Features {
		assert.InEpsilon(t, 0.8*single.Lambda, f.Weight, 1e-12) // of four fifths of the rows, on all of them
	}
	sum, err := kit.Digest(cancer)
	require.NoError(t, err)
	assert.Equal(t, []dataFile{{cancer, sum, 569}}, m.Files)

	f, err := os.Open(filepath.Join(filepath.Dir(path), "tune.csv"))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	assert.Greater(t, len(rows), 15)
	svg, err := os.ReadFile(filepath.Join(filepath.Dir(path), "tune.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), "a weight each")
}

// worth writes rows of 20 features, of which so many matter, and returns the path.
func worth(t *testing.T, rows, matter int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for k := range 20 {
		fmt.Fprintf(&b, "v%d,", k)
	}
	b.WriteString("y\n")
	for range rows {
		score := 0.0
		for k := range 20 {
			v := rng.NormFloat64()
			if k < matter {
				score += 3 * v / math.Sqrt(float64(matter))
			}
			fmt.Fprintf(&b, "%.4g,", v)
		}
		fmt.Fprintln(&b, b2i(rng.Float64() < 1/(1+math.Exp(-score))))
	}
	return writeText(t, "worth.csv", b.String())
}

// Where features differ in worth, a weight each is chosen, and is better on the test rows; where
// they do not, the single weight is, and either choice is no worse than the single weight.
func TestTuneChooses(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	m, _, stdout := tuneWith(t, worth(t, 600, 3, 2), worth(t, 4000, 3, 102))
	require.Equal(t, "a weight each", m.Choice.Name, stdout)
	assert.Less(t, m.Choice.Difference, -m.Choice.Error)
	assert.Equal(t, 600, m.Choice.Rows)
	assert.Less(t, m.Results[0].Test["loss"], m.Results[1].Test["loss"])
	assert.Less(t, m.Features[0].Weight, m.Features[19].Weight)
	assert.Contains(t, stdout, "which is more than noise")

	m, _, stdout = tuneWith(t, worth(t, 150, 20, 3), worth(t, 4000, 20, 4))
	require.Equal(t, "one weight for all", m.Choice.Name, stdout)
	assert.Equal(t, m.Features[0].Weight, m.Features[19].Weight)
}

// With validation rows of the user's, or one split, half of them are kept back to choose on.
func TestTuneSplit(t *testing.T) {
	train, val, test := worth(t, 90, 1, 1), worth(t, 60, 1, 2), worth(t, 50, 1, 3)
	m, _, stdout := tuneWith(t, train, val, test)
	assert.Equal(t, rowCounts{Design: 150, Folds: 1, Train: 90, Validation: 31, Unseen: 29, Test: 50}, m.Rows)
	assert.Equal(t, 29, m.Choice.Rows)
	assert.Contains(t, stdout, "29 kept back to choose on")
	m, _, _ = tuneWith(t, train, test, "-folds", "1")
	assert.Equal(t, rowCounts{Design: 90, Folds: 1, Train: 60, Validation: 15, Unseen: 15, Test: 50}, m.Rows)
	m, _, stdout = tuneWith(t, train, worth(t, 8, 1, 2), test)
	assert.Equal(t, 0, m.Choice.Rows)
	assert.Equal(t, "one weight for all", m.Choice.Name)
	assert.Contains(t, stdout, "there were no rows that neither search saw")
}

// A search ends once three iterations bring next to nothing.
func TestSettled(t *testing.T) {
	var s settled
	for i, f := range []float64{1, 0.5, 0.4, 0.39, 0.389999, 0.389998, 0.389997} {
		assert.Equal(t, i == 6, s.at(f), i)
	}
}

// What limits a search is said: a weight at the edge of the range, a search that did not converge, a
// y that is not y*(x).
func TestTuneWarns(t *testing.T) {
	_, _, stdout := tuneWith(t, cancer, "-lo", "0.1", "-folds", "1")
	assert.Contains(t, stdout, "warning  one weight for all is at the edge of the range, 0.1: see -lo and -hi")
	_, _, stdout = tuneWith(t, cancer, "-steps", "3")
	assert.Contains(t, stdout, "warning  the search at equal cost saw")
	run := &search{each: result{f: 2}, single: result{f: 1}, dataSet: &dataSet{}, parts: make([]*hyperopt.Data, 2)}
	run.engine = &engine{y: []float64{3, 4}, result: bilevel.Result{Y: []float64{3, 6}}}
	for i := range run.parts {
		run.parts[i] = &hyperopt.Data{}
	}
	assert.Equal(t, []string{
		"the search of a weight each ended at a validation loss above that of the single weight, 2 against 1: it has not converged; see -steps",
		"STABLE's own y is 40 % away from y*(x), so its hypergradients are off; see -steps",
	}, run.warnings())
}

// The search at equal cost ends with the model at which it has read as many rows as STABLE reads
// after it, about.
func TestTuneEqualCost(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, steps := range []int{1, 2000, 20000} {
		m, _, _ := tuneWith(t, cancer, "-steps", strconv.Itoa(steps))
		stable, equal := m.Results[0], m.Results[2]
		assert.Equal(t, "step limit", stable.Stopped)
		assert.GreaterOrEqual(t, float64(equal.Reads), 0.9*float64(stable.Reads))
		perModel := 30 * uint64(equal.SearchRows) // Newton ends in less than 15 steps of two passes
		assert.Less(t, equal.Reads, stable.Reads+stable.Reads/4+perModel)
		assert.LessOrEqual(t, equal.SearchRows, 357)
		assert.Equal(t, steps == 20000, equal.SearchRows == 357)
	}
}

// STABLE starts from the single weight, with its model.
func TestTuneStartsFromSingle(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	o := options{Seed: 1, Steps: 100, Lo: 1e-5, Hi: 10, Form: "exp", Loss: "logistic", Solver: solverStable}
	set, err := readData(o, []string{cancer})
	require.NoError(t, err)
	run, err := newSearch(o, set)
	require.NoError(t, err)
	require.NoError(t, run.run(context.Background(), kit.Terminal{}))
	p, err := run.newProblem(run.parts[0], run.parts[1])
	require.NoError(t, err)
	x := make([]float64, set.design.Dim)
	p.Uniform(x, run.baseline.Lambda)
	f, err := p.Objective(nil, x)
	require.NoError(t, err)
	assert.InEpsilon(t, f, run.engine.f[0], 1e-9)
}

// On half of the training rows a weight stands for twice itself.
func TestTuneSearchScalesWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	o := options{Seed: 1, Steps: 1, Lo: 1e-5, Hi: 10, Form: "exp", Loss: "logistic", Solver: solverStable}
	set, err := readData(o, []string{cancer})
	require.NoError(t, err)
	run, err := newSearch(o, set)
	require.NoError(t, err)
	small := run.parts[0]
	grid := hyperopt.Geometric(o.Lo, o.Hi, 41)
	find := func(lambdas []float64) result {
		r, err := run.searchSingle(context.Background(), small, run.parts[1], lambdas, math.MaxUint64)
		require.NoError(t, err)
		return r
	}
	whole := find(grid).Lambda
	require.True(t, grid[0] < whole && whole < grid[40])
	run.parts[0] = small.Subset(twice(small))
	half := make([]float64, len(grid))
	for i, lambda := range grid {
		half[i] = lambda / 2
	}
	assert.Equal(t, whole/2, find(half).Lambda)

	y, err := run.train(small, run.uniform(whole), 1)
	require.NoError(t, err)
	same, err := run.train(run.parts[0], run.uniform(2*whole), 0.5)
	require.NoError(t, err)
	assert.InDeltaSlice(t, y, same, 1e-9) // the mean loss is the same, and so is the weight
}

// The differences on rows are those of the reported losses; of two rows, the standard error of their
// mean is |d₁ − d₂|/√8.
func TestTuneDifference(t *testing.T) {
	o := options{Seed: 1, Lo: 1e-3, Hi: 1, Form: "exp", Loss: "squared"}
	set, err := readData(o, []string{writeText(t, "r.csv", linear(60, 1, "a,b,c,price\n", csvRow))})
	require.NoError(t, err)
	run := &search{options: o, dataSet: set}
	a, b := []float64{1, 0, 0, 0}, []float64{0, 1, 0, 0.5}
	loss := func(d *hyperopt.Data) float64 { return run.measure(d, a)["loss"] - run.measure(d, b)["loss"] }
	mean, _ := meanOf(run.compare(set.test, a, b))
	assert.InEpsilon(t, loss(set.test), mean, 1e-12)
	d1, d2 := loss(set.test.Subset([]int{0})), loss(set.test.Subset([]int{1}))
	_, deviation := meanOf(run.compare(set.test.Subset([]int{0, 1}), a, b))
	assert.InEpsilon(t, math.Abs(d1-d2)/math.Sqrt(8), deviation, 1e-12)
}

// twice names every row two times.
func twice(d *hyperopt.Data) []int {
	rows := make([]int, 2*d.Rows())
	for i := range rows {
		rows[i] = i / 2
	}
	return rows
}

func TestNested(t *testing.T) {
	order := nested(1, 16)
	assert.Len(t, order, 65)
	assert.InDeltaSlice(t, []float64{1, 16, 4, 2, 8}, order[:5], 1e-12)
	assert.ElementsMatch(t, hyperopt.Geometric(1, 16, 65), order)
}

// What model.json predicts for rows as they stand in the file is what the fitted model predicts for
// the prepared rows.
func TestTuneRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	sparse := linear(80, 3, "", func(v [3]float64, b float64) string {
		if v[0] < 0 {
			return fmt.Sprintf("%d 2:%v 9:%v", 1+b2i(b > 500), v[1], v[2])
		}
		return fmt.Sprintf("%d 1:%v", 1+b2i(b > 500), v[0])
	})
	for name, c := range map[string]struct {
		path, loss, form string
	}{
		"classes":    {cancer, "logistic", "exp"},
		"sparse":     {writeText(t, "s.svm", sparse), "logistic", "raw"},
		"regression": {writeText(t, "r.csv", linear(60, 1, "a,b,c,price\n", csvRow)), "squared", "exp"},
	} {
		o := options{Seed: 3, Lo: 1e-3, Hi: 1, Form: c.form, Loss: c.loss}
		set, err := readData(o, []string{c.path})
		require.NoError(t, err, name)
		run, err := newSearch(o, set)
		require.NoError(t, err, name)
		require.NoError(t, run.run(context.Background(), kit.Terminal{}), name)
		fitted, err := run.newModel()
		require.NoError(t, err, name)
		var text bytes.Buffer
		require.NoError(t, fitted.encode(&text))
		m, err := readModel(writeText(t, "model.json", text.String()))
		require.NoError(t, err, name)
		assert.Equal(t, fitted.Features, m.Features, name)

		raw, labelled, err := m.open(c.path, false)
		require.NoError(t, err, name)
		assert.True(t, labelled)
		prepared, err := run.scaler.Apply(raw)
		require.NoError(t, err)
		prepared = hyperopt.WithBias(prepared)
		y := run.chosen().y
		for i, got := range m.scores(raw) {
			col, val := prepared.Row(i)
			want := 0.0
			for k, j := range col {
				want += val[k] * y[j]
			}
			want = run.target.Mean + run.target.Deviation*want
			require.InDelta(t, want, got, 1e-12*max(1, math.Abs(want)), "%s, row %d", name, i)

			direct, size := m.RawIntercept, math.Abs(m.RawIntercept)
			col, val = raw.Row(i)
			for k, j := range col {
				direct += val[k] * m.Features[j].Coefficient
				size += math.Abs(val[k] * m.Features[j].Coefficient)
			}
			require.InDelta(t, got, direct, 1e-13*size, "%s, row %d", name, i)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The same flags give the same bytes, another seed others.
func TestTuneSeed(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	text := func(seed string) string {
		_, path, _ := runTune(t, cancer, "-seed", seed, "-steps", "50")
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(b)
	}
	assert.Equal(t, text("5"), text("5"))
	assert.NotEqual(t, text("5"), text("6"))
}

// Columns that are constant, empty in training rows only, or at the end of one file only.
func TestTuneOddColumns(t *testing.T) {
	train := writeText(t, "a.svm", strings.Repeat("1 1:1 2:7\n-1 1:-1 2:7\n1 1:2 2:7\n-1 1:0.5 2:7\n", 4))
	val := writeText(t, "b.svm", "1 1:1 2:7 3:5\n-1 1:-2 2:7\n")
	test := writeText(t, "c.svm", "1 1:1 2:7 4:1e300\n-1 1:-2 2:7\n")
	m, _, _ := runTune(t, train, val, test)
	require.Len(t, m.Features, 4)
	assert.NotZero(t, m.Features[0].Coefficient)
	assert.NotZero(t, m.Features[2].Coefficient) // of a validation row: the model is trained on these, too
	assert.Zero(t, m.Features[3].Coefficient)
	assert.Less(t, m.Results[0].Test["loss"], math.Ln2)

	m, _, _ = runTune(t, writeText(t, "d.csv", "x,same,y\n"+strings.Repeat("1,4,a\n2,4,b\n3,4,a\n", 6)))
	assert.Equal(t, feature{Index: 2, Name: "same", Centre: 4, Factor: 1, Weight: m.Features[1].Weight}, m.Features[1])
}

// interrupter is a terminal that ends the run when the line shows a step of STABLE for the second
// time.
type interrupter struct {
	cancel func()
	writes int
}

func (w *interrupter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("step ")) {
		w.writes++
	}
	if w.writes == 2 {
		w.cancel()
	}
	return len(p), nil
}

// An interrupted run writes the model that it has; one that has done nothing leaves what is there.
func TestTuneInterrupted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.json")
	ctx, cancel := context.WithCancel(context.Background())
	var stdout bytes.Buffer
	status := kit.Run(ctx, list, []string{"tune", cancer, "-steps", "1000000000", "-out", dir},
		kit.Terminal{Stdout: &stdout, Stderr: &interrupter{cancel: cancel}, Live: true})
	assert.Equal(t, 130, status)
	assert.Contains(t, stdout.String(), "canceled after")
	m, err := readModel(path)
	require.NoError(t, err)
	assert.Equal(t, "canceled", m.Stopped)
	assert.Positive(t, m.StepsDone)
	assert.Equal(t, "one weight for all", m.Choice.Name)

	before, err := os.ReadFile(path)
	require.NoError(t, err)
	status, _, stderr := bench(ctx, "tune", cancer, "-fresh", "-out", dir)
	assert.Equal(t, 130, status)
	assert.Contains(t, stderr, "interrupted")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// A number that JSON cannot hold fails, and is found before anything is written.
func TestTuneModelNotFinite(t *testing.T) {
	m, _, _ := runTune(t, cancer, "-steps", "5")
	m.Results[0].Test["loss"] = math.NaN()
	assert.Error(t, m.encode(io.Discard))
	m.Features[3].Coefficient = math.Inf(1)
	assert.ErrorContains(t, m.check(), "feature 4")
}

func TestTuneRefuses(t *testing.T) {
	good, goodPath, _ := runTune(t, cancer, "-steps", "5")
	altered := func(change func(m *model)) string {
		m := *good
		change(&m)
		b, err := json.Marshal(m)
		require.NoError(t, err)
		return writeText(t, "m.json", string(b))
	}
	torn, err := os.ReadFile(goodPath)
	require.NoError(t, err)
	rows := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	two := writeText(t, "two.csv", "a,b,y\n"+rows(8, "1,2,0\n3,4,1"))
	swapped := writeText(t, "swapped.csv", "b,a,y\n"+rows(8, "1,2,0\n3,4,1"))
	blocked := writeText(t, "file", "")
	missing, notFolder := kittest.SystemErrors(t, "nowhere.csv", blocked)
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{0, "go run ./bench tune", []string{"-h"}},
		{2, "0 data files, want one to three", nil},
		{2, "4 data files", []string{"a", "b", "c", "d"}},
		{2, "-steps is 0,", []string{two, "-steps", "0"}},
		{2, "-steps is -1", []string{two, "-steps", "-1"}},
		{2, "want 0 < lo < hi", []string{two, "-lo", "0"}},
		{2, `-form is "log"`, []string{two, "-form", "log"}},
		{2, `-loss is "hinge"`, []string{two, "-loss", "hinge"}},
		{2, "-unlabelled goes with -apply", []string{two, "-unlabelled"}},
		{2, "2 data files, want one", []string{"-apply", goodPath, two, two}},
		{1, missing, []string{"nowhere.csv"}},
		{1, notFolder, []string{two, "-out", blocked}},
		{1, `"colour"`, []string{two, "-label", "colour"}},
		{1, "3.svm: 2 rows of class \"0\" and 1 of class \"1\" are too few to split into 3 parts",
			[]string{writeText(t, "3.svm", "1 1:1\n0 1:2\n0 1:3\n")}},
		{1, "3.csv: 3 rows, want at least 4",
			[]string{writeText(t, "3.csv", "a,y\n1,1.5\n2,2\n3,3\n"), "-loss", "squared"}},
		{1, "all 9 rows are of one class", []string{writeText(t, "one.svm", rows(9, "1 1:1"))}},
		{1, "all 1 rows are of one class", []string{two, writeText(t, "v.csv", "a,b,y\n1,1,1\n"), two}},
		{1, "deviation 0", []string{writeText(t, "flat.csv", "a,y\n"+rows(9, "1,5")), "-loss", "squared"}},
		{1, "bad.svm:2:", []string{writeText(t, "bad.svm", "1 1:1\n0 0:3\n")}},
		{1, `bad.csv:3: column "a", "x": not a number (-categorical`,
			[]string{two, writeText(t, "bad.csv", "a,b,y\n1,2,0\nx,2,1\n")}},
		{1, "for a regression, use -loss squared", []string{writeText(t, "r.csv", "a,y\n1,1.5\n2,2.5\n3,3.5\n")}},
		{1, `hole.csv:2: column "b", "": missing value (-impute`,
			[]string{writeText(t, "hole.csv", "a,b,y\n1,,0\n2,3,1\n")}},
		{1, `a third label "z", after "x" and "y" (tune needs two classes: -class sets one`,
			[]string{writeText(t, "z.csv", "a,k\n1,x\n2,y\n3,z\n")}},
		{2, `-impute is "zero", want median or mean`, []string{two, "-impute", "zero"}},
		{1, `no column is named "id"`, []string{two, "-drop", "id"}},
		{1, `same.csv:1: two columns are named "a"`,
			[]string{writeText(t, "same.csv", "a,a,y\n"+rows(8, "1,2,0\n3,4,1"))}},
		{1, `swapped.csv: feature 1 is "b", in`, []string{two, swapped}},
		{1, "two.csv has 2 features, another file 3", []string{two, writeText(t, "w.svm", "0 3:1\n1 1:1\n")}},
		{1, "0 features", []string{writeText(t, "none.svm", rows(8, "1\n0"))}},
		{1, "5000 features, want 1 to 4095", []string{writeText(t, "wide.svm", rows(8, "1 5000:1\n0 1:1"))}},
		{1, fmt.Sprintf("torn.json:%d:", 1+bytes.Count(torn[:2000], []byte("\n"))),
			[]string{two, "-apply", writeText(t, "torn.json", string(torn[:2000]))}},
		{1, "kind.json:2:", []string{two, "-apply", writeText(t, "kind.json", "{\n\"features\": 7}")}},
		{1, "not a model written by tune", []string{two, "-apply", writeText(t, "other.json", "{}")}},
		{1, "version 2, want 1", []string{two, "-apply", altered(func(m *model) { m.Version = 2 })}},
		{1, "classes", []string{two, "-apply", altered(func(m *model) { m.Classes = nil })}},
		{1, "0 features", []string{two, "-apply", altered(func(m *model) { m.Features = nil })}},
		{1, "feature 1 has index 2", []string{two, "-apply", altered(func(m *model) { m.Features = m.Features[1:] })}},
		{1, `unknown loss "x"`, []string{two, "-apply", altered(func(m *model) { m.Options.Loss = "x" })}},
		{1, "2 columns of features, want 30", []string{two, "-apply", goodPath}},
	} {
		status, stdout, stderr := bench(context.Background(),
			append([]string{"tune", "-out", t.TempDir()}, c.args...)...)
		assert.Equal(t, c.status, status, "%s: %s", c.want, stderr)
		assert.Contains(t, stdout+stderr, c.want)
	}
}

// The data sets of the paper, raw and in two files, where they are.
func TestTuneRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	dir := os.Getenv("STABLE_DATA")
	if dir == "" {
		t.Skip("STABLE_DATA is not set")
	}
	m, _, _ := runTune(t, filepath.Join(dir, "australian", "australian.gz"))
	assert.Len(t, m.Features, 14)
	assert.Greater(t, m.Results[0].Test["accuracy"], 0.8)
	test := filepath.Join(dir, "ijcnn1", "ijcnn1.tst.gz")
	m, model, _ := runTune(t, filepath.Join(dir, "ijcnn1", "ijcnn1.trn.gz"), test)
	assert.Equal(t, rowCounts{Design: 49990, Folds: 1, Train: 33326, Validation: 8332, Unseen: 8332, Test: 91701},
		m.Rows)
	assert.Less(t, m.Results[2].SearchRows, 41658) // 500 steps do not pay for a pass
	status, _, stderr := bench(context.Background(), "tune", "-apply", model, test)
	require.Zero(t, status, stderr)
	assert.Contains(t, stderr,
		fmt.Sprintf("91701 rows, loss %.6g, accuracy %.6g", chosen(m).Test["loss"], chosen(m).Test["accuracy"]))
}
