package bilevel

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/eig"
)

// n steps, a checkpoint, and n more in another Solver are 2n steps: the iterates, the counts, the
// report of the estimator, and all that a second checkpoint holds, bit for bit.
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

// A run resumes where H_yy is large, and its projection remembers which way it went the last time.
func TestResumeTruncated(t *testing.T) {
	problem := func() Problem { w := newWavy(0.02); w.Dy, w.N = 104, 5; return w }
	for _, m := range []Method{STABLE{MuG: 2.5}, STABLE{Alpha: Constant(0.02), MuG: 2.5}} {
		requireResumes(t, problem, m, Options{Seed: 1}, 3)
		s, err := New(problem(), m, Options{Seed: 1})
		require.NoError(t, err)
		steps(t, s, 3)
		assert.Equal(t, eig.RouteTridiagonal, s.Estimator().Report().Truncate.Route)
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
	x0 := slices.Clone(s.it.opt.X0)
	require.NoError(t, s.Load(bytes.NewReader(saved(t, s))))
	assert.Equal(t, x0, s.it.opt.X0)
	assert.Equal(t, x0, s.X())
}

// A Solver whose step has failed saves nothing, and goes on from a checkpoint.
func TestLoadAfterFailure(t *testing.T) {
	p := &flaky{wavy: newWavy(0.3)}
	s, err := New(p, smallMethods[0], Options{})
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
