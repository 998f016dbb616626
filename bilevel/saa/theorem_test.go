package saa

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/bilevel/stream"
	"stable/mat"
	"stable/mat/mattest"
)

// tally is a finite sum whose exact means count each term as often as a run has drawn it.
type tally struct {
	bilevel.Problem
	seen [2][]float64 // terms of ξ, of φ, as shares
}

func (p *tally) mean(k int, ask func(one []bilevel.Sample) error, vs ...[]float64) error {
	sums := make([][]float64, len(vs))
	for i, v := range vs {
		sums[i] = make([]float64, len(v))
	}
	for i, w := range p.seen[k] {
		if err := ask([]bilevel.Sample{bilevel.Sample(i)}); err != nil {
			return err
		}
		for j, v := range vs {
			mat.Axpy(sums[j], w, v)
		}
	}
	for i, v := range vs {
		copy(v, sums[i])
	}
	return nil
}

func (p *tally) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	return p.mean(0, func(one []bilevel.Sample) error { return p.Problem.GradF(fx, fy, x, y, one) }, fx, fy)
}

func (p *tally) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	return p.mean(1, func(one []bilevel.Sample) error { return p.Problem.GradG(gy, x, y, one) }, gy)
}

func (p *tally) CrossG(c *mat.Dense, x, y []float64, _ []bilevel.Sample) error {
	return p.mean(1, func(one []bilevel.Sample) error { return p.Problem.CrossG(c, x, y, one) }, c.Data)
}

func (p *tally) HessG(h *mat.Sym, x, y []float64, _ []bilevel.Sample) error {
	return p.mean(1, func(one []bilevel.Sample) error { return p.Problem.HessG(h, x, y, one) }, h.Data)
}

// index tells the term of stream.Of from the f_x that it asks for.
type index struct{ bilevel.Problem }

func (p index) GradF(fx, _, _, _ []float64, xi []bilevel.Sample) error {
	for i, s := range xi {
		fx[i] = float64(s)
	}
	return nil
}

func counts(past *bilevel.Past, p bilevel.Problem, n int) []float64 {
	upper, _ := p.Streams()
	share, terms, rest := make([]float64, upper), make([]float64, 64), n
	named := stream.Of(index{p})
	past.Rewind()
	for rest > 0 {
		k := min(rest, 64)
		_ = named.GradF(terms, nil, nil, nil, past.Next(k))
		for _, i := range terms[:k] {
			share[int(i)] += 1 / float64(n)
		}
		rest -= k
	}
	return share
}

type spy struct {
	Newton
	it **bilevel.Iteration
}

func (s spy) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	*s.it = it
	return s.Newton.Start(it)
}

func rows(seed uint64, y ...float64) *data.Data {
	rng, d := rand.New(rand.NewPCG(seed, 0)), &data.Data{Dim: len(y), RowPtr: []int{0}}
	for range 64 {
		t := 0.0
		for j, c := range y {
			v := rng.NormFloat64()
			t += c * v
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		label := 1.0
		if rng.Float64() > 1/(1+math.Exp(-t)) {
			label = -1
		}
		d.Label, d.RowPtr = append(d.Label, label), append(d.RowPtr, len(d.Col))
	}
	return d
}

type theorem struct {
	name  string
	p     bilevel.Problem
	set   bilevel.Set
	x     []float64 // x*
	bend  mat.Dense // ∇²F(x*)
	limit float64
}

func theorems(t *testing.T) []*theorem {
	curved := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 1, Dy: 1, Terms: 64, Seed: 2,
		SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 0.85, SigmaGyy: 0.85}))
	one := bileveltest.Must(hyperopt.New(rows(1, 2), rows(2, 1), hyperopt.Options{Form: hyperopt.Exp, Lo: -6, Hi: 3}))
	two := bileveltest.Must(hyperopt.New(rows(4, 2, 0.5), rows(104, 1, 2), hyperopt.Options{Form: hyperopt.Exp, Lo: -3, Hi: 3}))
	all := []*theorem{
		{name: "noise in the curvature", p: curved, set: bilevel.Space{}},
		{name: "one weight", p: one, set: bilevel.UniformBox(1, -6, 3)},
		{name: "two weights, one at its bound", p: two, set: bilevel.UniformBox(2, -3, 3)},
	}
	for _, c := range all {
		dx, dy := c.p.Dims()
		c.x = make([]float64, dx)
		m := c.root(t, c.p, c.x, make([]float64, dy))
		require.Equal(t, []int{0}, m.curve.free)
		c.bend = *m.curve.b
		l := bileveltest.Must(observe.LocalLimit(c.p, c.x, observe.LimitOptions{Set: c.set}))
		c.limit = l.At(1, 1)
	}
	return all
}

func (c *theorem) root(t *testing.T, p bilevel.Problem, x, y []float64) *newton {
	s := bileveltest.Must(bilevel.New(p, Newton{}, bilevel.Options{X0: x, Y0: y, Set: c.set,
		UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}))
	r := bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 100}))
	require.Equal(t, bilevel.Arrived, r.Reason)
	copy(x, r.X)
	copy(y, r.Y)
	return s.Stepper().(*newton)
}

// seen is what runs show at the end of a block, in the mean; N samples, and x̂ is the root of their equations.
type seen struct {
	gone, root, apart float64 // N‖x − x*‖², N‖x̂ − x*‖², N‖x − x̂‖²
	carried           float64 // N/log N ‖h − its value with all samples at z‖
	bend              float64 // √N‖B − ∇²F(x*)‖/‖∇²F(x*)‖
	lag               float64 // √N‖mean x_b − x*‖
	error             float64 // N·½tr M⁻¹cov h over the limit
	light             float64 // the share of the samples that were weighed away
	poor              float64 // share of runs without credit, or with an eigenvalue of H at its floor
	bound             float64 // share of the blocks from N/2 on that Δ held
}

// run adds to sum what is seen at the end of the first blocks of marks samples.
func (c *theorem) run(t *testing.T, seed uint64, share float64, marks []int, sum []seen) {
	s := bileveltest.Must(bilevel.New(stream.Of(c.p), Newton{}, bilevel.Options{Seed: seed, Set: c.set, UpperBatch: 64, LowerBatch: 64}))
	m := s.Stepper().(*newton)
	require.NoError(t, s.Step())
	last, blocks, bound := 0, 0.0, 0.0
	for at := 0; at < len(marks); {
		goal := m.sides[0].goal
		require.NoError(t, s.Step())
		if m.sides[0].goal == goal {
			continue
		}
		n := m.sides[0].n
		require.True(t, last == 0 || n <= last+63+int(math.Ceil(growth*float64(last))), "a block of %d after %d", n-last, last)
		last = n
		if n > marks[at]/2 {
			blocks++
			if i := 0; math.Abs(m.step.s[i]) >= 0.99*m.radius*m.now.unit[i]*m.now.sure[i] {
				bound++
			}
		}
		if n >= marks[at] {
			sum[at].bound += share * bound / blocks
			c.look(t, m, share, &sum[at])
			at, blocks, bound = at+1, 0, 0
		}
	}
}

func (c *theorem) look(t *testing.T, m *newton, share float64, v *seen) {
	p, n, q := m.now, float64(m.sides[0].n), &tally{Problem: c.p}
	for k := range q.seen {
		q.seen[k] = counts(m.sides[k].past, c.p, m.sides[k].n)
	}
	x, y := slices.Clone(p.x), slices.Clone(p.y)
	c.root(t, q, x, y)
	f, h := implicit.New(q), make([]float64, len(x))
	copy(y, p.y)
	require.NoError(t, f.Solve(y, p.x, 1e-12))
	bileveltest.Must(f.Gradient(h, p.x, y))
	require.NoError(t, p.lower(1))
	p.upper(m.curve)

	v.error += share * n * m.stat() / 2 / c.limit
	if m.credit < 0 || p.clip > 0 {
		v.poor += share
	}
	v.light += share * (1 - min(p.n[0], p.n[1])/n)
	v.carried += share * n / math.Log(n) * math.Abs(p.h[0]-h[0])
	v.bend += share * math.Sqrt(n) * math.Abs(m.curve.b.At(0, 0)/c.bend.At(0, 0)-1)
	for i := range x {
		v.gone += share * n * math.Pow(p.x[i]-c.x[i], 2)
		v.root += share * n * math.Pow(x[i]-c.x[i], 2)
		v.apart += share * n * math.Pow(p.x[i]-x[i], 2)
		v.lag += share * math.Sqrt(n) * math.Abs(p.refX[i]+p.zx[i]/p.n[1]-c.x[i])
	}
}

// The theorem of the package comment, and what it takes of the code. With STABLE_LONG=1 at 1e6 samples.
func TestTheorem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs ten seconds")
	}
	runs, marks := 100, []int{1000, 10000}
	if mattest.Long() {
		marks = append(marks, 100000, 1000000)
	}
	for _, c := range theorems(t) {
		sum := make([]seen, len(marks))
		for seed := range uint64(runs) {
			c.run(t, seed, 1/float64(runs), marks, sum)
		}
		first, v := sum[0], sum[len(sum)-1]
		assert.InDelta(t, 1, v.gone/v.root, map[bool]float64{false: 0.05, true: 0.03}[mattest.Long()], c.name)
		assert.Less(t, v.apart/v.root, 0.02, c.name)
		if mattest.Long() { // at 1e4 samples, one that is weighed may be all that is seen
			assert.Less(t, v.apart, max(first.apart/3, 0.002*v.root), c.name)
			assert.LessOrEqual(t, v.light, first.light, c.name)
		}
		assert.Less(t, v.carried, 3*first.carried, c.name)
		assert.Less(t, v.light, 0.001, c.name)
		assert.Less(t, v.bend, 3*first.bend, c.name)
		assert.Less(t, v.lag, 2*first.lag, c.name)
		assert.InDelta(t, 1, v.error, 0.04, c.name)
		assert.Less(t, v.bound, 0.02, c.name)
		assert.Zero(t, v.poor, c.name)
	}
	for seed, most := uint64(0), 0; most <= tries; seed++ {
		require.Less(t, seed, uint64(60), "a block goes on while steps promise")
		m, _ := after(t, 1, seed, 2)
		most = m.tried
	}
}

func after(t *testing.T, of int, seed, xi uint64) (m *newton, it *bilevel.Iteration) {
	c := theorems(t)[of]
	s := bileveltest.Must(bilevel.New(stream.Of(c.p), spy{it: &it}, bilevel.Options{Seed: seed, Set: c.set,
		UpperBatch: 64, LowerBatch: 64}))
	_ = bileveltest.Must(s.Run(t.Context(), bilevel.Run{Xi: xi}))
	return s.Stepper().(*newton), it
}

// A part of the samples finds the h⁺ of all, to the error that it tells.
func TestPartTellsItsError(t *testing.T) {
	square, used := 0.0, 0
	for seed := range uint64(60) {
		m, it := after(t, 2, seed, 4096)
		if m.rough > 0 {
			used++
		}
		p, to := m.now, m.to
		require.NoError(t, m.read(it, p, nil))
		p.upper(m.curve)
		read := func() []float64 {
			copy(to.y, p.y)
			copy(to.d, p.d)
			copy(to.unit, p.unit)
			for i, u := range p.unit {
				to.x[i] = p.x[i] + 0.1*u
				mat.Axpy(to.y, 0.1*u, p.jt.Row(i))
			}
			require.NoError(t, m.read(it, to, p))
			to.upper(m.curve)
			return slices.Clone(to.h)
		}
		all := read()
		m.partN = int(p.n[1] / 8)
		require.NoError(t, m.askPart(it, p, p.refX, p.refY))
		miss := read()
		mat.Axpy(miss, -1, all)
		square += math.Pow(m.curve.normInv(miss, p.unit)/m.doubt(to), 2) / 60
		p.refY[0]++ // as if z were carried
		read()
		for j, g := range to.part.gy {
			assert.InDelta(t, (g-p.part.gy[j])/to.part.n[1], to.g[j]-p.gy[j]/p.n[1], 1e-9)
		}
	}
	assert.InDelta(t, 1-1./8, square, 0.4)
	assert.Greater(t, used, 20)
}

// A step that promises next to nothing is not read, where samples since the last reading scatter as all do.
func TestNextToNothing(t *testing.T) {
	unread := map[bool]int{}
	for seed := range uint64(40) {
		m, it := after(t, 1, seed/2, 4096)
		m.askedN, m.checked = 0, 1e-9
		if seed%2 == 0 {
			clear(m.since[0])
			clear(m.since[1])
		}
		if credit := m.credit; !bileveltest.Must(m.move(it)) && m.credit == credit && m.step.tau < 1e-3 {
			unread[seed%2 == 0]++
		}
	}
	assert.Greater(t, unread[false], unread[true]+5)
}

// A part whose error is too large to take a step sees that F rises, and takes it back alone.
func TestPartTakesABadStepBack(t *testing.T) {
	m, it := after(t, 1, 0, 4096)
	p := m.now
	require.NoError(t, m.read(it, p, p))
	p.upper(m.curve)
	stat := m.stat()
	m.step.find(m.curve, p, 1, stat, 0)
	m.radius, m.partN = 1, 128
	require.NoError(t, m.askPart(it, p, p.refX, p.refY))
	for _, scatter := range []float64{1, 16, math.Inf(1), 0} { // as if large ones were elsewhere
		m.lastStat = stat * scatter
		assert.Equal(t, scatter <= 1, m.sees())
	}
	m.step.pred = 0 // else it may err by as much
	_, err := m.try(it, false)
	assert.ErrorIs(t, err, errPart)
	for _, i := range m.curve.free {
		m.step.s[i] += p.unit[i] / 4
	}
	credit := m.credit
	assert.False(t, bileveltest.Must(m.try(it, false)))
	assert.Same(t, p, m.now)
	assert.Less(t, m.radius, 0.1)
	assert.Less(t, credit-m.credit, 4096.)
	p.part.yy.Data[0], m.lastStat = 1e9, math.Inf(1) // those asked elsewhere have less
	_, err = m.try(it, false)
	assert.ErrorIs(t, err, errPart, "g⁺ looks indefinite")
}

// A part that has no value at z_r, where not all of it were asked, ends no run, and sends none back there.
func TestPartBeyondTheDomain(t *testing.T) {
	var m *newton
	var z []float64
	p := &bileveltest.Faulty[bilevel.Sample]{Problem: stream.Of(theorems(t)[2].p), Quantity: "f_x", Fault: func([]float64) error {
		part := m.partN > 0 && m.now.part.n[0] == 0 && m.now.carried()
		if part {
			z = slices.Clone(m.now.refX)
		}
		if part || slices.Equal(m.now.x, z) {
			return bilevel.ErrDomain
		}
		return nil
	}}
	s := bileveltest.Must(bilevel.New(p, Newton{}, bilevel.Options{}))
	m = s.Stepper().(*newton)
	_ = bileveltest.Must(s.Run(t.Context(), bilevel.Run{Xi: 1000}))
	assert.NotNil(t, z)
}

func TestPaid(t *testing.T) {
	for read, goes := range map[int]bool{0: true, 4096: false} {
		m, it := after(t, 1, 0, 4096)
		p := m.now
		for _, i := range m.curve.free {
			p.x[i] += p.unit[i] / 8
		}
		require.NoError(t, m.read(it, p, nil))
		x := slices.Clone(p.x)
		m.credit, m.readN, m.checked = -1e9, read, 0
		assert.False(t, bileveltest.Must(m.move(it)))
		assert.Equal(t, goes, !slices.Equal(x, m.now.x))
	}
}

// Where B is negative and h is noise, x goes on to Δ or a bound, if that promises more than the noise of F.
func TestFalls(t *testing.T) {
	for stat, far := range map[float64]bool{0: true, 1e9: false} {
		m, _ := after(t, 2, 0, 64)
		p, c := m.now, m.curve
		i := c.free[0]
		c.free = c.free[:1]
		p.x[i], p.h[i], p.sure[i] = 0, p.unit[i]*1e-9, 1e-9
		c.b.Set(i, i, -1)
		require.NoError(t, c.metric(p.unit, p.h, false))
		m.step.find(c, p, 1, stat, 0)
		assert.Equal(t, far, math.Abs(m.step.s[i]) > 0.99*min(3, p.unit[i]))
		assert.True(t, m.step.pressed && -m.step.pred > 0.4*m.step.s[i]*m.step.s[i])
	}
}

// On a stream, changes of F far below what the samples leave unknown of it say nothing of the model.
func TestRatioBelowNoise(t *testing.T) {
	m, _ := after(t, 2, 0, 64)
	m.to.convex, m.step.model = true, -1e-9
	copy(m.to.y, m.now.y)
	for stat, rho := range map[float64]float64{0: -1000, 1: 1} {
		clear(m.now.w)
		m.lastStat = stat
		assert.InEpsilon(t, rho, m.ratio(1e-6, 1, 1e-3, false), 1e-9)
	}
}

// A row of B and E that was asked where x_i acted more on y* is asked again, and holds x_i at no bound; the scatter
// of h_i is that of its effect now.
func TestRowsOfAnotherPlace(t *testing.T) {
	for then, other := range map[float64]bool{1. / 16: true, 1. / 4: false, 4: false, 16: true} {
		faded := then == 16
		m, it := after(t, 2, 0, 2048)
		p, c := m.now, m.curve
		i := c.free[0]
		p.f2[i] = 0
		sd := math.Sqrt(m.covariance(i, i))
		c.was[0][i] = then * p.effect(i)
		p.x[i], _ = m.step.bounds(i)
		p.h[i] = 1
		m.mayMove()
		assert.Equal(t, faded, slices.Contains(c.free, i))
		c.free = []int{i}
		assert.Equal(t, other, bileveltest.Must(m.bend(it, false)))
		if faded {
			assert.InEpsilon(t, sd/then, math.Sqrt(m.covariance(i, i)), 0.1)
		}
	}
}

// A stream's H is indefinite, and |H|, from 3 standard errors on.
func TestCurvesDown(t *testing.T) {
	for errors, down := range map[float64]bool{1.5: false, 2.9: false, 3.1: true} {
		p := newPoint(1, 2)
		p.n, p.groups[1], p.v[0] = [2]float64{100, 100}, 100, 1
		copy(p.yy.Data, []float64{-200, 0, 0, 100})
		p.scale(100)
		ray := -2 * p.d[0] * p.d[0]
		p.curv = [2]float64{100 * ray, 100 * ray * ray * (1 + 99/errors/errors)}
		require.NoError(t, p.lower(1))
		assert.Equal(t, down, p.convex)
		assert.GreaterOrEqual(t, p.h0.At(0, 0), -3*ray/errors*0.99)
	}
}

// Where a carried y has left what is known of g_yy, the run goes back to where all samples were read.
func TestBack(t *testing.T) {
	m, it := after(t, 1, 0, 2048)
	p := m.now
	require.NoError(t, m.read(it, p, nil))
	x, y, seen := slices.Clone(p.x), slices.Clone(p.y), make([]float64, len(p.y))
	mat.MulVecSym(seen, p.yy, p.y)
	mat.Axpy(p.y, 9, y)
	mat.Axpy(p.gy, -9, seen) // else ĝ sees it
	assert.True(t, bileveltest.Must(m.move(it)))
	assert.Equal(t, x, p.x)
	assert.Equal(t, y, p.y)
}

// In another set, a step that is 0 because the trust region is short is no arrival.
func TestShortRegionIsNoArrival(t *testing.T) {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Seed: 3}))
	var it *bilevel.Iteration
	s := bileveltest.Must(bilevel.New(p, spy{it: &it}, bilevel.Options{
		Set: bilevel.Ball{Center: make([]float64, 10), Radius: 9}, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full}))
	_ = bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 1}))
	m := s.Stepper().(*newton)
	m.done = false
	for i := range m.now.x {
		m.now.x[i] = 1 + float64(i)/16
	}
	require.NoError(t, m.read(it, m.now, nil))
	m.radius = 0x1p-60
	for range 5 {
		require.NoError(t, m.block(it))
		m.radius = 0x1p-60
	}
	assert.False(t, m.done)
}
