package data

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRealData(t *testing.T) {
	dir := os.Getenv("STABLE_DATA")
	if dir == "" {
		t.Skip("STABLE_DATA, the folder of the LIBSVM data sets, is not set")
	}
	for _, c := range []struct {
		file                   string
		rows, dim, minus, plus int
		classes                []string
	}{
		{"australian/australian_scale.gz", 690, 14, 383, 307, []string{"-1", "1"}},
		{"australian/australian.gz", 690, 14, 383, 307, []string{"-1", "1"}},
		{"ijcnn1/ijcnn1.trn.gz", 49_990, 22, 45_137, 4_853, []string{"-1", "1"}},
		{"ijcnn1/ijcnn1.tst.gz", 91_701, 22, 82_989, 8_712, []string{"-1", "1"}},
		{"covtype/covtype.libsvm.binary.scale.gz", 581_012, 54, 297_711, 283_301, []string{"1", "2"}},
	} {
		if testing.Short() && c.rows > 1000 {
			continue
		}
		d, err := Open(filepath.Join(dir, filepath.FromSlash(c.file)), ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, d.Check())
		minus, plus := countClasses(d)
		assert.Equal(t, []int{c.rows, c.dim, c.minus, c.plus}, []int{d.Rows(), d.Dim, minus, plus}, c.file)
		assert.Equal(t, c.classes, d.Classes, c.file)
	}
}

func TestShippedData(t *testing.T) {
	d := breastCancer(t)
	require.NoError(t, d.Check())
	minus, plus := countClasses(d)
	assert.Equal(t, []int{30, 357, 212}, []int{d.Dim, minus, plus})
	assert.Equal(t, []string{"benign", "malignant", "mean radius", "worst fractal dimension"},
		append(d.Classes, d.Features[0], d.Features[29]))
	assert.Equal(t, []float64{17.99, 0.1189}, []float64{d.Val[0], d.Val[29]})
}

func countClasses(d *Data) (minus, plus int) {
	for _, b := range d.Label {
		minus += boolInt(b == -1)
		plus += boolInt(b == 1)
	}
	return minus, plus
}

func breastCancer(t testing.TB) *Data {
	t.Helper()
	d, err := Open(filepath.Join("..", "..", "..", "testdata", "breast_cancer.csv"), ReadOptions{LabelColumn: "diagnosis"})
	require.NoError(t, err)
	return d
}
