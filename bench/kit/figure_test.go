package kit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/plot"
)

func TestFigureOfNothing(t *testing.T) {
	dir := t.TempDir()
	fig := plot.Figure{Panels: []plot.Panel{{
		Y: plot.Axis{Log: true}, Series: []plot.Series{{Name: "exact", X: []float64{1, 2}, Y: []float64{0, 0}}},
	}}}
	var said strings.Builder
	require.NoError(t, WriteFigure(&said, dir, "x", &fig))
	assert.Equal(t, "no x.svg: no number can be drawn\nwrote "+filepath.Join(dir, "x.csv")+"\n", said.String())
	assert.NoFileExists(t, filepath.Join(dir, "x.svg"))
	text, err := os.ReadFile(filepath.Join(dir, "x.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "exact")
}
