package saa

import (
	"fmt"
	"math"
	"os"

	"stable/bilevel"
	"stable/mat"
)

const (
	growth  = 1.0 / 16 // of a block over what was seen
	slower  = 1.0 / 4  // the same after a block that read all samples
	calls   = 40       // evaluations a sample that readings may take in the long run
	largest = 64       // samples asked at once
	settled = 0.1      // of the way that y went, the last step of y
	audit   = 0.1      // of the standard error, what a step may leave unread
	tries   = 6        // steps read in a block
	turned  = 1.0      // of Je_i, what it may change by until B e_i is asked anew
	first   = 0.25     // Δ at the start
	few     = 3        // groups of samples, in effect, that let an entry of x move
	tiny    = 0x1p-44  // rounding
	reread  = 4        // times the samples of the last reading, when all are read again
)

func env(name string, v float64) float64 {
	if t := os.Getenv(name); t != "" {
		fmt.Sscan(t, &v)
	}
	return v
}

var (
	labCredit = env("CREDIT", 20000)
	labCalls  = env("CALLS", calls)
	labReach  = env("REACH", 0)
	labTurned = env("TURNED", turned)
	labSure   = env("SURE", 0)
	labFar    = env("FAR", 4)
)

var trace = os.Getenv("SAATRACE") != ""

// Newton is the method.
type Newton struct{}

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
	radius   float64 // Δ
	gone     float64 // from where the samples were asked, on average, in M
	asked    bool    // all samples, in this block
	far      float64 // length of the last step read, in M
	slope    float64 // the remainder of steps read, in M⁻¹, over their lengths
	bow      float64 // and over the squares of these
	fall     float64 // of F so far, by the trapezoid rule
	credit   float64 // evaluations that readings may take
	lastRead int     // samples when all were read
	reads    int
	y0, u0   []float64 // scratch of settle
	dxy      [2]float64
}

// Start returns the method at work.
func (m Newton) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	dx, dy := it.Dims()
	r := &newton{
		Newton: m, asker: newAsker(dx, dy), now: newPoint(dx, dy), to: newPoint(dx, dy), curve: newCurvature(dx, dy),
		step: newStep(it.Set(), dx), radius: first, y0: make([]float64, dy), u0: make([]float64, dy),
	}
	nu, nl := it.Batches()
	terms, phi := it.Oracle().Streams()
	r.sides = [2]side{{terms: terms, batch: nu, draw: it.DrawXiIn}, {terms: phi, batch: nl, draw: it.DrawPhiIn}}
	for k := range r.sides {
		s := &r.sides[k]
		s.exact, s.all = s.batch == bilevel.Full, true
		s.order = bilevel.NewPasses(s.terms)
		s.wait = make([]bilevel.Sample, 0, largest+max(s.batch, 0))
		s.aim(2 * (dx + dy))
	}
	if terms == 0 {
		r.sides[0].past = it.PastXi()
	}
	if phi == 0 {
		r.sides[1].past = it.PastPhi()
	}
	return r, nil
}

// whole says that all terms are known, so that a step takes a pass.
func (m *newton) whole() bool { return m.sides[0].whole() && m.sides[1].whole() }

// lockstep says that both kinds of samples come in alike, so that the sums can be carried.
func (m *newton) lockstep() bool {
	return !m.sides[0].whole() && !m.sides[1].whole() && m.sides[0].n == m.sides[1].n
}

// Step draws a batch of each kind. With the last one of a block, it takes the block into the sums
// and follows their root.
func (m *newton) Step(it *bilevel.Iteration) error {
	copy(m.now.x, it.X())
	copy(m.now.y, it.Y())
	m.dxy = [2]float64{}
	again := m.started && m.whole()
	ready := true
	for k := range m.sides {
		s := &m.sides[k]
		before := s.n
		s.take(again)
		m.credit += labCalls / 2 * float64(s.n-before)
		ready = s.ready(again) && ready
		if m.started && len(s.wait) >= s.size {
			if err := m.add(it, k); err != nil {
				return err
			}
		}
		if !m.started && len(s.wait) >= largest {
			if err := m.add(it, k); err != nil {
				return err
			}
		}
	}
	if !ready {
		return it.UseSteps(0, 0, 0)
	}
	if !m.done {
		if err := m.block(it, again); err != nil {
			return err
		}
	}
	if m.done {
		it.Arrive()
	}
	copy(it.NextX(), m.now.x)
	copy(it.NextY(), m.now.y)
	share := growth
	if m.asked {
		share = slower
	}
	for k := range m.sides {
		s := &m.sides[k]
		s.used = 0
		s.aim(s.n + int(math.Ceil(share*float64(s.n))))
	}
	return it.UseSteps(m.dxy[0], m.dxy[1], 0)
}

// block takes what is left of a block into the sums, and follows their root.
func (m *newton) block(it *bilevel.Iteration, again bool) error {
	for k := range m.sides {
		if err := m.add(it, k); err != nil {
			return err
		}
	}
	if !m.started {
		if err := m.begin(it); err != nil {
			return err
		}
	}
	m.asked = false
	for range tries {
		more, err := m.move(it)
		if err != nil {
			return err
		}
		if !more || again {
			break
		}
	}
	return nil
}

// begin lets y settle at the start.
func (m *newton) begin(it *bilevel.Iteration) error {
	m.started = true
	m.credit = labCredit * float64(len(m.now.x)+len(m.now.y))
	if err := m.read(it, m.now, nil); err != nil {
		return err
	}
	return m.settle(it, m.now, nil, 0)
}

// add asks the samples that wait at the present point.
func (m *newton) add(it *bilevel.Iteration, k int) error {
	p, s, o := m.now, &m.sides[k], it.Oracle()
	if !m.started { // they are asked at the start
		s.wait = s.wait[:0]
		return nil
	}
	for at := 0; at < len(s.wait); at += s.size {
		group := s.wait[at:min(at+s.size, len(s.wait))]
		var err error
		if k == 0 {
			err = m.asker.askF(o, p.sums, p, p.x, p.y, group, float64(len(group)))
		} else {
			err = m.asker.askG(o, p.sums, p, m.curve.e, p.x, p.y, group, float64(len(group)))
		}
		if err != nil {
			return err
		}
	}
	s.wait = s.wait[:0]
	return nil
}

// read asks all samples at p, and solves the lower level there.
func (m *newton) read(it *bilevel.Iteration, p, by *point) error {
	p.begin(p.x, p.y)
	o, ctx := it.Oracle(), it.Context()
	err := m.sides[0].each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.asker.askF(o, p.sums, by, p.x, p.y, g, n)
	})
	if err != nil {
		return err
	}
	err = m.sides[1].each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.asker.askG(o, p.sums, by, m.curve.e, p.x, p.y, g, n)
	})
	if err != nil {
		return err
	}
	m.reads++
	m.lastRead = max(m.sides[0].n, m.sides[1].n)
	m.credit -= 2 * (p.n[0]/2 + 1.5*p.n[1])
	return p.lower(m.sides[1].left(), m.promise(it, p))
}

// readLower asks all samples φ for g_y and g_yy at p, and solves the lower level there.
func (m *newton) readLower(it *bilevel.Iteration, p *point) error {
	p.clearLower(p.x, p.y)
	o, a := it.Oracle(), &m.asker
	err := m.sides[1].each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
		if err := o.GradG(a.gy, p.x, p.y, g); err != nil {
			return err
		}
		if err := o.HessG(a.yy, p.x, p.y, g); err != nil {
			return err
		}
		mat.Axpy(p.gy, n, a.gy)
		mat.AddScaledSym(p.yy, p.yy, n, a.yy)
		return nil
	})
	if err != nil {
		return err
	}
	m.credit -= 2 * p.n[1]
	return p.lower(m.sides[1].left(), m.promise(it, p))
}

// readRest asks all samples for what readLower leaves out, at p. The scatter stays.
func (m *newton) readRest(it *bilevel.Iteration, p *point) error {
	o, a := it.Oracle(), &m.asker
	clear(p.fx)
	clear(p.fy)
	p.xy.Zero()
	err := m.sides[0].each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
		if err := o.GradF(a.fx, a.fy, p.x, p.y, g); err != nil {
			return err
		}
		mat.Axpy(p.fx, n, a.fx)
		mat.Axpy(p.fy, n, a.fy)
		return nil
	})
	if err != nil {
		return err
	}
	m.credit -= p.n[0] + p.n[1]
	return m.sides[1].each(math.MaxInt, func(g []bilevel.Sample, n float64) error {
		if err := o.CrossG(a.xy, p.x, p.y, g); err != nil {
			return err
		}
		mat.AddScaled(p.xy, p.xy, n, a.xy)
		return nil
	})
}

// promise is what the problem promises of the eigenvalues of g_yy, +Inf for nothing: there noise alone
// says how small they may be.
func (m *newton) promise(it *bilevel.Iteration, p *point) float64 {
	if s := it.Oracle().ConvexityAt(p.x); s > 0 {
		return s
	}
	return math.Inf(1)
}

// settle moves y of p to y*(x) of all samples, until the last step is at most a share of the way
// that y went.
func (m *newton) settle(it *bilevel.Iteration, p, by *point, way float64) error {
	for round := range 30 {
		if step := p.normH(p.u); step <= settled*way || step <= tiny*p.normH(p.y) || round == 29 {
			if round > 0 {
				return m.readRest(it, p)
			}
			return nil
		}
		slope := mat.Dot(p.g, p.u)
		copy(m.y0, p.y)
		copy(m.u0, p.u)
		for t := 1.0; ; {
			for j := range p.y {
				p.y[j] = m.y0[j] + t*m.u0[j]
			}
			if err := m.readLower(it, p); err != nil {
				return err
			}
			after := mat.Dot(p.g, m.u0)
			if !(after > -slope/2) || t < 1e-6 {
				break
			}
			t *= max(0.1, slope/(slope-after))
		}
		mat.Axpy(m.y0, -1, p.y)
		way = max(way, p.normH(m.y0))
	}
	return nil
}

// mayMove lists the entries that no bound holds.
func (m *newton) mayMove() {
	c, p := m.curve, m.now
	c.free = c.free[:0]
	for i, x := range p.x {
		lo, hi := m.step.bounds(i)
		c.known[i] = c.known[i] || m.sides[1].whole() || p.known(i)
		if p.size[i] > 0 && c.known[i] && !(x != 0 && math.Abs(x) < tiny*p.unit[i]) && !(x <= lo && p.h[i] >= 0) && !(x >= hi && p.h[i] <= 0) {
			c.free = append(c.free, i)
		}
	}
}

// move does one step of x and y. more says that another one is worth while before the next block.
func (m *newton) move(it *bilevel.Iteration) (more bool, err error) {
	p, c := m.now, m.curve
	if err := p.lower(m.sides[1].left(), m.promise(it, p)); err != nil {
		return false, err
	}
	if err := p.upper(c); err != nil {
		return false, err
	}
	if err := it.Finite(p.h, p.u); err != nil {
		return false, err
	}
	p.lengths(m.step.width, c)
	m.mayMove()
	poor := m.credit < 0 && !m.whole()
	if err := m.bend(it, poor); err != nil {
		return false, err
	}
	for _, i := range c.free {
		p.sure[i] = 1
		if sigma := math.Sqrt(p.covariance(&m.sides, i, i)); sigma > 0 && labSure > 0 {
			p.sure[i] = min(1, math.Abs(p.h[i])/(labSure*sigma))
		}
	}
	m.step.find(c, p, m.radius)
	stat := m.stat()
	if trace {
		fmt.Printf("n %v,%v pred %.3g model %.3g stat %.3g Δ %.3g |u| %.2g below %.2g clip %v free %v credit %.0f far %.3g miss %.3g gone %.3g unread %.3g len %.3g\n", m.sides[0].n, m.sides[1].n, m.step.pred, m.step.model, stat, m.radius, p.normH(p.u)/p.norm, c.below, p.clip, len(c.free), m.credit, m.far, m.slope, m.gone, m.unread(stat), m.step.length)
		if len(p.x) < 5 {
			fmt.Printf("     x %.4g h %.3g s %.3g ℓ %.3g B %.3g\n", p.x, p.h, m.step.s, p.unit, c.b.Data)
		}
	}
	if m.whole() && m.arrived() {
		m.done = true
		return false, nil
	}
	for i, x := range p.x {
		c.x[i] = x - p.xr[i]
	}
	m.gone = c.norm(c.x, nil, p.unit)
	if most := m.unread(stat); m.lockstep() && most > 0 {
		ahead := c.norm(c.x, m.step.s, p.unit)
		if ahead <= most || poor {
			if ahead > most && m.step.length > 0 {
				m.step.cut(min(1, max(0, most-m.gone)/m.step.length))
			}
			if m.step.pressed {
				m.radius *= 2
			}
			mat.Axpy(p.x, 1, m.step.s)
			m.step.follow(p.y, p)
			m.moved(it)
			return false, nil
		}
	}
	if poor {
		return false, nil
	}
	m.asked = true
	good, err := m.try(it)
	if err != nil {
		return false, err
	}
	m.moved(it)
	return !good || -m.step.pred > stat/8, nil
}

// unread is how far x may go from the last reading of all samples until the remainder of the model
// is a share of the standard error of h. It grows with the length or with its square, whichever is
// less.
func (m *newton) unread(stat float64) float64 {
	if m.far == 0 || max(m.sides[0].n, m.sides[1].n) >= reread*m.lastRead {
		return 0
	}
	q := audit * math.Sqrt(stat)
	return min(2*m.far, max(q/m.slope, math.Sqrt(q/m.bow)))
}

// moved notes for Run.Tol the size of the step, as one along h and along ĝ.
func (m *newton) moved(it *bilevel.Iteration) {
	hs, gs := mat.Norm(m.now.h), mat.Norm(m.now.g)
	if hs > 0 {
		m.dxy[0] = mat.Norm(m.step.s) / hs
	}
	if gs > 0 {
		m.dxy[1] = mat.Norm(m.now.u) / gs
	}
}

// arrived says that no free entry has a gradient above rounding, and y none.
func (m *newton) arrived() bool {
	p := m.now
	if p.normH(p.u) > tiny*p.norm {
		return false
	}
	tau := 0.0
	for _, i := range m.curve.free {
		tau = max(tau, math.Abs(m.step.s[i])/p.unit[i])
	}
	if tau <= tiny {
		return true
	}
	if m.step.box == nil {
		return false
	}
	for _, i := range m.curve.free {
		if math.Abs(p.h[i]) > tiny*p.size[i] {
			return false
		}
	}
	return true
}

// bend sees that B and E are known along the free entries.
func (m *newton) bend(it *bilevel.Iteration, poor bool) error {
	c, p := m.curve, m.now
	n := max(m.sides[0].n, m.sides[1].n)
	if poor {
		kept := c.free[:0]
		for _, i := range c.free {
			if c.have[i] {
				kept = append(kept, i)
			}
		}
		c.free = kept
		return c.metric(p.unit)
	}
	if n >= 4*c.n {
		c.age()
		c.n = n
	}
	c.drop(p.jt, p.d)
	most := int(c.share * float64(c.least(len(p.x))))
	if m.whole() {
		most = math.MaxInt
	}
	if err := m.learn(it, most); err != nil {
		return err
	}
	p.lengths(m.step.width, c)
	return c.metric(p.unit)
}

// stat is the trace of the covariance of h in M⁻¹: twice the statistical error of F.
func (m *newton) stat() float64 {
	c, p := m.curve, m.now
	n := len(c.free)
	if n == 0 || m.whole() || !c.factor() {
		return 0
	}
	sum, col := 0.0, c.col[:n]
	for a, i := range c.free {
		for b, j := range c.free {
			col[b] = p.covariance(&m.sides, max(i, j), min(i, j)) * p.unit[i] * p.unit[j]
		}
		c.chol.SolveVec(col, col)
		sum += col[a]
	}
	return max(0, sum)
}

// try reads all samples at the end of the step, and takes it where F has fallen as foreseen.
func (m *newton) try(it *bilevel.Iteration) (good bool, err error) {
	p, t, c, s := m.now, m.to, m.curve, m.step.s
	for i, x := range p.x {
		t.x[i] = x + s[i]
	}
	copy(t.y, p.y)
	t.norm = p.norm
	m.step.follow(t.y, p)
	copy(p.w, t.y)
	mat.Axpy(p.w, -1, p.y)
	way := p.normH(p.w)
	err = m.read(it, t, p)
	if err == nil {
		err = m.settle(it, t, p, way)
	}
	if err == nil {
		err = t.upper(c)
	}
	if err != nil {
		return false, err
	}
	tau, fall, size := 0.0, 0.0, 0.0
	rem := c.rem
	for i, si := range s {
		if si != 0 {
			tau = max(tau, math.Abs(si)/p.unit[i])
		}
		fall += si * (p.h[i] + t.h[i]) / 2
		size += math.Abs(si) * (p.size[i] + t.size[i])
		rem[i] = t.h[i] - p.h[i]
	}
	for _, i := range c.free {
		rem[i] -= mat.Dot(c.b.Row(i), s)
	}
	rho := fall / m.step.model
	if tau == 0 || -m.step.model <= tiny*size { // below rounding
		rho = 1
	}
	if trace {
		fmt.Printf("   read: rho %.3g tau %.3g reads %d  %v\n", rho, tau, m.reads, it.Oracle().Counted())
	}
	if m.gone > 0 && !(rho > 0.25 && rho < 4) { // the model at z itself is carried too far
		return false, m.read(it, p, p)
	}
	m.trust(rho, tau)
	if far := m.step.length; far > 0 {
		miss := c.normInv(rem, p.unit)
		m.far = max(far, m.far/labFar)
		m.slope, m.bow = max(miss/far, m.slope/4), max(miss/far/far, m.bow/4)
	}
	if !(rho > 0.05) {
		return false, nil
	}
	m.fall += fall
	if !m.whole() {
		c.secant(s, rem, p.unit)
	}
	if m.whole() || math.Abs(rho-1) > 0.25 && !c.fresh {
		c.age()
	}
	c.fresh = false
	m.now, m.to = t, p
	return true, nil
}

// trust sets Δ after a step of length τ whose fall was ρ times the one foreseen.
func (m *newton) trust(rho, tau float64) {
	switch {
	case !(rho > 0.05):
		m.radius = tau / 4
	case rho < 0.25 || rho > 4:
		m.radius = tau / 2
	case rho > 0.9 && rho < 1.1:
		m.radius = max(m.radius, 4*tau)
	case rho > 0.75 && rho < 1.5:
		m.radius = max(m.radius, 2*tau)
	}
}

// Vectors visits what the last step was made of.
func (m *newton) Vectors(visit func(name string, v []float64)) {
	p := m.now
	visit("f_x", p.fx)
	visit("f_y", p.fy)
	visit("g_y", p.gy)
	visit("H_xy", p.xy.Data)
	visit("H_yy", p.yy.Data)
	visit("H_yy⁻¹g_y", p.u)
	visit("H_yy⁻¹f_y", p.v)
	visit("the hypergradient", p.h)
	visit("the reduced Hessian", m.curve.b.Data)
}

// State visits what outlives a step.
func (m *newton) State(t *bilevel.State) {
	for k := range m.sides {
		m.sides[k].State(t)
	}
	m.now.State(t)
	m.curve.State(t)
	t.Flag(&m.started)
	t.Flag(&m.done)
	t.Count(&m.lastRead)
	for _, v := range []*float64{&m.radius, &m.gone, &m.far, &m.slope, &m.bow, &m.fall, &m.credit} {
		t.Float(v)
	}
}

func (m *newton) Hyper() []float64 { return m.now.h }
