package bilevel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sign makes the checksums of a changed checkpoint right.
func sign(file []byte) []byte {
	file = slices.Clone(file)
	put := func(end int) { binary.LittleEndian.PutUint64(file[end:], crc64.Checksum(file[:end], crcTable)) }
	if len(file) < fixedHeader+16 {
		return file
	}
	if n := int(binary.LittleEndian.Uint32(file[12:])); n <= len(file)-fixedHeader-16 {
		put(fixedHeader + n)
	}
	put(len(file) - 8)
	return file
}

// Every bit that is flipped, every end that is cut off and every byte too much is refused, and the
// Solver is as it was.
func TestDamageIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, m := range smallMethods[:2] {
		s, file := small(t, m)
		steps(t, s, 2)
		before := saved(t, s)
		refused := func(file []byte, what string, at int) {
			err := s.Load(bytes.NewReader(file))
			require.Error(t, err, "%s %d", what, at)
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) && what == "flip" && at < 12,
				"%s %d: %v", what, at, err)
			require.Equal(t, 7, s.K())
		}
		for i := range file {
			for bit := range 8 {
				bad := slices.Clone(file)
				bad[i] ^= 1 << bit
				refused(bad, "flip", i)
			}
			refused(file[:i], "cut", i)
		}
		for _, more := range [][]byte{{0}, file} {
			refused(slices.Concat(file, more), "append", len(more))
		}
		assert.Equal(t, before, saved(t, s))
		require.NoError(t, s.Load(bytes.NewReader(file)))
	}
}

// Checksums that are right do not make numbers right.
func TestNonsenseIsRefused(t *testing.T) {
	s, file := small(t, smallMethods[1])
	body := fixedHeader + int(binary.LittleEndian.Uint32(file[12:])) + 8
	const words = 1 + 3 + 4 + 3 + 2 + 4 + 9 + 6 // before the estimator
	for _, c := range []struct {
		word int
		v    uint64
		want string
	}{
		{0, 1 << 63, "a count is 9223372036854775808"},
		{1, math.Float64bits(math.NaN()), "an iterate is NaN at index 0"},
		{4, math.Float64bits(math.Inf(1)), "an iterate is +Inf at index 0"},
		{words + 7 + 12, math.Float64bits(-1), "H_yy is not positive definite"},
		{words + 7 + 12, math.Float64bits(math.NaN()), "H_yy is not positive definite"},
	} {
		bad := slices.Clone(file)
		binary.LittleEndian.PutUint64(bad[body+8*c.word:], c.v)
		err := s.Load(bytes.NewReader(sign(bad)))
		require.ErrorIs(t, err, ErrDamaged)
		assert.ErrorContains(t, err, c.want)
	}
	bad := slices.Clone(file)
	binary.LittleEndian.PutUint32(bad[12:], math.MaxUint32)
	assert.ErrorContains(t, s.Load(bytes.NewReader(bad)), "its header wants to be 4294967295 bytes long")
	assert.ErrorContains(t, s.Load(bytes.NewReader([]byte("one,two,three,four,five\n"))), "this is no checkpoint")
	bad = slices.Clone(file)
	binary.LittleEndian.PutUint64(bad[16:], 1<<60)
	assert.ErrorContains(t, s.Load(bytes.NewReader(sign(bad))), "its state has 1152921504606846976 words")
}

func TestOtherVersionIsRefused(t *testing.T) {
	s, file := small(t, smallMethods[0])
	for _, v := range []uint32{0, version + 1} {
		other := slices.Clone(file)
		binary.LittleEndian.PutUint32(other[8:], v)
		err := s.Load(bytes.NewReader(sign(other)))
		require.ErrorIs(t, err, ErrForeign)
		assert.ErrorContains(t, err, fmt.Sprintf("its version is %d, and this package reads version 3", v))
	}
}

// What Load takes is what Save writes; whatever else it meets is an error that leaves the Solver
// alone, and takes no more memory than a run.
func FuzzLoad(f *testing.F) {
	for i, m := range smallMethods {
		_, file := small(f, m)
		f.Add(byte(i), false, file)
		f.Add(byte(i), true, file)
		f.Add(byte(i), true, file[:len(file)/2])
	}
	f.Fuzz(func(t *testing.T, which byte, signed bool, file []byte) {
		s, before := small(t, smallMethods[int(which)%len(smallMethods)])
		if signed {
			file = sign(file)
		}
		if err := s.Load(bytes.NewReader(file)); err != nil {
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign), "%v", err)
			require.Equal(t, before, saved(t, s))
			return
		}
		require.Equal(t, file, saved(t, s))
		_ = s.Step() // may fail, but not crash
	})
}
