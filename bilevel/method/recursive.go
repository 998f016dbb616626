package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// SRBA is the recursive method of Dagréou, Moreau, Vaiter and Ablin (AISTATS 2024, arXiv
// 2302.08766): SOBA's three directions with the variance reduction of SARAH. Every Period steps
// they are full; in between,
//
//	D^k = D^{k−1} + t(z^k; i) − t(z^{k−1}; i),   z = (x, y, v),   for each part t of D_y, D_v, D_x,
//
// with the same sample i at both points. The paper's step sizes are constant.
//
// Samples per step: ξ and φ one batch; every Period steps, Large samples of each. Oracles, at each
// of the two points: GradF 1, GradG 1, HessVecG 1, CrossVecG 1. Other cost: O(dx + dy).
type SRBA struct {
	// Step sizes of x and y, ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Step size of v, ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Period is the number of steps from one full direction to the next, ≥ 1. Default: all terms
	// over two batches, (n_ξ+n_φ)/2b; 64 where a stream is unbounded.
	Period int

	// Large is the number of samples of a full direction. Default: Full; Period batches where a
	// stream is unbounded.
	Large int
}

func (SRBA) Name() string { return "SRBA" }

func (m SRBA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.check(it, "SRBA")
	if err != nil {
		return nil, err
	}
	period, large := refreshes(it)
	option.Default(&m.Period, period)
	option.Default(&m.Large, large(m.Period))
	if err := errors.Join(option.AtLeast("SRBA.Period", m.Period, 1), option.Batch("SRBA.Large", m.Large)); err != nil {
		return nil, err
	}
	return newRecursive(b, m.Large, func(it *bilevel.Iteration) bool { return it.K()%m.Period == 0 }), nil
}

// SPABA is the method of Chu, Xu, Yao and Zhang (ICML 2024, arXiv 2405.18777): SRBA with PAGE (Li
// et al., ICML 2021) in place of SARAH. In each step, the toss of a coin decides whether a large
// batch estimates the three directions afresh, or one sample at two points updates them; step 0 has
// a large one. v stays in a ball, ‖v‖ ≤ Radius. The rule is taken from the paper's abstract and
// from PAGE; Share = 1 is SOBA with large batches.
//
// Samples per step: ξ and φ one batch, or with probability Share Large of each. Oracles as for
// SRBA.
type SPABA struct {
	// Step sizes of x and y, ≥ 0. Required.
	Alpha, Beta bilevel.Schedule

	// Step size of v, ≥ 0. Default: Beta.
	Gamma bilevel.Schedule

	// Large is the number of samples of a large batch, or Full. Default: as for SRBA.
	Large int

	// Share is the probability p in (0, 1] of a large batch. Default: PAGE's b/(b + Large), half of
	// the samples in large batches.
	Share float64

	// Radius bounds ‖v‖, > 0. Default +Inf: no bound.
	Radius float64
}

func (SPABA) Name() string { return "SPABA" }

func (m SPABA) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	b, err := SOBA{Alpha: m.Alpha, Beta: m.Beta, Gamma: m.Gamma}.check(it, "SPABA")
	if err != nil {
		return nil, err
	}
	period, large := refreshes(it)
	option.Default(&m.Large, large(period))
	option.Default(&m.Radius, math.Inf(1))
	if m.Share == 0 {
		m.Share = share(it, m.Large)
	}
	if !(m.Share > 0 && m.Share <= 1) {
		err = option.Bad("SPABA.Share is %v, want a probability in (0, 1]", m.Share)
	}
	if err := errors.Join(err, option.Batch("SPABA.Large", m.Large),
		option.Positive("SPABA.Radius", m.Radius)); err != nil {
		return nil, err
	}
	r := newRecursive(b, m.Large, func(it *bilevel.Iteration) bool {
		return it.Rand().Float64() < m.Share || it.K() == 0
	})
	r.radius = m.Radius
	return r, nil
}

// refreshes returns the default period of full directions, and the default size of their batches as
// a function of the period in force.
func refreshes(it *bilevel.Iteration) (period int, large func(period int) int) {
	upper, lower := it.Oracle().Streams()
	xi, phi := it.Batches()
	switch b := min(xi, phi); {
	case b == bilevel.Full:
		return 1, func(int) int { return bilevel.Full }
	case upper == 0 || lower == 0:
		return 64, func(period int) int { return period * max(xi, phi) }
	default:
		return int(max(1, (upper+lower)/uint64(2*b))), func(int) int { return bilevel.Full }
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

// recursive is SRBA and SPABA: SOBA's parts, moved from point to point.
type recursive struct {
	*soba
	large    int
	refresh  func(it *bilevel.Iteration) bool
	radius   float64   // of v; 0: none
	x, y, w  []float64 // z^{k−1} = (x, y, v)
	fNow, g2 []float64 // parts of one batch, at one point
}

func newRecursive(b *soba, large int, refresh func(it *bilevel.Iteration) bool) *recursive {
	r := &recursive{soba: b, large: large, refresh: refresh}
	vectors(len(b.dx), &r.x)
	vectors(len(b.v), &r.y, &r.w)
	vectors(len(b.f), &r.fNow)
	vectors(len(b.g), &r.g2)
	return r
}

func (m *recursive) Step(it *bilevel.Iteration) error {
	if err := m.estimate(it); err != nil {
		return err
	}
	copy(m.x, it.X())
	copy(m.y, it.Y())
	copy(m.w, m.v)
	if err := m.move(it); err != nil {
		return err
	}
	if n := mat.Norm(m.v); m.radius > 0 && n > m.radius {
		for j := range m.v {
			m.v[j] *= m.radius / n
		}
	}
	return nil
}

// estimate computes the parts at z^k, afresh or from those at z^{k−1}.
func (m *recursive) estimate(it *bilevel.Iteration) error {
	if m.refresh(it) {
		return errors.Join(m.upper(it, m.f, it.DrawXi(m.large)), m.lower(it, m.g, it.DrawPhi(m.large)))
	}
	o, xi, phi := it.Oracle(), it.DrawXi(0), it.DrawPhi(0)
	if err := errors.Join(
		m.upper(it, m.fNow, xi),
		m.lower(it, m.g2, phi),
	); err != nil {
		return err
	}
	mat.Axpy(m.f, 1, m.fNow)
	mat.Axpy(m.g, 1, m.g2)
	gy, hv, cv := m.split(m.g2)
	if err := errors.Join(
		o.GradF(m.fNow[:len(m.x)], m.fNow[len(m.x):], m.x, m.y, xi),
		o.GradG(gy, m.x, m.y, phi),
		o.HessVecG(hv, m.x, m.y, m.w, phi),
		o.CrossVecG(cv, m.x, m.y, m.w, phi),
	); err != nil {
		return err
	}
	mat.Axpy(m.f, -1, m.fNow)
	mat.Axpy(m.g, -1, m.g2)
	return nil
}

func (m *recursive) State(t *bilevel.State) {
	m.soba.State(t)
	t.Floats(m.f, m.g, m.x, m.y, m.w)
}
