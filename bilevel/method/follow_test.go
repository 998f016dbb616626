package method

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
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

func follow(t *testing.T, m bilevel.Method, set bilevel.Set, p plain) {
	for _, batch := range [][2]int{{1, 1}, {2, 3}} {
		t.Run(fmt.Sprintf("%s,%T,%v", m.Name(), set, batch), func(t *testing.T) {
			w, x, y, v := newWavy(0.5), []float64{0.1, -0.1, 0.2}, []float64{1, 0, -1, 2}, make([]float64, 4)
			if _, ok := p.(*plainSCGD); ok {
				w.Identity, w.Kappa = true, 0
			}
			mirror := *w
			s := bileveltest.Must(bilevel.New(bare{wavy: w}, m,
				bilevel.Options{Set: set, X0: x, Y0: y, Seed: 3, UpperBatch: batch[0], LowerBatch: batch[1]}))
			r := &reader{t: t, w: &mirror, xi: batch[0], phi: batch[1]}
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
			if p, ok := p.(interface {
				end(t *testing.T, s *bilevel.Solver)
			}); ok {
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
	shrink  bool   // those of g_yy are stocBiO's
	used    []call // those read in this step
	acted   int    // times that the set moved x
}

func (r *reader) project(set bilevel.Set, x []float64) {
	free := slices.Clone(x)
	if set.Project(x, x); !slices.Equal(free, x) {
		r.acted++
	}
}

func (r *reader) next(oracle string, x, y []float64, size int) []bilevel.Sample {
	require.NotEmpty(r.t, r.log, "no call is left, want %s", oracle)
	c := r.log[0]
	r.log, r.used = r.log[1:], append(r.used, c)
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
	require.Len(r.t, r.used[middle:], middle-start)
	for i, c := range r.used[middle:] {
		require.Equal(r.t, r.used[start+i].Batch, c.Batch, "other samples at the other point")
	}
}

func (r *reader) storm(d []float64, tau float64, at func(x, y []float64) []float64, xOld, yOld, x, y []float64) []float64 {
	var old, now []float64
	r.same(func() { old = at(xOld, yOld) }, func() { now = at(x, y) })
	return lin(1, now, 1-tau, d, tau-1, old)
}

// one wants f to read one batch of each stream again and again.
func (r *reader) one(f func()) {
	start, first := len(r.used), map[bool]call{}
	f()
	for _, c := range r.used[start:] {
		xi := c.Oracle == "GradF"
		if _, ok := first[xi]; !ok {
			first[xi] = c
		}
		require.Equal(r.t, first[xi].Batch, c.Batch, "another sample")
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
	w := make([]float64, len(y))
	require.NoError(r.t, bilevel.Complete(r.w).HessVecG(w, x, y, v, r.next("HessG", x, y, r.phi)))
	return w
}

func (r *reader) crossVec(x, y, v []float64) []float64 {
	w := make([]float64, len(x))
	require.NoError(r.t, bilevel.Complete(r.w).CrossVecG(w, x, y, v, r.next("CrossG", x, y, r.phi)))
	return w
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

// levels has the derivatives upper of f by x_i, and lower of g by y.
func levels(dx int, upper, lower func(i int, v float64) float64) bilevel.Problem {
	sum := func(v auto.Vec, slope func(i int, v float64) float64) (sum auto.Num) {
		for i, a := range v.Value() {
			sum = sum.Add(v.At(i).Apply(0, slope(i, a), 1))
		}
		return sum
	}
	return bileveltest.Must(auto.New(auto.Losses{Dx: dx, Dy: 1, Upper: 1, Lower: 1,
		F: func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return sum(x, upper) },
		G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return sum(y, lower) }}))
}

func ends(t *testing.T, p bilevel.Problem, m bilevel.Method, opt bilevel.Options, run bilevel.Run) bilevel.Result {
	return bileveltest.Must(start(t, p, m, opt).Run(context.Background(), run))
}

// None of these passes for a small gradient: a cycle, a step size of 0, rounding, a trust region, noise.
func TestTolerance(t *testing.T) {
	near := func(_ int, v float64) float64 { return v }
	far := func(_ int, v float64) float64 { return v - 3 }
	steep := func(i int, v float64) float64 { return []float64{v - 3, 1e-9}[i] }
	cycle := func(_ int, v float64) float64 { return v - 3.2*v*(1-v) } // a step of 1 is the logistic map
	tanh := func(_ int, v float64) float64 { return 0.1*v + math.Tanh(3*v) }
	soba := func(alpha, beta bilevel.Schedule) SOBA { return SOBA{Alpha: alpha, Beta: beta} }
	c := func(v float64) bilevel.Schedule { return bilevel.Constant(v) }
	const limit, met = bilevel.StepLimit, bilevel.ToleranceMet
	noisy, slow, one := newWavy(0.1), soba(c(0.02), c(0.1)), []float64{1}
	for name, at := range map[string]struct {
		p      bilevel.Problem
		m      bilevel.Method
		x0     []float64
		batch  int
		tol    float64
		window int
		want   bilevel.Reason
	}{
		"small steps":        {levels(1, cycle, near), soba(c(0.1), c(0.5)), one, 1, 1e-6, 0, met},
		"a cycle":            {levels(1, cycle, near), soba(c(1), c(0.5)), []float64{0.3}, 1, 1e-3, 0, limit},
		"a cycle's window":   {levels(1, cycle, near), soba(c(1), c(0.5)), []float64{0.3}, 1, 1e-3, 2, limit},
		"no step size of x":  {levels(1, far, near), soba(c(0), c(0.1)), nil, 1, 1e-3, 0, limit},
		"no step size of y":  {levels(1, near, far), soba(c(0.1), c(0)), nil, 1, 1e-3, 0, limit},
		"rounding":           {levels(1, far, near), soba(c(1e-17), c(0.1)), one, 1, 1e-3, 0, limit},
		"falling step sizes": {levels(1, far, near), soba(bilevel.Power{C: 0.1, P: 3}, c(0.1)), nil, 1, 1e-3, 0, limit},
		"a trust region": {newWavy(0), bilevel.STABLE{Alpha: c(0.1), Beta: c(0.1), MuG: 0.3, Trust: 1e-12}, nil,
			bilevel.Full, 1e-3, 0, limit},
		"another entry's step": {levels(2, steep, near), bilevel.STABLE{MuG: 0.5}, nil, bilevel.Full, 1e-3, 0, limit},
		"noise":                {noisy, slow, nil, 1, 0.2, 0, limit},
		"noise, long window":   {noisy, slow, nil, 1, 0.2, 1000, limit},
		"less noise":           {noisy, slow, nil, 64, 0.2, 0, met},
		"a larger tolerance":   {noisy, slow, nil, 1, 2, 0, met},
		"SABA":                 {noisy, SABA(slow), nil, 1, 1e-6, 0, met},
	} {
		res := ends(t, at.p, at.m, bilevel.Options{X0: at.x0, UpperBatch: at.batch, LowerBatch: at.batch, Seed: 1},
			bilevel.Run{Tol: at.tol, Window: at.window, Steps: 5000})
		assert.Equal(t, at.want, res.Reason, name)
	}

	n := Neumann{LG: 4, MuG: 0.1, Terms: 2}
	for inner := 1; inner <= 6; inner++ {
		for beta, run := range map[float64]bilevel.Run{1: {Tol: 1e-2, Steps: 1000}, 0.3: {Tol: 1e-6, Steps: 3000}} {
			want := map[float64]bilevel.Reason{1: limit, 0.3: met}[beta] // with β = 1, y → 0.9y − tanh 3y is a cycle
			for _, m := range []bilevel.Method{
				ALSET{Alpha: c(0.1), Beta: c(beta), Inner: inner, Neumann: n},
				VRBO{Alpha: c(0.1), Beta: c(beta), Inner: inner, Neumann: n},
				AmIGO{Alpha: c(0.1), Beta: c(beta), Gamma: c(0.3), Inner: inner},
				F2SA{Alpha: c(0.1), Beta: c(beta), Inner: inner},
				F2SAp{Alpha: c(0.1), Beta: c(beta), Inner: inner},
			} {
				res := ends(t, levels(1, near, tanh), m, bilevel.Options{X0: one, Y0: one}, run)
				assert.Equal(t, want, res.Reason, "%s with %d inner steps", m.Name(), inner)
				assert.Equal(t, want == met, math.Abs(tanh(0, res.Y[0])) < 1e-6)
			}
		}
	}
}
