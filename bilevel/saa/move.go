package saa

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// block follows the root of the sums. A context that ends leaves it where it can go on.
func (m *newton) block(it *bilevel.Iteration) error {
	if !m.started {
		if m.askedLately() || m.n() < 2*m.askedN && !m.whole() && !m.last {
			return nil
		}
		if err := m.begin(it); err != nil || !m.started {
			return err
		}
	}
	for more := true; more && m.failed < tries && (m.tried < tries || m.endless() && m.tried < 5*tries); {
		var err error
		if more, err = m.move(it); err != nil {
			if err = m.retreat(it, err, false); err != nil {
				return err
			}
			more = true
		}
		m.tried++
		more = more && (!m.pass || m.credit > 0 && !m.sides[0].exact && !m.sides[1].exact)
	}
	p := m.now
	bounded := !slices.ContainsFunc(m.curve.free, m.step.open)
	if m.tried < 5*tries || m.curve.lowest >= 0 || bounded || p.normH(p.y) < 0x1p10*p.normH(it.Y()) {
		return nil
	}
	m.curve.epoch++ // wait for more samples
	p.norm = 0
	clear(p.big)
	if err := m.back(it, it.X(), it.Y()); err != nil {
		return err
	}
	return m.stay(it, m.settle(it, p, p, 0))
}

// move does one step; more says that another one is worth while.
func (m *newton) move(it *bilevel.Iteration) (more bool, err error) {
	p, c := m.now, m.curve
	late := m.askedLately() && !(m.last && float64(m.n()) >= (1+growth)*float64(m.askedN)) // budgets may come one by one
	poor := !m.redo && (m.credit < 0 && !m.whole() || late)                                // old samples are not asked
	if err := m.lower(it, p); err != nil {
		return false, err
	}
	if p.carried() && p.normY() > 4*p.norm { // g_yy has left what is carried
		return true, m.back(it, p.refX, p.refY)
	}
	if !p.convex { // wait for samples, there is no y*(x), or go down
		c.free, c.partial, m.step.falls = c.free[:0], true, 0
		if poor {
			return false, nil
		}
		m.askedN = m.n()
		if err = m.read(it, p, p); err == nil {
			err = m.settle(it, p, p, 0)
		}
		more = err == nil && p.convex
		return more, m.stay(it, err)
	}
	for asked := true; asked; { // what is learned changes h, and so the entries that may move
		p.upper(c)
		if err := it.Finite(p.h, p.u); err != nil {
			return false, err
		}
		p.lengths(&m.step, c, m.endless())
		m.mayMove()
		if asked, err = m.bend(it, poor); err != nil {
			return false, err
		}
	}
	if err := c.metric(p.unit, p.h, m.whole()); err != nil {
		return false, err
	}
	for _, i := range c.free {
		p.sure[i] = 1
		if sigma := math.Sqrt(m.covariance(i, i)); sigma > 0 {
			p.sure[i] = min(1, math.Abs(p.h[i])/sigma)
		}
	}
	m.step.faceDim = -1
	stat := m.stat()
	m.step.find(c, p, m.radius, stat, 0x1p-20*m.scaleF)
	if m.step.faceDim >= 0 {
		stat = m.stat()
	}
	if m.endless() { // where no sample differs, rounding ends the steps
		stat = max(stat, 0x1p-80*m.scaleF)
	}
	noise := m.lastStat
	m.lastStat = stat
	drift := m.drift()
	bowed := m.step.falls > 0 && !m.step.turned && 4*c.rowSamples() <= m.n() // B of few rows is noise
	if (drift > drifted || bowed) && !poor && !m.whole() {
		c.epoch++
		if bowed {
			c.n = 16 * len(p.x) * c.rowSamples()
		}
		m.askedN = m.n()
		return m.move(it)
	}
	if m.whole() && !p.carried() && m.arrived() {
		m.done = true
		return false, nil
	}
	gone := c.norm(p, p.refX, nil)
	if most := m.unread(stat, drift); m.lockstep() && most > 0 {
		ahead := c.norm(p, p.refX, m.step.s)
		slack := m.endless() && !m.step.pressed && m.recent() // else stat is of far off
		idle := poor || slack && -m.step.pred <= solved*stat  // not worth a reading
		if idle && ahead > most && m.step.length > 0 {
			share := math.Floor(64*max(0, most-gone)/m.step.length) / 64 // of the same bits in all units
			for i := range m.step.s {
				m.step.s[i] *= share
			}
			m.step.tau *= share
		}
		if (ahead <= most || idle) && (m.near() || m.credit < 0) && !m.narrows() {
			if m.step.pressed {
				m.radius = max(m.radius, min(2*m.radius, radius0))
			}
			m.step.to(p.x, p.x)
			m.step.follow(p.y, p)
			m.moved(p)
			return false, nil
		}
	}
	paid := (m.Calls-4)*float64(m.n()-m.readN) >= 4*float64(m.n()) // by what came in since all were read
	if poor && !(paid && -m.step.pred > stat) {
		return false, nil
	}
	good, credit, rough, before, asked, read := false, m.credit, m.rough, m.radius, m.askedN, m.readN
	if !poor {
		m.askedN = m.n()
	}
	if m.partN = m.share(stat); m.partN > 0 {
		if err = m.askPart(it, p, p.refX, p.refY); m.beyond(err) || err == nil && !m.sees() {
			m.partN, err = 0, nil // not all have been asked at z_r
		}
	}
	if err == nil {
		good, err = m.try(it, false)
	}
	if m.partN = 0; errors.Is(err, errPart) {
		good, err = m.try(it, true)
	}
	if m.redo = err != nil && !poor && it.Context().Err() != nil; err != nil { // goes on from here; mayMove halves scaleF
		m.credit, m.rough, m.lastStat, m.askedN, m.readN, m.scaleF = credit, rough, noise, asked, read, 2*m.scaleF
		return false, err
	}
	if m.failed++; good {
		m.failed = 0
		m.moved(p)
	}
	return !poor && !m.done && (!good || -m.step.pred > solved*stat || m.step.pressed && m.radius > 2*before), nil
}

// sees says that the step moves g_y of the part as that of all, and that h scatters there: see the package comment.
func (m *newton) sees() bool {
	p, q := m.now, m.to.part.binned
	mat.MulVecTrans(p.w, p.xy, m.step.s)
	mat.MulVecTrans(p.hy, p.part.xy, m.step.s)
	all := square(p.w, p.d)
	mat.Axpy(p.w, -p.n[1]/p.part.n[1], p.hy)
	mat.Copy(q, p.part.binned)
	doubt := m.spread(q)
	return 4*square(p.w, p.d) <= all && 4*doubt*doubt*float64(m.partN) >= m.lastStat*float64(m.n())
}

func (m *newton) mayMove() {
	c, p := m.curve, m.now
	c.free, m.scaleF = c.free[:0], m.scaleF/2 // a start may be far
	lose, rest := float64(m.n()), max(m.lastStat, 0x1p-36*m.mostF)
	if m.whole() {
		lose = 0x1p10
	}
	down := m.step.along(p, m.radius)
	for i, x := range p.x {
		lo, hi := m.step.bounds(i)
		m.scaleF = max(m.scaleF, p.size[i]*p.unit[i])
		m.mostF = max(m.mostF, m.scaleF)
		g, span := m.sides[1], c.span[i]
		if (!g.whole() || !c.known[i] && !g.exact) && math.Abs(x) > 0x1p-20 { // a start counts, till g is known
			span = max(span, math.Abs(x))
		}
		lost := m.step.lost(i, span, p.unit[i])
		idle := m.step.box == nil && p.f2[i]+p.c2[i] == 0 // it makes room for others
		c.known[i] = c.known[i] || idle || g.whole() && !lost && (p.c2[i] > 0 || span == 0) || m.sides[0].whole() && p.fx[i] != 0 || !lost && p.known(i)
		lost = lost || p.f2[i] == 0 && math.Abs(x)+0x1p-20*p.unit[i] == math.Abs(x) // differences would be rounding
		acts := max(p.effect(i)*cmp.Or(c.reach[i], math.Inf(1)), p.felt(i, p.big)) >= tiny*p.norm
		lost = lost || m.endless() && m.step.box != nil && p.f2[i] == 0 && !acts // a weight of y_j that no sample has told yet
		held := x <= lo && p.h[i] >= 0 || x >= hi && p.h[i] <= 0
		held = held && (p.h[i] != 0 || !m.whole() || lo == hi) // F may curve down from there
		share := m.faded(i)
		held = held && slices.Min(share[:]) >= small                        // else by what is known of another place
		off := p.effect(i)*lose < 4*c.least[i] && (x-c.best[i])*down[i] < 0 // farther down a flat
		sigma := math.Sqrt(max(0, m.covariance(i, i)))
		off = off && (math.Abs(down[i]) < sigma || math.Abs((x-c.best[i])*down[i]) < rest)       // for nothing that samples or rounding tell
		off = off && !(m.whole() && c.reach[i] > 0 && math.Abs(x-c.best[i]) > 0x1p10*c.reach[i]) // there y* turns
		held = held || off && m.step.open(i)
		if (p.size[i] > 0 || m.whole() || m.step.box == nil) && c.known[i] && !lost && !held {
			c.free = append(c.free, i)
		}
	}
}

// lost says that x_i has no bounds, and that its effect on y as far as span, rounding, tells nothing.
func (s *step) lost(i int, span, unit float64) bool {
	lo, _ := s.bounds(i)
	return s.open(i) && math.IsInf(lo, -1) && span > 0 && span < tiny*unit
}

// unread is how far x may go from x_r, in M, without a reading.
func (m *newton) unread(stat, drift float64) float64 {
	if m.checked == 0 || m.n() >= reread*m.readN && !m.askedLately() {
		return 0
	}
	q, far := small*math.Sqrt(stat), 2*m.checked
	if m.askedLately() { // so that nothing is read
		far = max(far, 2*math.Sqrt(stat*float64(m.n())/float64(m.readN)))
	}
	return min(far, max(q/m.missRate, math.Sqrt(q/m.missBend)), q/drift)
}

// recent says that samples since all were read tell a quarter of the variance of h, by the diagonal of B.
func (m *newton) recent() bool {
	p, all, late := m.now, 0.0, 0.0
	for _, i := range m.curve.free {
		b := max(math.Abs(m.curve.b.At(i, i)), 0x1p-1000)
		all += m.covariance(i, i) / b
		for k, n := range p.n {
			late += m.sides[k].left() * m.since[k][i] / max(m.groups[k], 1) / n / b
		}
	}
	return all <= 4*late
}

// near says that open x_i end within Δℓ_i of x_r, and change neither their rows of g_xy nor y by their size.
func (m *newton) near() bool {
	p := m.now
	for _, i := range m.curve.free {
		way := math.Abs(p.x[i] + m.step.s[i] - p.refX[i])
		far := way > m.radius*p.unit[i] || way*max(p.effect(i), m.curve.most[i]/4) > p.felt(i, p.big)
		if reach := m.curve.reach[i]; (far || reach > 0 && way > reach) && m.step.open(i) {
			return false
		}
	}
	return true
}

// narrows says that x_i ends within a quarter of the distance to a bound that it had when read last: y* may be 1/x_i.
func (m *newton) narrows() bool {
	for i, was := range m.now.refX {
		lo, hi := m.step.bounds(i)
		if x := m.now.x[i] + m.step.s[i]; x-lo < (was-lo)/4 || hi-x < (hi-was)/4 {
			return true
		}
	}
	return false
}

// errPart says that a part tells too little of a step.
var errPart = errors.New("saa: the part is too small")

// share is the number of samples on which a step changes h as on all, to a share of its standard error; 0: all.
func (m *newton) share(stat float64) int {
	p, c, n := m.now, m.curve, m.sides[1].n
	if !m.lockstep() || p.n != [2]float64{float64(n), float64(n)} || n >= reread*m.readN || !m.near() {
		return 0
	}
	way := c.norm(p, p.readX, m.step.s)
	need := max(float64(c.rowSamples()), max(1, m.rough)*way*way/(partly*partly*max(stat, -m.step.pred)))
	if need > float64(n)/4 {
		m.rough /= 2 // which a part alone can tell
		return 0
	}
	return int(need)
}

// stands says that what steps promise falls no more, and is rounding beside F's scale.
func (m *newton) stands(pred, scale float64, moves bool) bool {
	if m.stalls++; m.stalls == 1 || pred < m.least/2 || moves {
		m.least, m.stalls = pred, 1
	}
	return m.stalls > 8 && pred <= math.Ldexp(scale, min(m.stalls, 19)-69)
}

// arrived says that no free entry has a gradient above rounding, and y none; or that it stands.
func (m *newton) arrived() bool {
	p, pred := m.now, -m.step.pred
	short := m.radius < 0x1p-36
	if short && m.remains() > 0x1p-20 { // beside bilevel.ErrDomain
		return false
	}
	u := p.normH(p.u)
	stands := m.stands(pred, max(m.scaleF, min(m.curve.scale, 0x1p-20*m.mostF)), m.step.pressed && !short || u > 0x1p-20*p.norm)
	if stands || u > tiny*p.norm {
		return stands
	}
	if m.step.tau <= tiny && !m.step.pressed && m.radius > tiny {
		return true
	}
	if m.step.box == nil { // a projection is right to the rounding of x
		for i, x := range p.x {
			pred -= 0x1p-50 * math.Abs(p.h[i]*x)
		}
		return pred <= 0 && !m.step.pressed && !short
	}
	if pred <= 0x1p-90*m.scaleF && !m.step.pressed { // of F, far below rounding
		return true
	}
	steep := func(i int) bool { return math.Abs(p.h[i]) > tiny*p.size[i] }
	return !m.step.turned && !slices.ContainsFunc(m.curve.free, steep)
}

// remains is what F may still fall by, as far as Δ lets, over the size of its terms.
func (m *newton) remains() float64 {
	if slope := m.curve.normInv(m.now.h, m.now.unit); m.step.box != nil || m.step.pressed {
		return slope * slope / m.scaleF
	}
	return -m.step.pred / m.scaleF // such a set may hold x along any direction
}

// bend sees that B and E are known along the free entries, and says whether it asked for them. Where
// there is no credit, entries without them stay.
func (m *newton) bend(it *bilevel.Iteration, poor bool) (asked bool, err error) {
	c, n := m.curve, m.n()
	c.partial = false
	if poor {
		all := len(c.free)
		c.free = slices.DeleteFunc(c.free, func(i int) bool { return c.asked[i] == 0 })
		c.partial = len(c.free) < all
		return false, nil
	}
	if n >= 4*c.n && m.missRate > small/2 || n >= reread*c.n {
		c.epoch++
		c.n = n
	}
	most := math.MaxInt
	if !m.whole() {
		most = c.rowSamples()
	}
	return m.learn(it, most)
}

// covariance is that of h_i and h_j ≤ i, of the samples.
func (m *newton) covariance(i, j int) (sum float64) {
	for k, s := range m.sides {
		if l := s.left(); l > 0 {
			sum += l * m.now.variance(k, i, j) / m.now.n[k]
		}
	}
	return sum
}

// stat is that of the package comment.
func (m *newton) stat() float64 {
	c, p := m.curve, m.now
	n := len(c.free)
	if n == 0 || m.whole() {
		return 0
	}
	cov, col, sum := c.work.View(0, 0, n, n), c.col[:n], 0.0
	for a, i := range c.free {
		for b, j := range c.free[:a+1] {
			v := m.covariance(i, j) * p.unit[i] * p.unit[j]
			cov.Set(a, b, v)
			cov.Set(b, a, v)
		}
	}
	vt := c.eig.VectorsT()
	for e, l := range c.eig.Values() {
		mat.MulVec(col, &cov, vt.Row(e))
		if v := mat.Dot(col, vt.Row(e)); v > 0 {
			sum += v / (c.scale*math.Abs(l) + math.Sqrt(v)/max(1, m.radius))
		}
	}
	if m.step.faceDim >= 0 {
		sum = min(sum, max(m.step.trace(&cov)/c.scale, tiny*sum)) // rounding may be below
	}
	return sum
}

func (m *newton) begin(it *bilevel.Iteration) error {
	m.credit = early * m.Calls * float64(len(m.now.x)+len(m.now.y))
	var err error
	if m.now.n[0] == 0 || m.now.n[1] == 0 { // exact, and not asked yet
		err = m.read(it, m.now, nil)
	} else {
		err = m.lower(it, m.now)
	}
	if err == errFlat && !m.whole() { // wait for more
		m.askedN = m.n()
		return nil
	}
	if m.started = err == nil; err != nil || !m.now.convex {
		return err
	}
	if err = m.settle(it, m.now, nil, 0); err == nil {
		err = m.read(it, m.now, nil) // with D
	}
	if err == nil && m.now.convex {
		err = m.resolve(it, m.now, m.to)
	}
	m.started = !m.beyond(err) || m.whole()
	return m.stay(it, err)
}

// stay has y stay where it was if it settled where f or g have no value, as of few samples; else it returns err.
func (m *newton) stay(it *bilevel.Iteration, err error) error {
	if m.whole() || !m.beyond(err) {
		return err
	}
	copy(m.now.y, it.Y())
	m.askedN = m.n()
	return m.read(it, m.now, m.now)
}

// resolve raises norm to 2³⁰ times the change of y that g_y does not see: y at the start may be rounding.
func (m *newton) resolve(it *bilevel.Iteration, p, t *point) error {
	norm := p.normH(p.y)
	for size := 0x1p-20; norm > 0 && size < 0x1p100; size *= 0x1p10 { // a kink of g may be near y
		copy(t.x, p.x)
		for j, y := range p.y {
			t.y[j] = y + 0x1p-20*size*y
			p.dy[j] = t.y[j] - y
		}
		err := m.read(it, t, nil)
		if err != nil && !m.beyond(err) {
			return err
		}
		mat.MulVecSym(p.w, p.yy, p.dy)
		for j := range p.w {
			p.w[j] = (t.gy[j] - p.gy[j] - p.w[j]) / p.n[1]
		}
		if _ = p.solve(p.w, p.w); err != nil || p.normH(p.w) < p.normH(p.dy)/8 {
			p.norm = max(1, size) * norm
			return nil
		}
	}
	return nil
}
