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
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
)

func TestCheckpointLayout(t *testing.T) {
	s, file := small(t, smallMethods[0])
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(file[at:]) }
	require.Equal(t, "bilevel\x00\x05\x00\x00\x00", string(file[:12]))
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

var errFull = errors.New("no space left")

func TestReaderAndWriterFail(t *testing.T) {
	s, file := small(t, smallMethods[0])
	r, w := io.Pipe()
	require.NoError(t, r.CloseWithError(errFull))
	require.ErrorIs(t, s.Save(w), errFull)
	for _, n := range []int{0, 100, len(file)} {
		require.ErrorIs(t, s.Load(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(errFull))), errFull)
	}
}

func TestSaveFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	s, first := small(t, smallMethods[0])
	require.ErrorIs(t, s.LoadFile(path), os.ErrNotExist)
	require.NoError(t, s.SaveFile(path))
	steps(t, s, 1)
	second := saved(t, s)
	require.NoError(t, s.SaveFile(path))
	s.err = errFull
	require.ErrorIs(t, s.SaveFile(path), errFull)
	for name, want := range map[string][]byte{path: second, path + ".old": first} {
		require.NoError(t, s.LoadFile(name))
		require.Equal(t, want, saved(t, s))
	}
	require.NoError(t, os.WriteFile(path, second[:100], 0o644))
	err := s.LoadFile(path)
	require.ErrorIs(t, err, ErrDamaged)
	assert.ErrorContains(t, err, path)
}

// creeping moves, by rounding, what it has projected; divergence is measured from where New was.
type creeping struct {
	Space
	calls atomic.Int64 // the state of a process is no parameter
}

func (c *creeping) Project(dst, x []float64) {
	c.calls.Add(1)
	for i, v := range x {
		dst[i] = v * (1 + 1e-12)
	}
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
			return newSolver(t, w, c.m, Options{Seed: 1, Set: &creeping{}, X0: []float64{0.01, 0.02, 0.03}})
		}
		whole, again := start(), start()
		steps(t, whole, c.n)
		file, report := saved(t, whole), whole.stepper.(*stable).est.Report()
		assert.Equal(t, c.route, report.Truncate.Route)
		steps(t, whole, c.n)
		steps(t, again, 3) // which are forgotten
		require.NoError(t, again.Load(bytes.NewReader(file)))
		require.Equal(t, c.n, again.K())
		require.Equal(t, file, saved(t, again), "what has been read is what is written")
		require.Equal(t, report, again.stepper.(*stable).est.Report())
		steps(t, again, c.n)
		assert.Equal(t, whole.Counts(), again.Counts())
		assert.Equal(t, whole.Mean(), again.Mean())
		assert.Equal(t, saved(t, whole), saved(t, again))
	}
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

// fickle visits one number less from its fourth visit on, or one more.
type fickle struct {
	drawing
	visits *int
	more   bool
}

func (f fickle) Start(*Iteration) (Stepper, error) { return f, nil }

func (f fickle) State(t *State) {
	if *f.visits++; *f.visits < 4 != f.more {
		t.Uint(new(uint64))
	}
}

func TestFickleStateIsRefused(t *testing.T) {
	for more, want := range map[bool]string{false: "the State of drawing does not visit all of it", true: "it ends too early"} {
		visits := 0
		s := newSolver(t, newWavy(0), fickle{visits: &visits, more: more}, Options{})
		file := saved(t, s) // two visits
		assert.ErrorContains(t, s.Load(bytes.NewReader(file)), want)
		visits = 2
		assert.ErrorContains(t, s.Save(io.Discard), "the State of drawing visited")
	}
	st, minus := State{writing: true}, -1
	st.Count(&minus)
	assert.EqualError(t, st.err, "the State has a count of -1, want ≥ 0")
}

func sign(file []byte) []byte {
	if len(file) < fixedHeader+16 {
		return file
	}
	head := min(fixedHeader+int(binary.LittleEndian.Uint32(file[12:])), len(file)-16)
	return seal(slices.Concat(seal(slices.Clone(file[:head])), file[head+8:len(file)-8]))
}

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

func TestNonsenseIsRefused(t *testing.T) {
	s, file := small(t, smallMethods[0])
	body := fixedHeader + int(binary.LittleEndian.Uint32(file[12:])) + 8
	diagonal := body + 8*(1+3+4+3+2+4+9+1+6+7+12) // of H_yy, behind the run and H_xy
	for _, c := range []struct {
		at, bits int
		v        uint64
		want     string
	}{
		{0, 64, 0, "this is no checkpoint: it begins with \"\\x00"},
		{8, 32, 0, "its version is 0, and this package reads version 5"},
		{8, 32, version + 1, "its version is 6, and this package reads version 5"},
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
		f.Add(byte(i), file)
		f.Add(byte(i), file[:len(file)/2])
	}
	f.Fuzz(func(t *testing.T, which byte, file []byte) {
		s, before := small(t, smallMethods[int(which)%len(smallMethods)])
		file = sign(file)
		if err := s.Load(bytes.NewReader(file)); err != nil {
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign), "%v", err)
			require.Equal(t, before, saved(t, s))
			return
		}
		require.Equal(t, file, saved(t, s))
		_ = s.Step() // may fail, but not crash
	})
}

type nested struct {
	Schedule
	all  []Schedule
	text string
	more map[string]float64
	f    func() float64
}

type (
	bare    string
	wrapped struct{ Method }
)

func (b bare) Name() string                    { return string(b[:6]) }
func (bare) Start(*Iteration) (Stepper, error) { return drawing{}, nil }

func TestForeignIsRefused(t *testing.T) {
	type run struct {
		p   *wavy
		m   Method
		s   STABLE
		tau *nested
		o   Options
	}
	change := func(f func(r *run)) *Solver {
		r := run{p: newWavy(0.3), o: Options{Seed: 9, Set: UniformBox(3, -1, 1)},
			tau: &nested{Schedule: Constant(0.1), all: []Schedule{Constant(1), nil, Power{C: 2}},
				more: map[string]float64{"a": 1}, f: func() float64 { return 1 }}}
		r.s = STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, Tau: r.tau, MuG: 0.5}
		if f(&r); r.m == nil {
			r.m = r.s
		}
		return newSolver(t, r.p, r.m, r.o)
	}
	s := change(func(*run) {})
	steps(t, s, 2)
	file := saved(t, s)
	for _, c := range []struct {
		want   string
		change func(r *run)
	}{
		{"dy is 4 in the checkpoint, and 5 here", func(r *run) { r.p.Dy, r.p.N = 5, 20 }},
		{"samples ξ is 16 in the checkpoint, and 8 here", func(r *run) { r.p.N = 8 }},
		{"method is STABLE in the checkpoint, and method here", func(r *run) { r.m = bare("method") }},
		{"type is stable/bilevel.STABLE in the checkpoint, and stable/bilevel.bare here",
			func(r *run) { r.m = bare("STABLE") }},
		{"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint, and bilevel.Power here",
			func(r *run) { r.s.Alpha = Power{C: 1} }},
		{"STABLE.Beta.P is 0.5 in the checkpoint, and 0.25 here", func(r *run) { r.s.Beta = Power{C: 0.1, P: 0.25} }},
		{"STABLE.Tau is *bilevel.nested in the checkpoint, and nil", func(r *run) { r.s.Tau = nil }},
		{"STABLE.Tau.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Const",
			func(r *run) { r.tau.Schedule = Constant(0.2) }},
		{"STABLE.Tau.all is ", func(r *run) { r.tau.all[2] = Power{C: 3} }},
		{"STABLE.Tau.text is ", func(r *run) { r.tau.text = "line\nline" }},
		{"STABLE.MuG is 0.5 in the checkpoint, and 1e+12 here", func(r *run) { r.s.MuG = 1e12 }},
		{"STABLE.Plain is false in the checkpoint, and true here", func(r *run) { r.s.Plain = true }},
		{"Options.Set is bilevel.Box in the checkpoint, and bilevel", func(r *run) { r.o.Set = Space{} }},
		{"Options.Set.Hi is 3 entries with checksum", func(r *run) { r.o.Set = UniformBox(3, -1, 2) }},
		{"Options.Seed is 9 in the checkpoint, and 10 here", func(r *run) { r.o.Seed = 10 }},
		{"Options.UpperBatch is 1 in the checkpoint, and -1 here", func(r *run) { r.o.UpperBatch = Full }},
	} {
		s := change(c.change)
		err := s.Load(bytes.NewReader(file))
		require.ErrorIs(t, err, ErrForeign, c.want)
		assert.ErrorContains(t, err, c.want)
		assert.Zero(t, s.K())
	}
	for _, same := range []func(r *run){
		func(*run) {},
		func(r *run) { r.m = &r.s }, // a pointer to the method is the method
		func(r *run) { r.tau.more, r.tau.f = nil, nil },
	} {
		require.NoError(t, change(same).Load(bytes.NewReader(file)))
	}
	itself := change(func(r *run) { r.tau.all[1] = r.tau })
	assert.Less(t, len(itself.describe()), 1<<16)

	describe := func(m Method) string { return change(func(r *run) { r.m = m }).describe() }
	assert.Equal(t, `bare is "method 1" in the checkpoint, and "method 2" here`,
		difference(describe(bare("method 1")), describe(bare("method 2"))))
	assert.Contains(t, difference(describe(wrapped{STABLE{MuG: 1}}), describe(wrapped{STABLE{MuG: 2}})),
		"wrapped.Method.MuG is 1")
}
