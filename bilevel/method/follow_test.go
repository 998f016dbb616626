package method

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat"
)

// reader holds the log of a step to what a paper asks for, and hands out the samples.
type reader struct {
	t   *testing.T
	w   *wavy // a second copy of the problem, to compute with
	log []call
}

// next is the batch of the next call, which has to be of this oracle at this point.
func (r *reader) next(oracle string, x, y []float64) []bilevel.Sample {
	require.NotEmpty(r.t, r.log, "no call is left, want %s", oracle)
	c := r.log[0]
	r.log = r.log[1:]
	require.Equal(r.t, oracle, c.Oracle)
	require.InDeltaSlice(r.t, x, c.X, 1e-11, "%s at another x", oracle)
	require.InDeltaSlice(r.t, y, c.Y, 1e-11, "%s at another y", oracle)
	return c.Batch
}

// draws are the samples of one estimate of the hypergradient.
type draws struct {
	xi, cross []bilevel.Sample
	factors   [][]bilevel.Sample
}

// estimate reads one evaluation of the hypergradient at (x, y) off the log.
func (r *reader) estimate(x, y []float64) draws {
	d := draws{xi: r.next("GradF", x, y)}
	for len(r.log) > 0 && r.log[0].Oracle == "HessG" {
		d.factors = append(d.factors, r.next("HessG", x, y))
	}
	d.cross = r.next("CrossG", x, y)
	return d
}

func (r *reader) gradG(x, y []float64, phi []bilevel.Sample) []float64 {
	g := make([]float64, r.w.Dy)
	require.NoError(r.t, r.w.GradG(g, x, y, phi))
	return g
}

// hypergradient is (A) or (B) from the formulas, with matrices, every term of (B) by itself.
func (r *reader) hypergradient(x, y []float64, d draws, lg float64, terms int, random bool) []float64 {
	w := r.w
	fx, fy, gxy := make([]float64, w.Dx), make([]float64, w.Dy), mat.NewDense(w.Dx, w.Dy)
	require.NoError(r.t, w.GradF(fx, fy, x, y, d.xi))
	require.NoError(r.t, w.CrossG(gxy, x, y, d.cross))
	product := func(q int) []float64 { // ∏_{i=1..q} (I − g_yy(·; φ_i)/L) f_y
		v := slices.Clone(fy)
		for i := range q {
			gyy := mat.NewSym(w.Dy)
			require.NoError(r.t, w.HessG(gyy, x, y, d.factors[i]))
			u := bileveltest.Apply(bileveltest.Full(gyy, w.Dy, w.Dy), v)
			mat.Axpy(v, -1/lg, u)
		}
		return v
	}
	v := make([]float64, w.Dy)
	if random {
		require.Less(r.t, len(d.factors), terms)
		mat.Axpy(v, float64(terms)/lg, product(len(d.factors)))
	} else {
		require.Len(r.t, d.factors, terms-1)
		for q := range terms {
			mat.Axpy(v, 1/lg, product(q))
		}
	}
	for i := range fx {
		fx[i] -= mat.Dot(gxy.Row(i), v)
	}
	return fx
}

const followLo, followHi = -0.2, 0.4

func clamp(x []float64) (boxed int) {
	for i, v := range x {
		x[i] = math.Max(followLo, math.Min(followHi, v))
		if x[i] != v {
			boxed = 1
		}
	}
	return boxed
}

func followOptions(batch int) bilevel.Options {
	return bilevel.Options{Set: bilevel.UniformBox(3, followLo, followHi), X0: []float64{0.1, -0.1, 0.2},
		Y0: []float64{1, 0, -1, 2}, Seed: 3, UpperBatch: batch, LowerBatch: batch}
}

func TestAlternatingFollowsThePapers(t *testing.T) {
	const terms = 4
	alpha, beta := bilevel.Power{C: 0.2, P: 0.5}, bilevel.Power{C: 0.2, K0: 2, P: 0.7}
	series := Neumann{LG: 7, MuG: 0.7, Terms: terms}
	for _, c := range []struct {
		m      bilevel.Method
		inner  func(k int) int
		beta   func(k, t int) float64
		random bool
	}{
		{BSA{Alpha: alpha, Beta: beta, Neumann: series}, func(k int) int { return int(math.Ceil(math.Sqrt(float64(k + 1)))) }, func(_, t int) float64 { return beta.At(t) }, true},
		{BSA{Alpha: alpha, Beta: beta, Inner: bilevel.Power{C: 1, P: -1}, Neumann: series}, func(k int) int { return k + 1 }, func(_, t int) float64 { return beta.At(t) }, true},
		{TTSA{Alpha: alpha, Beta: beta, Neumann: series}, func(int) int { return 1 }, func(k, _ int) float64 { return beta.At(k) }, true},
		{StocBiO{Alpha: alpha, Beta: beta, Inner: 3, Neumann: series}, func(int) int { return 3 }, func(k, _ int) float64 { return beta.At(k) }, false},
		{ALSET{Alpha: alpha, Beta: beta, Inner: 2, Neumann: series}, func(int) int { return 2 }, func(k, _ int) float64 { return beta.At(k) }, true},
		{ALSET{Alpha: alpha, Beta: beta, Inner: 0, Neumann: series}, func(int) int { return 1 }, func(k, _ int) float64 { return beta.At(k) }, true},
	} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s,batch=%d", c.m.Name(), batch), func(t *testing.T) {
				w := newWavy(0.5)
				opt := followOptions(batch)
				s, err := bilevel.New(w, c.m, opt)
				require.NoError(t, err)
				x, y, boxed := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
				for k := range 40 {
					w.Log = []call{}
					require.NoError(t, s.Step())
					r := &reader{t, newWavy(0.5), w.Log}
					for i := range c.inner(k) {
						phi := r.next("GradG", x, y)
						require.Len(t, phi, batch)
						mat.Axpy(y, -c.beta(k, i), r.gradG(x, y, phi))
					}
					d := r.estimate(x, y)
					require.Len(t, d.xi, batch)
					require.Len(t, d.cross, batch)
					require.Empty(t, r.log)
					mat.Axpy(x, -alpha.At(k), r.hypergradient(x, y, d, series.LG, terms, c.random))
					boxed += clamp(x)
					require.InDeltaSlice(t, x, s.X(), 1e-11, "x at step %d", k)
					require.InDeltaSlice(t, y, s.Y(), 1e-11, "y at step %d", k)
				}
				assert.Greater(t, boxed, 5, "the box hardly acted")
			})
		}
	}
}

// SUSTAIN, MSTSA and MRBO against their equations: both points share every batch, and p.
func TestMomentumFollowsThePapers(t *testing.T) {
	const terms = 4
	alpha, beta := bilevel.Power{C: 0.2, P: 1.0 / 3}, bilevel.Power{C: 0.2, K0: 2, P: 1.0 / 3}
	tauX, tauY := bilevel.Power{C: 0.9, P: 0.5}, bilevel.Power{C: 0.8, P: 0.6}
	series := Neumann{LG: 7, MuG: 0.7, Terms: terms}
	for _, c := range []struct {
		m          bilevel.Method
		tauX, tauY bilevel.Schedule
		random     bool
	}{
		{SUSTAIN{Alpha: alpha, Beta: beta, TauX: tauX, TauY: tauY, Neumann: series}, tauX, tauY, true},
		{SUSTAIN{Alpha: alpha, Beta: beta, TauY: nil, Neumann: series}, bilevel.Power{C: 1, P: 2.0 / 3},
			bilevel.Power{C: 1, P: 2.0 / 3}, true},
		{SUSTAIN{Alpha: alpha, Beta: beta, TauX: bilevel.Constant(1), TauY: bilevel.Constant(1), Neumann: series},
			bilevel.Constant(1), bilevel.Constant(1), true},
		{MSTSA{Alpha: alpha, Beta: beta, Tau: tauX, Neumann: series}, tauX, nil, true},
		{MRBO{Alpha: alpha, Beta: beta, TauX: tauX, TauY: tauY, Neumann: series}, tauX, tauY, false},
	} {
		for _, batch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s,batch=%d", c.m.Name(), batch), func(t *testing.T) {
				w := newWavy(0.5)
				opt := followOptions(batch)
				s, err := bilevel.New(w, c.m, opt)
				require.NoError(t, err)
				x, y, boxed := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
				var xOld, yOld, dx, dy []float64
				for k := range 40 {
					w.Log = []call{}
					require.NoError(t, s.Step())
					r := &reader{t, newWavy(0.5), w.Log}

					var phi []bilevel.Sample
					if k > 0 && c.tauY != nil {
						phi = r.next("GradG", xOld, yOld)
					}
					now := r.next("GradG", x, y)
					require.Len(t, now, batch)
					if phi != nil {
						require.Equal(t, now, phi, "another φ at the old point")
						mat.Axpy(dy, -1, r.gradG(xOld, yOld, phi))
						for i, g := range r.gradG(x, y, phi) {
							dy[i] = g + (1-c.tauY.At(k))*dy[i]
						}
					} else {
						dy = r.gradG(x, y, now)
					}

					if k == 0 {
						d := r.estimate(x, y)
						dx = r.hypergradient(x, y, d, series.LG, terms, c.random)
					} else {
						d := r.estimate(xOld, yOld)
						require.Equal(t, d, r.estimate(x, y), "another draw at the old point")
						mat.Axpy(dx, -1, r.hypergradient(xOld, yOld, d, series.LG, terms, c.random))
						for i, h := range r.hypergradient(x, y, d, series.LG, terms, c.random) {
							dx[i] = h + (1-c.tauX.At(k))*dx[i]
						}
					}
					require.Empty(t, r.log)

					xOld, yOld = slices.Clone(x), slices.Clone(y)
					mat.Axpy(y, -beta.At(k), dy)
					mat.Axpy(x, -alpha.At(k), dx)
					boxed += clamp(x)
					require.InDeltaSlice(t, x, s.X(), 1e-11, "x at step %d", k)
					require.InDeltaSlice(t, y, s.Y(), 1e-11, "y at step %d", k)
				}
				assert.Greater(t, boxed, 5, "the box hardly acted")
			})
		}
	}
}

// VRBO against its equations: large batches once a period, small ones at two points.
func TestVRBOFollowsThePaper(t *testing.T) {
	const terms, alpha, beta = 3, 0.1, 0.05
	series := Neumann{LG: 7, Terms: terms}
	for _, c := range []struct{ period, inner, batch, large, wantLarge int }{{3, 1, 1, 5, 5}, {3, 2, 3, 0, 9},
		{1, 1, 2, 0, 2}} {
		t.Run(fmt.Sprintf("period=%d,inner=%d,batch=%d", c.period, c.inner, c.batch), func(t *testing.T) {
			w := newWavy(0.5)
			opt := followOptions(c.batch)
			s, err := bilevel.New(w,
				VRBO{Alpha: bilevel.Constant(alpha), Beta: bilevel.Constant(beta), Period: c.period, Inner: c.inner,
					LargeBatch: c.large, Neumann: series}, opt)
			require.NoError(t, err)
			x, y, boxed := slices.Clone(opt.X0), slices.Clone(opt.Y0), 0
			var u, v []float64
			for k := range 40 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r := &reader{t, newWavy(0.5), w.Log}
				if k%c.period == 0 {
					phi := r.next("GradG", x, y)
					d := r.estimate(x, y)
					for _, b := range append([][]bilevel.Sample{phi, d.xi, d.cross}, d.factors...) {
						require.Len(t, b, c.wantLarge)
					}
					v = r.gradG(x, y, phi)
					u = r.hypergradient(x, y, d, series.LG, terms, false)
				}
				// z⁻ → z, with one draw at both.
				follow := func(xOld, yOld []float64) {
					phi := r.next("GradG", xOld, yOld)
					require.Len(t, phi, c.batch)
					require.Equal(t, phi, r.next("GradG", x, y), "another φ at the old point")
					d := r.estimate(xOld, yOld)
					require.Equal(t, d, r.estimate(x, y), "another draw at the old point")
					mat.Axpy(v, 1, r.gradG(x, y, phi))
					mat.Axpy(v, -1, r.gradG(xOld, yOld, phi))
					mat.Axpy(u, 1, r.hypergradient(x, y, d, series.LG, terms, false))
					mat.Axpy(u, -1, r.hypergradient(xOld, yOld, d, series.LG, terms, false))
				}
				xOld := slices.Clone(x)
				mat.Axpy(x, -alpha, u)
				boxed += clamp(x)
				follow(xOld, y)
				for i := range c.inner {
					yOld := slices.Clone(y)
					mat.Axpy(y, -beta, v)
					if i < c.inner-1 || (k+1)%c.period != 0 {
						follow(x, yOld)
					}
				}
				require.Empty(t, r.log)
				require.InDeltaSlice(t, x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, y, s.Y(), 1e-11, "y at step %d", k)
			}
			assert.Greater(t, boxed, 5, "the box hardly acted")
		})
	}
}
