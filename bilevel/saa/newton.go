package saa

import (
	"cmp"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
)

// The constants of the method; the package comment has the equations that they stand in.
const (
	growth   = 1.0 / 16 // ρ: a block adds ρN samples
	askAgain = 5.0 / 4  // old samples may be asked again at this times askedN; all cost 4N evaluations
	reread   = 32       // all are read again, in any case, at this times readN, and B asked
	tries    = 6        // steps of a block that fail in a row, and all of a sum's, at most; a stream has 5, a long x 3 times as many
	small    = 0.1      // a share that does not matter: of a gain, a way, an effect, or the standard error of h
	solved   = 1. / 64  // what a step must promise to be read in the same block, over stat
	partly   = 0.5      // the error of a step read on a part, over that of h; and what is left when y is settled, over the way of y
	drifted  = 4        // what J may have changed h by along s, over ‖s‖_M, until B is asked anew
	radius0  = 0.25     // Δ at the start; and how far y may go, over ‖y‖_H, in a step that is not read at its middle, too
	few      = 3        // x_i moves once more groups of samples, in effect, know it
	early    = 500      // evaluations for each entry of x and y, times Calls, while samples are few
	tiny     = 0x1p-44  // rounding

	largest   = 64   // samples that are asked at once: bounds memory, and changes no rule
	bins      = 16   // of groups of a part, whose scatter tells how well it is known
	mostX     = 200  // the length of x up to which B is kept
	mostOther = 2000 // that in sets that do not consist of bounds
)

// Newton is Newton's method on growing samples, see the package comment. Its zero value is ready.
// x and y leave the start after 2(dx + dy) samples of each kind, 2(200 + dy) at most, or with the last of Run.Xi
// or Run.Phi: the answer to a budget is that of all its samples.
// A finite f beside a g that is a stream, or the other way round, counts as drawn with it, and is not asked again. In a set
// that does not consist of bounds, f and g are also asked outside of it, by less than 2⁻²⁰ of the way on which y* moves by its size.
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
	sides          [2]*side
	asker          asker
	now, to        *point // z, and where a step would lead
	curve          *curvature
	step           step
	started        bool
	done           bool           // nothing is left to do
	pending        bool           // a block is complete, and its steps are being done
	pass           bool           // it was a pass over a sum that is known
	last           bool           // no samples come after the block, in this run
	redo           bool           // a step that was cut off is done again, with the credit it had
	tried          int            // steps of the block
	failed         int            // in a row
	partN          int            // samples of the part that a step is read on; 0: all
	rough          float64        // D of share
	told           bilevel.Health // of the last block
	falls          float64        // what F may fall by where it curves down
	radius         float64        // Δ
	maxRadius      float64        // Δ at most, in the block: few samples may say that F falls for ever
	askedN         int            // N when old samples were asked last
	checked        float64        // ‖s‖_M of the last steps read; 0: the next step must be read
	missRate       float64        // the remainder of the model over ‖s‖_M, of the last steps read
	missBend       float64        // and over ‖s‖²_M
	lastStat       float64        // stat of the last step
	since          [2][]float64   // Σ n(influence on h_i)² of samples since all were read
	groups         [2]float64
	credit         float64    // evaluations that readings may take
	readN          int        // N when all were read last; a long x: samples that a point was asked of
	least          float64    // that steps on all terms promise, as of late
	stalls         int        // steps since that has halved
	scaleF, mostF  float64    // the largest h_iℓ_i, without cancellation, of late and ever: rounding of F is relative to it
	y0, u0, start0 []float64  // scratch of settle; y at the start
	sizes          [2]float64 // α and β of the block, as if along h and ĝ
}

// Start returns the method at work.
func (m Newton) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	dx, _ := it.Dims()
	_, bounds := it.Set().(bilevel.BoundedSet)
	return m.start(it, dx > mostOther || bounds && dx > mostX)
}

func (m Newton) start(it *bilevel.Iteration, long bool) (bilevel.Stepper, error) {
	dx, dy := it.Dims()
	option.Default(&m.Calls, 80)
	if !(m.Calls >= 8) || math.IsInf(m.Calls, 1) {
		return nil, option.Bad("saa.Newton.Calls is %v, want a finite number ≥ 8 (or 0, which means 80)", m.Calls)
	}
	r := &newton{Newton: m, radius: radius0, maxRadius: math.Inf(1), told: unknown()}
	nu, nl := it.Batches()
	terms, phi := it.Oracle().Streams()
	r.sides = [...]*side{
		{terms: terms, batch: nu, draw: it.DrawXiIn, past: it.PastXi()},
		{terms: phi, batch: nl, draw: it.DrawPhiIn, past: it.PastPhi()},
	}
	for _, s := range r.sides {
		s.exact, s.hasMean, s.beside = s.batch == bilevel.Full, true, terms == 0 || phi == 0
		if s.least = min(nu, nl); s.least == bilevel.Full {
			s.least = max(nu, nl, 1)
		}
		s.order = bilevel.NewPasses(s.terms)
		s.wait = make([]bilevel.Sample, 0, largest+max(s.batch, 0))
		s.aim(2 * (min(dx, mostX) + dy))
	}
	if long {
		return r.newLongX(it)
	}
	r.asker, r.now, r.to, r.curve = newAsker(dx, dy), newPoint(dx, dy), newPoint(dx, dy), newCurvature(dx, dy)
	r.step, r.start0 = newStep(it.Set(), dx), slices.Clone(it.Y())
	zeros(dx, &r.since[0], &r.since[1])
	zeros(dy, &r.y0, &r.u0)
	return r, nil
}

// lockstep says that both kinds of samples come in, alike, so that the sums can be carried.
func (m *newton) lockstep() bool { return !m.sides[0].whole() && !m.sides[1].whole() }

// Step draws a batch of each kind, and with the last one of a block follows the root of the sums.
func (m *newton) Step(it *bilevel.Iteration) error {
	if known := m.started && m.whole(); !m.pending {
		if it.K() == 0 {
			copy(m.now.x, it.X())
			copy(m.now.y, it.Y())
			m.now.begin()
		}
		m.sizes = [2]float64{}
		if ready, err := m.take(it, known); err != nil || !ready {
			return cmp.Or(err, m.leave(it, m.now.x, m.now.y))
		}
		m.pending, m.pass, m.tried, m.failed = true, known, 0, 0
		if m.maxRadius = max(1, growth*float64(m.n())); m.whole() {
			m.maxRadius = math.Inf(1)
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

// end ends a block. The next one adds growth times the samples so far.
func (m *newton) end(it *bilevel.Iteration, x, y []float64, growth float64) error {
	m.pending = false
	if m.done {
		it.Arrive()
	}
	for _, s := range m.sides {
		s.used = 0
		s.aim(s.n + int(math.Ceil(growth*float64(s.n))))
	}
	return m.leave(it, x, y)
}

// leave writes the next iterate.
func (m *newton) leave(it *bilevel.Iteration, x, y []float64) error {
	copy(it.NextX(), x)
	copy(it.NextY(), y)
	return it.UseSteps(m.sizes[0], m.sizes[1], 0)
}

func (m *newton) n() int { return max(m.sides[0].n, m.sides[1].n) }

// askedLately says that old samples were asked in an earlier block, when N was nearly as large.
func (m *newton) askedLately() bool {
	return !m.whole() && m.n() > m.askedN && float64(m.n()) < askAgain*float64(m.askedN)
}

// endless says that no passes over a sum follow.
func (m *newton) endless() bool { return min(m.sides[0].terms, m.sides[1].terms) == 0 && !m.whole() }

func (m *newton) whole() bool { return m.sides[0].whole() && m.sides[1].whole() }

// take draws the samples of a step, and asks them in groups. ready says that a block or a pass is complete.
func (m *newton) take(it *bilevel.Iteration, again bool) (ready bool, err error) {
	ready = true
	for _, s := range m.sides {
		m.credit += (m.Calls - 4) / 2 * float64(s.take(again))
		ready = s.ready(again) && ready
	}
	ready = m.ends(it, again) || ready
	for k, s := range m.sides {
		if len(s.wait) >= s.size || ready || s.ready(again) {
			if err := m.retreat(it, m.add(it, k), s.terms > 0); err != nil {
				return false, err
			}
		}
	}
	return ready, nil
}

// ends says that no samples come after this step's, in this run: the last block ends with them.
func (m *newton) ends(it *bilevel.Iteration, again bool) bool {
	a, b := m.sides[0], m.sides[1]
	m.last = it.Spent() && !again && (a.n == b.n || a.whole() || b.whole())
	return m.last
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
	for _, s := range m.sides {
		s.State(t)
	}
	m.now.State(t)
	m.curve.State(t)
	each(t.Flag, &m.started, &m.done, &m.pending, &m.pass, &m.last, &m.redo, &m.told.Slow)
	t.Floats(m.sizes[:], m.since[0], m.since[1], m.groups[:])
	each(t.Count, &m.tried, &m.failed, &m.readN, &m.askedN, &m.stalls)
	each(t.Float, &m.radius, &m.maxRadius, &m.least, &m.checked, &m.missRate, &m.missBend, &m.lastStat, &m.credit, &m.rough)
	each(t.Float, &m.scaleF, &m.mostF, &m.told.Lower, &m.told.Gradient, &m.told.StdErr, &m.told.Gap, &m.falls, &m.told.Clipped)
}
