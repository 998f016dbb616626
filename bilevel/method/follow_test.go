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

var (
	alphaOf, betaOf = bilevel.Power{C: 0.2, P: 0.5}, bilevel.Power{C: 0.2, K0: 2, P: 0.5}
	tauXOf, tauYOf  = bilevel.Power{C: 0.9, P: 0.5}, bilevel.Power{C: 0.8, P: 0.6}
	gammaOf         = bilevel.Power{C: 0.15, P: 0.3}
	seriesOf        = Neumann{LG: 7, MuG: 0.7, Terms: 4}
)

// plain is a method written out from its equations: step moves x, y and v, which starts at 0, with the
// samples off the real one's log.
type plain interface {
	step(r *reader, k int, x, y, v []float64)
}

// follow runs m beside p.
func follow(t *testing.T, m bilevel.Method, set bilevel.Set, p plain) {
	for _, batch := range [][2]int{{1, 1}, {2, 3}} {
		t.Run(fmt.Sprintf("%s,%T,%v", m.Name(), set, batch), func(t *testing.T) {
			w, x, y, v := newWavy(0.5), []float64{0.1, -0.1, 0.2}, []float64{1, 0, -1, 2}, make([]float64, 4)
			s, err := bilevel.New(w, m,
				bilevel.Options{Set: set, X0: x, Y0: y, Seed: 3, UpperBatch: batch[0], LowerBatch: batch[1]})
			require.NoError(t, err)
			r := &reader{t: t, w: newWavy(0.5), xi: batch[0], phi: batch[1]}
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r.log, r.used = slices.Clone(w.Log), nil
				p.step(r, k, x, y, v)
				require.Empty(t, r.log, "calls that the equations do not have, step %d", k)
				r.project(set, x)
				require.InDeltaSlice(t, x, s.X(), 1e-10, "x at step %d", k)
				require.InDeltaSlice(t, y, s.Y(), 1e-10, "y at step %d", k)
			}
			assert.Greater(t, r.acted, 5, "the set hardly acted")
			if p, ok := p.(*plainRSVRB); ok {
				p.end(t, s)
			}
		})
	}
}

var box = bilevel.UniformBox(3, -0.2, 0.4)

// reader holds the log of a step to a paper, and computes with its samples.
type reader struct {
	t       *testing.T
	w       *wavy // a second copy of the problem
	xi, phi int   // the sizes that batches must have
	log     []call
	shrink  bool               // those of g_yy are stocBiO's
	used    [][]bilevel.Sample // batches read in this step
	acted   int                // times that the set moved x
}

func (r *reader) project(set bilevel.Set, x []float64) {
	free := slices.Clone(x)
	if set.Project(x, x); !slices.Equal(free, x) {
		r.acted++
	}
}

// next is the batch of the next call, which has to be this one.
func (r *reader) next(oracle string, x, y []float64, size int) []bilevel.Sample {
	require.NotEmpty(r.t, r.log, "no call is left, want %s", oracle)
	c := r.log[0]
	r.log, r.used = r.log[1:], append(r.used, c.Batch)
	require.Equal(r.t, oracle, c.Oracle)
	require.InDeltaSlice(r.t, x, c.X, 1e-10, "%s at another x", oracle)
	require.InDeltaSlice(r.t, y, c.Y, 1e-10, "%s at another y", oracle)
	require.Len(r.t, c.Batch, size, oracle)
	return c.Batch
}

func (r *reader) same(a, b func()) {
	start := len(r.used)
	a()
	middle := len(r.used)
	b()
	require.Equal(r.t, r.used[start:middle], r.used[middle:], "other samples at the other point")
}

// storm returns at(x, y) + (1 − τ)(d − at(xOld, yOld)), with one draw at both points.
func (r *reader) storm(d []float64, tau float64, at func(x, y []float64) []float64, xOld, yOld, x, y []float64) []float64 {
	var old, now []float64
	r.same(func() { old = at(xOld, yOld) }, func() { now = at(x, y) })
	return lin(1, now, 1-tau, d, tau-1, old)
}

// one wants f to read one batch φ again and again.
func (r *reader) one(f func()) {
	start := len(r.used)
	f()
	for _, phi := range r.used[start:] {
		require.Equal(r.t, r.used[start], phi, "another φ")
	}
}

func (r *reader) f(x, y []float64) (fx, fy []float64) {
	fx, fy = make([]float64, len(x)), make([]float64, len(y))
	require.NoError(r.t, r.w.GradF(fx, fy, x, y, r.next("GradF", x, y, r.xi)))
	return fx, fy
}

func (r *reader) gy(x, y []float64) []float64 {
	g := make([]float64, len(y))
	require.NoError(r.t, r.w.GradG(g, x, y, r.next("GradG", x, y, r.phi)))
	return g
}

func (r *reader) gx(x, y []float64) []float64 {
	g := make([]float64, len(x))
	require.NoError(r.t, r.w.GradXG(g, x, y, r.next("GradXG", x, y, r.phi)))
	return g
}

func (r *reader) hessVec(x, y, v []float64) []float64 {
	a := mat.NewSym(len(y))
	require.NoError(r.t, r.w.HessG(a, x, y, r.next("HessG", x, y, r.phi)))
	return bileveltest.Apply(bileveltest.Full(a, len(y), len(y)), v)
}

func (r *reader) crossVec(x, y, v []float64) []float64 {
	a := mat.NewDense(len(x), len(y))
	require.NoError(r.t, r.w.CrossG(a, x, y, r.next("CrossG", x, y, r.phi)))
	return bileveltest.Apply(bileveltest.Full(a, len(x), len(y)), v)
}

// hyper is (A) or (B) from the formulas, every term of (B) by itself.
func (r *reader) hyper(x, y []float64, random bool) []float64 {
	fx, fy := r.f(x, y)
	batch := r.phi
	terms := [][]float64{fy} // ∏_{i=1..q} (I − g_yy(·; φ_i)/L) f_y
	for len(r.log) > 0 && r.log[0].Oracle == "HessG" {
		last := terms[len(terms)-1]
		if r.shrink { // |B_{Q+1−j}| = ⌈B Q (1−ημ)^(j−1)⌉
			r.phi = int(math.Ceil(float64(3*batch) * math.Pow(0.9, float64(len(terms)-1))))
		}
		terms = append(terms, lin(1, last, -1/seriesOf.LG, r.hessVec(x, y, last)))
	}
	r.phi = batch
	n := seriesOf.Terms
	v := make([]float64, len(y))
	if random {
		require.LessOrEqual(r.t, len(terms), n)
		mat.Axpy(v, float64(n)/seriesOf.LG, terms[len(terms)-1])
	} else {
		require.Len(r.t, terms, n)
		for _, term := range terms {
			mat.Axpy(v, 1/seriesOf.LG, term)
		}
	}
	return lin(1, fx, -1, r.crossVec(x, y, v))
}

func lin(pairs ...any) []float64 {
	var sum []float64
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1].([]float64)
		if sum == nil {
			sum = make([]float64, len(v))
		}
		switch c := pairs[i].(type) {
		case int:
			mat.Axpy(sum, float64(c), v)
		case float64:
			mat.Axpy(sum, c, v)
		}
	}
	return sum
}
