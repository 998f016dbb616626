package bilevel

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// Every flipped bit, every end cut off and every byte too much.
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
	s, file := small(t, smallMethods[0])
	body := fixedHeader + int(binary.LittleEndian.Uint32(file[12:])) + 8
	diagonal := body + 8*(1+3+4+3+2+4+9+6+7+12) // of H_yy, behind the run and H_xy
	for _, c := range []struct {
		at, bits int
		v        uint64
		want     string
	}{
		{0, 64, 0, "this is no checkpoint: it begins with \"\\x00"},
		{8, 32, 0, "its version is 0, and this package reads version 3"},
		{8, 32, version + 1, "its version is 4, and this package reads version 3"},
		{12, 32, math.MaxUint32, "its header wants to be 4294967295 bytes long"},
		{16, 64, 1 << 60, "its state has 1152921504606846976 words"},
		{body, 64, 1 << 63, "a count is 9223372036854775808"},
		{body + 8, 64, math.Float64bits(math.NaN()), "an iterate is NaN at index 0"},
		{body + 8*4, 64, math.Float64bits(math.Inf(1)), "an iterate is +Inf at index 0"},
		{diagonal, 64, math.Float64bits(-1), "H_yy is not positive definite"},
		{diagonal, 64, math.Float64bits(math.NaN()), "H_yy is not positive definite"},
	} {
		bad := slices.Clone(file)
		if c.bits == 32 {
			binary.LittleEndian.PutUint32(bad[c.at:], uint32(c.v))
		} else {
			binary.LittleEndian.PutUint64(bad[c.at:], c.v)
		}
		err := s.Load(bytes.NewReader(sign(bad)))
		assert.ErrorContains(t, err, c.want)
		foreign := c.at == 8 || c.at == 16
		assert.True(t, errors.Is(err, ErrForeign) == foreign && errors.Is(err, ErrDamaged) == !foreign, c.want)
	}
	assert.ErrorContains(t, s.Load(bytes.NewReader(append(file, 0))), "there is more after its end")
}

// What Load takes is what Save writes; all else leaves the Solver alone.
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
