package method

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/saa"
	"stable/mat"
)

// hostile is a problem of which one oracle misbehaves at one call.
type hostile struct {
	identity
	oracle string
	at     int
	act    func(v []float64, m *mat.Dense, s *mat.Sym) error
	calls  map[string]int
	done   bool
}

func newHostile(e Entry, oracle string, at int, act func(v []float64, m *mat.Dense, s *mat.Sym) error) *hostile {
	return &hostile{identity: e.problem(0.1), oracle: oracle, at: at, act: act, calls: map[string]int{}}
}

func (h *hostile) turn(oracle string, v []float64, m *mat.Dense, s *mat.Sym) error {
	h.calls[oracle]++
	if oracle != h.oracle || h.calls[oracle] != h.at+1 {
		return nil
	}
	h.done = true
	return h.act(v, m, s)
}

func (h *hostile) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := h.Wavy.GradF(fx, fy, x, y, xi)
	return errors.Join(err, h.turn("GradF", fy, nil, nil), h.turn("GradF, x", fx, nil, nil))
}
func (h *hostile) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(h.Wavy.GradG(gy, x, y, phi), h.turn("GradG", gy, nil, nil))
}
func (h *hostile) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(h.Wavy.CrossG(gxy, x, y, phi), h.turn("CrossG", gxy.Row(1), gxy, nil))
}
func (h *hostile) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(h.Wavy.HessG(gyy, x, y, phi), h.turn("HessG", gyy.Row(2), nil, gyy))
}
func (h *hostile) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return errors.Join(h.identity.HessVecG(dst, x, y, v, phi), h.turn("HessVecG", dst, nil, nil))
}
func (h *hostile) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return errors.Join(h.identity.CrossVecG(dst, x, y, v, phi), h.turn("CrossVecG", dst, nil, nil))
}
func (h *hostile) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(h.Wavy.GradXG(gx, x, y, phi), h.turn("GradXG", gx, nil, nil))
}

// faults are what a hostile oracle does besides what check.Method tries.
var faults = map[string]func(v []float64, m *mat.Dense, s *mat.Sym) error{
	"panic": func([]float64, *mat.Dense, *mat.Sym) error { panic("boom") },
	"index": func(v []float64, _ *mat.Dense, _ *mat.Sym) error { v[len(v)] = 0; return nil },
	"shape": func(_ []float64, m *mat.Dense, s *mat.Sym) error {
		switch {
		case m != nil:
			m.Rows, m.Cols = m.Cols, m.Rows
		case s != nil:
			s.N--
		default:
			return errors.New("has no shape")
		}
		return nil
	},
	"memory": func(_ []float64, m *mat.Dense, s *mat.Sym) error {
		switch {
		case m != nil:
			m.Data = slices.Clone(m.Data)
		case s != nil:
			s.Data = nil
		default:
			return errors.New("has no memory")
		}
		return nil
	},
}

// A fault of any oracle at any call ends the step, named; the last good iterate stands.
func TestHostileOracles(t *testing.T) {
	sets := []bilevel.Set{nil, bilevel.UniformBox(3, -0.5, 0.5), bilevel.Ball{Radius: 1}, bilevel.Simplex{},
		bilevel.NonNegative{}, bilevel.HalfSpace{A: []float64{1, 1, 1}, B: 1}}
	forEach(t, func(t *testing.T, e Entry) {
		const steps = 12
		sets := sets
		if e.Needs.Bounds {
			sets = []bilevel.Set{sets[0], sets[1], sets[4]}
		}
		clean, m := newHostile(e, "", 0, nil), e.New(tuning)
		s, err := bilevel.New(clean, m, bilevel.Options{Seed: 4})
		require.NoError(t, err)
		for range steps {
			require.NoError(t, s.Step())
		}
		require.Positive(t, clean.calls["GradF"])
		require.Positive(t, clean.calls["GradG"])
		require.Positive(t, clean.calls["CrossG"]+clean.calls["CrossVecG"]+clean.calls["GradXG"])
		for oracle, calls := range clean.calls {
			for name, fault := range faults {
				for i, at := range []int{0, calls / 2, calls - 1} {
					if testing.Short() && i != (calls+len(name)+len(oracle))%3 {
						continue
					}
					set := sets[(i+calls+len(name)+len(oracle))%len(sets)]
					requireFault(t, newHostile(e, oracle, at, fault), m, set, i == 1, steps,
						fmt.Sprintf("%s, %s at call %d, in %T", name, oracle, at, set))
				}
			}
		}
	})
}

func requireFault(t *testing.T, h *hostile, m bilevel.Method, set bilevel.Set, load bool, steps int, what string) {
	s, err := bilevel.New(h, m, bilevel.Options{Seed: 4, Set: set})
	require.NoError(t, err)
	if load {
		var b bytes.Buffer
		require.NoError(t, s.Save(&b))
		s, err = bilevel.New(h, m, bilevel.Options{Seed: 4, Set: set})
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
	if !h.done && m.Name() == (HOAG{}).Name() {
		return // it has arrived, and asks no more
	}
	require.True(t, h.done, what)
	require.Error(t, err, "%s goes unnoticed", what)
	var o *bilevel.OracleError
	require.ErrorAs(t, err, &o, what)
	assert.Equal(t, h.oracle[:5], o.Oracle[:5], what)
	assert.Equal(t, s.K(), o.Step, what)
	assert.Equal(t, x, s.X(), what)
	assert.Equal(t, y, s.Y(), what)
	assert.Equal(t, err, s.Step(), what)
}

func TestEveryMethodRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	forEach(t, func(t *testing.T, e Entry) {
		for _, bad := range [][]float64{{2, 0, 0}, {nan, 0, 0}, {0, -inf, 0}, {0}} {
			_, err := bilevel.New(e.problem(0.1), e.New(tuning),
				bilevel.Options{X0: bad, Set: bilevel.UniformBox(3, 0, 1)})
			require.ErrorIs(t, err, bilevel.ErrOption)
			assert.ErrorContains(t, err, "X0")
		}
		empty := e.problem(0)
		empty.Dx = 0
		_, err := bilevel.New(empty, e.New(tuning), bilevel.Options{})
		require.ErrorIs(t, err, bilevel.ErrOption)

		for _, bad := range []float64{nan, inf, -1} {
			for field, set := range map[string]func(t *Tuning, s bilevel.Schedule){
				"α": func(t *Tuning, s bilevel.Schedule) { t.Alpha = s },
				"β": func(t *Tuning, s bilevel.Schedule) { t.Beta = s },
			} {
				if e.Untuned {
					continue
				}
				now, later := tuning, tuning
				set(&now, bilevel.Constant(bad))
				set(&later, turn{K: 4, V: bad})
				_, err := bilevel.New(e.problem(0.1), e.New(now), bilevel.Options{})
				require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v", field, bad)
				requireRefusedAtStep4(t, e, later, field, bad)
			}
			for field, set := range map[string]func(t *Tuning){
				"μ": func(t *Tuning) { t.MuG, t.Terms = bad, 0 },
				"L": func(t *Tuning) { t.LG = bad },
			} {
				now := tuning
				set(&now)
				_, err := bilevel.New(e.problem(0.1), e.New(now), bilevel.Options{})
				if field == "μ" && !e.Needs.MuG || field == "L" && !e.Needs.LG {
					require.NoError(t, err, "it has no such parameter")
					continue
				}
				require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v", field, bad)
			}
		}
	})
}

// requireRefusedAtStep4 wants the run to end there, unless the schedule counts inner steps.
func requireRefusedAtStep4(t *testing.T, e Entry, tuning Tuning, field string, bad float64) {
	s, err := bilevel.New(e.problem(0.1), e.New(tuning), bilevel.Options{})
	require.NoError(t, err)
	if field == "β" && e.InnerBeta {
		for s.K() < 100 && err == nil {
			err = s.Step()
		}
		require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v", field, bad)
		return
	}
	for range 4 {
		require.NoError(t, s.Step())
	}
	x := slices.Clone(s.X())
	err = s.Step()
	require.ErrorIs(t, err, bilevel.ErrOption, "%s = %v at step 4", field, bad)
	assert.ErrorContains(t, err, "at step 4")
	assert.Equal(t, x, s.X())
}

func TestEveryMethodAtExtremeDimensions(t *testing.T) {
	d := 300
	if testing.Short() {
		d = 120
	}
	forEach(t, func(t *testing.T, e Entry) {
		one := e.problem(0.1)
		one.Dx, one.Dy = 1, 1
		many := bilevel.Problem(bileveltest.Diagonal[bilevel.Sample]{D: d})
		if e.Needs.Composition {
			p := e.problem(0.1)
			p.Dx, p.Dy, p.N = d, d, 2
			many = p
		}
		for _, c := range []struct {
			bilevel.Problem
			steps int
		}{{one, 100}, {withoutProducts(one), 100}, {many, 4}} {
			s, err := bilevel.New(c.Problem, e.New(tuning), bilevel.Options{Seed: 1})
			require.NoError(t, err)
			steps(t, s, c.steps)
			require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0)
			if e.Name == (saa.Newton{}).Name() && c.steps < 10 {
				continue // still in its first block, of 2(dx + dy) samples
			}
			require.NotZero(t, s.X()[0])
			require.NotZero(t, s.Y()[0])
		}
	})
}

// Near the ends of the range a method works, or says which quantity left it at which step.
func TestEveryMethodNearOverflowAndUnderflow(t *testing.T) {
	exponents := []int{-1020, -700, -100, 500, 1020, -1000, -500, 100, 700, 1000}
	if testing.Short() {
		exponents = exponents[:5]
	}
	for _, exponent := range exponents {
		scale := math.Ldexp(1, exponent)
		forEach(t, func(t *testing.T, e Entry) {
			if e.Needs.Composition { // g is not to be scaled
				return
			}
			scaled := tuning
			scaled.MuG, scaled.LG = 0.7*scale, 7*scale
			if !e.Lengths[0] {
				scaled.Alpha = bilevel.Constant(0.02 / scale)
			}
			if !e.Lengths[1] {
				scaled.Beta = bilevel.Constant(0.05 / scale)
			}
			p := scaledProblem{newProducts(0.1), scale}
			for _, p := range []bilevel.Problem{p, struct{ bilevel.Problem }{p}} {
				s, err := bilevel.New(p, e.New(scaled), bilevel.Options{Seed: 1})
				if err != nil {
					require.ErrorIs(t, err, bilevel.ErrOption, "2^%d", exponent)
					continue
				}
				for range 30 {
					if err = s.Step(); err != nil {
						break
					}
				}
				require.Less(t, max(mat.NotFinite(s.X()), mat.NotFinite(s.Y())), 0, "2^%d", exponent)
				if -200 < exponent && exponent < 200 {
					require.NoError(t, err, "2^%d", exponent)
				}
				if err != nil {
					require.Condition(t, func() bool { return errors.Is(err, bilevel.ErrDiverged) || errors.Is(err, bilevel.ErrOption) }, "2^%d: %v", exponent, err)
					require.ErrorContains(t, err, fmt.Sprintf("at step %d", s.K()), "2^%d", exponent)
				}
			}
		})
	}
}

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

func (p scaledProblem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return errors.Join(p.Wavy.GradF(fx, fy, x, y, xi), p.times(fx, fy))
}
func (p scaledProblem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(p.Wavy.GradG(gy, x, y, phi), p.times(gy))
}
func (p scaledProblem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	err := p.Wavy.CrossG(gxy, x, y, phi)
	mat.Scale(gxy, p.s, gxy)
	return err
}
func (p scaledProblem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := p.Wavy.HessG(gyy, x, y, phi)
	mat.ScaleSym(gyy, p.s, gyy)
	return err
}
func (p scaledProblem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return errors.Join(p.Wavy.GradXG(gx, x, y, phi), p.times(gx))
}
func (p scaledProblem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return errors.Join(p.withProducts.HessVecG(dst, x, y, v, phi), p.times(dst))
}
func (p scaledProblem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return errors.Join(p.withProducts.CrossVecG(dst, x, y, v, phi), p.times(dst))
}
