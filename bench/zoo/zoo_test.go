package zoo

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/boxqp"
	"stable/bilevel/check"
	"stable/bilevel/method"
	"stable/bilevel/saa"
	"stable/mat"
)

func TestDerivatives(t *testing.T) {
	drawn := map[string]bool{}
	for i := range 60 {
		p, x0, _, _ := sketch(1, i, 0)
		drawn[p.Kind] = true
		report, err := check.Problem(p.of.fresh(), check.Options{Set: p.set, Points: 1, Center: x0, ScaleX: 0.1,
			Samples: 500, Seed: uint64(i)})
		require.NoError(t, err)
		if err := report.Err(); !errors.Is(err, check.ErrIncomplete) {
			assert.NoError(t, err, "%d: %s, %s", i, p.Kind, p.of.about)
		}
	}
	assert.Len(t, drawn, len(kinds))
}

func TestReference(t *testing.T) {
	for i := range 30 {
		s, _, _, _ := sketch(2, i, 0)
		dx, dy := s.of.Dims()
		upper, lower := s.of.Streams()
		if uint64(dx+dy)*(upper+lower) > 20000 {
			continue // costs a second or more
		}
		p, q := kit.Must(draw(2, i)), kit.Must(draw(2, i))
		assert.Equal(t, p.About, q.About)
		assert.Equal(t, p.star, q.star)
		assert.Equal(t, gradient(p), gradient(q))

		f := kit.Must(upperOf(p.fresh()).at(p.x0)) // in the units of the run
		if p.units.X != nil {
			f /= p.units.F
		}
		assert.InEpsilon(t, p.f0, f, 1e-9, p.About)

		gap := p.f0 - p.best
		assert.Positive(t, gap, p.About)
		assert.Less(t, p.star.Left, 1e-11*gap, p.About)
		x := make([]float64, len(p.x0))
		p.runIn.Project(x, p.x0)
		assert.InDeltaSlice(t, p.x0, x, 1e-9, p.About)
		r := rand.New(rand.NewPCG(uint64(i), 0))
		for range 20 {
			z := gaussians(r, len(p.x0), 1e-4)
			for k := range z {
				z[k] = p.star.X[k] * (1 + z[k])
			}
			p.set.Project(z, z)
			assert.GreaterOrEqual(t, kit.Must(p.exact.at(z)), p.star.F-1e-10*gap-1e-13, p.About)
		}
	}
}

func gradient(p *problem) []float64 {
	q := p.fresh()
	dx, dy := q.Dims()
	fx, fy := make([]float64, dx), make([]float64, dy)
	kit.Must(0, q.GradF(fx, fy, p.x0, p.y0, []bilevel.Sample{3, 1, 4}))
	return append(fx, fy...)
}

func TestNearTheLimit(t *testing.T) {
	e := kit.Must(method.Lookup(saa.Newton{}.Name()))
	for _, c := range []struct{ seed, index, runs, n, most uint64 }{
		{6002, 92, 3, 5000, 1},  // samples change y*'s slope as they come in, and ∇²F with it
		{4001, 36, 40, 1000, 3}, // where the first made Δ tiny, it grows again in a simplex, too
		{4001, 20, 3, 5000, 2},  // of few rows B is noise
	} {
		p, mean := kit.Must(draw(c.seed, int(c.index))), 0.0
		for seed := range c.runs {
			mean += kit.Must(p.run(t.Context(), e, seed, []uint64{c.n}, false)).Ratio[0] / float64(c.runs)
		}
		assert.Less(t, mean, float64(c.most), p.About)
	}
}

func TestRare(t *testing.T) {
	for seed := range uint64(5) {
		f := upperOf(drawRare(rand.New(rand.NewPCG(seed, 0)), 0, 0).fresh())
		at := kit.Must(f.descend(bilevel.Space{}, []float64{-3, 5}))
		assert.InDeltaSlice(t, []float64{1, 2}, at.X, 1e-9)
	}
}

func TestConvex(t *testing.T) {
	p := kit.Must(auto.New(auto.Losses{Dx: 2, Dy: 1, Upper: 1, Lower: 1,
		F: func(x, _ auto.Vec, _ bilevel.Sample) auto.Num { return x.Dot(x.Mul(auto.Data([]float64{0.5, -1.5}))) },
		G: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.SquaredNorm() },
	}))
	u, h := upperOf(p), mat.NewSym(2)
	kit.Must(u.at([]float64{1, 1}))
	require.NoError(t, u.convex(h))
	assert.InDeltaSlice(t, []float64{1, 0, 3}, []float64{h.At(0, 0), h.At(1, 0), h.At(1, 1)}, 1e-9)
}

func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	for i := range 40 {
		d := 1 + r.IntN(8)
		_, set, reach := drawSet(r, d)
		var q boxqp.QP
		q.Resize(d)
		b := mat.NewSym(d)
		mat.AddIdentity(b, 0.1)
		for range d {
			mat.RankOne(b, 1, gaussians(r, d, 1))
		}
		mat.CopySym(&q.A, b)
		x, h, z := gaussians(r, d, reach), gaussians(r, d, 3), make([]float64, d)
		set.Project(x, x)
		nearest(&q, set, x, h)
		bs, s := make([]float64, d), q.S
		model := func(s []float64) float64 {
			mat.MulVecSym(bs, b, s)
			return mat.Dot(h, s) + mat.Dot(bs, s)/2
		}
		least := model(s)
		mat.Axpy(s, 1, x)
		set.Project(z, s)
		assert.InDeltaSlice(t, z, s, 1e-9*(1+reach), "%d: feasible", i)
		for k := range 100 {
			copy(z, gaussians(r, d, reach/float64(1+k*k)))
			mat.Axpy(z, 1, s)
			set.Project(z, z)
			mat.Axpy(z, -1, x)
			assert.GreaterOrEqual(t, model(z), least-1e-9*(1+math.Abs(least)), "%d: %T", i, set)
		}
	}
}

type mover struct{ by float64 }

func (mover) Name() string                                        { return "mover" }
func (m mover) Start(*bilevel.Iteration) (bilevel.Stepper, error) { return m, nil }
func (mover) Vectors(func(string, []float64))                     {}
func (mover) State(*bilevel.State)                                {}
func (mover) Health() bilevel.Health                              { return bilevel.Health{Gap: 2, Lower: math.NaN()} }

func (m mover) Step(it *bilevel.Iteration) error {
	it.DrawXi(0)
	it.DrawPhi(0)
	next := it.NextX()
	for i := range next {
		next[i] = it.X()[i] * (1 + m.by)
	}
	return nil
}

func TestOutcome(t *testing.T) {
	index := 0
	for s, _, _, _ := sketch(3, 0, 0); s.Kind != "rare" || s.SetName != "space" || !s.Stream; s, _, _, _ = sketch(3, index, 0) {
		index++
	}
	p := kit.Must(draw(3, index))
	for _, c := range []struct {
		by    float64
		n     uint64
		worse bool
		fails bool
	}{{0, 10, false, false}, {1, 10, true, false}, {1, 200, true, true}} {
		m := method.Entry{New: func(method.Tuning) bilevel.Method { return mover{c.by} }}
		o := kit.Must(p.run(context.Background(), m, 1, []uint64{c.n / 2, c.n}, false))
		assert.Equal(t, []bool{c.worse, c.fails}, []bool{o.worse(), o.Failed != ""}, c)
		if c.by == 0 {
			assert.InDelta(t, 1, o.Error[1]/o.Gap, 1e-12)
			assert.Equal(t, []float64{5, 10}, o.Used)
			assert.InEpsilon(t, o.Error[1]/2*cmp.Or(p.units.F, 1), o.Told[0], 1e-12)
			assert.Zero(t, o.Told[1])
		}
	}
}

func TestTold(t *testing.T) {
	run := outcome{Used: []float64{1}, Error: []float64{1}, Ratio: []float64{1}, Told: [2]float64{0.5, 3}}
	r, g := result{label: label{Stream: true}, Runs: []outcome{run, run}}, group{}
	r.Runs[1].Told = [2]float64{1.5, 0}
	g.add(&r)
	assert.Equal(t, [2][]float64{{1}, {3}}, g.told)
	assert.Equal(t, [2]int{0, 1}, g.untold)
}

func TestCommand(t *testing.T) {
	out := t.TempDir()
	bench := func(args ...string) (status int, stdout, stderr string) {
		return kit.Capture(context.Background(), []kit.Command{{Name: "zoo", Run: Zoo}}, append(args, "-out", out)...)
	}
	status, first, _ := bench("-problems", "4", "-samples", "60")
	assert.Zero(t, status)
	assert.Contains(t, first, "on 4 problems of seed 1")
	_, again, _ := bench("-problems", "4", "-samples", "60")
	assert.Equal(t, first, again)
	_, lost, _ := bench("-seed", "7001", "-only", "73", "-fresh") // f is known before g
	assert.Contains(t, lost, "0 of 1 runs")
	status, none, stderr := bench("-method", "SCGD", "-problems", "2", "-fresh")
	assert.Equal(t, []any{1, ""}, []any{status, none})
	assert.Contains(t, stderr, "SCGD runs on none of these 2 problems, the last: bilevel: bad option")
	for _, bad := range [][]string{{"-method", "nobody"}, {"-problems", "0"}, {"-trials", "0"}, {"-samples", "0"},
		{"-problems", "1000001"}, {"-only", "-5"}, {"-only", "3", "-problems", "3"}} {
		status, _, stderr := bench(bad...)
		assert.Equal(t, 2, status, bad)
		assert.Contains(t, stderr, bad[0])
	}
}

// Tables: P(χ²₁ > 2) = 0.157, P(χ²₁₆ > 32) = 0.0100.
func TestBeyond(t *testing.T) {
	assert.InDelta(t, 0.157, beyond(1, 2), 0.01)
	assert.InDelta(t, 0.0100, beyond(16, 2), 5e-4)
}
