package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
)

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
	run := &search{each: result{f: 2}, single: result{f: 1}, dataSet: &dataSet{}, parts: make([]*data.Data, 2)}
	run.engine = &engine{y: []float64{3, 4}, result: bilevel.Result{Y: []float64{3, 6}}}
	for i := range run.parts {
		run.parts[i] = &data.Data{}
	}
	assert.Equal(t, []string{
		"the search of a weight each ended at a validation loss above that of the single weight, 2 against 1: " +
			"it has not converged; see -steps",
		"the solver's own y is 40 % away from y*(x), so its hypergradients are off; see -steps",
	}, run.warnings())
}

// searchOn reads a file and divides its rows.
func searchOn(t *testing.T, o options, path string) *search {
	t.Helper()
	set, err := readData(o, []string{path})
	require.NoError(t, err)
	run, err := newSearch(o, set)
	require.NoError(t, err)
	return run
}

// The engine starts from the single weight, with its model.
func TestTuneStartsFromSingle(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	o := options{Seed: 1, Steps: 100, Lo: 1e-5, Hi: 10, Form: "exp", Loss: "logistic", Solver: solverSAA}
	run := searchOn(t, o, cancer)
	require.NoError(t, run.run(context.Background(), kit.Terminal{}))
	p, err := run.newProblem(run.parts[0], run.parts[1])
	require.NoError(t, err)
	x := make([]float64, run.design.Dim)
	p.Uniform(x, run.single.Lambda)
	f, err := p.Objective(nil, x)
	require.NoError(t, err)
	assert.InEpsilon(t, f, run.engine.f[0], 1e-9)
}

// With every training row twice, half the weight stands for the same prior.
func TestTuneTrainScalesWeights(t *testing.T) {
	o := options{Seed: 1, Steps: 1, Lo: 1e-5, Hi: 10, Form: "exp", Loss: "logistic", Solver: solverSAA}
	run := searchOn(t, o, cancer)
	small, whole := run.parts[0], 0.01
	y, err := run.train(small, run.uniform(whole), 1)
	require.NoError(t, err)
	same, err := run.train(small.Subset(twice(small)), run.uniform(2*whole), 0.5)
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
	loss := func(d *data.Data) float64 { return run.measure(d, a)["loss"] - run.measure(d, b)["loss"] }
	mean, _ := meanOf(run.compare(set.test, a, b))
	assert.InEpsilon(t, loss(set.test), mean, 1e-12)
	d1, d2 := loss(set.test.Subset([]int{0})), loss(set.test.Subset([]int{1}))
	_, deviation := meanOf(run.compare(set.test.Subset([]int{0, 1}), a, b))
	assert.InEpsilon(t, math.Abs(d1-d2)/math.Sqrt(8), deviation, 1e-12)
}

// twice names every row two times.
func twice(d *data.Data) []int {
	rows := make([]int, 2*d.Rows())
	for i := range rows {
		rows[i] = i / 2
	}
	return rows
}
