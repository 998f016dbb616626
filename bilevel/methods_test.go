package bilevel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

// tuned returns every method with a Neumann series, ready to run on wavy, with four terms.
func tuned() []Method {
	a, b, n := Constant(0.05), Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	return []Method{
		BSA{Alpha: a, Beta: b, Neumann: n}, TTSA{Alpha: a, Beta: b, Neumann: n}, StocBiO{Alpha: a, Beta: b, Inner: 3, Neumann: n},
		ALSET{Alpha: a, Beta: b, Inner: 2, Neumann: n}, SUSTAIN{Alpha: a, Beta: b, Neumann: n}, MSTSA{Alpha: a, Beta: b, Neumann: n},
		MRBO{Alpha: a, Beta: b, Neumann: n}, VRBO{Alpha: a, Beta: b, Period: 3, Inner: 2, Neumann: n},
		BiAdam{Alpha: a, Beta: b, Neumann: n}, VRBiAdam{Alpha: a, Beta: b, Neumann: n},
	}
}

// series-free methods: those with products, and those with matrices.
func byProducts() []Method {
	a, b := Constant(0.05), Constant(0.1)
	return []Method{SOBA{Alpha: a, Beta: b}, SABA{Alpha: a, Beta: b}}
}

func byMatrices() []Method {
	a, b := Constant(0.05), Constant(0.1)
	return []Method{
		RSVRB{Alpha: a, Beta: b, MuG: 0.1}, STABLE{MuG: 0.1}, STABLE{Alpha: a, Beta: b, MuG: 0.1, Upper: STORM{}}, STABLE{Alpha: a, Beta: b, MuG: 0.1, Upper: Adam{}},
	}
}

// all returns all of them.
func all() []Method { return slices.Concat(tuned(), byProducts(), byMatrices()) }

// withProducts is wavy with Products made of its matrices.
type withProducts struct{ *wavy }

func (w withProducts) HessVecG(dst, x, y, v []float64, phi []Sample) error {
	a := mat.NewSym(w.dy)
	err := w.HessG(a, x, y, phi)
	mat.MulVecSym(dst, a, v)
	return err
}

func (w withProducts) CrossVecG(dst, x, y, v []float64, phi []Sample) error {
	a := mat.NewDense(w.dx, w.dy)
	err := w.CrossG(a, x, y, phi)
	mat.MulVec(dst, a, v)
	return err
}

// The table of samples and oracle calls a step, in batches. p is the truncation that was drawn, in {0, …, N−1}; in (B) it is Q = N−1 and a
// product of stocBiO counts for more than a batch.
//
//	method     ξ        φ              GradF   GradG    HessVecG   CrossVecG
//	BSA        1        t_k + 1 + p    1       t_k      p          1
//	TTSA       1        2 + p          1       1        p          1
//	stocBiO    1        D + 1 + p      1       D        p          1
//	ALSET      1        T + 1 + p      1       T        p          1
//	SUSTAIN    1        2 + p          2       2        2p         2            (step 0: half of the calls)
//	MSTSA      1        2 + p          2       1        2p         2            (step 0: one point)
//	MRBO       1        2 + Q          2       2        2Q         2            (step 0: half of the calls)
//	VRBO       M        M(2 + Q)       2M      2M       2MQ        2M           (M = m+1, or m before large batches)
//	 + large   S_1      S_1(2 + Q)     S_1     S_1      S_1·Q      S_1          (every q steps)
//	BiAdam     1        2 + p          1       1        p          1
//	VR-BiAdam  1        2 + p          2       2        2p         2            (step 0: half of the calls)
func TestMethodCounts(t *testing.T) {
	const terms = 4
	type row struct{ xi, phi, gradF, gradG, points uint64 } // φ without those of the products
	table := map[string]func(k, batch int) row{
		"BSA":     func(k, _ int) row { n := uint64(math.Ceil(math.Sqrt(float64(k + 1)))); return row{1, n + 1, 1, n, 1} },
		"TTSA":    func(int, int) row { return row{1, 2, 1, 1, 1} },
		"stocBiO": func(int, int) row { return row{1, 3 + 1, 1, 3, 1} },
		"ALSET":   func(int, int) row { return row{1, 2 + 1, 1, 2, 1} },
		"SUSTAIN": func(k, _ int) row { p := uint64(min(k, 1) + 1); return row{1, 2, p, p, p} },
		"MSTSA":   func(k, _ int) row { p := uint64(min(k, 1) + 1); return row{1, 2, p, 1, p} },
		"MRBO":    func(k, _ int) row { p := uint64(min(k, 1) + 1); return row{1, 2, p, p, p} },
		"VRBO": func(k, _ int) row {
			changes, large := uint64(3), uint64(0)
			switch k % 3 {
			case 0:
				large = 3 // S_1, in small batches
			case 2:
				changes = 2
			}
			n := 2*changes + large
			return row{changes + large, 2 * (changes + large), n, n, n}
		},
	}
	table["BiAdam"], table["VR-BiAdam"] = table["TTSA"], table["SUSTAIN"]
	fixed := map[string]bool{"stocBiO": true, "MRBO": true, "VRBO": true} // (B)
	for _, m := range tuned() {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s,batch=%d", m.Name(), batch), func(t *testing.T) {
				s, err := New(withProducts{newWavy(0.1)}, m, Options{UpperBatch: batch, LowerBatch: batch, Seed: 6})
				require.NoError(t, err)
				seen := map[uint64]bool{}
				for k := range 20 {
					old := s.Counts()
					require.NoError(t, s.Step())
					c, want, b := s.Counts(), table[m.Name()](k, batch), uint64(batch)
					assert.Equal(t, want.xi*b, c.Xi-old.Xi, "ξ")
					assert.Equal(t, want.gradF*b, c.GradF-old.GradF, "GradF")
					assert.Equal(t, want.gradG*b, c.GradG-old.GradG, "GradG")
					assert.Equal(t, want.points*b, c.CrossVecG-old.CrossVecG, "CrossVecG")
					assert.Zero(t, c.HessG+c.CrossG)

					hess := c.HessVecG - old.HessVecG
					if m.Name() == "stocBiO" {
						assert.Equal(t, want.phi*b+hess, c.Phi-old.Phi, "φ")
						var all float64
						for j := range terms - 1 {
							all += math.Ceil(float64(batch*(terms-1)) * math.Pow(0.9, float64(j)))
						}
						assert.Equal(t, uint64(all), hess)
						continue
					}
					p := hess / (want.points * b)
					assert.Equal(t, p*want.points*b, hess, "not the same products at every point")
					assert.Equal(t, (want.phi+p*want.xi)*b, c.Phi-old.Phi, "φ")
					seen[p] = true
				}
				switch {
				case m.Name() == "stocBiO":
				case fixed[m.Name()]:
					assert.Equal(t, map[uint64]bool{terms - 1: true}, seen)
				default:
					assert.Equal(t, map[uint64]bool{0: true, 1: true, 2: true, 3: true}, seen)
				}
			})
		}
	}
}

// The same table for the methods without a series. Step 0 asks at one point; its batch of φ is the initial one, S_0, and n_ξ, n_φ are the terms of the
// sums.
//
//	method     ξ        φ        GradF   GradG    HessVecG   CrossVecG   HessG   CrossG
//	SOBA       1        1        1       1        1          1
//	SABA       1        1        1       1        1          1                              (step 0: n_ξ, n_φ)
//	RSVRB      1        1        2       2                               2       2          (step 0: φ S_0, one point)
//	STABLE     1        1        1       1                               2       2          (step 0: φ S_0, one point)
//	 + STORM   1        1        2       1                               2       2          (step 0: as STABLE)
func TestMethodCountsWithoutSeries(t *testing.T) {
	const n, dy = 16, 4
	table := map[string]func(k int, b, b0 uint64) Counts{
		"SOBA": func(_ int, b, _ uint64) Counts { return Counts{b, b, b, b, 0, 0, b, b} },
		"SABA": func(k int, b, _ uint64) Counts {
			if k == 0 {
				b = n
			}
			return Counts{b, b, b, b, 0, 0, b, b}
		},
		"RSVRB": func(k int, b, b0 uint64) Counts {
			if k == 0 {
				return Counts{b, b0, b, b0, b0, b0, 0, 0}
			}
			return Counts{b, b, 2 * b, 2 * b, 2 * b, 2 * b, 0, 0}
		},
		"STABLE-Adam": func(k int, b, b0 uint64) Counts {
			if k == 0 {
				return Counts{b, b0, b, b0, b0, b0, 0, 0}
			}
			return Counts{b, b, b, b, 2 * b, 2 * b, 0, 0}
		},
		"STABLE-STORM": func(k int, b, b0 uint64) Counts {
			if k == 0 {
				return Counts{b, b0, b, b0, b0, b0, 0, 0}
			}
			return Counts{b, b, 2 * b, b, 2 * b, 2 * b, 0, 0}
		},
	}
	table["STABLE"] = table["STABLE-Adam"]
	for _, m := range slices.Concat(byProducts(), byMatrices()) {
		for _, batch := range []int{1, 7} {
			s, err := New(withProducts{newWavy(0.1)}, m, Options{UpperBatch: batch, LowerBatch: batch, Seed: 6})
			require.NoError(t, err)
			var want Counts
			for k := range 20 {
				require.NoError(t, s.Step())
				c := table[m.Name()](k, uint64(batch), uint64(max(batch, dy)))
				want = Counts{want.Xi + c.Xi, want.Phi + c.Phi, want.GradF + c.GradF, want.GradG + c.GradG,
					want.CrossG + c.CrossG, want.HessG + c.HessG, want.HessVecG + c.HessVecG, want.CrossVecG + c.CrossVecG}
				require.Equal(t, want, s.Counts(), "%s, step %d", m.Name(), k)
			}
		}
	}
}

// A problem without products gives the same run, and counts matrices.
func TestMethodsWithoutProducts(t *testing.T) {
	for _, m := range slices.Concat(tuned(), byProducts()) {
		with, err := New(withProducts{newWavy(0.3)}, m, Options{Seed: 2})
		require.NoError(t, err)
		without, err := New(newWavy(0.3), m, Options{Seed: 2})
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, with.Step())
			require.NoError(t, without.Step())
		}
		assert.Equal(t, with.X(), without.X(), m.Name())
		a, b := with.Counts(), without.Counts()
		a.HessG, a.CrossG, a.HessVecG, a.CrossVecG = a.HessVecG, a.CrossVecG, 0, 0
		assert.Equal(t, a, b, m.Name())
	}
}

// afterSteps returns x and y after some steps on wavy.
func afterSteps(t *testing.T, m Method, opt Options, steps int) []float64 {
	s, err := New(newWavy(0.3), m, opt)
	require.NoError(t, err)
	for range steps {
		require.NoError(t, s.Step())
	}
	return slices.Concat(s.X(), s.Y())
}

// With exact oracles and a long series each method's step is that of its deterministic counterpart, with the exact inverse.
func TestMethodsExactStep(t *testing.T) {
	const alpha, beta = 0.05, 0.1
	series := Neumann{LG: 7, MuG: 0.5, Terms: 700}
	a, b := Constant(alpha), Constant(beta)
	full1 := Options{Set: UniformBox(3, -0.2, 0.4), UpperBatch: Full, LowerBatch: Full}
	for _, c := range []struct {
		m      Method
		inner  int
		atNewY bool // x moves at the new y
	}{
		{BSA{a, b, Constant(3), series}, 3, true}, {TTSA{a, b, series}, 1, true}, {StocBiO{a, b, 2, series}, 2, true},
		{ALSET{a, b, 4, series}, 4, true}, {SUSTAIN{a, b, Constant(0.2), Constant(0.3), series}, 1, false}, {MSTSA{a, b, Constant(0.2), series}, 1, false},
		{MRBO{a, b, Constant(0.2), Constant(0.3), series}, 1, false},
	} {
		w, mirror := newWavy(0.1), newWavy(0.1)
		s, err := New(w, c.m, full1)
		require.NoError(t, err)
		x, y := make([]float64, 3), make([]float64, 4)
		gy := make([]float64, 4)
		for k := range 10 {
			require.NoError(t, s.Step())
			xNow, at := slices.Clone(x), slices.Clone(y)
			for range c.inner {
				require.NoError(t, mirror.GradG(gy, xNow, y, nil))
				mat.Axpy(y, -beta, gy)
			}
			if c.atNewY {
				at = y
			}
			mat.Axpy(x, -alpha, exactHypergradient(t, mirror, xNow, at))
			full1.Set.Project(x, x)
			require.InDeltaSlice(t, x, s.X(), 1e-11, "%s: x at step %d", c.m.Name(), k)
			require.InDeltaSlice(t, y, s.Y(), 1e-11, "%s: y at step %d", c.m.Name(), k)
		}
	}
}

// exactHypergradient is f_x − g_xy g_yy⁻¹ f_y at (x, y), by elimination.
func exactHypergradient(t *testing.T, w *wavy, x, y []float64) []float64 {
	fx, fy, gxy, gyy := make([]float64, 3), make([]float64, 4), mat.NewDense(3, 4), mat.NewSym(4)
	require.NoError(t, w.GradF(fx, fy, x, y, nil))
	require.NoError(t, w.CrossG(gxy, x, y, nil))
	require.NoError(t, w.HessG(gyy, x, y, nil))
	v := apply(invert(t, full(gyy, 4, 4)), fy)
	for i := range fx {
		fx[i] -= mat.Dot(gxy.Row(i), v)
	}
	return fx
}

// Weight 1 is the method without a memory, and equal parameters make equal methods, bit for bit: they draw in the same order.
func TestMethodReductions(t *testing.T) {
	a, b, n := Constant(0.05), Constant(0.1), Neumann{LG: 7, MuG: 0.7, Terms: 4}
	one, tau := Constant(1), Constant(0.3)
	opt := Options{Seed: 5, LowerBatch: 2}
	assert.Equal(t, afterSteps(t, TTSA{a, b, n}, opt, 30), afterSteps(t, ALSET{a, b, 1, n}, opt, 30))
	assert.Equal(t, afterSteps(t, TTSA{a, b, n}, opt, 30), afterSteps(t, BSA{a, b, one, n}, opt, 30))
	assert.Equal(t, afterSteps(t, MSTSA{a, b, tau, n}, opt, 30), afterSteps(t, SUSTAIN{a, b, tau, one, n}, opt, 30))
	assert.NotEqual(t, afterSteps(t, MSTSA{a, b, tau, n}, opt, 30), afterSteps(t, SUSTAIN{a, b, tau, tau, n}, opt, 30))

	// Without noise the weights do not matter, nor does the estimator.
	exact := Options{UpperBatch: Full, LowerBatch: Full}
	want := afterSteps(t, SUSTAIN{a, b, one, one, n}, exact, 30)
	for _, m := range []Method{SUSTAIN{a, b, tau, tau, n}, MSTSA{a, b, tau, n}, MRBO{a, b, tau, Constant(0), n}} {
		assert.InDeltaSlice(t, want, afterSteps(t, m, exact, 30), 1e-13, m.Name())
	}
}

// Exact oracles keep the directions of VRBO exact wherever it goes, without large batches after the first.
func TestVRBOExact(t *testing.T) {
	w := newWavy(0.1)
	s, err := New(w, VRBO{Constant(0.05), Constant(0.1), 1000, 3, 0, Neumann{LG: 7, Terms: 600}},
		Options{Set: UniformBox(3, -0.2, 0.4), UpperBatch: Full, LowerBatch: Full})
	require.NoError(t, err)
	gy := make([]float64, 4)
	for range 20 {
		require.NoError(t, s.Step())
		m := s.stepper.(*vrbo)
		require.NoError(t, w.GradG(gy, s.X(), s.Y(), nil))
		require.InDeltaSlice(t, gy, m.v, 1e-12)
		require.InDeltaSlice(t, exactHypergradient(t, w, s.X(), s.Y()), m.u, 1e-11)
	}
}

// On a compositional problem ALSET with L = 1 and one term is single-timescale SCGD: y ← y + β(h(x; φ) − y), x ← x − α ∇h(x; φ′) f′(y).
func TestALSETCompositional(t *testing.T) {
	const alpha, beta = 0.1, 0.3
	c := compositional{3}
	s, err := New(c, ALSET{Alpha: Constant(alpha), Beta: Constant(beta), Neumann: Neumann{LG: 1, Terms: 1}}, Options{X0: []float64{1, -1, 0.5}, Seed: 2})
	require.NoError(t, err)
	x, y := []float64{1, -1, 0.5}, make([]float64, 3)
	draw := newStream(5, 2, 'y', new(uint64))
	for k := range 40 {
		require.NoError(t, s.Step())
		phi := draw.draw(1)[0]
		for i := range y {
			y[i] += beta * (c.h(x[i], phi) - y[i])
		}
		phi = draw.draw(1)[0]
		for i := range x {
			x[i] -= alpha * c.dh(x[i], phi) * (y[i] - 1)
		}
		assert.InDeltaSlice(t, x, s.X(), 1e-12, "x at step %d", k)
		assert.InDeltaSlice(t, y, s.Y(), 1e-12, "y at step %d", k)
	}
}

func TestMethodsAllocate(t *testing.T) {
	for _, m := range all() {
		s, err := New(&quiet{newWavy(0.5)}, m, Options{Set: UniformBox(3, 0, 1), LowerBatch: 2})
		require.NoError(t, err)
		step := func() {
			if err := s.Step(); err != nil {
				panic(err)
			}
		}
		for range 50 {
			step()
		}
		assert.Zero(t, testing.AllocsPerRun(50, step), m.Name())
	}
}

// A derivative that is not finite ends the run at that step, names the quantity, and leaves the last good iterate. No oracle is asked at a point
// that is not finite.
func TestMethodsNotFinite(t *testing.T) {
	names := map[string][]string{
		"f_x": {"f_x", "hypergradient at the last"}, "f_y": {"f_y", "hypergradient at the last"}, "g_y": {"g_y"},
		"H_xy": {"g_xy g_yy⁻¹ f_y", "hypergradient at the last", "g_xy v", "H_xy"},
		"H_yy": {"g_yy⁻¹ f_y", "hypergradient at the last", "g_yy v", "H_yy"},
	}
	for _, m := range all() {
		for quantity, want := range names {
			for _, after := range []int{0, 1, 7, 8, 30, 31} {
				f := &faulty{sober{t, newWavy(0.1)}, quantity, after, func(v []float64) error { v[len(v)-1] = math.NaN(); return nil }}
				s, err := New(f, m, Options{Seed: 1})
				require.NoError(t, err)
				var x, y []float64
				for range 60 {
					x, y = slices.Clone(s.X()), slices.Clone(s.Y())
					if err = s.Step(); err != nil {
						break
					}
				}
				var d *DivergedError
				require.ErrorAs(t, err, &d, "%s: %s", m.Name(), quantity)
				assert.Equal(t, s.K(), d.Step)
				assert.Condition(t, func() bool {
					return slices.ContainsFunc(want, func(w string) bool { return strings.Contains(d.Quantity, w) })
				}, "%s: %s is reported as %s", m.Name(), quantity, d.Quantity)
				assert.Equal(t, x, s.X())
				assert.Equal(t, y, s.Y())
			}
		}
	}
}

// sober is a problem that fails a test which asks at a point that is not finite.
type sober struct {
	t *testing.T
	*wavy
}

func (p sober) look(x, y []float64) {
	require.Less(p.t, max(notFinite(x), notFinite(y)), 0, "asked at a point that is not finite")
}
func (p sober) GradF(fx, fy, x, y []float64, xi []Sample) error {
	p.look(x, y)
	return p.wavy.GradF(fx, fy, x, y, xi)
}
func (p sober) GradG(gy, x, y []float64, phi []Sample) error {
	p.look(x, y)
	return p.wavy.GradG(gy, x, y, phi)
}

func TestMethodsRefuse(t *testing.T) {
	a, n := Constant(0.1), Neumann{LG: 7, MuG: 0.7}
	for want, m := range map[string]Method{
		"BSA.Alpha is nil":                     BSA{Beta: a, Neumann: n},
		"BSA.Beta is nil":                      BSA{Alpha: a, Neumann: n},
		"BSA.Inner at step 0 is -1":            BSA{a, a, Constant(-1), n},
		"BSA.Inner at step 0 is NaN":           BSA{a, a, Constant(math.NaN()), n},
		"TTSA.Alpha at step 0 is -0.1":         TTSA{-a, a, n},
		"TTSA.Neumann.LG is 0":                 TTSA{Alpha: a, Beta: a},
		"TTSA.Neumann.LG is +Inf":              TTSA{a, a, Neumann{LG: math.Inf(1), Terms: 3}},
		"TTSA.Neumann.MuG is 0":                TTSA{a, a, Neumann{LG: 1}},
		"TTSA.Neumann.MuG is 2":                TTSA{a, a, Neumann{LG: 1, MuG: 2, Terms: 3}},
		"TTSA.Neumann.Terms is -3":             TTSA{a, a, Neumann{LG: 1, MuG: 1, Terms: -3}},
		"TTSA.Neumann.Terms is 0, and LG/MuG":  TTSA{a, a, Neumann{LG: 1, MuG: 1e-9}},
		"StocBiO.Neumann.MuG is 0":             StocBiO{a, a, 1, Neumann{LG: 1, Terms: 3}},
		"StocBiO.Inner at step 0 is -2":        StocBiO{a, a, -2, n},
		"ALSET.Inner at step 0 is -2":          ALSET{a, a, -2, n},
		"SUSTAIN.TauX at step 0 is 1.5":        SUSTAIN{a, a, Constant(1.5), nil, n},
		"SUSTAIN.TauY at step 0 is -1":         SUSTAIN{a, a, nil, Constant(-1), n},
		"MSTSA.Tau at step 0 is NaN":           MSTSA{a, a, Constant(math.NaN()), n},
		"MRBO.Beta is nil":                     MRBO{Alpha: a, Neumann: n},
		"MRBO.TauX at step 0 is 2":             MRBO{a, a, Constant(2), nil, n},
		"VRBO.Period is -1":                    VRBO{Alpha: a, Beta: a, Period: -1, Neumann: n},
		"VRBO.Inner is -1":                     VRBO{Alpha: a, Beta: a, Inner: -1, Neumann: n},
		"VRBO.LargeBatch is -7":                VRBO{Alpha: a, Beta: a, LargeBatch: -7, Neumann: n},
		"VRBO.Alpha is nil":                    VRBO{Beta: a, Neumann: n},
		"VRBO.Neumann.LG is -1":                VRBO{Alpha: a, Beta: a, Neumann: Neumann{LG: -1}},
		"SUSTAIN.Beta at step 0 is +Inf":       SUSTAIN{Alpha: a, Beta: Constant(math.Inf(1)), Neumann: n},
		"SOBA.Alpha is nil":                    SOBA{Beta: a},
		"SOBA.Beta is nil":                     SOBA{Alpha: a, Gamma: a},
		"SABA.Gamma at step 0 is -1":           SABA{a, a, Constant(-1)},
		"RSVRB.Alpha is nil":                   RSVRB{Beta: a, MuG: 1},
		"RSVRB.Tau at step 0 is 2":             RSVRB{Alpha: a, Beta: a, MuG: 1, Tau: Constant(2)},
		"RSVRB.InitBatch is -2":                RSVRB{Alpha: a, Beta: a, MuG: 1, InitBatch: -2},
		"RSVRB: bilevel: bad option: MuG is 0": RSVRB{Alpha: a, Beta: a},
		"BiAdam.Alpha is nil":                  BiAdam{Beta: a, Neumann: n},
		"BiAdam.Eta at step 0 is 1.5":          BiAdam{Alpha: a, Beta: a, Eta: Constant(1.5), Neumann: n},
		"BiAdam.Decay is 1":                    BiAdam{Alpha: a, Beta: a, Decay: 1, Neumann: n},
		"BiAdam.Neumann.LG is 0":               BiAdam{Alpha: a, Beta: a},
		"VRBiAdam.TauX at step 0 is -1":        VRBiAdam{Alpha: a, Beta: a, TauX: Constant(-1), Neumann: n},
		"VRBiAdam.Rho is -1":                   VRBiAdam{Alpha: a, Beta: a, Rho: -1, Neumann: n},
	} {
		_, err := New(newWavy(0), m, Options{})
		require.ErrorIs(t, err, ErrOption, want)
		assert.ErrorContains(t, err, want)
	}

	// A schedule that leaves its range later is refused at that step.
	for want, m := range map[string]Method{
		"TTSA: step sizes at step 4 are α = NaN":               TTSA{late{4}, a, n},
		"ALSET: step sizes at step 4 are α = 0, β = N":         ALSET{a, late{4}, 1, n},
		"BSA: number of inner steps at step 4 is NaN":          BSA{a, a, late{4}, n},
		"MRBO: step sizes at step 4 are α = 0, β = 0, τ = NaN": MRBO{a, a, late{4}, nil, n},
		"SUSTAIN: step sizes at step 4":                        SUSTAIN{a, a, nil, late{4}, n},
		"VRBO: step sizes at step 4":                           VRBO{Alpha: a, Beta: late{4}, Neumann: n},
		"SOBA: Gamma at step 4 is NaN":                         SOBA{a, a, late{4}},
		"SABA: step sizes at step 4 are α = NaN":               SABA{late{4}, a, a},
		"RSVRB: step sizes at step 4":                          RSVRB{Alpha: a, Beta: a, Tau: late{4}, MuG: 1},
		"BiAdam: Eta at step 4 is NaN":                         BiAdam{Alpha: a, Beta: a, Eta: late{4}, Neumann: n},
		"VR-BiAdam: TauX at step 4 is NaN":                     VRBiAdam{Alpha: a, Beta: a, TauX: late{4}, Neumann: n},
		"VR-BiAdam: step sizes at step 4 are α = NaN":          VRBiAdam{Alpha: late{4}, Beta: a, Neumann: n},
	} {
		s, err := New(newWavy(0), m, Options{})
		require.NoError(t, err)
		for range 4 {
			require.NoError(t, s.Step())
		}
		err = s.Step()
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
	}
}

func TestLookup(t *testing.T) {
	tuning := Tuning{Alpha: Constant(0.01), Beta: Constant(0.02), MuG: 0.5, LG: 7}
	require.GreaterOrEqual(t, len(Methods()), 14)
	for _, name := range Methods() {
		m, err := Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, name, m.Name())
		_, err = New(newWavy(0.1), m, Options{})
		assert.ErrorIs(t, err, ErrOption, "%s has a default step size", name)

		m, err = Tune(name, tuning)
		require.NoError(t, err)
		s, err := New(newWavy(0.1), m, Options{})
		require.NoError(t, err, name)
		assert.NoError(t, s.Step(), name)
	}
	m, err := Lookup("stocbio")
	require.NoError(t, err)
	assert.Equal(t, StocBiO{}, m)
	_, err = Lookup("ADAM")
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, `"ADAM"`)
	for _, name := range Methods() {
		assert.ErrorContains(t, err, name)
	}
}
