package tune

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

func cells(text string) [][]string {
	return kit.Must(csv.NewReader(strings.NewReader(text)).ReadAll())
}

func numbers(rows [][]string, column int) []float64 {
	return kit.Map(rows[1:], func(row []string) float64 { return kit.Must(strconv.ParseFloat(row[column], 64)) })
}

func withoutLast(text string) string {
	return regexp.MustCompile(`(?m)[,;][^,;]*$`).ReplaceAllString(strings.TrimSpace(text), "")
}

// model.json predicts for rows as in the file what the fitted model does for the prepared ones.
func TestTuneRoundTrip(t *testing.T) {
	long(t)
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
		fitted := kit.Must(run.newModel())
		var text bytes.Buffer
		require.NoError(t, fitted.encode(&text))
		m := kit.Must(readModel(writeText(t, "model.json", text.String())))
		assert.Equal(t, fitted.Features, m.Features, name)

		raw, labelled, err := m.open(options{}, c.path)
		require.NoError(t, err, name)
		assert.True(t, labelled)
		prepared := data.WithBias(kit.Must(run.scaler.Apply(narrow(raw, run.used))))
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
	assert.Equal(t, feature{Index: 2, Name: "same", Centre: 4, Mean: 4, Factor: 1, Weight: m.Features[1].Weight}, m.Features[1])
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
	assert.Regexp(t, `2 rows, loss .*, accuracy 0\.5\n`, stderr)
	rows := cells(stdout)
	assert.Equal(t, []string{"row", "score", "probability", "class"}, rows[0])
	score, p := numbers(rows, 1)[0], numbers(rows, 2)[0]
	assert.Positive(t, score)
	assert.InDelta(t, 1/(1+math.Exp(-score)), p, 1e-5)
	assert.Equal(t, "2", rows[1][3])

	zeros := writeText(t, "zeros.svm", "0 1:1\n0 1:1\n")
	refuses(t, 1, "zeros.svm:1: label", "tune", "-apply", model, zeros)
	ignored, _ := ok(t, "tune", "-apply", model, zeros, "-unlabelled")
	assert.Equal(t, stdout, ignored)
	refuses(t, 1, "wide.svm:2: index 4 is above the dimension 3", "tune", "-apply", model,
		writeText(t, "wide.svm", "1 1:1\n2 4:1\n"))
}

func TestTuneApplyColumns(t *testing.T) {
	text := "id;city;age;bought\n"
	for i := range 12 {
		text += fmt.Sprintf("r%d;Oslo;3%d,5;yes\ns%d;Rome;;no\nt%d;Lima;20;no\n", i, i%10, i, i)
	}
	path := writeText(t, "shop.csv", text)
	m, model, stdout := tuneWith(t, path, "-drop", "id", "-categorical", "-impute", "median")
	assert.Contains(t, stdout, "features 4")
	assert.Contains(t, stdout, "filled   12 missing cells, by the median of")
	assert.Equal(t, "city=Lima", m.Features[0].Name)
	require.Len(t, m.Columns, 2)
	want, stderr := ok(t, "tune", "-apply", model, path)
	assert.Regexp(t, `36 rows, loss .*, accuracy 1\n`, stderr)
	stdout, stderr = ok(t, "tune", "-apply", model, writeText(t, "bare.csv", withoutLast(text)))
	assert.Equal(t, "filled: 12 missing or unknown cells\n36 rows, no labels\n", stderr)
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
	refuses(t, 1, `unknown.csv:3: column "city", "Bonn": not among the 2 texts of this column `+
		"in the training data (with -apply, -impute", "tune", "-apply", model, unknown)
	dir := filepath.Join(t.TempDir(), "new")
	stdout, stderr := ok(t, "tune", "-apply", model, unknown, "-impute", "median", "-id", "id", "-out", dir)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "filled: 2 missing or unknown cells\n3 rows, loss ")
	got := cells(readText(t, dir, "predictions.csv"))
	assert.Equal(t, []string{"row", "id", "score", "probability", "class"}, got[0])
	assert.Equal(t, []string{"a", "b", "c,d"}, []string{got[1][1], got[2][1], got[3][1]})
	assert.Equal(t, got[1][2], got[2][2], "Oslo is the most frequent text")
	assert.NotEqual(t, got[1][2], got[3][2])

	zeros := "age,ev,bought\n" + strings.Repeat("4,0,yes\n0,1,no\n3,0,yes\n2,1,no\n", 12)
	_, plain, _ := tuneWith(t, writeText(t, "zeros.csv", zeros)) // age is not centred
	cell := writeText(t, "cell.csv", "age,ev\n,0\n0,0\n")
	refuses(t, 2, "the model has means", "tune", "-apply", plain, "-impute", "median", cell)
	filled, _ := ok(t, "tune", "-apply", plain, "-impute", "mean", cell)
	got = cells(filled)
	assert.NotEqual(t, got[1][1], got[2][1])
	own := writeText(t, "tune.csv", zeros)
	refuses(t, 2, "tune.csv: choose another folder", "tune", own, "-out", filepath.Dir(own))
	_, plain, _ = tuneWith(t, writeText(t, "plain.csv", numeric))
	for cell, want := range map[string]int{"": 0, "NA": 0, "x": 1} {
		refuses(t, want, []string{"2 rows, no labels", "not a number"}[want],
			"tune", "-apply", plain, "-impute", "mean",
			writeText(t, "cell.csv", "age\n30\n"+cell+",\n"))
	}
}

func TestTuneStandardInput(t *testing.T) {
	text := table(",")
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	read := func(text string) {
		f := kit.Must(os.Open(writeText(t, "rows", text)))
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
	refuses(t, 1, `standard input:2: column "age", "x"`, "tune", "-apply", model, "-")
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
	refuses(t, 1, `column "outcome" is neither the label nor one of the 2 features`,
		"tune", "-apply", model, other)
	got, stderr := ok(t, "tune", "-apply", model, other, "-label", "outcome")
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
	refuses(t, 1, `blank.csv:2: label column "label": "": missing value (leave the rows`,
		"tune", "-apply", model, empty)
	refuses(t, 1, `more.csv:1: column "id" is neither the label nor one of the 2 features`,
		"tune", "-apply", model, more)
	refuses(t, 1, `o.csv:1: column "outcome" is neither the label`, "tune", train, other, "-out", t.TempDir())
}

// groupsOfRows writes rows of classes a, b, …: normal around centres at distance 3 from 0, which the
// set decides, and of the labels a share is replaced by another one. It says which.
func groupsOfRows(t *testing.T, set, seed uint64, rows, classes, dim int, flips float64) (path string, wrong []bool) {
	at, rng := rand.New(rand.NewPCG(set, 1)), rand.New(rand.NewPCG(set, seed))
	centres := make([][]float64, classes)
	for k := range centres {
		length := 0.0
		for range dim {
			v := at.NormFloat64()
			centres[k] = append(centres[k], v)
			length = math.Hypot(length, v)
		}
		for j := range dim {
			centres[k][j] *= 3 / length
		}
	}
	var b strings.Builder
	for j := range dim {
		fmt.Fprintf(&b, "v%d,", j)
	}
	b.WriteString("class\n")
	for i := range rows {
		k := i % classes
		for j := range dim {
			fmt.Fprintf(&b, "%.5g,", centres[k][j]+rng.NormFloat64())
		}
		other := (k + 1 + rng.IntN(classes-1)) % classes
		if wrong = append(wrong, rng.Float64() < flips); wrong[i] {
			k = other
		}
		fmt.Fprintf(&b, "%c\n", 'a'+k)
	}
	return writeText(t, "groups.csv", b.String()), wrong
}

func ranked(score []float64, wrong []bool) float64 {
	pairs, seen, right := 0.0, 0.0, 0.0
	for _, i := range ascending(score) {
		if wrong[i] {
			seen++
		} else {
			pairs += seen
			right++
		}
	}
	return pairs / seen / right
}

// With 35 % of the labels flipped, the rows that hurt come first, before the order of self-confidence.
func TestClean(t *testing.T) {
	long(t)
	const set, rows, classes, dim = 21, 2000, 3, 5
	path, wrong := groupsOfRows(t, set, 2, rows, classes, dim, 0.35)
	truth, _ := groupsOfRows(t, set, 2, rows, classes, dim, 0)
	test, _ := groupsOfRows(t, set, 3, 4000, classes, dim, 0)
	m, model, stdout := tuneWith(t, path, test, "-clean", "-folds", "5")
	best, _, _ := tuneWith(t, truth, test, "-folds", "5")
	assert.Contains(t, stdout, "labels look wrong, if a share of 0.3")
	assert.Contains(t, stdout, "→ cleaned rows")
	found := cells(readText(t, filepath.Dir(model), "rows.csv"))
	require.Len(t, found, rows+1)
	id, confidence, weight := numbers(found, 0), numbers(found, 4), numbers(found, 5)
	own, self, sum := make([]float64, rows), make([]float64, rows), 0.0
	for k, i := range id {
		own[int(i)-1], self[int(i)-1] = float64(k), confidence[k]
		if sum += weight[k]; k == rows/3 {
			assert.Less(t, sum/float64(k+1), 0.2)
		}
		if k < 100 {
			assert.NotEqual(t, found[k+1][1], found[k+1][2])
		}
	}
	assert.GreaterOrEqual(t, ranked(own, wrong), 0.95)
	assert.Greater(t, ranked(own, wrong), ranked(self, wrong))
	assert.Less(t, chosen(m).Test["loss"], 1.25*chosen(best).Test["loss"])
}

func TestCleanLeaves(t *testing.T) {
	right, _ := groupsOfRows(t, 5, 2, 200, 2, 3, 0)
	for _, path := range []string{right, worth(t, 240, 5, 1)} { // in the second, classes overlap
		_, _, stdout := tuneWith(t, path, "-clean", "-folds", "3")
		assert.NotContains(t, stdout, "→ cleaned rows")
		assert.Equal(t, path != right, strings.Contains(stdout, "do not tell wrong labels from classes that overlap"), stdout)
	}
	flipped, _ := groupsOfRows(t, 5, 2, 900, 2, 3, 0.3)
	m, model, _ := tuneWith(t, flipped, right, "-clean", "-folds", "3")
	require.Equal(t, "cleaned rows", m.Choice.Name)
	assert.Greater(t, chosen(m).Test["accuracy"], 0.95)
	assert.Less(t, chosen(m).Test["loss"], 0.08)
	_, stderr := ok(t, "tune", "-apply", model, right)
	assert.Contains(t, stderr, fmt.Sprintf("200 rows, loss %.6g, accuracy %.6g", chosen(m).Test["loss"], chosen(m).Test["accuracy"]))
}

// On each rung descend comes as near as it says, in few steps; the order of the classes does not count.
func TestClimberClasses(t *testing.T) {
	train, _ := groupsOfRows(t, 31, 2, 240, 3, 4, 0.1)
	wide, _ := groupsOfRows(t, 31, 2, 60, 3, 60, 0)
	o := options{Seed: 1, Lo: 1e-5, Hi: 1, Loss: "logistic"}
	run, noisy := searchOn(t, o, wide), searchOn(t, o, worth(t, 80, 0, 5))
	assert.Equal(t, []int{5, 8}, []int{run.Folds, run.repeats}, "quick")
	c := kit.Must(run.newClimber(run.design))
	require.NoError(t, c.fit(0.1))
	assert.Equal(t, []int{0, 0, 0}, c.like)
	assert.Equal(t, ofFolds, kit.Must(run.climbers())[0].enough)
	require.NoError(t, noisy.run(context.Background(), kit.Terminal{}))
	assert.Greater(t, noisy.candidates[1].lambda, 1e-4, "less is far worse")
	many, run := searchOn(t, o, train), searchOn(t, o, train)
	many.design, many.Folds, many.Solver = data.Join(slices.Repeat([]*data.Data{many.design}, 1000)...), 0, solverAuto
	require.NoError(t, many.plan())
	assert.Equal(t, solverExact, many.Solver, "samples of several classes take longer")
	var first []float64
	for range 3 {
		for i := range run.design.Label {
			run.design.Label[i] = float64(int(run.design.Label[i]+1) % 3)
		}
		c := kit.Must(run.newClimber(run.design))
		for range 3 {
			for _, lambda := range []float64{0.9, 3e-2, 3e-3, 1e-3, 1e-4, 1e-3} {
				steps := len(c.pairs)
				require.NoError(t, c.fit(lambda))
				assert.Less(t, len(c.pairs)-steps, 8)
				y, turn := slices.Clone(c.u), make([]float64, len(c.u))
				require.NoError(t, c.p.Solution(y, c.x))
				mat.Axpy(y, -1, c.u)
				require.NoError(t, c.p.HessVecG(turn, c.x, c.u, y, nil))
				assert.Less(t, float64(run.design.Rows())*mat.Dot(y, turn), closeEnough)
			}
			require.NoError(t, c.reweigh())
		}
		if first == nil {
			first = c.relative
		}
		assert.InDeltaSlice(t, first, c.relative, 1e-5)
	}
}

// Several classes are one model, no worse than models of one class against the rest.
func TestTuneClasses(t *testing.T) {
	train, _ := groupsOfRows(t, 31, 2, 240, 3, 4, 0.1)
	test, _ := groupsOfRows(t, 31, 3, 900, 3, 4, 0.1)
	m, model, stdout := tuneWith(t, train, test, "-folds", "3")
	assert.Contains(t, stdout, `classes  "a", "b" and "c"; logistic loss`)
	require.Len(t, m.Features[0].Coefficients, 3)
	predict := func(model string) [][]string {
		stdout, stderr := ok(t, "tune", "-apply", model, test)
		assert.Contains(t, stderr, "accuracy")
		return cells(stdout)
	}
	joint, labels := predict(model), cells(readText(t, test))[1:]
	several, rest := make([][]float64, 3), make([][]float64, 3)
	assert.Equal(t, []string{"row", "probability a", "probability b", "probability c", "class"}, joint[0])
	for k := range rest {
		class := string(rune('a' + k))
		m, one, _ := tuneWith(t, train, "-class", class, "-folds", "3")
		assert.Equal(t, []string{"not " + class, class}, m.Classes)
		several[k], rest[k] = numbers(joint, k+1), numbers(predict(one), 2)
	}
	loss, others := 0.0, 0.0
	for i, row := range labels {
		k, s := int(row[4][0]-'a'), slices.Clone(m.RawIntercepts)
		for _, f := range m.Features {
			mat.Axpy(s, numbers([][]string{nil, row}, f.Index-1)[0], f.Coefficients)
		}
		assert.InDelta(t, math.Log(several[0][i]/several[1][i]), s[0]-s[1], 1e-3)
		loss -= math.Log(several[k][i]) / 900
		others -= math.Log(rest[k][i]/(rest[0][i]+rest[1][i]+rest[2][i])) / 900
	}
	assert.InEpsilon(t, chosen(m).Test["loss"], loss, 1e-4)
	assert.Less(t, loss, others)
	assert.Equal(t, []string{"NaN", "NaN", "NaN", "a"}, m.append(nil, []float64{math.NaN(), 1, 2}))
}
