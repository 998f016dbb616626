package kit

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts leave what waits for others to a merge, which does it once; a part never started is missed.
func TestMergeDoesTheRest(t *testing.T) {
	var messages bytes.Buffer
	dir, out, ran := t.TempDir(), Terminal{Stdout: io.Discard, Stderr: &messages}, new(atomic.Int64)
	first := func() (list []Task[int]) {
		for _, key := range []string{"a", "b", "c", "d"} {
			list = append(list, Task[int]{Key: key, Cost: 1, Run: func(context.Context) (int, error) {
				ran.Add(1)
				return int(key[0]), nil
			}})
		}
		return list
	}
	play := func(ctx context.Context, part string, merge int) (sum int, said string, err error) {
		var told bytes.Buffer
		err = Play(Common{Out: dir, part: part, merge: merge}, "x", Identity{Options: "o", Build: "b"},
			Terminal{Stdout: &told, Stderr: &told}, func(c *Campaign[int]) error {
				done, err := c.Complete(ctx, first(), "first", out)
				if err != nil {
					return err
				}
				n := 0 // a second batch that depends on all of the first
				for _, v := range done {
					n += v
				}
				last, err := c.Complete(ctx, []Task[int]{{Key: "sum", Cost: 1, Run: func(context.Context) (int, error) {
					ran.Add(1)
					return n, nil
				}}}, "second", out)
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
	require.ErrorIs(t, err, errUnfinished)
	require.ErrorContains(t, err, "part 2 of 2 was never started")
	_, said, err = play(ctx, "2/2", 0)
	require.NoError(t, err)
	assert.Contains(t, said, "part 2 of 2") // the sum is part 1's
	assert.EqualValues(t, 4, ran.Load())
	for range 2 {
		sum, said, err := play(ctx, "", 2)
		require.NoError(t, err)
		assert.Empty(t, said)
		assert.EqualValues(t, 'a'+'b'+'c'+'d', sum)
		assert.EqualValues(t, 5, ran.Load())
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	dir = t.TempDir()
	_, _, err = play(stopped, "", 0)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, messages.String(), "first: 0 of 4 runs done are kept in "+filepath.Join(dir, "x.ledger")+
		"; the same command goes on from there")
}
