package bilevel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
)

func TestCheckpointLayout(t *testing.T) {
	s, file := small(t, smallMethods[0])
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(file[at:]) }
	require.Equal(t, "bilevel\x00\x03\x00\x00\x00", string(file[:12]))
	n, m := int(binary.LittleEndian.Uint32(file[12:])), int(u64(16))
	require.Len(t, file, 24+n+8+8*m+8)
	assert.Contains(t, string(file[24:24+n]), "\nSTABLE.Beta = bilevel.Power\nSTABLE.Beta.C = 0.1\n")
	assert.Equal(t, crc64.Checksum(file[:24+n], crc64.MakeTable(crc64.ECMA)), u64(24+n))
	assert.Equal(t, crc64.Checksum(file[:len(file)-8], crc64.MakeTable(crc64.ECMA)), u64(len(file)-8))
	body := 24 + n + 8
	assert.EqualValues(t, s.K(), u64(body))
	for i, x := range s.X() {
		assert.Equal(t, math.Float64bits(x), u64(body+8+8*i))
	}
}

type limited struct {
	w    io.Writer
	left int
}

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	n, err := len(p), error(nil)
	if n > l.left {
		n, err = l.left, errFull
	}
	l.left -= n
	_, _ = l.w.Write(p[:n])
	return n, err
}

// A writer or a reader may fail after any number of bytes.
func TestSaveReportsEveryWriteError(t *testing.T) {
	by := 1
	if testing.Short() {
		by = 7
	}
	for _, m := range smallMethods {
		s, file := small(t, m)
		for n := 0; n < len(file); n += by {
			var b bytes.Buffer
			require.ErrorIs(t, s.Save(&limited{&b, n}), errFull, "room for %d bytes", n)
			require.ErrorIs(t, s.Load(&b), ErrDamaged)
			require.ErrorIs(t, s.Load(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(errFull))), errFull)
		}
		require.NoError(t, s.Save(&limited{io.Discard, len(file)}))
		require.ErrorIs(t, s.Load(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(errFull))), errFull)
	}
}

func TestSaveFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	s, first := small(t, smallMethods[0])
	require.ErrorIs(t, s.LoadFile(path), os.ErrNotExist)
	require.NoError(t, s.SaveFile(path))
	steps(t, s, 1)
	second := saved(t, s)
	require.NoError(t, s.SaveFile(path))
	s.err = errFull
	require.ErrorIs(t, s.SaveFile(path), errFull)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for name, want := range map[string][]byte{path: second, path + ".old": first} {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, s.LoadFile(name))
		require.Equal(t, want, saved(t, s))
	}
	require.Error(t, s.SaveFile(filepath.Join(path, "below a file")))
	require.NoError(t, os.WriteFile(path, second[:100], 0o644))
	err = s.LoadFile(path)
	require.ErrorIs(t, err, ErrDamaged)
	assert.ErrorContains(t, err, path)
}

// n steps, a checkpoint, and n more elsewhere are 2n steps, bit for bit: where the projection
// remembers which way it went, and where a promise keeps a bound.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		m     Method
		n     int
		route eig.Route
	}{
		{STABLE{MuG: 2.5}, 3, eig.RouteTridiagonal},
		{STABLE{Alpha: Constant(0.02), MuG: 2.5}, 3, eig.RouteTridiagonal},
		{STABLE{MuG: 1}, 77, eig.RouteClear},
	} {
		start := func() *Solver {
			w := newWavy(0.02)
			if w.Dy, w.N = 104, 5; c.route == eig.RouteClear {
				return newSolver(t, newBowls(2, 6), c.m, Options{X0: []float64{0.2, 0.1}, Seed: 3})
			}
			return newSolver(t, w, c.m, Options{Seed: 1})
		}
		whole, again := start(), start()
		steps(t, whole, c.n)
		file, report := saved(t, whole), whole.Estimator().Report()
		assert.Equal(t, c.route, report.Truncate.Route)
		steps(t, whole, c.n)
		steps(t, again, 3) // which are forgotten
		require.NoError(t, again.Load(bytes.NewReader(file)))
		require.Equal(t, c.n, again.K())
		require.Equal(t, file, saved(t, again), "what has been read is what is written")
		require.Equal(t, report, again.Estimator().Report())
		steps(t, again, c.n)
		assert.Equal(t, whole.Counts(), again.Counts())
		assert.Equal(t, saved(t, whole), saved(t, again))
	}
}

// creeping moves, by rounding, what it has projected.
type creeping struct{ Space }

func (creeping) Project(dst, x []float64) {
	for i, v := range x {
		dst[i] = v * (1 + 1e-12)
	}
}

// Divergence is measured from there.
func TestLoadKeepsTheStart(t *testing.T) {
	s := newSolver(t, newWavy(0.3), smallMethods[0], Options{Set: creeping{}, X0: []float64{0.1, 0.2, 0.3}})
	x0 := slices.Clone(s.it.opt.X0)
	require.NoError(t, s.Load(bytes.NewReader(saved(t, s))))
	assert.Equal(t, x0, s.it.opt.X0)
	assert.Equal(t, x0, s.X())
}

func TestLoadAfterFailure(t *testing.T) {
	p := &faulty{Problem: newWavy(0.3), Quantity: "g_y", After: 5, Fault: func([]float64) error { return errFull }}
	s := newSolver(t, p, smallMethods[0], Options{})
	steps(t, s, 5)
	file := saved(t, s)
	broken := s.Step()
	require.ErrorIs(t, broken, errFull)
	require.ErrorIs(t, s.Save(io.Discard), errFull)
	require.Equal(t, broken, s.Step())
	p.After = math.MaxInt
	require.NoError(t, s.Load(bytes.NewReader(file)))
	steps(t, s, 5)
	assert.Equal(t, 10, s.K())
}
