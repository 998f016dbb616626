package tune

import (
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
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
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
	if testing.Short() {
		t.Skip("long")
	}
	m, _, stdout := tuneWith(t, worth(t, 600, 3, 2), worth(t, 4000, 3, 102))
	assert.Less(t, m.Results[0].Share+m.Results[1].Share, 0.05, stdout)
	assert.Less(t, m.Choice.Difference, -m.Choice.Error)
	assert.Equal(t, 600, m.Choice.Rows)
	assert.Less(t, chosen(m).Test["loss"], m.Results[1].Test["loss"])
	assert.Less(t, m.Features[0].Weight, m.Features[19].Weight)
	one := regexp.MustCompile(`(?m)[^,]*(,[01])$`).ReplaceAllString(readText(t, worth(t, 4000, 3, 102)), "7$1")
	_, _, stdout = tuneWith(t, worth(t, 600, 3, 2), writeText(t, "one.csv", one), "-id", "v19")
	assert.Contains(t, stdout, "which may be chance, on the 4000 test rows", "all of one name")

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
		r := &result{losses: make([]float64, 60)}
		for i := range r.losses {
			r.losses[i] = loss(i)
		}
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
	if testing.Short() {
		t.Skip("long")
	}
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

// With features not fewer than rows, the climber solves in coordinates of the rows, to the same end.
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
