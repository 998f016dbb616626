package kit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/plot"
)

// Abramowitz and Stegun, table 26.10, 97.5 % on one side.
func TestStudent(t *testing.T) {
	for n, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 7: 2.365, 10: 2.228, 30: 2.042, 120: 1.980} {
		assert.InDelta(t, want, student(n), 6e-4, n)
	}
}

func TestReach(t *testing.T) {
	cost, err := []float64{1, 10, 100, 1000}, []float64{1, 0.1, 0.2, 0.02}
	assert.InEpsilon(t, 200, Reach(cost, err, 0.1), 1e-12, "for good, not at the first visit")
	assert.InEpsilon(t, 2, Reach(cost, err, 0.5), 1e-12)
	assert.True(t, math.IsNaN(Reach(cost, err, 0.01)), "never")
	assert.True(t, math.IsNaN(Reach(cost, err, 2)), "from the first point on")
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
	text := Must(os.ReadFile(filepath.Join(dir, "x.csv")))
	assert.Contains(t, string(text), "exact")
}

// The last line stands again after a while, also where nobody calls Update, and not when the work is done.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		out  Terminal
		want string
	}{
		{Terminal{Live: true, Every: time.Hour}, "\r  0 %  at work\r  1 %  early  for 1h30m0s\r 50 %  minimum of covtype  1h30m0s left" +
			"\r 50 %  minimum of covtype  1h30m0s left\r" + strings.Repeat(" ", 39) + "\r"},
		{Terminal{Every: time.Hour}, "  0 %  at work\n  1 %  early  for 1h30m0s\n" + strings.Repeat(" 50 %  minimum of covtype  1h30m0s left\n", 2)},
		{Terminal{}, ""},
	} {
		var b bytes.Buffer
		c.out.Stderr = &b
		p := NewProgress(c.out)
		p.beat()
		p.start = p.start.Add(-90 * time.Minute)
		p.Update(0.009, "early")
		p.beat()
		p.Update(0.5, "minimum of %s", "covtype")
		p.beat()
		p.beat()
		p.Clear()
		p.beat()
		assert.Equal(t, c.want, b.String())
	}
	var lines counter
	defer NewProgress(Terminal{Stderr: &lines, Every: time.Millisecond}).Clear()
	assert.Eventually(t, func() bool { return lines.Load() >= 2 }, time.Minute, time.Millisecond)
	var first counter
	long := time.Now().Add(-time.Hour) // ago, the work before said something
	defer NewProgress(Terminal{Stderr: &first, Every: time.Hour, said: &long}).Clear()
	assert.Eventually(t, func() bool { return first.Load() == 1 }, time.Minute, time.Millisecond)
}

type counter struct{ atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) { c.Add(1); return len(b), nil }

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputIsLost(t *testing.T) {
	var said strings.Builder
	hello := Command{Run: func(_ context.Context, _ []string, out Terminal) error {
		_, err := io.WriteString(out.Stdout, "hello")
		return err
	}}
	assert.Equal(t, 1, Run(context.Background(), []Command{hello}, nil, Terminal{Stdout: full{}, Stderr: &said}))
	assert.Equal(t, "bench: disk full\n", said.String())
}
