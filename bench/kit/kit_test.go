package kit

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/plot"
)

// Abramowitz and Stegun, table 26.10, 97.5 % on one side.
func TestStudent(t *testing.T) {
	for n, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 7: 2.365, 10: 2.228, 30: 2.042,
		120: 1.980} {
		assert.InDelta(t, want, student(n, 0.95), 6e-4, n)
	}
	assert.InDelta(t, 636.619, student(1, 0.999), 6e-4)
	assert.InDelta(t, 4.437, student(11, 0.999), 6e-4)
}

func TestReach(t *testing.T) {
	cost, err := []float64{1, 10, 100, 1000}, []float64{1, 0.1, 0.2, 0.02}
	n, ok := Reach(cost, err, 0.1)
	assert.True(t, ok)
	assert.InEpsilon(t, 100*math.Pow(10, math.Log(2)/math.Log(10)), n, 1e-12, "for good, not at the first visit")
	n, ok = Reach(cost, err, 0.5)
	assert.True(t, ok)
	assert.InEpsilon(t, math.Pow(10, math.Log10(2)), n, 1e-12)
	for _, eps := range []float64{0.01, 2} {
		_, ok = Reach(cost, err, eps)
		assert.False(t, ok, eps)
	}
}

func TestMeanOf(t *testing.T) {
	assert.Equal(t, Estimate{3, math.Inf(1)}, MeanOf([]float64{3}))
	assert.Equal(t, Estimate{2, 0}, MeanOf([]float64{2, 2, 2}))
	e := MeanOf([]float64{1, 2, 6})
	assert.InDelta(t, 3, e.Mean, 1e-12)
	assert.InDelta(t, 4.303*math.Sqrt(7./3), e.Half, 1e-3)
}

// The slope is that of least squares: 2 over three points with residuals 1, −2, 1 around it.
func TestExponent(t *testing.T) {
	assert.InDelta(t, 2, Exponent([]float64{1, math.E, math.E * math.E}, []float64{math.E, 1, math.Exp(5)}), 1e-12)
	assert.True(t, math.IsNaN(Exponent([]float64{1}, []float64{1})))
}

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

func TestProgress(t *testing.T) {
	show := func(out Terminal) string {
		var b bytes.Buffer
		out.Stderr = &b
		p := NewProgress(out)
		for i := range 1000 {
			p.Update(float64(i)/1000, "step %d", i)
		}
		p.Clear()
		return b.String()
	}
	live := show(Terminal{Live: true})
	assert.Contains(t, live, "\r  0 %  step 0")
	assert.NotContains(t, live, "\n")
	assert.Regexp(t, "\r *\r$", live, "the line is cleared")
	lines := show(Terminal{Every: 1}) // a nanosecond
	assert.Contains(t, lines, " 50 %  step 500\n")
	assert.NotContains(t, lines, "\r")
	assert.Empty(t, show(Terminal{}))
}

// Where nobody calls Update, the last line stands again after a while, and not before, nor when the
// work is done.
func TestSignOfLife(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(Terminal{Stderr: &b, Every: time.Hour})
	p.Update(0, "exact minimum of %s", "covtype")
	p.beat()
	assert.Empty(t, b.String())
	p.start, p.last = p.start.Add(-90*time.Minute), p.last.Add(-time.Hour)
	p.beat()
	assert.Equal(t, "  0 %  exact minimum of covtype  for 1h30m0s\n", b.String())
	p.Clear()
	p.last = p.last.Add(-time.Hour)
	p.beat()
	assert.Equal(t, 1, bytes.Count(b.Bytes(), []byte("\n")))
}
