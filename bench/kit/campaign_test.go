package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts leave what waits for others to a merge, which does it once; a part never started is missed.
func TestMergeDoesTheRest(t *testing.T) {
	var messages bytes.Buffer
	dir, out, ran := t.TempDir(), Terminal{Stdout: io.Discard, Stderr: &messages}, new(atomic.Int64)
	fresh := false
	task := func(key string, result int) Task[int] {
		return Task[int]{Key: key, Cost: 1, Run: func(context.Context) (int, error) {
			ran.Add(1)
			return result, nil
		}}
	}
	play := func(ctx context.Context, part string, merge int) (sum int, said string, err error) {
		var told bytes.Buffer
		err = Play(Common{Out: dir, part: part, merge: merge, fresh: fresh}, "x", Identity{Options: "o", Build: "b"},
			Terminal{Stdout: &told, Stderr: &told}, func(c *Campaign[int]) error {
				done, err := c.Complete(ctx, []Task[int]{task("a", 1), task("b", 2), task("c", 4), task("d", 8)}, "first", out)
				if err != nil {
					return err
				}
				n := done["a"] + done["b"] + done["c"] + done["d"] // a second batch depends on all of the first
				last, err := c.Complete(ctx, []Task[int]{task("sum", n)}, "second", out)
				sum = last["sum"]
				return err
			})
		return sum, told.String(), err
	}
	ctx := context.Background()
	_, said, err := play(ctx, "1/2", 0)
	require.NoError(t, err)
	assert.Contains(t, said, "part 1 of 2: done so far as it can be without the others")
	_, _, err = play(ctx, "", 2)
	require.ErrorContains(t, err, "part 2 of 2 was never started")
	_, said, err = play(ctx, "2/2", 0)
	require.NoError(t, err)
	assert.Contains(t, said, "part 2 of 2") // the sum is part 1's
	assert.EqualValues(t, 4, ran.Load())
	for range 2 {
		sum, said, err := play(ctx, "", 2)
		require.NoError(t, err)
		assert.Empty(t, said)
		assert.Equal(t, 15, sum)
		assert.EqualValues(t, 5, ran.Load())
	}
	fresh = true
	_, _, err = play(ctx, "1/2", 0)
	require.NoError(t, err)
	assert.EqualValues(t, 7, ran.Load(), "part 1 threw away two")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	dir = t.TempDir()
	_, _, err = play(stopped, "", 0)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, messages.String(), "first: 0 of 4 runs done are kept in "+filepath.Join(dir, "x.ledger")+
		"; the same command goes on from there")
}

// Tasks of one kind do not come first: the time left would be told from them.
func TestTasksAreMixed(t *testing.T) {
	var list []Task[int]
	var first atomic.Int64 // sum of the first ten
	ran := new(atomic.Int64)
	for i := range 100 {
		list = append(list, Task[int]{Key: fmt.Sprint(i), Cost: 1, Run: func(context.Context) (int, error) {
			if ran.Add(1) <= 10 {
				first.Add(int64(i))
			}
			return i, nil
		}})
	}
	require.NoError(t, Play(Common{Out: t.TempDir()}, "x", Identity{}, Terminal{Stdout: io.Discard}, func(c *Campaign[int]) error {
		_, err := c.Complete(context.Background(), list, "all", Terminal{})
		return err
	}))
	assert.InDelta(t, 500, first.Load(), 250)
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

	altered := []byte(strings.Replace(string(whole), `"a"`, `"c"`, 1))
	require.NoError(t, os.WriteFile(path, altered, 0o644))
	_, err := openLedger[[]float64](path, one)
	assert.ErrorContains(t, err, "x.ledger:2: damaged record")
	assert.Equal(t, altered, Must(os.ReadFile(path)))

	moved := one
	moved.Data = []Source{{"/elsewhere/x", "123"}}
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

// Two processes that began at the same moment append to a ledger while others open it; a line half
// written is waited for.
func TestLedgerOfTwo(t *testing.T) {
	path, id := filepath.Join(t.TempDir(), "x.ledger"), Identity{Options: "one", Build: "b"}
	both := [2]*ledger[int]{Must(openLedger[int](path, id)), Must(openLedger[int](path, id))}
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
	require.NoError(t, l.close())
}
