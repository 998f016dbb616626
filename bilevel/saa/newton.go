package saa

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// The constants of the method; the package comment has the equations that they stand in.
const (
	growth  = 1.0 / 16 // ρ: of a block over what was seen. The answer lags behind by half of it
	again   = 5.0 / 4  // times the samples at which old ones were asked last, when they may be: all cost 4N evaluations
	reread  = 4        // times the samples of the last reading, when all are read again in any case
	tries   = 6        // steps of a block that fail in a row, and all of a sum's, a fifth of a stream's, a third of a long x's, at most
	settled = 0.1      // of a gain or a way, what is small beside it
	solved  = 1. / 64  // of twice the statistical error of F, what a step must promise to be read in the same block
	audit   = 0.1      // of the standard error of h, the error that a step may leave unread
	partly  = 0.3      // of the standard error of h, the error of a step read on a part; of the way of y, what is left of it
	scouts  = 1. / 16  // of the samples, at least, say first whether a step fails that all are to be read for
	drifted = 4        // of a step's length in M⁻¹, what J may change h by along it until B is asked anew
	farther = 16       // times the way on which x_i alone makes its row of g_xy another, ℓ_i without a width at most
	first   = 0.25     // Δ at the start
	weak    = 1. / 8   // of the effect on y* that x_i had when its row was asked: with less, or more than its inverse, it is asked again
	halved  = 0.2      // of y, a step that moves it farther is read at its middle, too
	few     = 3        // groups of samples, in effect, that must know x_i before it moves
	early   = 500      // evaluations for each entry of x and y, times Calls, while samples are few
	tiny    = 0x1p-44  // rounding

	largest   = 64   // samples that are asked at once: bounds memory, and changes no rule
	bins      = 16   // of groups of a part, whose scatter tells how well it is known
	mostX     = 200  // the length of x up to which B is kept
	mostOther = 2000 // that in sets that do not consist of bounds
)

// Newton is Newton's method on growing samples, see the package comment. Its zero value is ready:
// there is nothing to choose. x and y leave the start after 2(dx + dy) samples of each kind, 2(200 + dy) at most.
// A finite f beside a g that is a stream, or the other way round, counts as drawn with it, and is not asked again. In a set
// that does not consist of bounds, f and g are also asked beside it, by less than 2⁻²⁰ of the way on which y* moves by its size.
type Newton struct {
	// Calls bounds the evaluations, over all oracles, for a pair of samples ξ and φ in the long run,
	// up to twice of it where steps promise much: 4 ask each sample once, the others ask old ones again
	// where the model is not good enough. At first there are 500·Calls for each entry of x and y besides.
	// At least 8. Default 80. With fewer, x moves less where g is far from quadratic. A pass over a sum
	// that has been read asks all terms once in any case.
	Calls float64
}

// Name returns "SAA-Newton".
func (Newton) Name() string { return "SAA-Newton" }

// newton is Newton at work.
type newton struct {
	Newton
	sides    [2]side
	asker    asker
	now, to  *point // z, and where a step would lead
	curve    *curvature
	step     step
	started  bool
	done     bool    // nothing is left to do
	pending  bool    // a block is complete, and its steps are being done
	pass     bool    // it was a pass over a sum that is known
	rich     bool    // a step is to be done again for which credit was there before B was asked
	tried    int     // steps of the block
	failed   int     // in a row
	of       int     // samples that a step is read on; 0: all
	rough    float64 // the variance of a sample's share of h⁺ − h, over ‖s‖²
	told     told
	radius   float64    // Δ
	widest   float64    // that it may be in the block: so few samples may say that F falls for ever
	askedAt  int        // how many samples there were when old ones were asked last
	far      float64    // length of the last step read, in M
	slope    float64    // the remainder of steps read, in M⁻¹, over their lengths
	bow      float64    // and over the squares of these
	noise    float64    // stat of the last step
	credit   float64    // evaluations that readings may take
	lastRead int        // samples when all were read
	least    float64    // that a step on all terms promised
	stalls   int        // steps since
	terms    float64    // the largest h_iℓ_i that the terms of h could make
	y0, u0   []float64  // scratch of settle
	sizes    [2]float64 // of the step, as one along h and along ĝ
}

// Start returns the method at work.
func (m Newton) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	dx, _ := it.Dims()
	_, bounds := it.Set().(bilevel.BoundedSet)
	return m.start(it, dx > mostOther || bounds && dx > mostX)
}

func (m Newton) start(it *bilevel.Iteration, wide bool) (bilevel.Stepper, error) {
	dx, dy := it.Dims()
	option.Default(&m.Calls, 80)
	if !(m.Calls >= 8) || math.IsInf(m.Calls, 1) {
		return nil, option.Bad("saa.Newton.Calls is %v, want a finite number ≥ 8 (or 0, which means 80)", m.Calls)
	}
	r := &newton{Newton: m, radius: first, widest: math.Inf(1), told: told{gap: math.Inf(1)}}
	nu, nl := it.Batches()
	terms, phi := it.Oracle().Streams()
	r.sides = [2]side{
		{terms: terms, batch: nu, draw: it.DrawXiIn, past: it.PastXi()},
		{terms: phi, batch: nl, draw: it.DrawPhiIn, past: it.PastPhi()},
	}
	for k := range r.sides {
		s := &r.sides[k]
		s.exact, s.all, s.beside = s.batch == bilevel.Full, true, terms == 0 || phi == 0
		s.order = bilevel.NewPasses(s.terms)
		s.wait = make([]bilevel.Sample, 0, largest+max(s.batch, 0))
		s.aim(2 * (min(dx, mostX) + dy))
	}
	if wide {
		return r.newWide(it)
	}
	r.asker, r.now, r.to, r.curve = newAsker(dx, dy), newPoint(dx, dy), newPoint(dx, dy), newCurvature(dx, dy)
	r.step, r.y0, r.u0 = newStep(it.Set(), dx), make([]float64, dy), make([]float64, dy)
	return r, nil
}

// lockstep says that both kinds of samples come in alike, so that the sums can be carried.
func (m *newton) lockstep() bool {
	return !m.sides[0].whole() && !m.sides[1].whole() && m.sides[0].n == m.sides[1].n
}

// Step draws a batch of each kind. With the last one of a block, it takes the block into the sums
// and follows their root.
func (m *newton) Step(it *bilevel.Iteration) error {
	if known := m.started && m.whole(); !m.pending {
		copy(m.now.x, it.X())
		copy(m.now.y, it.Y())
		if it.K() == 0 {
			m.now.begin(m.now.x, m.now.y)
		}
		m.sizes = [2]float64{}
		if ready, err := m.take(it, known); err != nil || !ready {
			copy(it.NextX(), m.now.x)
			copy(it.NextY(), m.now.y)
			return errors.Join(err, it.UseSteps(m.sizes[0], m.sizes[1], 0))
		}
		m.pending, m.pass, m.tried, m.failed = true, known, 0, 0
		if m.widest = max(1, growth*float64(m.n())); m.whole() {
			m.widest = math.Inf(1)
		}
	}
	if !m.done {
		if err := m.block(it); err != nil {
			return err
		}
		m.tell()
	}
	return m.end(it, m.now.x, m.now.y, growth)
}

// end is that of a block. The next one adds growth times the samples so far.
func (m *newton) end(it *bilevel.Iteration, x, y []float64, growth float64) error {
	m.pending = false
	if m.done {
		it.Arrive()
	}
	copy(it.NextX(), x)
	copy(it.NextY(), y)
	for k := range m.sides {
		s := &m.sides[k]
		s.used = 0
		s.aim(s.n + int(math.Ceil(growth*float64(s.n))))
	}
	return it.UseSteps(m.sizes[0], m.sizes[1], 0)
}

func (m *newton) n() int { return max(m.sides[0].n, m.sides[1].n) }

// rests says that in another block old samples were asked, of nearly as many.
func (m *newton) rests() bool {
	return !m.whole() && m.n() > m.askedAt && float64(m.n()) < again*float64(m.askedAt)
}

// endless says that no passes over a sum follow.
func (m *newton) endless() bool { return m.sides[0].terms+m.sides[1].terms == 0 && !m.whole() }

func (m *newton) whole() bool { return m.sides[0].whole() && m.sides[1].whole() }

// take draws the samples of a step, and asks them in groups. ready says that they complete a block,
// or a pass.
func (m *newton) take(it *bilevel.Iteration, again bool) (ready bool, err error) {
	ready = true
	for k := range m.sides {
		s := &m.sides[k]
		m.credit += (m.Calls - 4) / 2 * float64(s.take(again))
		if now := s.ready(again); len(s.wait) >= s.size || now {
			if err := m.add(it, k); err != nil {
				if err = m.retreat(it, err); err != nil {
					return false, err
				}
			}
		}
		ready = s.ready(again) && ready
	}
	return ready, nil
}

func (m *newton) Vectors(visit func(name string, v []float64)) {
	a, c := &m.asker, m.curve
	names := [...]string{"f_x", "f_y", "g_y", "H_yy", "H_xy", "f_x", "f_y", "g_yy v (H_yy)", "g_xy v (H_xy)",
		"f_x nearby", "f_y nearby", "g_yy v (H_yy) nearby", "g_xy v (H_xy) nearby", "the reduced Hessian", "its slope in y"}
	for i, v := range [...][]float64{a.fx, a.fy, a.gy, a.yy.Data, a.xy.Data, c.fx0, c.fy0, c.hv0, c.xv0,
		c.fx, c.fy, c.hv, c.xv, c.b.Data, c.e.Data} {
		visit(names[i], v)
	}
	summed := [...]string{"f_x, summed", "f_y, summed", "g_y, summed", "H_yy, summed", "H_xy, summed"}
	for _, p := range []*point{m.now, m.to} {
		for i, v := range p.vectors() {
			visit(summed[i], v)
		}
		visit("H_yy⁻¹g_y", p.u)
		visit("H_yy⁻¹f_y", p.v)
		visit("the hypergradient", p.h)
	}
}

func (m *newton) State(t *bilevel.State) {
	for k := range m.sides {
		m.sides[k].State(t)
	}
	m.now.State(t)
	m.curve.State(t)
	for _, f := range []*bool{&m.started, &m.done, &m.pending, &m.pass, &m.rich} {
		t.Flag(f)
	}
	t.Floats(m.sizes[:])
	for _, n := range []*int{&m.tried, &m.failed, &m.lastRead, &m.askedAt, &m.stalls} {
		t.Count(n)
	}
	for _, v := range []*float64{&m.radius, &m.widest, &m.least, &m.far, &m.slope, &m.bow, &m.noise, &m.credit, &m.rough, &m.terms,
		&m.told.lower, &m.told.gradient, &m.told.stdErr, &m.told.gap, &m.told.falls, &m.told.clipped} {
		t.Float(v)
	}
}
