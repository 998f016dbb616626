package saa

import (
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// try reads at the end of the step, and takes it where F falls as foreseen; y stands if a part has settled it.
func (m *newton) try(it *bilevel.Iteration, stands bool) (good bool, err error) {
	p, t, c, s, tau := m.now, m.to, m.curve, m.step.s, m.step.tau
	t.norm = p.norm
	copy(t.unit, p.unit)
	copy(t.big, p.big)
	copy(t.d, p.d)
	var mid []float64 // h in the middle of a long step
	clear(p.w)
	if m.step.follow(p.w, p); !m.whole() && p.normH(p.w) > radius0*p.norm { // a valley and a ridge may lie between
		mat.Axpy(s, -0.5, s)
		_, _, err = m.arrive(it, nil, false)
		mat.Axpy(s, 1, s)
		mid = c.rem
		copy(mid, t.h)
	}
	fall, way := 0.0, 0.0
	if err == nil {
		fall, way, err = m.arrive(it, mid, stands && mid == nil)
	}
	unsettled := p.normH(p.u) > max(partly*way, tiny*p.norm)
	rho, beyond := -1.0, m.beyond(err) && (tau > 0 || unsettled || !m.whole())
	if beyond {
		t.begin() // the Solver looks for numbers that are not finite
		copy(t.u, p.u)
		copy(t.v, p.v)
		copy(t.h, p.h)
		err = nil
	} else if err != nil {
		return false, err
	} else {
		rho = m.ratio(fall, way, tau, mid != nil)
	}
	if m.partN > 0 && !beyond {
		if t.clip > 0 { // by what others, asked elsewhere, lack
			return false, errPart
		}
		doubt := m.doubt(t)
		if far := m.step.length; far > 0 {
			m.rough = max(float64(m.partN)*doubt*doubt/(far*far), m.rough/2)
		}
		if unsure := !(doubt <= partly*math.Sqrt(max(m.lastStat, -m.step.pred))); unsure && rho != -1 && !(fall-doubt*m.step.length > 0.05*m.step.model) {
			return false, errPart
		}
	}
	unsettled = unsettled && (rho == -1 || !m.endless() || p.normH(p.u) > m.sigmaY(p))
	again := !(rho > 0.25 && rho < 4) && (p.carried() || unsettled) && m.partN == 0 // from a better z; a part alone shortens Δ
	if tau > 0 && (!again || m.endless()) {
		m.trust(rho, tau)
	}
	if again {
		if p.carried() {
			m.checked = 0 // what was known of the remainder is not true: the next step is read
			err = m.read(it, p, p)
		}
		if unsettled && err == nil {
			err = m.stay(it, m.settle(it, p, p, 0))
		}
		return false, err
	}
	if far := m.step.length; far > 0 && p.n == t.n { // else samples were weighed otherwise
		miss := m.miss()
		m.checked = max(far, m.checked/2)
		m.missRate, m.missBend = max(miss/far, m.missRate/4), max(miss/far/far, m.missBend/4)
	}
	if !(rho > 0.05) {
		m.done = m.whole() && tau <= 4*tiny && mat.Dot(s, t.h) > 0 // a kink
		return false, nil
	}
	if m.whole() || math.Abs(rho-1) > 0.25 && !c.fresh && m.partN == 0 {
		c.epoch++
		c.n = 4 * m.n() // the next rows are asked of as many as when N has grown to that
	}
	c.fresh = false
	m.now, m.to = t, p
	return true, nil
}

// arrive reads at the end of the step, where y is settled, unless F rises there as much as it should fall; y may
// stand where it is. fall is the change of F, by the middle, too, if it is known, and way how far y should go.
func (m *newton) arrive(it *bilevel.Iteration, mid []float64, stands bool) (fall, way float64, err error) {
	p, t := m.now, m.to
	m.step.to(t.x, p.x)
	clear(p.w)
	if m.step.follow(p.w, p); !stands {
		copy(t.y, p.y)
		mat.Axpy(t.y, 1, p.w)
	}
	way = p.normH(p.w)
	if err = m.read(it, t, p); err == nil {
		fall, err = m.fall(it, mid)
	}
	if err == nil && t.convex && !(fall > -m.step.model) {
		if err = m.settle(it, t, p, way); err == nil {
			fall, err = m.fall(it, mid)
		}
	}
	return fall, way, err
}

// fall is the change of F along the step, by the trapezoid rule, or Simpson's.
func (m *newton) fall(it *bilevel.Iteration, mid []float64) (fall float64, err error) {
	p, t := m.now, m.to
	t.upper(m.curve)
	for i, s := range m.step.s {
		if mid != nil {
			fall += s * (p.h[i] + 4*mid[i] + t.h[i]) / 6
		} else {
			fall += s * (p.h[i] + t.h[i]) / 2
		}
	}
	return fall, it.Finite(t.h)
}

// ratio is ϱ.
func (m *newton) ratio(fall, way, tau float64, long bool) float64 {
	p, t, s, size := m.now, m.to, m.step.s, 0.0
	for j, y := range t.y {
		p.w[j] -= y - p.y[j]
		p.dy[j] = y - p.y[j]
	}
	rho := fall / m.step.model
	if miss := p.normH(p.w); !t.convex || miss > way && miss > partly*p.norm || m.crossed() {
		// y* went elsewhere: h between is not known
		rho = -1
	}
	if rho < 0.25 && long && mat.Dot(s, t.h) > -mat.Dot(s, p.h)/64 { // a shorter step will do
		rho = min(rho, 0.05)
	}
	for i, si := range s {
		size += 2 * math.Abs(si) * p.size[i]
	}
	noise := m.endless() && rho != -1 && max(-m.step.model, math.Abs(fall)) < solved*m.lastStat
	if noise || tau <= tiny || -m.step.model <= tiny*size { // or below rounding
		rho = 1
	}
	return rho
}

// miss is by how much the model missed h at the end of the step, in M⁻¹.
func (m *newton) miss() float64 {
	p, c := m.now, m.curve
	subtract(c.rem, m.to.h, p.h)
	for _, i := range c.free {
		c.rem[i] -= mat.Dot(c.b.Row(i), m.step.s)
	}
	miss := c.normInv(c.rem, p.unit)
	if m.partN > 0 || !slices.Equal(p.readX, p.refX) {
		miss = max(0, miss-partly*math.Sqrt(m.lastStat))
	}
	return miss
}

// crossed says that what an open x_i acts on went elsewhere: p.w is by how much y* missed
// where it should be, p.dy how it went.
func (m *newton) crossed() bool {
	p := m.now
	for j := range p.w {
		root := math.Sqrt(max(0, p.yy.At(j, j)/p.n[1]))
		p.w[j] *= root
		p.dy[j] *= root
		p.hy[j] = p.w[j] + p.dy[j]
	}
	for _, i := range m.curve.free {
		miss := p.felt(i, p.w)
		if miss > min(p.felt(i, p.dy), p.felt(i, p.hy)) && miss > small*p.felt(i, p.big) && m.step.open(i) {
			return true
		}
	}
	return false
}

// retreat goes back if z, which was not read, is beyond the domain, and if a new term of a sum has
// no value there, either, settles y anew from where it started. Else it returns err.
func (m *newton) retreat(it *bilevel.Iteration, err error, term bool) error {
	p := m.now
	if m.beyond(err) && p.carried() {
		err = m.back(it, p.refX, p.refY)
	}
	if m.beyond(err) && m.started && term {
		copy(p.y, m.start0)
		if m.checked, err = 0, m.read(it, p, p); err == nil { // the next step is read
			err = m.settle(it, p, p, 0)
		}
	}
	return err
}

// beyond says that err is of a point where the oracles have no value, or too large ones.
func (m *newton) beyond(err error) bool {
	if !errors.Is(err, bilevel.ErrDiverged) {
		return errors.Is(err, bilevel.ErrDomain)
	}
	a := m.asker.vectors()
	odd := func(v []float64) bool { return mat.NotFinite(v) >= 0 }
	return !slices.ContainsFunc(append(a[:], m.asker.r, m.asker.t), odd)
}

// back goes back to (x, y), and reads all samples there again.
func (m *newton) back(it *bilevel.Iteration, x, y []float64) error {
	p := m.now
	subtract(m.step.s, x, p.x)
	m.moved(p)
	copy(p.x, x)
	copy(p.y, y)
	m.curve.free, m.step.falls = m.curve.free[:0], 0 // of another point
	m.checked, m.radius = 0, m.radius/4              // the next step is read
	m.failed++
	return m.read(it, p, p)
}

// moved notes for Run.Tol the sizes of a step from p, as if along h and ĝ.
func (m *newton) moved(p *point) {
	for i, s := range m.step.s { // not of the start, which may be next to 0
		if s != 0 {
			m.curve.span[i] = max(m.curve.span[i], math.Abs(p.x[i])+math.Abs(s))
		}
	}
	if h := mat.Norm(p.h); h > 0 {
		m.sizes[0] += mat.Norm(m.step.s) / h
	}
	if g := mat.Norm(p.g); g > 0 {
		m.sizes[1] += mat.Norm(p.u) / g
	} else if h := mat.NormFrobSym(p.yy); h > 0 { // y moves with x alone
		m.sizes[1] += p.n[1] / h
	}
	for k, size := range m.sizes {
		m.sizes[k] = min(size, math.MaxFloat64) // far down a flat
	}
}

// trust sets Δ, and where a step went too far reach of x_i in f alone, by ϱ and its length τ.
func (m *newton) trust(rho, tau float64) {
	switch {
	case !(rho > 0.05):
		m.radius = tau / 4
		for i, s := range m.step.s {
			if c := m.curve; c.most[i] == 0 && s*m.to.h[i] > 0 { // f alone knows x_i: B misled it
				c.reach[i] = min(c.reach[i], small*math.Abs(s))
			}
		}
	case rho < 0.25 || rho > 4, m.whole() && (rho < 0.5 || rho > 2): // it may go round
		m.radius = tau / 2
	case rho > 0.9 && rho < 1.1:
		m.radius = max(m.radius, min(4*tau, m.maxRadius))
	case rho > 0.75 && rho < 1.5:
		m.radius = max(m.radius, min(2*tau, m.maxRadius))
	}
}
