package kit

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts leave what waits for others to a merge, which does it once; a part never started is missed.
func TestMergeDoesTheRest(t *testing.T) {
	dir, out, ran := t.TempDir(), Terminal{Stdout: io.Discard, Stderr: io.Discard}, new(atomic.Int64)
	first := func() (list []Task[int]) {
		for _, key := range []string{"a", "b", "c", "d"} {
			list = append(list, Task[int]{Key: key, Cost: 1, Run: func(context.Context) (int, error) {
				ran.Add(1)
				return int(key[0]), nil
			}})
		}
		return list
	}
	play := func(part int) (sum int, err error) {
		c, err := Open[int](dir, "x", Identity{Options: "o", Build: "b"}, Share{Part: part, Of: 2})
		if err != nil {
			return 0, err
		}
		defer func() { require.NoError(t, c.Close()) }()
		done, err := c.Complete(context.Background(), first(), "first", out)
		if err != nil {
			return 0, err
		}
		n := 0 // a second batch that depends on all of the first
		for _, v := range done {
			n += v
		}
		last, err := c.Complete(context.Background(), []Task[int]{{Key: "sum", Cost: 1, Run: func(context.Context) (int, error) {
			ran.Add(1)
			return n, nil
		}}}, "second", out)
		return last["sum"], err
	}
	_, err := play(1)
	require.ErrorIs(t, err, errUnfinished)
	_, err = play(0)
	require.ErrorIs(t, err, errUnfinished)
	require.ErrorContains(t, err, "part 2 of 2 was never started")
	_, err = play(2)
	require.ErrorIs(t, err, errUnfinished) // the sum is part 1's
	assert.EqualValues(t, 4, ran.Load())
	for range 2 {
		sum, err := play(0)
		require.NoError(t, err)
		assert.EqualValues(t, 'a'+'b'+'c'+'d', sum)
		assert.EqualValues(t, 5, ran.Load())
	}
}
