package bilevel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
)

// euclid is a set that projects in the Euclidean norm only.
type euclid struct{ Set }

// resumable are all methods and upper rules, and what they keep under other options.
func resumable() []Method {
	a, b := Constant(0.02), Constant(0.1)
	return slices.Concat(all(), []Method{
		STABLE{Alpha: a, Beta: b, MuG: 0.8},
		STABLE{Alpha: a, Beta: b, MuG: 0.8, CGxy: 0.5, Upper: Momentum{}},
		STABLE{Alpha: a, Beta: b, MuG: 0.8, Upper: STORM{Tau: Constant(0.3)}},
		STABLE{MuG: 0.8, Plain: true},
		MSTSA{Alpha: a, Beta: b, Neumann: Neumann{LG: 7, MuG: 0.7}},
	})
}

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

// n steps, a checkpoint, and n more in another Solver are 2n steps: the iterates, the counts, and all that a second checkpoint holds, bit for bit.
func TestResumeGivesTheSameBits(t *testing.T) {
	seen := map[string]bool{}
	for i, m := range resumable() {
		seen[m.Name()] = true
		for _, opt := range []Options{
			{Seed: 3},
			{Seed: 4, UpperBatch: 2, LowerBatch: 3, Set: UniformBox(3, -0.2, 0.3)},
			{Seed: 5, UpperBatch: Full, LowerBatch: Full, Set: Ball{Radius: 0.4}, X0: []float64{0.3, -0.2, 0.1}},
			{Seed: 6, Set: euclid{Simplex{}}},
		} {
			if _, ok := opt.Set.(euclid); ok {
				if _, err := New(newWavy(0.4), m, opt); err != nil {
					continue // a method with a metric
				}
			}
			for _, n := range []int{0, 1, 4, 11} {
				t.Run(fmt.Sprintf("%d=%s,seed=%d,n=%d", i, m.Name(), opt.Seed, n), func(t *testing.T) {
					requireResumes(t, func() Problem { return newWavy(0.4) }, m, opt, n)
				})
			}
		}
	}
	for _, name := range Methods() {
		assert.True(t, seen[name], "%s is not tested", name)
	}
}

func requireResumes(t *testing.T, problem func() Problem, m Method, opt Options, n int) {
	t.Helper()
	start := func() *Solver {
		s, err := New(problem(), m, opt)
		require.NoError(t, err)
		return s
	}
	whole := start()
	steps(t, whole, n)
	file := saved(t, whole)
	var report EstimatorReport
	if e := whole.Estimator(); e != nil {
		report = e.Report()
	}
	steps(t, whole, n)

	idle, busy := start(), start()
	steps(t, busy, 3) // which are forgotten
	for _, s := range []*Solver{idle, busy} {
		require.NoError(t, s.Load(bytes.NewReader(file)))
		require.Equal(t, n, s.K())
		require.Equal(t, file, saved(t, s), "what has been read is what is written")
		if e := s.Estimator(); e != nil {
			require.Equal(t, report, e.Report())
		}
		steps(t, s, n)
		assert.Equal(t, whole.X(), s.X())
		assert.Equal(t, whole.Y(), s.Y())
		assert.Equal(t, whole.Counts(), s.Counts())
		assert.Equal(t, whole.Activity(), s.Activity())
		assert.Equal(t, saved(t, whole), saved(t, s))
		if e := s.Estimator(); e != nil {
			assert.Equal(t, whole.Estimator().updates, e.updates)
		}
	}
}

// The same where H_yy is large, and its projection remembers which way it went the last time.
func TestResumeTruncated(t *testing.T) {
	problem := func() Problem { w := newWavy(0.02); w.dy, w.n = 104, 5; return w }
	for _, m := range []Method{STABLE{MuG: 2.5}, STABLE{Alpha: Constant(0.02), MuG: 2.5, Upper: STORM{}}} {
		requireResumes(t, problem, m, Options{Seed: 1}, 3)
		s, err := New(problem(), m, Options{Seed: 1})
		require.NoError(t, err)
		steps(t, s, 3)
		assert.Equal(t, eig.RouteKrylov, s.Estimator().Report().Truncate.Route)
		assert.Equal(t, 3, s.Activity().Truncated)
	}
}

// creeping is a set whose projection moves, by rounding, what it has projected.
type creeping struct{ Space }

func (creeping) Project(dst, x []float64) {
	for i, v := range x {
		dst[i] = v * (1 + 1e-12)
	}
}

// The starting point keeps its bits, too: divergence is measured from there.
func TestLoadKeepsTheStart(t *testing.T) {
	s, err := New(newWavy(0.3), smallMethods[0], Options{Set: creeping{}, X0: []float64{0.1, 0.2, 0.3}})
	require.NoError(t, err)
	x0 := slices.Clone(s.opt.X0)
	require.NoError(t, s.Load(bytes.NewReader(saved(t, s))))
	assert.Equal(t, x0, s.opt.X0)
	assert.Equal(t, x0, s.X())
}

// A Solver whose step has failed saves nothing, and goes on from a checkpoint.
func TestLoadAfterFailure(t *testing.T) {
	p := &flaky{wavy: newWavy(0.3)}
	s, err := New(p, TTSA{Alpha: Constant(0.05), Beta: Constant(0.1), Neumann: Neumann{LG: 7, Terms: 3}}, Options{})
	require.NoError(t, err)
	steps(t, s, 5)
	file := saved(t, s)
	p.fail = true
	broken := s.Step()
	require.Error(t, broken)
	require.ErrorIs(t, s.Save(io.Discard), errFlaky)
	require.Equal(t, broken, s.Step())
	p.fail = false
	require.NoError(t, s.Load(bytes.NewReader(file)))
	steps(t, s, 5)
	assert.Equal(t, 10, s.K())
}

var errFlaky = errors.New("flaky")

type flaky struct {
	*wavy
	fail bool
}

func (f *flaky) GradG(gy, x, y []float64, phi []Sample) error {
	if f.fail {
		return errFlaky
	}
	return f.wavy.GradG(gy, x, y, phi)
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
	SOBA{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}},
	STABLE{Alpha: Constant(0.05), MuG: 0.5, Upper: Adam{}},
	BiAdam{Alpha: Constant(0.05), Beta: Constant(0.1), Neumann: Neumann{LG: 7, Terms: 3}},
	SABA{Alpha: Constant(0.05), Beta: Constant(0.1)},
}

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

// Every bit that is flipped, every end that is cut off and every byte too much is refused, and the Solver is as it was.
func TestDamageIsRefused(t *testing.T) {
	for _, m := range smallMethods[:2] {
		s, file := small(t, m)
		steps(t, s, 2)
		before := saved(t, s)
		refused := func(file []byte, what string, at int) {
			err := s.Load(bytes.NewReader(file))
			require.Error(t, err, "%s %d", what, at)
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) && what == "flip" && at < 12, "%s %d: %v", what, at, err)
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
	const words = 1 + 3 + 4 + 2 + 4 + 8 + 6 // before the estimator
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
		assert.ErrorContains(t, err, fmt.Sprintf("its version is %d, and this package reads version 1", v))
	}
}

// halving is a schedule of the caller's own, with a pointer receiver.
type halving struct {
	first float64
	f     func() float64
}

func (h *halving) At(k int) float64 { return h.first * math.Pow(0.5, float64(k)) }

// A checkpoint of another run is refused, with the name of what differs.
func TestForeignIsRefused(t *testing.T) {
	own := &halving{first: 0.1, f: func() float64 { return 1 }}
	base := STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, Tau: own, MuG: 0.5, Upper: Adam{Beta1: 0.8}}
	opt := Options{Seed: 9, Set: UniformBox(3, -1, 1)}
	s, err := New(newWavy(0.3), base, opt)
	require.NoError(t, err)
	steps(t, s, 2)
	file := saved(t, s)

	larger := newWavy(0.3)
	larger.dy, larger.n = 5, 20
	for want, change := range map[string]func(p *Problem, m *Method, v *STABLE, o *Options){
		"":                                      func(*Problem, *Method, *STABLE, *Options) {},
		"dy is 4 in the checkpoint, and 5 here": func(p *Problem, _ *Method, _ *STABLE, _ *Options) { *p = larger },
		"samples ξ is 16 in the checkpoint, and 8 here":                                   func(p *Problem, _ *Method, _ *STABLE, _ *Options) { w := newWavy(0.3); w.n = 8; *p = w },
		"method is STABLE-Adam in the checkpoint, and SOBA here":                          func(_ *Problem, m *Method, _ *STABLE, _ *Options) { *m = smallMethods[0] },
		"method is STABLE-Adam in the checkpoint, and STABLE-STORM":                       func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Upper = STORM{} },
		"STABLE.Upper.Beta1 is 0.8 in the checkpoint, and 0 here":                         func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Upper = Adam{} },
		"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint":                         func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Alpha = Constant(0.1) },
		"STABLE.Alpha is bilevel.Constant 0.05 in the checkpoint, and bilevel.Power here": func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Alpha = Power{C: 1} },
		"STABLE.Beta.P is 0.5 in the checkpoint, and 0.25 here":                           func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Beta = Power{C: 0.1, P: 0.25} },
		"STABLE.Tau.first is 0.1 in the checkpoint, and 0.2 here":                         func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Tau = &halving{first: 0.2} },
		"STABLE.Tau is *bilevel.halving in the checkpoint, and nil":                       func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Tau = nil },
		"STABLE.MuG is 0.5 in the checkpoint, and 0.25 here":                              func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.MuG = 0.25 },
		"STABLE.Plain is false in the checkpoint, and true here":                          func(_ *Problem, _ *Method, v *STABLE, _ *Options) { v.Plain = true },
		"Options.Set is bilevel.Box in the checkpoint, and bilevel.":                      func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Set = Space{} },
		"Options.Set.Hi is 3 entries with checksum":                                       func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Set = UniformBox(3, -1, 2) },
		"Options.X0 is 3 entries with checksum":                                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.X0 = []float64{0, 0.1, 0} },
		"Options.Y0 is 4 entries with checksum":                                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Y0 = []float64{0, 0, 0, 1} },
		"Options.Seed is 9 in the checkpoint, and 10 here":                                func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Seed = 10 },
		"Options.UpperBatch is 1 in the checkpoint, and -1 here":                          func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.UpperBatch = Full },
		"Options.LowerBatch is 1 in the checkpoint, and 2 here":                           func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.LowerBatch = 2 },
		"Options.Explode is 1e+12 in the checkpoint, and 1000 here":                       func(_ *Problem, _ *Method, _ *STABLE, o *Options) { o.Explode = 1000 },
	} {
		p, v, o, m := Problem(newWavy(0.3)), base, opt, Method(nil)
		change(&p, &m, &v, &o)
		if m == nil {
			m = v
		}
		s, err := New(p, m, o)
		require.NoError(t, err, want)
		err = s.Load(bytes.NewReader(file))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrForeign, want)
		assert.ErrorContains(t, err, want)
		assert.Zero(t, s.K())
	}
	// A pointer to the method is the method.
	s, err = New(newWavy(0.3), &base, opt)
	require.NoError(t, err)
	require.NoError(t, s.Load(bytes.NewReader(file)))
}

// nested is a schedule that holds others, itself among them.
type nested struct {
	Schedule
	all  []Schedule
	text string
	more map[string]float64
}

// Whatever a schedule of the caller's own holds, its description ends, and tells values apart.
func TestDescribeNested(t *testing.T) {
	text := func(change func(*nested)) string {
		n := &nested{Schedule: Constant(0.1), all: []Schedule{Constant(1), nil, Power{C: 2}}, more: map[string]float64{"a": 1}}
		change(n)
		s, err := New(newWavy(0), SOBA{Alpha: n, Beta: n}, Options{})
		require.NoError(t, err)
		return s.describe()
	}
	base := text(func(*nested) {})
	assert.Equal(t, base, text(func(*nested) {}))
	for want, change := range map[string]func(*nested){
		"SOBA.Alpha.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Constant 0.2": func(n *nested) { n.Schedule = Constant(0.2) },
		"SOBA.Alpha.Schedule is bilevel.Constant 0.1 in the checkpoint, and bilevel.Power here":   func(n *nested) { n.Schedule = Power{C: 0.1} },
		"SOBA.Alpha.all is":  func(n *nested) { n.all[2] = Power{C: 3} },
		"SOBA.Alpha.text is": func(n *nested) { n.text = "line\nline" },
	} {
		assert.Contains(t, difference(base, text(change)), want)
	}
	assert.Less(t, len(text(func(n *nested) { n.all[1] = n })), 1<<16)
}

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
	require.Equal(t, 1, u32(8))
	n, m := u32(12), int(u64(16))
	require.Len(t, file, 24+n+8+8*m+8)
	assert.Contains(t, string(file[24:24+n]), "\nSOBA.Beta = bilevel.Power\nSOBA.Beta.C = 0.1\n")
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
	for _, m := range smallMethods {
		s, file := small(t, m)
		for room := range len(file) {
			var b bytes.Buffer
			require.ErrorIs(t, s.Save(&limited{&b, room}), errFull, "room for %d bytes", room)
			require.ErrorIs(t, s.Load(&b), ErrDamaged)
		}
		require.NoError(t, s.Save(&limited{io.Discard, len(file)}))
		for room := range len(file) + 1 {
			require.ErrorIs(t, s.Load(io.MultiReader(bytes.NewReader(file[:room]), errReader{})), errFull)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errFull }

// SaveFile replaces the file, keeps the one before, and leaves both where it fails; LoadFile names the file.
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

// What Load takes is what Save writes; whatever else it meets is an error that leaves the Solver alone, and takes no more memory than a run.
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
