package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

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
	if testing.Short() {
		t.Skip("long")
	}
	const set, rows, classes, dim = 21, 2000, 3, 5
	path, wrong := groupsOfRows(t, set, 2, rows, classes, dim, 0.35)
	truth, _ := groupsOfRows(t, set, 2, rows, classes, dim, 0)
	test, _ := groupsOfRows(t, set, 3, 4000, classes, dim, 0)
	m, model, stdout := tuneWith(t, path, test, "-clean", "-folds", "5")
	best, _, _ := tuneWith(t, truth, test, "-folds", "5")
	assert.Contains(t, stdout, "labels look wrong, if a share of 0.3")
	assert.Contains(t, stdout, "→ cleaned rows")
	found := cells(t, readText(t, filepath.Dir(model), "rows.csv"))
	require.Len(t, found, rows+1)
	id, confidence, weight := numbers(t, found, 0), numbers(t, found, 4), numbers(t, found, 5)
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
	t.Logf("AUC %.4f, of self-confidence %.4f; test loss %.4f, of the true labels %.4f",
		ranked(own, wrong), ranked(self, wrong), chosen(m).Test["loss"], chosen(best).Test["loss"])
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
	assert.Less(t, chosen(m).Test["loss"], 0.08) // 0.10 with the weights that the folds found
	_, stderr := ok(t, "tune", "-apply", model, right)
	assert.Contains(t, stderr, fmt.Sprintf("200 rows, loss %.6g, accuracy %.6g", chosen(m).Test["loss"], chosen(m).Test["accuracy"]))
}

// On each rung descend comes as near as it says, in few steps; the order of the classes does not count.
func TestClimberClasses(t *testing.T) {
	train, _ := groupsOfRows(t, 31, 2, 240, 3, 4, 0.1)
	wide, _ := groupsOfRows(t, 31, 2, 60, 3, 60, 0)
	o := options{Seed: 1, Lo: 1e-5, Hi: 1, Loss: "logistic"}
	run := searchOn(t, o, wide)
	assert.Equal(t, []int{5, 8}, []int{run.Folds, run.repeats}, "quick")
	run = searchOn(t, o, train)
	var first []float64
	for range 3 {
		for i := range run.design.Label {
			run.design.Label[i] = float64(int(run.design.Label[i]+1) % 3)
		}
		c, err := run.newClimber(run.design)
		require.NoError(t, err)
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

// Several classes are one model: no worse than models of one class against the rest, whose
// probabilities are scaled to the sum 1.
func TestTuneClasses(t *testing.T) {
	train, _ := groupsOfRows(t, 31, 2, 240, 3, 4, 0.1)
	test, _ := groupsOfRows(t, 31, 3, 900, 3, 4, 0.1)
	m, model, stdout := tuneWith(t, train, test, "-folds", "3")
	assert.Contains(t, stdout, `classes  "a", "b" and "c"; logistic loss`)
	require.Len(t, m.Features[0].Coefficients, 3)
	predict := func(model string) [][]string {
		stdout, stderr := ok(t, "tune", "-apply", model, test)
		assert.Contains(t, stderr, "accuracy")
		return cells(t, stdout)
	}
	joint, labels := predict(model), cells(t, readText(t, test))[1:]
	several, rest := make([][]float64, 3), make([][]float64, 3)
	assert.Equal(t, []string{"row", "probability a", "probability b", "probability c", "class"}, joint[0])
	for k := range rest {
		class := string(rune('a' + k))
		m, one, _ := tuneWith(t, train, "-class", class, "-folds", "3")
		assert.Equal(t, []string{"not " + class, class}, m.Classes)
		several[k], rest[k] = numbers(t, joint, k+1), numbers(t, predict(one), 2)
	}
	loss, others := 0.0, 0.0
	for i, row := range labels {
		k := int(row[4][0] - 'a')
		loss -= math.Log(several[k][i]) / 900
		others -= math.Log(rest[k][i]/(rest[0][i]+rest[1][i]+rest[2][i])) / 900
	}
	assert.InEpsilon(t, chosen(m).Test["loss"], loss, 1e-4)
	assert.Less(t, loss, others)
}
