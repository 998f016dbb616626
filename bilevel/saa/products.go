package saa

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
)

// products is the number of products with ∇²F after which a step is made.
const products = 40

// roundGain is the share of the mean gain of a product that the last round must reach on a stream. With 0.1
// weights of rows cost up to twice as much, with 0.4 they end 3.6 % above the least F of the samples, not 1.9.
const roundGain = 0.2

// longX is Newton where x is long, see the package comment.
type longX struct {
	newton
	it      *bilevel.Iteration
	f       *implicit.Function // of all samples
	box     bilevel.BoundedSet
	x, y    []float64 // z
	h       []float64 // the hypergradient there
	was     []float64 // that at the end of the last block
	current bool      // f and h are those at z
	tx, ty  []float64 // where a step leads
	th      []float64
	xy      *mat.Dense
	there   *mat.Dense // g_xy nearby
	yy      *mat.Sym
	gy, hy  []float64     // the g_y asked last; scratch
	yb, ym  []float64     // y before, and foreseen
	chol    chol.Cholesky // of yy at z
	fx, gv  []float64     // f_x and g_xy v, whose difference h is
	v       []float64     // H⁻¹f_y
	unit    []float64     // ℓ
	norm    float64       // the largest ‖y‖_H
	swing   float64       // ‖y‖_H‖v‖_H, the change of f by a change of y of its size, of late
	most    []float64     // the most that ‖Je_i‖ in H was
	f2, c2  []float64     // sums over groups of samples of the squares of f_x and of the rows of g_xy
	flat    []bool        // x_i has next to no effect any more
	asks    int           // samples that a point is asked of
	cost    float64       // evaluations of a step for each of them
	undone  bool          // the last step was taken back
	waits   bool          // there is no y*(x) at z
	err     error         // the first of Solve
	sum     []float64     // scratch of means
	fell    float64       // what F has fallen by in the block
	keep    float64       // Gap over fell
	brought float64       // what the new samples brought: what a step at the root of the old would promise
	subproblem
}

// newLongX is Start for a long x.
func (m *newton) newLongX(it *bilevel.Iteration) (bilevel.Stepper, error) {
	dx, dy := it.Dims()
	box, ok := it.Set().(bilevel.BoundedSet)
	if !ok {
		return nil, option.Bad("saa.Newton: Options.Set is %T, and dx %d: above %d it takes a bilevel.BoundedSet alone",
			it.Set(), dx, mostOther)
	}
	w := &longX{newton: *m, it: it, box: box, xy: mat.NewDense(dx, dy), there: mat.NewDense(dx, dy), yy: mat.NewSym(dy)}
	w.held, w.flat = make([]bool, dx), make([]bool, dx)
	zeros(dy, &w.y, &w.ty, &w.gy, &w.hy, &w.ym, &w.yb)
	zeros(dx, &w.x, &w.h, &w.was, &w.tx, &w.th, &w.unit, &w.most, &w.f2, &w.c2)
	zeros(dx, &w.out, &w.s, &w.bs, &w.d, &w.bd, &w.r, &w.p, &w.q, &w.lo, &w.hi)
	zeros(max(dx*dy, dy*dy, dx+dy), &w.sum)
	w.f = implicit.New(w)
	w.f.Reach = w.difference
	of := map[string]*[]float64{"f_x": &w.fx, "g_xy v": &w.gv, "H_yy⁻¹f_y": &w.v}
	w.f.Vectors(func(name string, v []float64) {
		if to := of[name]; to != nil {
			*to = v
		}
	})
	return w, nil
}

func (m *longX) Step(it *bilevel.Iteration) error {
	if !m.pending {
		if it.K() == 0 {
			copy(m.x, it.X())
			copy(m.y, it.Y())
			m.credit = early * m.Calls * float64(len(m.x)+len(m.y))
		}
		again, ready := m.started && m.whole(), true
		for _, s := range m.sides {
			m.credit += m.Calls / 2 * float64(s.take(again))
			s.wait = s.wait[:0]
			ready = s.ready(again) && ready
		}
		m.sizes = [2]float64{}
		if !m.ends(it, again) && !ready {
			return it.UseSteps(0, 0, 0)
		}
		m.current = m.current && again
		m.started, m.pending, m.pass = true, true, again
		m.afford()
		m.tried = 0
	}
	for more := !m.done && m.asks > 0; more && m.tried < 3*tries; m.tried++ {
		was := *m
		copy(m.yb, m.y)
		var err error
		if more, err = m.move(); err != nil {
			*m, m.current = was, false
			copy(m.y, m.yb)
			return err
		}
		if m.tried == 0 {
			m.cost = (was.credit - m.credit) / float64(m.asks)
		}
		more = more && m.credit > m.cost*float64(m.asks)
	}
	if m.asks > 0 && !m.waits {
		m.readN = m.asks
		copy(m.was, m.h)
	}
	return m.end(it, m.x, m.y, 1)
}

// afford sets how many samples are asked: all, or the first of them that the credit is enough for, with two
// steps if the last block took as many. While these are few more than the last time, there are none.
func (m *longX) afford() {
	if m.asks = m.n(); m.whole() || m.cost == 0 {
		return
	}
	if few := m.credit / (m.cost * float64(min(max(m.tried, 1), 2))); few < float64(m.asks) {
		if m.asks = int(max(few, 0)); 4*m.asks < 5*m.readN {
			m.asks = 0
		}
	}
}

func (m *longX) move() (more bool, err error) {
	if !m.current {
		credit := m.credit
		err = m.gradient(m.h, m.x, m.y)
		if m.waits = errors.Is(err, implicit.ErrNoSolution) && !m.whole(); m.waits { // for samples
			return false, nil
		}
		if m.current = true; !m.undone && (m.tried > 0 || m.pass) { // it was known before a checkpoint
			m.credit = credit
		}
	}
	if err == nil {
		err = m.lengths()
	}
	if err != nil {
		return false, err
	}
	value, err := m.find()
	if err != nil {
		return false, err
	}
	if m.whole() && m.arrived(-value) {
		m.done, m.told.Gap, m.told.StdErr, m.told.Gradient = true, max(0, -value), 0, m.slope(m.h, nil)
		for i, h := range m.h {
			if m.lost(i) && m.inward(i) && math.Abs(h) > 4*tiny*(math.Abs(m.fx[i])+math.Abs(m.gv[i])) {
				m.told.Gap = math.Inf(1)
			}
		}
		return false, nil
	}
	if m.tried == 0 {
		m.brought, m.told.StdErr, m.keep, m.fell = -value*small, math.Inf(1), math.Inf(1), 0
		if m.whole() {
			m.told.StdErr = 0
		} else if m.readN > 0 && value < 0 { // something moves
			share := float64(m.readN) / float64(m.asks-m.readN) // of the variance of what they changed
			subtract(m.d, m.was, m.h)
			part := min(1, m.slope(m.d, m.unit)/m.slope(m.h, m.unit))
			m.brought, m.keep = -value*part*part, share*part
			m.told.StdErr = math.Sqrt(share) * m.slope(m.d, nil)
		}
	}
	cut := m.cut()
	good, sure, err := m.try(value)
	for round := 0; round < 3 && !good && err == nil; round++ { // along the same step
		for i := range m.s {
			m.s[i] /= 4
			m.bs[i] /= 4
		}
		m.size /= 4
		value, cut = m.model(), true
		good, sure, err = m.try(value)
	}
	m.told.Gradient, m.told.Gap = m.slope(m.h, nil), m.keep*m.fell
	if m.whole() {
		m.told.Gap = -value
	}
	if cut || m.short || value >= 0 {
		m.told.Gap = math.Inf(1)
	}
	return m.whole() || cut || -value > small*m.brought && !(sure && -value < 2*m.brought), err
}

// lengths writes ℓ at z, and the factor of g_yy.
func (m *longX) lengths() error {
	clear(m.c2)
	err := m.mean(1, m.xy.Data, nil, func(g []bilevel.Sample) error {
		err := m.it.Oracle().CrossG(m.xy, m.x, m.y, g)
		for i := range m.c2 {
			m.c2[i] += float64(len(g)) * float64(len(g)) * m.square(m.xy.Row(i))
		}
		return err
	})
	if err == nil {
		err = m.chol.Factor(m.yy)
	}
	if err != nil {
		return err
	}
	m.chol.SolveVec(m.ty, m.gy)
	top := 0.0
	for j, y := range m.y {
		m.ty[j] = y - m.ty[j]
		top = max(top, math.Abs(m.ty[j]))
	}
	for j, y := range m.ty { // a large H would see rounding
		if math.Abs(y) < 0x1p-50*top {
			m.ty[j] = 0
		}
	}
	m.norm = max(m.norm, min(m.normH(m.y), m.normH(m.ty)))
	m.swing = max(m.swing/2, m.norm*m.normH(m.v))
	for i := range m.unit {
		lo, hi := m.box.Bounds(i)
		m.chol.SolveVec(m.ty, m.xy.Row(i))
		d := math.Sqrt(max(0, mat.Dot(m.ty, m.xy.Row(i))))
		m.most[i] = max(m.most[i], d)
		m.flat[i] = math.IsInf(lo, -1) && math.IsInf(hi, 1) && d < 0x1p-10*m.most[i] && m.fx[i] == 0
		m.unit[i] = length(hi-lo, math.Inf(1), d, m.most[i]/4, m.norm)
	}
	return m.shorten()
}

// shorten keeps ℓ_i below where F, by its own curvature D_i along x_i, changes as much as y can make it, in the
// domain. D is seen along p, whose signs tell where it is not diagonal.
func (m *longX) shorten() error {
	sign, apart, all, least := uint64(1), 0.0, 0.0, slices.Min(m.unit)
	for d, eps := m.d, 0x1p-30; eps > 0x1p-50; d, eps = m.r, eps/0x1p10 {
		for i, u := range m.unit {
			sign = sign*6364136223846793005 + 1 // Knuth
			m.p[i] = math.Copysign(eps*u, float64(int64(sign)))
		}
		err, far := bilevel.ErrDomain, eps*slices.Max(m.unit)
		for round := 0; round < 30 && errors.Is(err, bilevel.ErrDomain); round++ {
			for i, x := range m.x {
				p := math.Copysign(min(math.Abs(m.p[i]), far), -m.p[i])
				if lo, hi := m.box.Bounds(i); x+p < lo || x+p > hi {
					p = -p
				}
				m.p[i], m.tx[i] = p, x+p
			}
			if err = m.GradF(d, m.ty, m.tx, m.y, nil); err == nil {
				err = m.mean(1, m.there.Data, nil, func(g []bilevel.Sample) error {
					return m.it.Oracle().CrossG(m.there, m.tx, m.y, g)
				})
				mat.MulVec(m.q, m.there, m.v)
			}
			if round > 0 {
				far /= 0x1p20
			}
		}
		if err != nil {
			return err
		}
		for i, p := range m.p {
			if p = math.Abs(p); p < eps*m.unit[i] && p >= eps*least {
				m.unit[i] = max(p, least)
			}
			d[i] = (d[i] - m.q[i] - m.h[i]) / m.p[i] * m.unit[i] * m.unit[i]
		}
	}
	for i, d := range m.d {
		if sum := math.Abs(d) + math.Abs(m.r[i]); sum > 2*m.swing && sum <= math.MaxFloat64 { // ℓ may be 1e12
			apart += math.Abs(d-m.r[i]) / sum
			all++
		}
	}
	for i, d := range m.d {
		m.d[i] = min(math.Abs(d), math.Abs(m.r[i]))
	}
	most := cmp.Or(m.swing, slices.Max(m.d))
	for i, d := range m.d { // what f alone knows has no other length
		if d > 0 && most > 0 && 4*apart < all && (d > most || m.c2[i] == 0) {
			m.unit[i] *= min(0x1p16, math.Sqrt(most/d))
		}
	}
	for i, p := range m.p { // an open x_i stays where its row of g_xy is not another
		size := m.square(m.xy.Row(i))
		mat.Axpy(m.there.Row(i), -1, m.xy.Row(i))
		lo, hi := m.box.Bounds(i)
		if change := m.square(m.there.Row(i)); math.IsInf(hi-lo, 1) && size > 0 && change > 0 {
			m.unit[i] = min(m.unit[i], math.Abs(p)/small*math.Sqrt(size/change))
		}
	}
	return nil
}

func (m *longX) normH(y []float64) float64 {
	mat.MulVecSym(m.hy, m.yy, y)
	return math.Sqrt(max(0, mat.Dot(m.hy, y)))
}

// square is that of a row of g_xy, where y_j is scaled by (g_yy)_jj^−½.
func (m *longX) square(row []float64) (sum float64) {
	for j, v := range row {
		sum += v / m.yy.At(j, j) * v
	}
	return sum
}

// lost says that a difference along x_i would be rounding.
func (m *longX) lost(i int) bool {
	x := math.Abs(m.x[i])
	return x+0x1p-20*m.unit[i] == x
}

// still says that x_i may not move: few groups of samples or less know it, its effect is rounding, or it is lost.
func (m *longX) still(i int) bool {
	lo, hi := m.box.Bounds(i)
	x, free := math.Abs(m.x[i]), math.IsInf(lo, -1) && math.IsInf(hi, 1)
	if m.lost(i) || free && x > 0 && x < tiny*m.unit[i] {
		return true
	}
	if m.whole() || m.sides[0].whole() && m.fx[i] != 0 {
		return false
	}
	f, g := float64(min(m.asks, m.sides[0].n))*m.fx[i], float64(min(m.asks, m.sides[1].n))
	return f*f <= few*m.f2[i] && g*g*m.square(m.xy.Row(i)) <= few*m.c2[i]
}

// cut says that Δ holds the step.
func (m *longX) cut() bool {
	return slices.ContainsFunc(m.s, func(s float64) bool { return math.Abs(s) >= m.radius })
}

// free says that x_i may move along −h.
func (m *longX) free(i int) bool { return m.lo[i] != m.hi[i] && m.inward(i) }

// inward says that no bound holds x_i against −h.
func (m *longX) inward(i int) bool {
	lo, hi := m.box.Bounds(i)
	return !(m.x[i] <= lo && m.h[i] >= 0) && !(m.x[i] >= hi && m.h[i] <= 0)
}

// slope is the norm of v on the free face, in units u.
func (m *longX) slope(v, u []float64) (sum float64) {
	for i, d := range v {
		if m.free(i) {
			if u != nil {
				d *= u[i]
			}
			sum += d * d
		}
	}
	return math.Sqrt(sum)
}

// try goes to the end of the step, and stays there where F has fallen as the model, whose value is
// given, foresaw. sure says that it fell by just that.
func (m *longX) try(value float64) (good, sure bool, err error) {
	tau, length := 0.0, 0.0
	for i, x := range m.x {
		lo, hi := m.box.Bounds(i)
		m.tx[i] = min(max(x+m.s[i]*m.unit[i], lo), hi)
		switch { // to the last bit
		case m.s[i] == (lo-x)/m.unit[i]:
			m.tx[i] = lo
		case m.s[i] == (hi-x)/m.unit[i]:
			m.tx[i] = hi
		case math.Abs(m.tx[i]) < tiny*m.unit[i] && m.s[i] != 0 && lo < 0 && hi > 0: // else rounding
			m.tx[i] = 0
		}
		m.d[i] = m.tx[i] - x
		length = math.Hypot(length, m.d[i])
		tau = max(tau, math.Abs(m.s[i]))
	}
	mat.MulVecTrans(m.ty, m.xy, m.d)
	m.chol.SolveVec(m.ty, m.ty)
	way := m.normH(m.ty)
	for j, y := range m.y {
		m.ty[j] = y - m.ty[j]
	}
	copy(m.ym, m.ty)
	m.current = false
	if err = m.gradient(m.th, m.tx, m.ty); err != nil && !errors.Is(err, implicit.ErrNoSolution) && !errors.Is(err, bilevel.ErrDomain) {
		return false, false, err
	}
	fall := 0.0
	for i, d := range m.d {
		fall += d * (m.h[i] + m.th[i]) / 2
	}
	mat.Axpy(m.ym, -1, m.ty)
	miss := m.normH(m.ym)
	rho, rounding := fall/value, max(tiny*m.size, 0x1p-60*m.swing)
	switch {
	case err != nil || fall > rounding || miss > way && miss > partly*m.norm: // as rounding of a model may want
		rho = -1
	case length == 0 || -value <= rounding:
		rho = 1
	}
	m.trust(rho, tau)
	if m.undone = !(rho > 0.05); m.undone {
		return false, false, nil
	}
	m.fell -= fall
	if h := mat.Norm(m.h); h > 0 {
		m.sizes[0] += length / h
	}
	m.sizes[1]++
	m.x, m.tx, m.y, m.ty, m.h, m.th, m.current = m.tx, m.x, m.ty, m.y, m.th, m.h, true
	return true, math.Abs(rho-1) < 0.1, nil
}

// arrived says that no free entry has a gradient above rounding, or the step is rounding, where F is
// convex and nothing has cut the step; or that it stands.
func (m *longX) arrived(pred float64) bool {
	stands := m.stands(pred, max(m.swing, 0x1p-40*math.Sqrt(m.top)), m.cut())
	tau, size, h := 0.0, 0.0, 0.0
	for i, s := range m.s {
		if x := m.x[i]; x+s*m.unit[i] != x {
			tau = max(tau, math.Abs(s))
		}
		size = max(size, m.unit[i]*(math.Abs(m.fx[i])+math.Abs(m.gv[i])))
		if m.free(i) {
			h = max(h, m.unit[i]*math.Abs(m.h[i]))
		}
	}
	none := tau <= tiny && tau < m.radius && m.left > 0 && (m.stalls > 1 || tau == 0 && !m.cut()) || pred <= 0 && !m.cut() && m.gain <= 0x1p-60*math.Sqrt(m.top)
	return stands || h <= 4*tiny*size && m.falls <= 0x1p-20*m.swing || none && m.falls == 0
}

// Health is as that of newton, without eigenvalues; in the first block of a stream it tells nothing.
func (m *longX) Health() bilevel.Health {
	h := m.told
	h.Lower = math.NaN()
	if m.falls > 0 || m.readN == 0 {
		h.Gap = math.Inf(1)
	}
	h.Saddle = m.done && m.falls > 0
	h.NotConvex = m.waits
	for i, flat := range m.flat {
		if flat {
			h.Flat = append(h.Flat, i)
		}
	}
	h.Slow = !m.done && h.Gradient > 30*h.StdErr && m.radius < 0x1p-20
	return h
}

func (m *longX) Vectors(visit func(name string, v []float64)) {
	if m.current { // else they may be those of a point that was left
		m.f.Vectors(visit)
	}
	visit("the hypergradient", m.h)
	visit("the step", m.s)
}

func (m *longX) State(t *bilevel.State) {
	for _, s := range m.sides {
		s.State(t)
	}
	t.Floats(m.x, m.y, m.was, m.most, m.sizes[:])
	each(t.Flag, &m.started, &m.done, &m.pending, &m.pass, &m.undone, &m.waits)
	for i := range m.flat {
		t.Flag(&m.flat[i])
	}
	each(t.Count, &m.tried, &m.readN, &m.asks, &m.stalls)
	each(t.Float, &m.radius, &m.credit, &m.norm, &m.cost, &m.brought, &m.fell, &m.keep, &m.swing)
	each(t.Float, &m.least, &m.top, &m.told.Gradient, &m.told.StdErr, &m.told.Gap, &m.falls)
}

// gradient settles y and writes h at x.
func (m *longX) gradient(h, x, y []float64) error {
	tol := 1e-8
	if m.whole() {
		tol = 0
	}
	m.err = nil
	err := m.f.Solve(y, x, tol)
	if m.err != nil { // Solve takes it for a step that is too long
		return m.err
	}
	if err == nil {
		_, err = m.f.Gradient(h, x, y)
	}
	return err
}
