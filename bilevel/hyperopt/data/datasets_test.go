package data

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figures are those of the LIBSVM data page and of the files' checksums.
func TestRealData(t *testing.T) {
	dir := dataDir(t)
	for _, c := range []struct {
		file        string
		rows, dim   int
		minus, plus int
		classes     [2]string
		sum         string
	}{
		{file: "australian/australian_scale.gz",
			rows: 690, dim: 14, plus: 307, minus: 383, classes: [2]string{"-1", "1"},
			sum: "86799bcc4dbcd41929a514fa181d1c1a40e01f009dee139d4141a194d7ecd9e3"},
		{file: "australian/australian.gz", rows: 690, dim: 14, plus: 307, minus: 383, classes: [2]string{"-1", "1"},
			sum: "25a5d45d53b5db7c402f1bf58aea5ed5f0387ad525ec7f0131585f1f63033b38"},
		{file: "ijcnn1/ijcnn1.trn.gz", rows: 49_990, dim: 22, plus: 4_853, minus: 45_137, classes: [2]string{"-1", "1"},
			sum: "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19"},
		{file: "ijcnn1/ijcnn1.tst.gz", rows: 91_701, dim: 22, plus: 8_712, minus: 82_989, classes: [2]string{"-1", "1"},
			sum: "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8"},
		{file: "covtype/covtype.libsvm.binary.scale.gz",
			rows: 581_012, dim: 54, plus: 283_301, minus: 297_711, classes: [2]string{"1", "2"},
			sum: "859809c092ca933e1a8cc1cfa15e33b56cb11651e4e0a5b52b702abc315a6c0f"},
	} {
		if testing.Short() && c.rows > 1000 {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		d, err := Open(path, ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, d.Check())
		assert.Equal(t, c.rows, d.Rows(), c.file)
		assert.Equal(t, c.dim, d.Dim, c.file)
		assert.Equal(t, c.classes, d.Classes, c.file)
		minus, plus := 0, 0
		for _, b := range d.Label {
			minus += boolInt(b == -1)
			plus += boolInt(b == 1)
		}
		assert.Equal(t, c.minus, minus, c.file)
		assert.Equal(t, c.plus, plus, c.file)
		assert.Equal(t, c.sum, sha256Of(t, path), c.file)
	}
}

// The class counts are those of the file's description (UCI, doi 10.24432/C5DW2B).
func TestShippedData(t *testing.T) {
	d := breastCancer(t)
	require.NoError(t, d.Check())
	assert.Equal(t, 569, d.Rows())
	assert.Equal(t, 30, d.Dim)
	assert.Equal(t, [2]string{"benign", "malignant"}, d.Classes)
	plus := 0
	for _, b := range d.Label {
		plus += boolInt(b == 1)
	}
	assert.Equal(t, 212, plus)
	assert.Equal(t, "mean radius", d.Features[0])
	assert.Equal(t, "worst fractal dimension", d.Features[29])
	col, val := d.Row(0)
	require.Len(t, col, 30)
	assert.Equal(t, 17.99, val[0])
	assert.Equal(t, 0.1189, val[29])
}

func breastCancer(t testing.TB) *Data {
	t.Helper()
	d, err := Open(filepath.Join("..", "..", "..", "testdata", "breast_cancer.csv"), ReadOptions{LabelColumn: "diagnosis"})
	require.NoError(t, err)
	return d
}

func dataDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("STABLE_DATA")
	if dir == "" {
		t.Skip("STABLE_DATA, the folder of the LIBSVM data sets, is not set")
	}
	return dir
}
