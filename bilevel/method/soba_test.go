package method

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat"
)

// partsAt are f_x, f_y, g_y, g_yy v, g_xy v at one point.
func partsAt(t *testing.T, w *wavy, x, y, v []float64, xi, phi []bilevel.Sample) [5][]float64 {
	fx, fy, gy, gxy, gyy := make([]float64, w.Dx), make([]float64, w.Dy), make([]float64, w.Dy), mat.NewDense(w.Dx,
		w.Dy), mat.NewSym(w.Dy)
	require.NoError(t, w.GradF(fx, fy, x, y, xi))
	require.NoError(t, w.GradG(gy, x, y, phi))
	require.NoError(t, w.CrossG(gxy, x, y, phi))
	require.NoError(t, w.HessG(gyy, x, y, phi))
	return [5][]float64{fx, fy, gy, bileveltest.Apply(bileveltest.Full(gyy, w.Dy, w.Dy), v),
		bileveltest.Apply(bileveltest.Full(gxy, w.Dx, w.Dy), v)}
}

type joint struct{ x, y, v []float64 }

func (z *joint) move(p [5][]float64, alpha, beta, gamma float64) (boxed int) {
	mat.Axpy(z.x, -alpha, p[0])
	mat.Axpy(z.x, -alpha, p[4])
	mat.Axpy(z.v, -gamma, p[1])
	mat.Axpy(z.v, -gamma, p[3])
	mat.Axpy(z.y, -beta, p[2])
	return clamp(z.x)
}

func TestSOBAFollowsThePaper(t *testing.T) {
	alpha, beta := bilevel.Power{C: 0.2, P: 0.5}, bilevel.Power{C: 0.2, K0: 2, P: 0.5}
	for _, gamma := range []bilevel.Schedule{nil, bilevel.Constant(0.07)} {
		for _, batch := range []int{1, 3} {
			w, mirror := newWavy(0.5), newWavy(0.5)
			opt := followOptions(batch)
			s, err := bilevel.New(w, SOBA{Alpha: alpha, Beta: beta, Gamma: gamma}, opt)
			require.NoError(t, err)
			z, boxed := joint{slices.Clone(opt.X0), slices.Clone(opt.Y0), make([]float64, 4)}, 0
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r := &reader{t, nil, w.Log}
				xi, phi := r.next("GradF", z.x, z.y), r.next("GradG", z.x, z.y)
				require.Equal(t, phi, r.next("HessG", z.x, z.y), "another φ")
				require.Equal(t, phi, r.next("CrossG", z.x, z.y), "another φ")
				require.Empty(t, r.log)
				require.Len(t, xi, batch)
				require.Len(t, phi, batch)
				c := beta.At(k)
				if gamma != nil {
					c = gamma.At(k)
				}
				boxed += z.move(partsAt(t, mirror, z.x, z.y, z.v, xi, phi), alpha.At(k), beta.At(k), c)
				require.InDeltaSlice(t, z.x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, z.y, s.Y(), 1e-11, "y at step %d", k)
				require.InDeltaSlice(t, z.v, s.Stepper().(*soba).v, 1e-11, "v at step %d", k)
			}
			assert.Greater(t, boxed, 5, "the box hardly acted")
		}
	}
}

// SABA against its equations; batches of 3 of 16 hold some samples twice.
func TestSABAFollowsThePaper(t *testing.T) {
	const n = 16
	alpha, beta, gamma := bilevel.Constant(0.1), bilevel.Constant(0.1), bilevel.Constant(0.07)
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprintf("batch=%d", batch), func(t *testing.T) {
			w, mirror := newWavy(0.3), newWavy(0.3)
			opt := followOptions(batch)
			s, err := bilevel.New(w, SABA{Alpha: alpha, Beta: beta, Gamma: gamma}, opt)
			require.NoError(t, err)
			z := joint{slices.Clone(opt.X0), slices.Clone(opt.Y0), make([]float64, 4)}
			var table [n][5][]float64
			twice, boxed := 0, 0
			for k := range 80 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r := &reader{t, nil, w.Log}
				size := batch
				if k == 0 {
					size = n
				}
				var xi, phi []bilevel.Sample
				for range size {
					xi = append(xi, r.next("GradF", z.x, z.y)...)
				}
				for range size {
					one := r.next("GradG", z.x, z.y)
					require.Equal(t, one, r.next("HessG", z.x, z.y), "another φ")
					require.Equal(t, one, r.next("CrossG", z.x, z.y), "another φ")
					phi = append(phi, one...)
				}
				require.Empty(t, r.log)
				require.Len(t, phi, size)

				var part [5][]float64
				for c := range part {
					part[c] = make([]float64, []int{3, 4, 4, 4, 3}[c])
					for i := range n {
						if k > 0 {
							mat.Axpy(part[c], 1.0/n, table[i][c])
						}
					}
				}
				next := table
				for j := range size {
					now := partsAt(t, mirror, z.x, z.y, z.v, xi[j:j+1], phi[j:j+1])
					for c := range part {
						i := phi[j]
						if c < 2 {
							i = xi[j]
						}
						mat.Axpy(part[c], 1/float64(size), now[c])
						if k > 0 {
							mat.Axpy(part[c], -1/float64(size), table[i][c])
						}
						next[i][c] = now[c]
					}
				}
				table = next
				if slices.Sort(phi); len(slices.Compact(phi)) < size {
					twice++
				}
				boxed += z.move(part, 0.1, 0.1, 0.07)
				require.InDeltaSlice(t, z.x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, z.y, s.Y(), 1e-11, "y at step %d", k)
				require.InDeltaSlice(t, z.v, s.Stepper().(*saba).v, 1e-11, "v at step %d", k)
			}
			assert.Positive(t, boxed, "the box did not act")
			assert.Equal(t, batch > 1, twice > 0)
		})
	}
}

// Without noise SABA is SOBA; with Full batches it has no tables, and unbounded streams will do.
func TestSABAExact(t *testing.T) {
	run := func(m bilevel.Method, opt bilevel.Options) []float64 {
		s, err := bilevel.New(newWavy(0.3), m, opt)
		require.NoError(t, err)
		for range 60 {
			require.NoError(t, s.Step())
		}
		return slices.Concat(s.X(), s.Y())
	}
	a, b := bilevel.Constant(0.05), bilevel.Constant(0.1)
	full := bilevel.Options{UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}
	assert.Equal(t, run(SOBA{Alpha: a, Beta: b}, full), run(SABA{Alpha: a, Beta: b}, full))
	assert.NotEqual(t, run(SOBA{Alpha: a, Beta: b}, full),
		run(SABA{Alpha: a, Beta: b}, bilevel.Options{UpperBatch: bilevel.Full}))

	_, err := bilevel.New(unbounded{newWavy(0.3)}, SABA{Alpha: a, Beta: b}, full)
	require.NoError(t, err)
	for stream, opt := range map[string]bilevel.Options{"ξ": {LowerBatch: bilevel.Full},
		"φ": {UpperBatch: bilevel.Full}} {
		_, err := bilevel.New(unbounded{newWavy(0.3)}, SABA{Alpha: a, Beta: b}, opt)
		require.ErrorIs(t, err, bilevel.ErrOption)
		assert.ErrorContains(t, err, "the stream of "+stream+" is unbounded")
	}
	_, err = bilevel.New(huge{newWavy(0.3)}, SABA{Alpha: a, Beta: b}, bilevel.Options{})
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, "9223372036854775808 samples")
}

type unbounded struct{ *wavy }

func (unbounded) Streams() (uint64, uint64) { return 0, 0 }

type huge struct{ *wavy }

func (huge) Streams() (uint64, uint64) { return 1 << 63, 1 << 63 }
