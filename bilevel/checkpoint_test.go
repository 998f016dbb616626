package bilevel

import (
	"bytes"
	"errors"
	"hash/crc64"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

func steps(t *testing.T, s *Solver, n int) {
	t.Helper()
	for range n {
		require.NoError(t, s.Step())
	}
}

func saved(t *testing.T, s *Solver) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return b.Bytes()
}

// small is a Solver with a short checkpoint, and the checkpoint.
func small(t testing.TB, m Method) (*Solver, []byte) {
	w := newWavy(0.3)
	s, err := New(w, m, Options{Seed: 9, Set: UniformBox(3, -1, 1)})
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, s.Step())
	}
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return s, b.Bytes()
}

var smallMethods = []Method{
	tiny{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}},
	STABLE{Alpha: Constant(0.05), Beta: Constant(0.1), MuG: 0.5},
	STABLE{MuG: 0.5},
}

// tiny is a method that keeps little: y follows g_y, x the mean of f_x.
type tiny struct{ Alpha, Beta Schedule }

func (tiny) Name() string { return "tiny" }

func (m tiny) Start(it *Iteration) (Stepper, error) {
	dx, dy := it.Dims()
	return &tinyRun{m, make([]float64, dx), make([]float64, dx), make([]float64, dy), make([]float64, dy)}, nil
}

type tinyRun struct {
	tiny
	mean, fx, fy, gy []float64
}

func (m *tinyRun) Step(it *Iteration) error {
	if err := errors.Join(
		it.Oracle().GradF(m.fx, m.fy, it.X(), it.Y(), it.DrawXi(0)),
		it.Oracle().GradG(m.gy, it.X(), it.Y(), it.DrawPhi(0)),
	); err != nil {
		return err
	}
	mat.Axpy(m.mean, -0.5, m.mean)
	mat.Axpy(m.mean, 0.5+0.1*it.Rand().Float64(), m.fx)
	it.MoveX(m.Alpha.At(it.K()), m.mean)
	it.MoveY(m.Beta.At(it.K()), m.gy)
	return it.UseSteps(m.Alpha.At(it.K()), m.Beta.At(it.K()), 0)
}

func (m *tinyRun) Vectors(visit func(name string, v []float64)) {
	visit("f_x", m.fx)
	visit("f_y", m.fy)
	visit("g_y", m.gy)
	visit("the mean", m.mean)
}

func (m *tinyRun) State(t *State) { t.Floats(m.mean) }

// The layout is the documented one, byte by byte, on every machine.
func TestCheckpointLayout(t *testing.T) {
	s, file := small(t, smallMethods[0])
	u32 := func(at int) int {
		return int(file[at]) | int(file[at+1])<<8 | int(file[at+2])<<16 | int(file[at+3])<<24
	}
	u64 := func(at int) (v uint64) {
		for i := range 8 {
			v |= uint64(file[at+i]) << (8 * i)
		}
		return v
	}
	require.Equal(t, "bilevel\x00", string(file[:8]))
	require.Equal(t, version, u32(8))
	n, m := u32(12), int(u64(16))
	require.Len(t, file, 24+n+8+8*m+8)
	assert.Contains(t, string(file[24:24+n]), "\ntiny.Beta = bilevel.Power\ntiny.Beta.C = 0.1\n")
	assert.Equal(t, crc64.Checksum(file[:24+n], crc64.MakeTable(crc64.ECMA)), u64(24+n))
	assert.Equal(t, crc64.Checksum(file[:len(file)-8], crc64.MakeTable(crc64.ECMA)), u64(len(file)-8))
	body := 24 + n + 8
	assert.EqualValues(t, s.K(), u64(body))
	for i, x := range s.X() {
		assert.Equal(t, math.Float64bits(x), u64(body+8+8*i))
	}
}

// limited has room for some bytes.
type limited struct {
	w    io.Writer
	room int
}

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	if len(p) <= l.room {
		l.room -= len(p)
		return l.w.Write(p)
	}
	n, _ := l.w.Write(p[:l.room])
	l.room = 0
	return n, errFull
}

// A writer that fails after any number of bytes gives its error, and what it has got is refused.
func TestSaveReportsEveryWriteError(t *testing.T) {
	by := 1
	if testing.Short() {
		by = 7
	}
	for _, m := range smallMethods {
		s, file := small(t, m)
		for room := 0; room < len(file); room += by {
			var b bytes.Buffer
			require.ErrorIs(t, s.Save(&limited{&b, room}), errFull, "room for %d bytes", room)
			require.ErrorIs(t, s.Load(&b), ErrDamaged)
		}
		require.NoError(t, s.Save(&limited{io.Discard, len(file)}))
		for room := 0; room <= len(file); room += by {
			require.ErrorIs(t, s.Load(io.MultiReader(bytes.NewReader(file[:room]), errReader{})), errFull)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errFull }

// SaveFile replaces the file, keeps the one before, and leaves both where it fails; LoadFile names
// the file.
func TestSaveFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	s, first := small(t, smallMethods[0])
	require.ErrorIs(t, s.LoadFile(path), os.ErrNotExist)
	require.NoError(t, s.SaveFile(path))
	steps(t, s, 1)
	second := saved(t, s)
	require.NoError(t, s.SaveFile(path))
	files := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		for name, want := range map[string][]byte{path: second, path + ".old": first} {
			got, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	files()
	s.err = errFlaky
	require.ErrorIs(t, s.SaveFile(path), errFlaky)
	files()
	require.Error(t, s.SaveFile(filepath.Join(path, "below a file")))

	require.NoError(t, s.LoadFile(path+".old"))
	assert.Equal(t, 5, s.K())
	require.NoError(t, s.LoadFile(path))
	assert.Equal(t, 6, s.K())
	require.NoError(t, os.WriteFile(path, second[:100], 0o644))
	err := s.LoadFile(path)
	require.ErrorIs(t, err, ErrDamaged)
	assert.ErrorContains(t, err, path)
}
