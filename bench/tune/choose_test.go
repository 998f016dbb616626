package tune

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/mat/mattest"
)

// worth writes rows of 20 features, of which the first matter.
func worth(t *testing.T, rows, matter int, seed uint64) string {
	rng, text := rand.New(rand.NewPCG(seed, 1)), new(strings.Builder)
	for k := range 20 {
		fmt.Fprintf(text, "v%d,", k)
	}
	text.WriteString("y\n")
	for range rows {
		score := 0.0
		for k := range 20 {
			v := rng.NormFloat64()
			score += 3 * v * float64(b2i(k < matter)) / math.Sqrt(float64(max(matter, 1)))
			fmt.Fprintf(text, "%.4g,", v)
		}
		fmt.Fprintln(text, b2i(rng.Float64() < 1/(1+math.Exp(-score))))
	}
	return writeText(t, "worth.csv", text.String())
}

// Where features differ in worth, resamples choose the ladder, and the average is better on the test rows;
// where they do not, one weight; where nothing matters, the constant.
func TestTuneChooses(t *testing.T) {
	long(t)
	m, _, stdout := tuneWith(t, worth(t, 600, 3, 2), worth(t, 4000, 3, 102))
	assert.Less(t, m.Results[0].Share+m.Results[1].Share, 0.05, stdout)
	assert.Less(t, m.Choice.Difference, -m.Choice.Error)
	assert.Equal(t, 600, m.Choice.Rows)
	assert.Less(t, chosen(m).Test["loss"], m.Results[1].Test["loss"])
	assert.Less(t, m.Features[0].Weight, m.Features[19].Weight)
	one := regexp.MustCompile(`(?m)[^,]*(,[01])$`).ReplaceAllString(readText(t, worth(t, 4000, 3, 102)), "7$1")
	_, _, stdout = tuneWith(t, worth(t, 600, 3, 2), writeText(t, "one.csv", one), "-id", "v19")
	assert.Regexp(t, `loss is [^±]*, which may be chance, on the 4000 test rows`, stdout, "all of one name")

	m, _, stdout = tuneWith(t, worth(t, 150, 20, 3), worth(t, 4000, 20, 4))
	assert.Greater(t, m.Results[1].Share, 0.5, stdout)
	assert.InEpsilon(t, m.Results[1].Test["loss"], chosen(m).Test["loss"], 0.02)

	m, _, stdout = tuneWith(t, worth(t, 300, 0, 5), worth(t, 400, 0, 6))
	assert.Greater(t, m.Results[0].Share, 0.5, stdout)
	assert.Contains(t, stdout, "dropped  20 of 20 features: the model is a constant")
	assert.Zero(t, m.Features[3].Coefficient)
}

func TestTuneDrops(t *testing.T) {
	rng, text := rand.New(rand.NewPCG(5, 2)), "v0,v1,v2,v3,v4,v5,v6,v7,v8,v9,v10,a,price\n"
	for range 100 {
		v := rng.NormFloat64()
		for range 11 {
			text += fmt.Sprintf("%v,", rng.NormFloat64())
		}
		text += fmt.Sprintf("%v,%v\n", v, 3*v+rng.NormFloat64())
	}
	m, _, stdout := tuneWith(t, writeText(t, "r.csv", text), "-loss", "squared")
	require.GreaterOrEqual(t, chosen(m).Dropped, 6, stdout)
	assert.Contains(t, stdout, fmt.Sprintf("dropped  %d of 12 features: ", chosen(m).Dropped))
	for _, f := range m.Features {
		assert.Equal(t, f.Weight == dropped, f.Coefficient == 0, f.Name)
	}
	assert.InDelta(t, 3, m.Features[11].Coefficient, 0.3)
	assert.Less(t, chosen(m).Test["loss"], m.Results[1].Test["loss"])
}

func TestTuneFreeIntercept(t *testing.T) {
	text := "a,b,y\n"
	for i := range 400 {
		text += fmt.Sprintf("%d,%d,%d\n", i%7, i%11, b2i(i%20 == 0))
	}
	path := writeText(t, "rare.csv", text)
	m, _, _ := tuneWith(t, path)
	assert.InDelta(t, -0.05*math.Log(0.05)-0.95*math.Log(0.95), m.Results[0].Test["loss"], 1e-6)
	assert.Less(t, chosen(m).Test["loss"], 0.21)
	m, _, _ = tuneWith(t, path, "-intercept", "penalised")
	assert.InDelta(t, math.Ln2, m.Results[0].Test["loss"], 1e-6)

	run := &search{options: options{Folds: 5}, dataSet: &dataSet{design: &data.Data{Label: make([]float64, 25)}}}
	for i := 0; i < 25; i += 5 {
		run.design.Label[i] = 1
	}
	in, out := run.folds(0)
	for k := range out {
		assert.Len(t, in[k], 20)
		assert.Len(t, slices.DeleteFunc(out[k], func(i int) bool { return i%5 > 0 }), 1, "of the rare class")
	}
	again, _ := run.folds(1)
	assert.NotEqual(t, in, again)
}

func TestTuneGoesBelowTheGrid(t *testing.T) {
	text, rng := new(strings.Builder), rand.New(rand.NewPCG(1, 2))
	fmt.Fprintln(text, "year,square,y")
	for range 120 {
		year := 1950 + 70*rng.Float64()
		fmt.Fprintf(text, "%v,%v,%v\n", year, year*year, 0.02*math.Pow(year-1985, 2)+rng.NormFloat64())
	}
	path := writeText(t, "years.csv", text.String())
	m, _, stdout := tuneWith(t, path, "-loss", "squared")
	assert.Less(t, chosen(m).Test["rmse"], 1.4)
	assert.Contains(t, stdout, "[1e-05 or less, 10]")
	m, _, _ = tuneWith(t, path, "-loss", "squared", "-lo", "1e-5")
	assert.Greater(t, chosen(m).Test["rmse"], 2.)
}

func TestTuneKin(t *testing.T) {
	for _, kind := range []string{"id", "copies", "categories"} {
		text := new(strings.Builder)
		fmt.Fprintln(text, "name,a,b,c,d,e,f,g,h,i,j,k,y")
		for i := range 240 {
			fmt.Fprintf(text, "n%d", map[bool]int{true: i / 4, false: i}[kind == "id"])
			for j := range 11 {
				v := rand.New(rand.NewPCG(uint64(i/4), uint64(j))).NormFloat64()
				if kind == "categories" {
					v = float64(i >> (2 * (j % 3)) & 3)
				}
				fmt.Fprintf(text, ",%v", v)
			}
			fmt.Fprintf(text, ",%d\n", i/4%2)
		}
		path := writeText(t, "kin.csv", text.String())
		m, _, stdout := tuneWith(t, path, "-id", "name")
		assert.Equal(t, kind != "categories", chosen(m).HeldOut > 0.6, "labels are chance")
		assert.Equal(t, kind != "categories", strings.Contains(stdout, "stay in one fold"), kind)
		assert.Equal(t, kind != "id", strings.Contains(stdout, "test rows stand among the others"), kind)
		once := searchOn(t, options{Seed: 1, Steps: 1, Solver: solverSAA, ID: "name", Lo: 1, Hi: 2, Loss: "logistic"}, path)
		trains := func(name string) bool { return slices.Contains(once.parts[0].IDs, name) }
		assert.False(t, slices.ContainsFunc(slices.Concat(once.parts[1].IDs, once.unseen.IDs), trains), kind)
	}
}

func TestAverage(t *testing.T) {
	run := &search{options: options{Folds: 5}, dataSet: &dataSet{design: &data.Data{Dim: 3}}}
	enter := func(y, weights []float64, loss func(i int) float64) {
		r := &result{losses: mattest.List(60, loss)}
		run.results = append(run.results, r)
		run.candidates = append(run.candidates, candidate{of: r, losses: r.losses, weights: weights, y: y})
	}
	enter([]float64{0, 0, 0}, []float64{dropped, dropped, dropped}, func(i int) float64 { return 2 })
	enter([]float64{1, 2, 0}, []float64{1, 1, dropped}, func(i int) float64 { return float64(2 * (i % 2)) })
	enter([]float64{0, 3, 5}, []float64{dropped, 4, 1}, func(i int) float64 { return float64(2*b2i(i%2 == 0)) + 0.1 })
	mean := run.average()
	one, two := run.results[1].Share, run.results[2].Share
	require.Greater(t, one, 0.5)
	require.Greater(t, two, 0.05)
	assert.InDeltaSlice(t, []float64{one, 2*one + 3*two, 0}, mean.y, 1e-12) // the last: most models drop it
	assert.InDeltaSlice(t, []float64{1 / one, 1 / (one + two/4), dropped}, mean.weights, 1e-9)

	// A row that changes the choice is judged by the choice without it.
	run.results, run.candidates = run.results[:1], run.candidates[:1]
	enter([]float64{1, 0, 0}, []float64{1, 1, 1}, func(i int) float64 { return 100 * float64(b2i(i == 7)) })
	mean = run.average()
	assert.Equal(t, 100.0, mean.losses[7])
	assert.Less(t, run.results[1].Share, 0.5) // with it, it is better by less than the margin
	assert.Less(t, mean.losses[8], 2.0)
	run.choose()
	assert.Equal(t, "average", run.choice.Name)
	run.results = append(run.results[:2], &result{Name: "cleaned rows", Cleaned: true, losses: make([]float64, 60)})
	run.choose()
	assert.Equal(t, "cleaned rows", run.choice.Name)
	run.results[1].losses = nil
	run.choose()
	assert.Equal(t, 1, run.choice.index)
	assert.Contains(t, run.choice.String(), "no held-out rows")
}

// Of two rows a resample has both, or one of them twice; the other is judged by the choice on that.
func TestTake(t *testing.T) {
	r := new(result)
	r.take([]candidate{{lambda: 10, losses: []float64{9, 0}}, {lambda: 20, losses: []float64{0, 9}},
		{lambda: 30, losses: []float64{4, 4}, y: []float64{7}}, {lambda: 40, losses: []float64{5, 5}}}, 1, nil)
	assert.Equal(t, 30.0, r.Lambda)
	assert.Equal(t, []float64{7}, r.y)
	assert.Equal(t, []float64{9, 9}, r.losses)
	r.take([]candidate{{losses: []float64{3}}, {losses: []float64{2}}}, 1, nil)
	assert.Equal(t, 2.0, r.HeldOut)
}

func searchOn(t *testing.T, o options, path string) *search {
	t.Helper()
	return kit.Must(newSearch(o, kit.Must(readData(o, []string{path}))))
}

func TestTuneStartsFromSingle(t *testing.T) {
	long(t)
	o := options{Seed: 1, Steps: 100, Lo: 1e-5, Hi: 10, Loss: "logistic", Solver: solverSAA}
	run := searchOn(t, o, cancer)
	require.NoError(t, run.run(context.Background(), kit.Terminal{}))
	best := kit.Must(bestSingle(context.Background(), run.problem, run.Lo, run.Hi))
	assert.InEpsilon(t, best.f, run.engine.f[0], 1e-9)
	assert.Len(t, run.results, 4)
	assert.InEpsilon(t, math.Exp(run.engine.result.X[0])/2*run.trainingShare(), run.results[2].weights[0], 1e-12)
}

func TestTuneTrainScalesWeights(t *testing.T) {
	o := options{Seed: 1, Steps: 1, Lo: 1e-5, Hi: 10, Loss: "logistic", Solver: solverSAA}
	run := searchOn(t, o, cancer)
	run.parts[0] = run.design.Subset([]int{0, 1, 2, 300, 301, 302})
	run.design = run.parts[0].Subset([]int{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})
	run.unseen = nil
	r := &result{Lambda: 0.2}
	require.NoError(t, run.judge(r))
	c := kit.Must(run.newClimber(run.parts[0]))
	require.NoError(t, c.fit(0.1)) // the mean loss is the same, and the weight half
	assert.InDeltaSlice(t, c.y, r.y, 1e-6)
	each := &result{weights: slices.Repeat([]float64{0.2}, len(c.weights))}
	require.NoError(t, run.judge(each))
	assert.InDeltaSlice(t, c.y, each.y, 1e-6)
}

func TestTuneDifference(t *testing.T) {
	o := options{Seed: 1, Lo: 1e-3, Hi: 1, Loss: "squared"}
	run := searchOn(t, o, writeText(t, "r.csv", linear(60, 1)))
	y, z := []float64{1, 0, 0, 0}, []float64{0, 1, 0, 0.5}
	a, b := run.lossesOf(run.test, y), run.lossesOf(run.test, z)
	mean, _ := difference(a, b)
	assert.InEpsilon(t, run.measure(run.test, y)["loss"]-run.measure(run.test, z)["loss"], mean, 1e-12)
	mean, _ = difference([]float64{3 + 1e-15, 4}, []float64{3, 4})
	assert.Zero(t, mean, "rounding")
	_, deviation := difference(a[:2], b[:2])
	assert.InEpsilon(t, math.Abs(a[0]-b[0]-a[1]+b[1])/math.Sqrt(8), deviation, 1e-12)
	_, deviation = meanOf([]float64{1, 3, 1, 3}, 0, 1, 0, 1)
	assert.InEpsilon(t, 1/math.Sqrt2, deviation, 1e-12, "kin")
}

// One Hessian serves all weights, until a feature is dropped.
func TestClimberKeepsItsHessian(t *testing.T) {
	for _, loss := range []string{"logistic", "squared"} {
		run := searchOn(t, options{Seed: 1, Lo: 1e-5, Hi: 10, Loss: loss}, worth(t, 300, 5, 2))
		c := kit.Must(run.newClimber(run.design))
		hess := c.hess
		for range 3 {
			for _, lambda := range []float64{10, 0.01, 1e-5} {
				require.NoError(t, c.fit(lambda))
				y := make([]float64, len(c.y))
				require.NoError(t, kit.Must(hyperopt.New(c.rows, c.rows, c.options)).Solution(y, c.weights))
				assert.InDeltaSlice(t, y, c.y, 1e-7)
				assert.Same(t, hess, c.hess)
			}
			require.NoError(t, c.reweigh())
		}
	}
}

// Coordinates of the rows lead to the same end.
func TestClimberRotates(t *testing.T) {
	for _, loss := range []string{"logistic", "squared"} {
		o := options{Seed: 1, Lo: 1e-3, Hi: 1e5, Loss: loss}
		run := searchOn(t, o, worth(t, 40, 3, 2))
		wide := kit.Must(run.newClimber(run.design.Subset([]int{0, 1, 2, 3, 4, 5, 15, 16, 17, 18, 25, 26, 27, 28, 29})))
		require.NotNil(t, wide.q)
		for range 3 {
			require.NoError(t, wide.fit(0.05))
			p := kit.Must(hyperopt.New(wide.rows, wide.rows, wide.options))
			y := make([]float64, len(wide.y))
			require.NoError(t, p.Solution(y, wide.weights))
			assert.InDeltaSlice(t, y, wide.y, 1e-5)
			plain := &climber{rows: wide.rows, outputs: 1, options: wide.options, newton: newNewton(p), x: wide.weights, u: y, y: y,
				weights: wide.weights, active: slices.Clone(wide.active), relative: slices.Clone(wide.relative)}
			require.NoError(t, plain.reweigh())
			require.NoError(t, wide.reweigh())
			for i, r := range plain.relative {
				assert.InEpsilon(t, r, wide.relative[i], 1e-3)
			}
		}
	}
}

func TestTuneFigure(t *testing.T) {
	run := &search{dataSet: &dataSet{files: []dataFile{{Path: "x.csv"}}, features: []string{strings.Repeat("a", 200) + "é", "b", "c"}, used: []int{0, 1, 2}},
		options: options{Hi: 10}, choice: choice{Rows: 9}}
	for k, w := range [][]float64{{dropped, dropped, dropped}, {1, 1, 1}, {2, dropped, 0.1}} {
		run.results = append(run.results, &result{Name: []string{rungName(0), rungName(1), "average"}[k],
			weights: w, HeldOut: w[2], Error: 0.01})
	}
	for _, run.choice.index = range []int{1, 2} {
		p := run.figure().Panels
		assert.Equal(t, []string{"none", "one", "avg"}, p[0].X.Names)
		assert.Equal(t, float64(run.choice.index+1), p[0].Series[0].X[0])
		assert.Equal(t, [][]string{{"c", "b", run.features[0]}, {run.features[0], "c"}}[run.choice.index-1], p[1].Y.Names) // upwards
		assert.NoError(t, run.figure().WriteSVG(io.Discard))
		assert.Equal(t, [][]float64{{1, 1, 1}, {2, 0.1}}[run.choice.index-1], p[1].Series[0].X)
	}
	run.choice.Rows = 0
	assert.Equal(t, "Weights", run.figure().Panels[0].Title, "no held-out rows")
}

func table(sep string, labels ...string) string {
	if labels == nil {
		labels = []string{"no", "yes"}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	text := "age,income,bought\n"
	for i := range 40 {
		a := rng.NormFloat64()
		label := labels[0]
		if a+rng.NormFloat64()/2 > 0 {
			label = labels[1+i%(len(labels)-1)]
		}
		text += fmt.Sprintf("%.3f,%.3f,%s\n", a, rng.NormFloat64(), label)
	}
	return strings.ReplaceAll(text, ",", sep)
}

func incomes(text string, values ...string) string {
	row := 0
	return regexp.MustCompile(`,-?\d.*,`).ReplaceAllStringFunc(text, func(string) string {
		row++
		return "," + values[row%len(values)] + ","
	})
}

func TestTuneTells(t *testing.T) {
	good := strings.TrimSpace(table(","))
	plain := writeText(t, "plain.csv", good)
	named := writeText(t, "named.csv", `"",`+strings.ReplaceAll(good, "\n", "\n5,"))
	numbered := "nr"
	for i, row := range strings.Split(good, "\n") {
		numbered += map[bool]string{true: "," + row + "\n", false: fmt.Sprintf("%d,%s\n", 6+i, row)}[i == 0]
	}
	const label, other = `label    "bought", the last column`, "warning  the first column is named"
	const constant = "constant 1 with one value in all these rows, which cannot help: "
	same := writeText(t, "same.csv", incomes(good, "7"))
	sparse := writeText(t, "sparse", strings.Repeat("1 1:7 2:1\n0 1:7 2:2\n", 20))
	for _, c := range []struct {
		want, not string
		args      []string
	}{
		{label, other, []string{plain}},
		{"features 2,", "constant ", []string{plain}},
		{`lone.csv:42: column "income", -1e+300: a million times`, "stand among", []string{writeText(t, "lone.csv", good+"\n2,-1e300,no\n")}},
		{"", label, []string{plain, "-label", "bought"}},
		{other + ` "Class": -label "Class" if that is`, "Lasso",
			[]string{writeText(t, "first.csv", strings.Replace(good, "age", "Class", 1))}},
		{"the first column has no name", "once more", []string{named}},
		{"features 2,", "the first column has no name", []string{named, "-drop", ""}},
		{"warning  " + plain + " is " + plain + " once more", "orders the labels", []string{plain, plain}},
		{`column "age" is one of texts, since it holds "old" b`, "once more", []string{writeText(t, "x.csv", good+"\nold,2,no\n"), plain, "-categorical"}},
		{"warning  one weight for all is at the lower end of the range, 0.1: see -lo", "Lasso",
			[]string{cancer, "-lo", "0.1", "-folds", "1"}},
		{"warning  20 features for 19 rows: an l1 penalty (Lasso), which is not smooth and not among these weights, may do better\n" +
			"warning  a constant has a lower held-out loss, by 0.", "see -lo", []string{worth(t, 26, 0, 2)}},
		{`warning  the last column is named "x", as a class is: -headerless`, "",
			[]string{writeText(t, "row.csv", strings.Repeat("1,2,x\n2,1,y\n", 20))}},
		{`warning  the classes "No" and "no" differ in case alone`, "",
			[]string{writeText(t, "case.csv", strings.ReplaceAll(good, "yes", "No"))}},
		{constant + "\"income\"\n", "numbers the rows", []string{same}},
		{`warning  column "nr" numbers the rows, and is a feature: -drop "nr" leaves`, "", []string{writeText(t, "nr.csv", numbered)}},
		{`warning  column "nr" holds another text in nearly every row: -id`, "numbers the rows",
			[]string{writeText(t, "text.csv", strings.ReplaceAll(strings.TrimSpace(numbered), "\n", "\nn")), "-categorical"}},
		{constant + "1\n", "", []string{sparse}},
		{"10 of the 10 test rows stand among the others, too, label and all", "", []string{sparse}},
		{`of these orders the labels nearly without exception: "2". If`, "-drop", []string{sparse}},
		{"leave it out (-drop)", "", []string{writeText(t, "leak.csv", "a,y\n"+strings.Repeat("1,p\n2,q\n", 20))}},
		{"labels look wrong, if a share of 0 is; all rows, most suspicious first: rows.csv\n", "self-confidence", []string{same, "-clean"}},
		{"dropped  1 of 1 features: the model is a constant", "", []string{writeText(t, "flat.csv", "a,y\n"+strings.Repeat("7,x\n7,z\n", 20))}},
	} {
		_, _, stdout := tuneWith(t, c.args...)
		assert.Contains(t, stdout, c.want)
		assert.True(t, c.not == "" || !strings.Contains(stdout, c.not), "%s: %s", c.not, stdout)
	}
	for path, name := range map[string]string{same: `"income"`, sparse: "1"} {
		stdout, _ := ok(t, "main", "-data", path, "-out", t.TempDir(), "-steps", "20")
		assert.Contains(t, stdout, constant+name+"\n")
	}
}

func TestConcord(t *testing.T) {
	assert.InDelta(t, 1, concord([]float64{4, 9, 5, 1}, []float64{1, 0, 1, 2}, false), 1e-15)
	assert.InDelta(t, 0.5, concord([]float64{1, 3, 2, 4}, []float64{1, 1, -1, -1}, false), 1e-15)
	assert.InDelta(t, 0.8, concord([]float64{1, 2, 4, 3}, []float64{9, 8, 6, 5}, true), 1e-15)
}

func TestTuneFarScales(t *testing.T) {
	for _, values := range [][]string{{"0", "1e-310"}, {"-1.7e308", "1.7e308"}} {
		path := writeText(t, "far.csv", incomes(table(","), values...))
		_, model, _ := tuneWith(t, path)
		_, stderr := ok(t, "tune", "-apply", model, path)
		assert.Regexp(t, `^40 rows, loss 0\.[0-4]`, stderr)
	}
}

func TestCheckpointSize(t *testing.T) {
	path := worth(t, 500, 5, 1)
	s := searchOn(t, options{Seed: 1, Solver: solverSAA, Lo: 1e-5, Hi: 10, Loss: "logistic"}, path)
	require.NoError(t, s.begin(1))
	_ = kit.Must(s.engine.solver.Run(context.Background(), bilevel.Run{Steps: 1000}))
	var saved bytes.Buffer
	require.NoError(t, s.engine.solver.Save(&saved))
	assert.Less(t, saved.Len(), len(readText(t, path))*3/4)
}
