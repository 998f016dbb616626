package method

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
	"stable/mat/kernel"
)

// SABA is SOBA with the variance reduction of SAGA, for finite sums (Dagréou, Ablin, Vaiter and
// Moreau, NeurIPS 2022, arXiv 2201.13409; SAGA: Defazio, Bach and Lacoste-Julien, NeurIPS 2014).
// Each of the five parts of the directions, f_x, f_y, g_y, g_yy v and g_xy v, is a mean of terms
// t_i(z), z = (x, y, v). A table holds the last value T_i of every term, and a batch B gives
//
//	the part = mean of T + mean over i in B of (t_i(z^k) − T_i);   then T_i ← t_i(z^k) for i in B,
//
// whose variance goes to zero as the iterates settle: constant step sizes reach the solution. Step
// 0 fills the tables in one pass over both sums, and moves along their means. Oracles get single
// samples. Memory: n_ξ·(dx+dy) + n_φ·(dx+2dy) numbers for sums of n_ξ and n_φ terms. A stream with
// batch Full has no table: its parts are exact.
type SABA SOBA

func (SABA) Name() string { return "SABA" }

type saba struct {
	*soba
	upperSum, lowerSum *saga
}

func (m SABA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA(m).start(it, "SABA")
	upperTerms, lowerTerms := it.Oracle().Streams()
	upper, lower := it.Batches()
	f, errF := newSaga("ξ", upperTerms, upper, len(b.f), b.upper)
	g, errG := newSaga("φ", lowerTerms, lower, len(b.g), b.lower)
	return &saba{b, f, g}, errors.Join(err, errF, errG)
}

func (m *saba) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	xi, phi := m.upperSum.draw(s, s.DrawXi), m.lowerSum.draw(s, s.DrawPhi)
	m.upperSum.estimate(s, m.f, xi)
	m.lowerSum.estimate(s, m.g, phi)
	m.move(s)
	return s.err
}

func (m *saba) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.upperSum.table, m.upperSum.mean, m.lowerSum.table, m.lowerSum.mean)
}

// saga estimates a mean of vectors from a table of its terms.
type saga struct {
	terms int       // 0: no table, exact
	table []float64 // row i is T_i
	mean  []float64 // of the rows
	fresh []float64 // t_i(z^k) − T_i of a batch, in rows
	drawn []int     // the step in which a row changed last
	zeros int       // leading columns, +0 in all rows so far, as f_x in tuning: passed over

	change []float64 // Σ over rows of the batch
	eval   func(s *step, row []float64, batch []bilevel.Sample)

	touched float64
}

// maxTable bounds the numbers in a table: a larger one fits no machine.
const maxTable = min(math.MaxInt/16, 1<<44)

func newSaga(stream string, terms uint64, batch, width int,
	eval func(s *step, row []float64, batch []bilevel.Sample)) (*saga, error) {
	t := &saga{eval: eval}
	switch {
	case batch == bilevel.Full:
		return t, nil
	case terms == 0:
		return nil, option.Bad("SABA needs a finite sum for its tables, and the stream of %s is unbounded: "+
			"Problem.Streams returns 0", stream)
	case terms > maxTable/uint64(width):
		return nil, option.Bad("SABA cannot keep a table for the stream of %s: %d samples of %d numbers are too many",
			stream, terms, width)
	}
	t.terms = int(terms)
	t.table = make([]float64, t.terms*width)
	t.mean, t.change, t.fresh = make([]float64, width), make([]float64, width), make([]float64, batch*width)
	t.drawn = make([]int, terms)
	return t, nil
}

func (t *saga) row(m []float64, i int) []float64 {
	w := len(t.mean)
	return m[i*w : (i+1)*w]
}

// draw returns a step's batch, and touches its rows of the table.
func (t *saga) draw(s *step, draw func(n int) []bilevel.Sample) []bilevel.Sample {
	if t.terms == 0 || s.K() == 0 {
		return draw(bilevel.Full)
	}
	batch := draw(0)
	for _, i := range batch {
		t.touched += touch(t.row(t.table, int(i))[t.zeros:])
	}
	return batch
}

func (t *saga) estimate(s *step, dst []float64, batch []bilevel.Sample) {
	switch {
	case t.terms == 0:
		t.eval(s, dst, nil)
		return
	case s.K() == 0:
		t.fill(s, dst)
		return
	}
	copy(dst, t.mean)
	share := 1 / float64(len(batch))
	clear(t.change)
	for j, i := range batch {
		fresh, last, change := t.row(t.fresh, j), t.row(t.table, int(i)), t.change
		t.eval(s, fresh, batch[j:j+1])
		t.zeros = zeros(fresh[:t.zeros])
		fresh, last, change = fresh[t.zeros:], last[t.zeros:], change[t.zeros:]
		last, change = last[:len(fresh)], change[:len(fresh)]
		for c, v := range fresh {
			d := v - last[c]
			fresh[c], last[c] = d, v
			change[c] += d
		}
		if t.drawn[i] == s.K() { // twice in the batch: changed already
			mat.Axpy(dst, share, t.row(t.fresh, slices.Index(batch, i)))
		}
		t.drawn[i] = s.K()
	}
	mat.Axpy(dst, share, t.change)
	mat.Axpy(t.mean, 1/float64(t.terms), t.change)
}

// touch reads a number of each cache line, to fetch a batch's rows side by side.
func touch(row []float64) (sum float64) {
	for c := 0; c < len(row); c += 8 {
		sum += row[c]
	}
	return sum
}

func (t *saga) fill(s *step, dst []float64) {
	var one [1]bilevel.Sample
	t.zeros = len(t.mean)
	for i := range t.terms {
		one[0] = bilevel.Sample(i)
		row := t.row(t.table, i)
		t.eval(s, row, one[:])
		t.zeros = zeros(row[:t.zeros])
		for c, v := range row {
			t.mean[c] += v / float64(t.terms)
		}
	}
	copy(dst, t.mean)
}

func zeros(v []float64) int {
	for i, a := range v {
		if math.Float64bits(a) != 0 {
			return i
		}
	}
	return len(v)
}

// SRBA is the recursive method of Dagréou, Moreau, Vaiter and Ablin (AISTATS 2024, arXiv 2302.08766): SOBA with
// the variance reduction of SARAH. Every Period steps the directions are full; in between, each of their parts
// t takes the change from z^{k−1} to z^k, z = (x, y, v), on one sample i,
//
//	D^k = D^{k−1} + t(z^k; i) − t(z^{k−1}; i).
type SRBA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required. The paper's are constant
	Gamma       bilevel.Schedule // step size of v. Default: Beta

	// Period ≥ 1 is the number of steps from one full direction to the next. Default: all terms over
	// two batches, (n_ξ+n_φ)/2b; 64 where a stream is unbounded.
	Period int

	// Large is the number of samples of a full direction: by default Full; of a stream, Period batches.
	Large int
}

func (SRBA) Name() string { return "SRBA" }

func (m SRBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.start(it, "SRBA")
	period, samples := refreshes(it)
	err = errors.Join(err, count("SRBA.Period", &m.Period, period))
	option.Default(&m.Large, cmp.Or(m.Period*samples, bilevel.Full))
	return newRecursive(b, m.Large, func(s *step) bool { return s.K()%m.Period == 0 }),
		errors.Join(err, option.Batch("SRBA.Large", m.Large))
}

// SPABA is the method of Chu, Xu, Yao and Zhang (ICML 2024, arXiv 2405.18777), by its abstract:
// SRBA with PAGE (Li et al., ICML 2021) for SARAH, where the toss of a coin makes the directions
// full, as they are in step 0, and v stays in a ball. Share = 1 is SOBA with large batches.
type SPABA struct {
	Alpha, Beta bilevel.Schedule // step sizes. Required
	Gamma       bilevel.Schedule // step size of v. Default: Beta
	Large       int              // the number of samples of a full direction. Default: as for SRBA

	// Share in (0, 1] is the probability of a full direction. Default: PAGE's b/(b + Large).
	Share float64

	Radius float64 // > 0, bounds ‖v‖. Default +Inf: no bound
}

func (SPABA) Name() string { return "SPABA" }

func (m SPABA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.start(it, "SPABA")
	period, samples := refreshes(it)
	option.Default(&m.Large, cmp.Or(period*samples, bilevel.Full))
	option.Default(&m.Radius, math.Inf(1))
	option.Default(&m.Share, share(it, m.Large))
	if !(m.Share > 0 && m.Share <= 1) {
		err = errors.Join(err, option.Bad("SPABA.Share is %v, want a probability in (0, 1]", m.Share))
	}
	r := newRecursive(b, m.Large, func(s *step) bool { return s.Rand().Float64() < m.Share || s.K() == 0 })
	r.radius = m.Radius
	return r, errors.Join(err, option.Batch("SPABA.Large", m.Large), option.Positive("SPABA.Radius", m.Radius))
}

// refreshes returns the default Period, and a full direction's samples for each step of it; 0: Full.
func refreshes(it *bilevel.Iteration) (period, samples int) {
	upper, lower := it.Oracle().Streams()
	xi, phi := it.Batches()
	switch b := min(xi, phi); {
	case b == bilevel.Full:
		return 1, 0
	case upper == 0 || lower == 0:
		return 64, max(xi, phi)
	default:
		return int(min(max(1, (upper+lower)/uint64(2*b)), maxCount)), 0
	}
}

func share(it *bilevel.Iteration, large int) float64 {
	xi, phi := it.Batches()
	b := float64(max(xi, phi))
	n := float64(large)
	if large == bilevel.Full {
		upper, lower := it.Oracle().Streams()
		n = float64(upper+lower) / 2
	}
	if !(b > 0) || !(n > 0) {
		return 1
	}
	return b / (b + n)
}

type recursive struct {
	*soba
	large   int
	refresh func(s *step) bool
	radius  float64   // of v; 0: none
	x, y, w []float64 // z^{k−1} = (x, y, v)
	f1, g1  []float64 // parts of one batch, at one point
}

func newRecursive(b *soba, large int, refresh func(s *step) bool) *recursive {
	return &recursive{soba: b, large: large, refresh: refresh, x: b.x(""), y: b.y(""), w: b.y(""),
		f1: make([]float64, len(b.f)), g1: make([]float64, len(b.g))}
}

func (m *recursive) Step(it *bilevel.Iteration) error {
	s := m.begin(it)
	m.estimate(s)
	copy(m.x, it.X())
	copy(m.y, it.Y())
	copy(m.w, m.v)
	m.move(s)
	if n := mat.Norm(m.v); m.radius > 0 && n > m.radius {
		kernel.Scale(m.v, m.radius/n, m.v)
	}
	return s.err
}

// estimate computes the parts at z^k, afresh or from those at z^{k−1}.
func (m *recursive) estimate(s *step) {
	if m.refresh(s) {
		m.upper(s, m.f, s.DrawXi(m.large))
		m.lower(s, m.g, s.DrawPhi(m.large))
		return
	}
	xi, phi := s.DrawXi(0), s.DrawPhi(0)
	m.upper(s, m.f1, xi)
	m.lower(s, m.g1, phi)
	mat.Axpy(m.f, 1, m.f1)
	mat.Axpy(m.g, 1, m.g1)
	s.GradF(m.f1[:m.dx], m.f1[m.dx:], m.x, m.y, xi)
	m.lowerAt(s, m.g1, m.x, m.y, m.w, phi)
	mat.Axpy(m.f, -1, m.f1)
	mat.Axpy(m.g, -1, m.g1)
}

func (m *recursive) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.f, m.g, m.x, m.y, m.w)
}
