package bilevel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
)

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

// The table of samples and oracle calls a step, in batches. p is the truncation that was drawn, in
// {0, …, N−1}; in (B) it is Q = N−1 and a product of stocBiO counts for more than a batch.
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

// The same table for the methods without a series. Step 0 asks at one point; its batch of φ is the
// initial one, S_0, and n_ξ, n_φ are the terms of the sums.
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

// sized is wavy with streams of other sizes.
type sized struct {
	withProducts
	upper, lower uint64
}

func (s sized) Streams() (uint64, uint64) { return s.upper, s.lower }

// An exact value counts as the whole finite sum of its stream, and as one sample where that is
// unbounded.
func TestCountsFull(t *testing.T) {
	for _, c := range []struct{ upper, lower, u, l uint64 }{{16, 5, 16, 5}, {0, 7, 1, 7}, {3, 0, 3, 1}, {1, 1, 1, 1}} {
		for m, want := range map[Method]Counts{
			STABLE{MuG: 0.3}: {Xi: 2 * c.u, Phi: 2 * c.l, GradF: 2 * c.u, GradG: 2 * c.l, CrossG: 3 * c.l, HessG: 3 * c.l},
			SOBA{Alpha: Constant(0.05), Beta: Constant(0.1)}: {Xi: 2 * c.u, Phi: 2 * c.l, GradF: 2 * c.u, GradG: 2 * c.l, HessVecG: 2 * c.l, CrossVecG: 2 * c.l},
		} {
			s, err := New(sized{withProducts{newWavy(0.1)}, c.upper, c.lower}, m, Options{UpperBatch: Full, LowerBatch: Full})
			require.NoError(t, err)
			require.NoError(t, s.Step())
			require.NoError(t, s.Step())
			assert.Equal(t, want, s.Counts(), m.Name())
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
