package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// SABA is SOBA with the variance reduction of SAGA, for finite sums (Dagréou, Ablin, Vaiter and
// Moreau, NeurIPS 2022, arXiv 2201.13409; SAGA: Defazio, Bach and Lacoste-Julien, NeurIPS 2014).
// Each of the five parts of the directions, f_x, f_y, g_y, g_yy v and g_xy v, is a mean of terms
// t_i(z), z = (x, y, v). A table holds the last value T_i of every term, and a batch B gives
//
//	the part = mean of T + mean over i in B of (t_i(z^k) − T_i);   then T_i ← t_i(z^k) for i in B,
//
// whose variance goes to zero as the iterates settle: constant step sizes reach the solution. Step 0
// fills the tables in one pass over both sums, and moves along their means. Oracles are asked sample
// by sample. Memory: n_ξ·(dx+dy) + n_φ·(dx+2dy) numbers for sums of n_ξ and n_φ terms. A stream with
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
	m.upperSum.estimate(s, m.f, s.DrawXi)
	m.lowerSum.estimate(s, m.g, s.DrawPhi)
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
	fresh []float64 // the terms of a batch at z^k, in rows
	eval  func(s *step, row []float64, batch []bilevel.Sample)
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
	t.mean, t.fresh = make([]float64, width), make([]float64, batch*width)
	return t, nil
}

func (t *saga) row(m []float64, i int) []float64 {
	w := len(t.mean)
	return m[i*w : (i+1)*w]
}

func (t *saga) estimate(s *step, dst []float64, draw func(n int) []bilevel.Sample) {
	switch {
	case t.terms == 0:
		t.eval(s, dst, draw(bilevel.Full))
		return
	case s.K() == 0:
		t.fill(s, dst, draw)
		return
	}
	batch := draw(0)
	copy(dst, t.mean)
	for j, i := range batch {
		fresh, last := t.row(t.fresh, j), t.row(t.table, int(i))
		t.eval(s, fresh, batch[j:j+1])
		for c, v := range fresh {
			dst[c] += (v - last[c]) / float64(len(batch))
		}
	}
	// A sample that is in the batch twice changes its row and the mean once.
	for j, i := range batch {
		fresh, last := t.row(t.fresh, j), t.row(t.table, int(i))
		for c, v := range fresh {
			t.mean[c] += (v - last[c]) / float64(t.terms)
			last[c] = v
		}
	}
}

// fill evaluates every term, and writes their mean into dst as well.
func (t *saga) fill(s *step, dst []float64, draw func(n int) []bilevel.Sample) {
	draw(bilevel.Full) // for the count
	var one [1]bilevel.Sample
	for i := range t.terms {
		one[0] = bilevel.Sample(i)
		t.eval(s, t.row(t.table, i), one[:])
		for c, v := range t.row(t.table, i) {
			t.mean[c] += v / float64(t.terms)
		}
	}
	copy(dst, t.mean)
}
