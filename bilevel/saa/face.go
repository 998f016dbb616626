package saa

import (
	"cmp"
	"math"

	"stable/mat"
)

// subproblem is that of a step where x is long, in units ℓ: the least of hᵀs + ½sᵀ∇²Fs over bounds, by conjugate
// gradients on the free face, each run of which ends where it leaves the bounds (Steihaug, SIAM J. Numer. Anal. 20, 1983;
// Lin, Moré, SIAM J. Optim. 9, 1999).
type subproblem struct {
	s, bs   []float64 // the step, and ∇²F s
	d, bd   []float64 // a direction and its product
	r, p, q []float64 // of conjugate gradients
	out     []float64 // what leads out of the bounds
	lo, hi  []float64
	held    []bool  // by a bound
	left    int     // products until the step is made
	short   bool    // ∇ of the model is not settled: what is left of F is not known
	gain    float64 // what the model has fallen by
	minGain float64 // of the gain, what a product must gain, times their number
	size    float64 // of the terms that hᵀs is the difference of
	top     float64 // the largest ‖∇‖² of the model at 0, on the free face
}

// find writes s, and returns its model hᵀs + ½sᵀ∇²Fs.
func (m *longX) find() (value float64, err error) {
	for i, x := range m.x {
		lo, hi := m.box.Bounds(i)
		m.lo[i], m.hi[i] = max(-m.radius, (lo-x)/m.unit[i]), min(m.radius, (hi-x)/m.unit[i])
		if m.still(i) {
			m.lo[i], m.hi[i] = 0, 0
		}
	}
	clear(m.s)
	clear(m.bs)
	m.left, m.gain = products, 0
	m.falls = 0
	rr := m.residual()
	if rr == 0 && m.whole() { // a saddle, perhaps: along any direction
		for i := range m.r {
			if !m.held[i] {
				m.r[i] = 0x1p-60 * math.Cos(float64(i*i))
				m.r[i] = math.Copysign(m.r[i], cmp.Or(m.hi[i]+m.lo[i], m.r[i])) // inwards
				rr += m.r[i] * m.r[i]
			}
		}
	}
	m.top = max(m.top, rr)
	first, most := rr, 0x1p-40*rr
	m.minGain = small
	if m.whole() && rr > 0 { // superlinear
		share := min(small, math.Sqrt(math.Sqrt(rr/m.top)))
		if most = share * share * rr; share < small {
			m.minGain, m.left = share*share, 3*products
		}
	}
	used, before := 0, 0.0
	for more := true; more && !(rr <= most); rr = m.residual() {
		if err := m.conjugate(rr, most); err != nil {
			return 0, err
		}
		if more, err = m.project(); err != nil {
			return 0, err
		}
		more = more && m.left > 0
		if asked := products - m.left; !m.whole() {
			value = m.model()
			more = more && (before-value)*float64(asked) > roundGain*-value*float64(asked-used)
			used, before = asked, value
		}
	}
	m.size = 0
	for i, s := range m.s {
		m.size += math.Abs(s) * m.unit[i] * (math.Abs(m.fx[i]) + math.Abs(m.gv[i]))
	}
	m.short = m.whole() && rr > small*small*first
	return m.model(), nil
}

// residual writes r, −∇ of the model at s on the free face, and returns ‖r‖².
func (m *longX) residual() (rr float64) {
	for i, h := range m.h {
		r := -h*m.unit[i] - m.bs[i]
		m.held[i] = m.s[i] <= m.lo[i] && r <= 0 || m.s[i] >= m.hi[i] && r >= 0
		m.held[i] = m.held[i] && (r != 0 || !m.whole() || m.lo[i] == m.hi[i]) // F may curve down from there
		if m.held[i] {
			r = 0
		}
		m.r[i] = r
		rr += r * r
	}
	return rr
}

// model is hᵀs + ½sᵀ∇²Fs.
func (m *longX) model() (value float64) {
	for i, s := range m.s {
		value += s * (m.h[i]*m.unit[i] + m.bs[i]/2)
	}
	return value
}

// conjugate writes the direction d that minimises the model on the free face, or one along which ∇²F is
// negative, to the length Δ. It ends at ‖r‖² ≤ most, or at a product that gains less than a part of
// the mean (Nash, Sofer, Oper. Res. Lett. 9, 1990).
func (m *longX) conjugate(rr, most float64) error {
	clear(m.d)
	clear(m.bd)
	copy(m.p, m.r)
	for k := 1.0; m.left > 0; k++ {
		if err := m.mul(m.q, m.p); err != nil {
			return err
		}
		pq, size := mat.Dot(m.p, m.q), mat.Norm(m.p)*mat.Norm(m.q)
		t, bent := rr/pq, !(pq > 0x1p-40*size)
		if bent {
			far := 0.0
			for _, v := range m.p {
				far = max(far, math.Abs(v))
			}
			t = m.radius / far
			switch flat := pq >= -0x1p-20*size; {
			case flat && (t*rr <= 0x1p-20*m.gain || max(t, 1/far)*rr <= 0x1p-40*math.Sqrt(m.top)): // rounding
				return nil
			case !flat:
				m.falls = -t * t * pq / 2
			}
		}
		mat.Axpy(m.d, t, m.p)
		mat.Axpy(m.bd, t, m.q)
		before, gain := rr, t*rr/2
		m.gain += gain
		rr = 0
		for i := range m.r {
			if !m.held[i] {
				m.r[i] -= t * m.q[i]
				rr += m.r[i] * m.r[i]
				to := m.s[i] + m.d[i]
				bent = bent || to < m.lo[i] || to > m.hi[i]
			}
		}
		if bent || rr <= most || k > 2 && k*gain <= m.minGain*m.gain {
			break
		}
		for i := range m.p {
			m.p[i] = m.r[i] + rr/before*m.p[i]
		}
	}
	return nil
}

// project moves s along d, cut at the bounds, as far as the model falls, to the first bound at least, or along r from there.
// more says that a bound cut it.
func (m *longX) project() (more bool, err error) {
	for _, t := range [...]float64{1, 0.5, 0.25, 0.125, (1 + tiny) * m.reach(m.d)} { // the last cuts one entry
		cut, slope := false, 0.0
		for i, s := range m.s {
			to := min(max(s+t*m.d[i], m.lo[i]), m.hi[i])
			cut = cut || to != s+t*m.d[i]
			m.p[i] = to - s
			slope += m.p[i] * (m.h[i]*m.unit[i] + m.bs[i])
		}
		if !cut && t > 0 {
			mat.Axpy(m.s, t, m.d)
			mat.Axpy(m.bs, t, m.bd)
			return t < 1, nil
		}
		if slope < 0 && (t >= 0.125 || m.gain > 0x1p-40*math.Sqrt(m.top)) { // beyond rounding
			if err := m.mul(m.q, m.p); err != nil {
				return false, err
			}
			if slope+mat.Dot(m.p, m.q)/2 <= slope/10 {
				for i := range m.s {
					m.s[i] = min(max(m.s[i]+t*m.d[i], m.lo[i]), m.hi[i])
				}
				mat.Axpy(m.bs, 1, m.q)
				return true, nil
			}
		}
	}
	rr := m.residual() // d may lead out where s is at a bound; r does not
	if err := m.mul(m.q, m.r); err != nil {
		return false, err
	}
	t := min(m.reach(m.r), rr/max(mat.Dot(m.r, m.q), 0x1p-1000))
	mat.Axpy(m.s, t, m.r)
	mat.Axpy(m.bs, t, m.q)
	return t > 0, nil
}

// mul writes q = ∇²F p, both in units ℓ. Entries of p whose difference would leave the bounds go the other way.
func (m *longX) mul(q, p []float64) error {
	m.left--
	outward := false
	for i, v := range p {
		q[i], m.out[i] = v*m.unit[i], 0
		lo, hi := m.box.Bounds(i)
		if d := math.Copysign(0x1p-20*m.unit[i], v); v != 0 && (m.x[i]+d < lo || m.x[i]+d > hi) {
			q[i], m.out[i] = 0, -q[i]
			outward = true
		}
	}
	err := m.f.HessVec(q, q)
	if outward && err == nil {
		err = m.f.HessVec(m.out, m.out)
		mat.Axpy(q, -1, m.out)
	}
	for i, u := range m.unit {
		q[i] *= u
	}
	return err
}

// difference is the length of one along s, and js of y: 2⁻²⁰ of ℓ, and of ‖y‖_H.
func (m *longX) difference(s, js []float64) float64 {
	share := m.normH(js) / m.norm
	if math.IsNaN(share) || math.IsInf(share, 1) {
		share = 0
	}
	for i, v := range s {
		share = max(share, math.Abs(v)/m.unit[i])
	}
	if share == 0 {
		return 1
	}
	return 0x1p-20 / share
}

// reach is how far s may go along p to the first bound.
func (m *longX) reach(p []float64) float64 {
	t := math.Inf(1)
	for i, v := range p {
		if v != 0 {
			t = min(t, max((m.lo[i]-m.s[i])/v, (m.hi[i]-m.s[i])/v))
		}
	}
	return t
}
