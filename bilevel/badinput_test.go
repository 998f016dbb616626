package bilevel

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// tuning suits every method on wavy.
var tuning = Tuning{Alpha: Constant(0.02), Beta: Constant(0.05), MuG: 0.7, LG: 7, Terms: 4}

// forEachMethod runs f for every method that there is.
func forEachMethod(t *testing.T, tuning Tuning, f func(t *testing.T, m Method)) {
	for _, name := range Methods() {
		m, err := Tune(name, tuning)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) { f(t, m) })
	}
}

// hostile is wavy with products, of which one oracle misbehaves at one call.
type hostile struct {
	withProducts
	oracle string
	at     int
	act    func(v []float64, m *mat.Dense, s *mat.Sym) error
	calls  map[string]int
	done   bool
}

func newHostile(oracle string, at int, act func(v []float64, m *mat.Dense, s *mat.Sym) error) *hostile {
	return &hostile{withProducts: withProducts{newWavy(0.1)}, oracle: oracle, at: at, act: act, calls: map[string]int{}}
}

func (h *hostile) turn(oracle string, v []float64, m *mat.Dense, s *mat.Sym) error {
	h.calls[oracle]++
	if oracle != h.oracle || h.calls[oracle] != h.at+1 {
		return nil
	}
	h.done = true
	return h.act(v, m, s)
}

func (h *hostile) GradF(fx, fy, x, y []float64, xi []Sample) error {
	err := h.wavy.GradF(fx, fy, x, y, xi)
	return errors.Join(err, h.turn("GradF", fy, nil, nil), h.turn("GradF, x", fx, nil, nil))
}
func (h *hostile) GradG(gy, x, y []float64, phi []Sample) error {
	return errors.Join(h.wavy.GradG(gy, x, y, phi), h.turn("GradG", gy, nil, nil))
}
func (h *hostile) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	return errors.Join(h.wavy.CrossG(gxy, x, y, phi), h.turn("CrossG", gxy.Row(1), gxy, nil))
}
func (h *hostile) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	return errors.Join(h.wavy.HessG(gyy, x, y, phi), h.turn("HessG", gyy.Row(2), nil, gyy))
}
func (h *hostile) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	return errors.Join(h.withProducts.HessVecG(dst, x, y, v, phi), h.turn("HessVecG", dst, nil, nil))
}
func (h *hostile) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	return errors.Join(h.withProducts.CrossVecG(dst, x, y, v, phi), h.turn("CrossVecG", dst, nil, nil))
}

// faults are what a hostile oracle does, and whether that is its own failure, or a number that it
// gives.
var faults = map[string]struct {
	act func(v []float64, m *mat.Dense, s *mat.Sym) error
	own bool
}{
	"NaN":   {func(v []float64, _ *mat.Dense, _ *mat.Sym) error { v[len(v)-1] = math.NaN(); return nil }, false},
	"+Inf":  {func(v []float64, _ *mat.Dense, _ *mat.Sym) error { v[0] = math.Inf(1); return nil }, false},
	"-Inf":  {func(v []float64, _ *mat.Dense, _ *mat.Sym) error { v[1] = math.Inf(-1); return nil }, false},
	"error": {func([]float64, *mat.Dense, *mat.Sym) error { return errors.New("no more data") }, true},
	"panic": {func([]float64, *mat.Dense, *mat.Sym) error { panic("boom") }, true},
	"index": {func(v []float64, _ *mat.Dense, _ *mat.Sym) error { v[len(v)] = 0; return nil }, true},
	"shape": {func(_ []float64, m *mat.Dense, s *mat.Sym) error {
		switch {
		case m != nil:
			m.Rows, m.Cols = m.Cols, m.Rows
		case s != nil:
			s.N--
		default:
			return errors.New("has no shape")
		}
		return nil
	}, true},
	"memory": {func(_ []float64, m *mat.Dense, s *mat.Sym) error {
		switch {
		case m != nil:
			m.Data = slices.Clone(m.Data)
		case s != nil:
			s.Data = nil
		default:
			return errors.New("has no memory")
		}
		return nil
	}, true},
}

// Whatever an oracle does wrong, and at whichever call, ends the run of every method in that step,
// with an error that names the step and the culprit; the last good iterate stands. Feasible sets
// must not hide it, nor must a checkpoint that has been loaded.
func TestHostileOracles(t *testing.T) {
	sets := []Set{nil, UniformBox(3, -0.5, 0.5), Ball{Radius: 1}, Simplex{}, NonNegative{}, HalfSpace{[]float64{1, 1, 1}, 1}}
	forEachMethod(t, tuning, func(t *testing.T, m Method) {
		const steps = 12
		clean := newHostile("", 0, nil)
		s, err := New(clean, m, Options{Seed: 4})
		require.NoError(t, err)
		for range steps {
			require.NoError(t, s.Step())
		}
		require.Positive(t, clean.calls["GradF"])
		require.Positive(t, clean.calls["GradG"])
		require.Positive(t, clean.calls["HessG"]+clean.calls["CrossVecG"])
		for oracle, calls := range clean.calls {
			for name, fault := range faults {
				for i, at := range []int{0, calls / 2, calls - 1} {
					set := sets[(i+calls+len(name)+len(oracle))%len(sets)]
					h := newHostile(oracle, at, fault.act)
					requireFault(t, h, m, set, fault.own, i == 1, steps, fmt.Sprintf("%s, %s at call %d, in %T", name, oracle, at, set))
				}
			}
		}
	})
}

func requireFault(t *testing.T, h *hostile, m Method, set Set, own, load bool, steps int, what string) {
	s, err := New(h, m, Options{Seed: 4, Set: set})
	require.NoError(t, err)
	if load {
		var b bytes.Buffer
		require.NoError(t, s.Save(&b))
		s, err = New(h, m, Options{Seed: 4, Set: set})
		require.NoError(t, err)
		require.NoError(t, s.Load(&b))
	}
	var x, y []float64
	for range steps {
		x, y = slices.Clone(s.X()), slices.Clone(s.Y())
		err = s.Step()
		if h.done {
			break
		}
		require.NoError(t, err, what)
	}
	require.True(t, h.done, what)
	require.Error(t, err, "%s goes unnoticed", what)
	var o *OracleError
	var d *DivergedError
	switch {
	case own:
		require.ErrorAs(t, err, &o, what)
		assert.Equal(t, h.oracle[:5], o.Oracle[:5], what)
		assert.Equal(t, s.K(), o.Step, what)
	default:
		require.ErrorAs(t, err, &d, what)
		assert.Equal(t, s.K(), d.Step, what)
		assert.NotContains(t, []string{"", "x", "y"}, d.Quantity, what)
	}
	assert.Equal(t, x, s.X(), what)
	assert.Equal(t, y, s.Y(), what)
	assert.Equal(t, err, s.Step(), what)
}

// A parameter outside of its range is refused by New, or at the step at which a schedule leaves it,
// by every method that takes it.
func TestEveryMethodRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	forEachMethod(t, tuning, func(t *testing.T, m Method) {
		for _, bad := range [][]float64{{2, 0, 0}, {nan, 0, 0}, {0, -inf, 0}, {0}} {
			_, err := New(newWavy(0.1), m, Options{X0: bad, Set: UniformBox(3, 0, 1)})
			require.ErrorIs(t, err, ErrOption)
			assert.ErrorContains(t, err, "X0")
		}
		_, err := New(shaped{newWavy(0), 0, 3}, m, Options{})
		require.ErrorIs(t, err, ErrOption)

		for _, bad := range []float64{nan, inf, -1} {
			for _, field := range []string{"α", "β", "μ"} {
				now, later := tuning, tuning
				switch field {
				case "α":
					now.Alpha, later.Alpha = Constant(bad), turn{4, bad}
				case "β":
					now.Beta, later.Beta = Constant(bad), turn{4, bad}
				case "μ":
					now.MuG, now.Terms = bad, 0
				}
				m, err := Tune(m.Name(), now)
				require.NoError(t, err)
				_, err = New(newWavy(0.1), m, Options{})
				if field == "μ" && (m.Name() == "SOBA" || m.Name() == "SABA") {
					require.NoError(t, err, "it has no such parameter")
					continue
				}
				require.ErrorIs(t, err, ErrOption, "%s = %v", field, bad)
				if field == "μ" || field == "β" && m.Name() == "BSA" { // whose β counts inner steps
					continue
				}
				m, err = Tune(m.Name(), later)
				require.NoError(t, err)
				s, err := New(newWavy(0.1), m, Options{})
				require.NoError(t, err)
				for range 4 {
					require.NoError(t, s.Step())
				}
				x := slices.Clone(s.X())
				err = s.Step()
				require.ErrorIs(t, err, ErrOption, "%s = %v at step 4", field, bad)
				assert.ErrorContains(t, err, "at step 4")
				assert.Equal(t, x, s.X())
			}
		}
	})
}

// One variable on each level is enough for every method; a thousand are not too many for STABLE,
// nor a few hundred for its variants and peers.
func TestEveryMethodAtExtremeDimensions(t *testing.T) {
	one := newWavy(0.1)
	one.dx, one.dy = 1, 1
	forEachMethod(t, tuning, func(t *testing.T, m Method) {
		d := 300
		if m.Name() == "STABLE" {
			d = 1000
		}
		for _, p := range []struct {
			Problem
			steps int
		}{{one, 200}, {withProducts{one}, 200}, {diagonal{d}, 4}} {
			s, err := New(p.Problem, m, Options{Seed: 1})
			require.NoError(t, err)
			for range p.steps {
				require.NoError(t, s.Step())
			}
			require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0)
			require.NotZero(t, s.X()[0])
			require.NotZero(t, s.Y()[0])
		}
	})
}

// diagonal is f = ½‖x − 1‖² + ½‖y − 1‖², g = ½ Σ (1 + i/d)·y_i² + ½(Σ y_i)²/d − xᵀy, in d variables
// each.
type diagonal struct{ d int }

func (p diagonal) Dims() (int, int)          { return p.d, p.d }
func (p diagonal) Streams() (uint64, uint64) { return 8, 8 }
func (p diagonal) GradF(fx, fy, x, y []float64, _ []Sample) error {
	for i := range x {
		fx[i], fy[i] = x[i]-1, y[i]-1
	}
	return nil
}
func (p diagonal) GradG(gy, x, y []float64, _ []Sample) error {
	p.hess(gy, y)
	mat.Axpy(gy, -1, x)
	return nil
}
func (p diagonal) CrossG(gxy *mat.Dense, _, _ []float64, _ []Sample) error {
	gxy.Zero()
	for i := range p.d {
		gxy.Set(i, i, -1)
	}
	return nil
}
func (p diagonal) HessG(gyy *mat.Sym, _, _ []float64, _ []Sample) error {
	for i := range p.d {
		r := gyy.Row(i)
		for j := range r {
			r[j] = 1 / float64(p.d)
		}
		r[i] += 1 + float64(i)/float64(p.d)
	}
	return nil
}
func (p diagonal) HessVecG(dst, _, _, v []float64, _ []Sample) error { p.hess(dst, v); return nil }
func (p diagonal) CrossVecG(dst, _, _, v []float64, _ []Sample) error {
	for i := range dst {
		dst[i] = -v[i]
	}
	return nil
}
func (p diagonal) hess(dst, v []float64) {
	sum := 0.0
	for _, a := range v {
		sum += a
	}
	for i, a := range v {
		dst[i] = (1+float64(i)/float64(p.d))*a + sum/float64(p.d)
	}
}

// Derivatives near the ends of the range: every method works, or says which step and which quantity
// left it.
func TestEveryMethodNearOverflowAndUnderflow(t *testing.T) {
	for _, e := range []int{-1020, -1000, -700, -500, -100, 100, 500, 700, 1000, 1020} {
		scale := math.Ldexp(1, e)
		scaled := tuning
		scaled.Alpha, scaled.Beta = Constant(0.02/scale), Constant(0.05/scale)
		scaled.MuG, scaled.LG = 0.7*scale, 7*scale
		forEachMethod(t, scaled, func(t *testing.T, m Method) {
			for _, p := range []Problem{scaledProblem{withProducts{newWavy(0.1)}, scale}, struct{ Problem }{scaledProblem{withProducts{newWavy(0.1)}, scale}}} {
				s, err := New(p, m, Options{Seed: 1})
				if err != nil {
					require.ErrorIs(t, err, ErrOption, "2^%d", e)
					continue
				}
				for range 30 {
					if err = s.Step(); err != nil {
						break
					}
				}
				require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0, "2^%d", e)
				if -200 < e && e < 200 && !strings.Contains(m.Name(), "BiAdam") { // whose steps do not shrink as derivatives grow
					require.NoError(t, err, "2^%d", e)
				}
				if err != nil {
					require.Condition(t, func() bool { return errors.Is(err, ErrDiverged) || errors.Is(err, ErrOption) }, "2^%d: %v", e, err)
					require.ErrorContains(t, err, fmt.Sprintf("at step %d", s.K()), "2^%d", e)
				}
			}
		})
	}
}

// scaledProblem is a problem with f and g times a constant.
type scaledProblem struct {
	withProducts
	s float64
}

func (p scaledProblem) times(v ...[]float64) error {
	for _, v := range v {
		for i := range v {
			v[i] *= p.s
		}
	}
	return nil
}

func (p scaledProblem) GradF(fx, fy, x, y []float64, xi []Sample) error {
	return errors.Join(p.wavy.GradF(fx, fy, x, y, xi), p.times(fx, fy))
}
func (p scaledProblem) GradG(gy, x, y []float64, phi []Sample) error {
	return errors.Join(p.wavy.GradG(gy, x, y, phi), p.times(gy))
}
func (p scaledProblem) CrossG(gxy *mat.Dense, x, y []float64, phi []Sample) error {
	err := p.wavy.CrossG(gxy, x, y, phi)
	mat.Scale(gxy, p.s, gxy)
	return err
}
func (p scaledProblem) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	err := p.wavy.HessG(gyy, x, y, phi)
	mat.ScaleSym(gyy, p.s, gyy)
	return err
}
func (p scaledProblem) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	return errors.Join(p.withProducts.HessVecG(dst, x, y, v, phi), p.times(dst))
}
func (p scaledProblem) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	return errors.Join(p.withProducts.CrossVecG(dst, x, y, v, phi), p.times(dst))
}
