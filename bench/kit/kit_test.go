package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestPlay(t *testing.T) {
	var messages bytes.Buffer
	dir, out, ran := t.TempDir(), Terminal{Stdout: io.Discard, Stderr: &messages}, new(atomic.Int64)
	task := func(key string, result int) Task[int] {
		return Task[int]{Key: key, Cost: 1, Run: func(context.Context) (int, error) {
			ran.Add(1)
			return result, nil
		}}
	}
	play := func(ctx context.Context, fresh bool) (sum int, err error) {
		return sum, Play(Common{Out: dir, fresh: fresh}, "x", Identity{Options: "o", Build: "b"}, func(c *Campaign[int]) error {
			done, err := c.Complete(ctx, []Task[int]{task("a", 1), task("b", 2)}, "first", out)
			sum = done["a"] + done["b"]
			return err
		})
	}
	for i, fresh := range []bool{false, false, true} {
		sum, err := play(t.Context(), fresh)
		require.NoError(t, err)
		assert.Equal(t, 3, sum)
		assert.EqualValues(t, []int{2, 2, 4}[i], ran.Load())
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := play(stopped, true)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, messages.String(), "first: 0 of 2 runs done are kept in "+filepath.Join(dir, "x.ledger")+
		"; the same command goes on from there")
}

// Tasks of one kind do not come first: the time left would be told from them. A core does one at a time.
func TestTasksAreMixed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var list []Task[int]
	var begun []int
	for i := range 100 {
		list = append(list, Task[int]{Key: fmt.Sprint(i), Cost: 1, Run: func(context.Context) (int, error) {
			begun = append(begun, i)
			n := len(begun)
			runtime.Gosched()
			assert.Len(t, begun, n)
			return i, nil
		}})
	}
	require.NoError(t, Play(Common{Out: t.TempDir()}, "x", Identity{}, func(c *Campaign[int]) error {
		_, err := c.Complete(context.Background(), list, "all", Terminal{})
		return err
	}))
	assert.Greater(t, slices.Max(begun[:10]), 50)
}

func TestLedgerRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ledger")
	one := Identity{Options: "one", Data: []Source{{"x", "123"}}, Build: "b"}
	l := Must(openLedger[[]float64](path, one))
	require.NoError(t, l.put("a", []float64{1}))
	require.NoError(t, l.put("b", []float64{0.1}))
	require.NoError(t, l.close())
	whole := Must(os.ReadFile(path))

	for want, other := range map[string]Identity{
		"with other options (one); this one is two": {Options: "two", Data: one.Data, Build: "b"},
		"on other data, x (SHA-256 123)":            {Options: "one", Data: []Source{{"x", "124"}}, Build: "b"},
		"this one is on none":                       {Options: "one", Build: "b"},
		"by another build of this program":          {Options: "one", Data: one.Data, Build: "c"},
	} {
		_, err := openLedger[[]float64](path, other)
		assert.ErrorContains(t, err, want)
	}

	_, headless, _ := strings.Cut(string(whole), "\n") // results without an identity are nobody's
	for want, text := range map[string]string{
		"x.ledger:2: damaged record": strings.Replace(string(whole), `"a"`, `"c"`, 1), "this one is": headless,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := openLedger[[]float64](path, one)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, text, string(Must(os.ReadFile(path))))
	}

	moved := Identity{Options: "one", Data: []Source{{"/elsewhere/x", "123"}}, Build: "b"}
	require.NoError(t, moved.check(path, one), "the same data under another name")
	defer func(old func()) { pause = old }(pause)
	pause = func() {}
	for cut := range len(whole) { // torn anywhere
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o644))
		l := Must(openLedger[[]float64](path, one))
		lines := strings.Count(string(whole[:cut]), "\n")
		assert.Equal(t, []bool{lines >= 2, lines >= 3}, []bool{l.done["a"] != nil, l.done["b"] != nil})
		require.NoError(t, l.put("b", []float64{0.1}))
		require.NoError(t, l.close())
		_, _, err := readLedger(path, one, l.done)
		require.NoError(t, err, "with its identity")
	}
}

// Two processes append to a ledger while others open it; a line half written is waited for.
func TestLedgerOfTwo(t *testing.T) {
	path, id := filepath.Join(t.TempDir(), "x.ledger"), Identity{Options: "one", Build: "b"}
	both := [2]*Campaign[int]{Must(openLedger[int](path, id)), Must(openLedger[int](path, id))}
	require.NoError(t, both[1].write(id))
	want, done := map[string]int{}, make(chan error)
	for i := range 2000 {
		want[fmt.Sprint(i)] = i
	}
	go func() {
		var err error
		for i := range 2000 {
			err = errors.Join(err, both[i%3%2].put(fmt.Sprint(i), i))
		}
		done <- errors.Join(err, both[0].close(), both[1].close())
	}()
	for busy := true; busy; {
		select {
		case err := <-done:
			require.NoError(t, err)
			busy = false
		default:
			require.NoError(t, Must(openLedger[int](path, id)).close())
		}
	}
	whole := Must(os.ReadFile(path))
	require.NoError(t, os.Truncate(path, int64(len(whole)-5)))
	defer func(old func()) { pause = old }(pause)
	pause = func() { Must(0, os.WriteFile(path, whole, 0o644)) }
	l := Must(openLedger[int](path, id))
	assert.Equal(t, want, l.done)
	require.NoError(t, errors.Join(l.write(Identity{Options: "two", Build: "b"}), l.close())) // began it, too
	_, err := openLedger[int](path, id)
	assert.ErrorContains(t, err, "belongs to another run, with other options (two)")

	o := Common{Out: t.TempDir()} // one that is finished gives way
	for i := range 3 {
		id := Identity{Options: strconv.Itoa(i / 2)}
		require.NoError(t, Play(o, "x", id, func(c *Campaign[int]) error {
			assert.Len(t, c.done, i%2)
			return c.put("one", i)
		}))
	}
}
