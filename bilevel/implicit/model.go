package implicit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/kernel"
)

// model is gᵀs + ½sᵀBs with B = θI + Σ ±uuᵀ (Nocedal, Wright, Numerical Optimization, 2006, eq.
// 7.25): for each pair (s, y), oldest first, + with u = y/√(sᵀy), − with u = Bs/√(sᵀBs) of B so far.
type model struct {
	s, y  *mat.Dense // a ring of pairs
	pairs int        // that are known
	next  int        // row of the next one
	theta float64
	u     *mat.Dense // rows 2i and 2i + 1 belong to pair i
	used  int        // rows of u

	stop        []float64 // t at which an entry meets its bound on the projected path
	order, free []int
	path, bs    []float64
	p, c        []float64 // uᵀ·direction, uᵀ·step
	r, dir, z   []float64
}

func newModel(n, memory int) model {
	vec := func(n int) []float64 { return make([]float64, n) }
	return model{s: mat.NewDense(memory, n), y: mat.NewDense(memory, n), u: mat.NewDense(2*memory, n), theta: 1,
		stop: vec(n), order: make([]int, 0, n), free: make([]int, 0, n), path: vec(n), bs: vec(n),
		p: vec(2 * memory), c: vec(2 * memory), r: vec(n), dir: vec(n), z: vec(n)}
}

func (m *model) clear()      { m.pairs, m.next, m.used, m.theta = 0, 0, 0, 1 }
func (m *model) empty() bool { return m.pairs == 0 }

func sign(j int) float64 { return float64(1 - j%2*2) }

// learn adds the pair of a step. If its curvature is not positive, all pairs go.
func (m *model) learn(xNew, x, gNew, g []float64) {
	s, y := m.s.Row(m.next), m.y.Row(m.next)
	for i := range s {
		s[i], y[i] = xNew[i]-x[i], gNew[i]-g[i]
	}
	sy, yy := mat.Dot(s, y), mat.Dot(y, y)
	if !(sy > 0x1p-52*math.Sqrt(yy)*mat.Norm(s)) || math.IsInf(yy/sy, 1) {
		m.clear()
		if scale := math.Sqrt(yy) / mat.Norm(s); scale > 0 && !math.IsInf(scale, 1) {
			m.theta = scale
		}
		return
	}
	m.next = (m.next + 1) % m.s.Rows
	m.pairs = min(m.pairs+1, m.s.Rows)
	m.theta = yy / sy
	m.build()
}

// build computes u from the pairs, and drops them where rounding spoils it.
func (m *model) build() {
	m.used = 0
	for k := range m.pairs {
		row := (m.next - m.pairs + k + m.s.Rows) % m.s.Rows
		s, y := m.s.Row(row), m.y.Row(row)
		m.times(m.bs, s)
		sy, sbs := mat.Dot(s, y), mat.Dot(s, m.bs)
		if !(sbs > 0 && sy > 0) || math.IsInf(sbs, 1) {
			m.clear()
			return
		}
		plus, minus := m.u.Row(m.used), m.u.Row(m.used+1)
		for i := range plus {
			plus[i], minus[i] = y[i]/math.Sqrt(sy), m.bs[i]/math.Sqrt(sbs)
		}
		m.used += 2
	}
}

func (m *model) times(dst, v []float64) {
	kernel.Scale(dst, m.theta, v)
	for j := range m.used {
		u := m.u.Row(j)
		mat.Axpy(dst, sign(j)*mat.Dot(u, v), u)
	}
}

// step writes the direction from x to the model's minimiser on the free entries, projected onto the
// box, or cut where that spoils the descent.
func (m *model) step(d, x, g, lo, hi []float64) {
	m.cauchy(x, g, lo, hi)
	m.subspace(g)
	t := 1.0
	if m.project(d, x, lo, hi, t); mat.Dot(d, g) < 1e-3*mat.Dot(m.z, g) {
		return
	}
	for _, i := range m.free {
		t = min(t, toBound(x[i]+m.z[i], m.dir[i], lo[i], hi[i]))
	}
	m.project(d, x, lo, hi, t)
}

func (m *model) project(d, x, lo, hi []float64, t float64) {
	for i, xi := range x {
		d[i] = min(max(xi+m.z[i]+t*m.dir[i], lo[i]), hi[i]) - xi
	}
}

func toBound(at, d, lo, hi float64) float64 {
	switch {
	case d > 0:
		return (hi - at) / d
	case d < 0:
		return (lo - at) / d
	}
	return math.Inf(1)
}

// cauchy writes into z the step to the first local minimiser on the projected path, and into free the
// entries off their bounds (Byrd et al., section 4).
func (m *model) cauchy(x, g, lo, hi []float64) {
	m.order, m.free = m.order[:0], m.free[:0]
	for i, gi := range g {
		m.stop[i] = toBound(x[i], -gi, lo[i], hi[i])
		if m.path[i] = -gi; m.stop[i] <= 0 {
			m.path[i] = 0
		} else if gi != 0 && !math.IsInf(m.stop[i], 1) {
			m.order = append(m.order, i)
		}
	}
	slices.SortFunc(m.order, func(a, b int) int { return cmp.Or(cmp.Compare(m.stop[a], m.stop[b]), a-b) })
	for j := range m.used {
		m.p[j], m.c[j] = mat.Dot(m.u.Row(j), m.path), 0
	}
	end := m.segments(x, g, lo, hi)
	for i, p := range m.path { // the entries that have not met a bound
		if p != 0 {
			m.z[i] = end * p
		}
	}
	for i := range x {
		if m.stop[i] > end && lo[i] < hi[i] {
			m.free = append(m.free, i)
		}
	}
}

// segments goes from bound to bound while the model falls, and returns the end.
func (m *model) segments(x, g, lo, hi []float64) (end float64) {
	clear(m.z)
	square := mat.Dot(m.path, m.path)
	slope, at := -square, 0.0
	for _, b := range m.order {
		curve := m.curvature(square)
		if step := -slope / curve; !(at+step >= m.stop[b]) {
			return at + max(step, 0)
		}
		step := m.stop[b] - at
		at = m.stop[b]
		if m.z[b] = lo[b] - x[b]; g[b] < 0 {
			m.z[b] = hi[b] - x[b]
		}
		bz := m.theta * m.z[b]
		for j := range m.used {
			u := m.u.At(j, b)
			m.c[j] += step * m.p[j]
			bz += sign(j) * u * m.c[j]
			m.p[j] += g[b] * u
		}
		slope += step*curve + g[b]*g[b] + g[b]*bz
		m.path[b] = 0
		if square = mat.Dot(m.path, m.path); square == 0 {
			return at
		}
	}
	return at + max(-slope/m.curvature(square), 0)
}

func (m *model) curvature(square float64) float64 {
	curve := m.theta * square
	for j, p := range m.p[:m.used] {
		curve += sign(j) * p * p
	}
	return max(curve, 0x1p-52*m.theta*square)
}

// subspace writes into dir the way from the Cauchy point to the model's minimiser on the free entries,
// by conjugate gradients: B has at most 2·Memory + 1 different eigenvalues.
func (m *model) subspace(g []float64) {
	clear(m.dir)
	if len(m.free) == 0 || m.used == 0 {
		return
	}
	m.times(m.bs, m.z)
	clear(m.r)
	for _, i := range m.free {
		m.r[i] = -g[i] - m.bs[i]
	}
	copy(m.path, m.r)
	rr := mat.Dot(m.r, m.r)
	goal := 1e-20 * rr
	for k := 0; k <= m.used+2 && rr > goal; k++ {
		m.times(m.bs, m.path)
		curve := mat.Dot(m.path, m.bs)
		if !(curve > 0) {
			return
		}
		t, old := rr/curve, rr
		mat.Axpy(m.dir, t, m.path)
		for _, i := range m.free {
			m.r[i] -= t * m.bs[i]
		}
		rr = mat.Dot(m.r, m.r)
		for _, i := range m.free {
			m.path[i] = m.r[i] + rr/old*m.path[i]
		}
	}
}

// state visits the pairs; the rest follows from them.
func (m *model) state(t *bilevel.State) {
	t.Dense(m.s)
	t.Dense(m.y)
	t.Count(&m.pairs)
	t.Count(&m.next)
	t.Float(&m.theta)
	t.After(func() error {
		if m.pairs > m.s.Rows || m.next >= m.s.Rows {
			return fmt.Errorf("%w: the pairs of L-BFGS", bilevel.ErrDamaged)
		}
		m.build()
		return nil
	})
}

const (
	maxTrials = 20   // of one search
	fall      = 1e-3 // share of the slope by which F has to fall
	flat      = 0.9  // share of the slope that may be left
	growth    = 10.  // of a search without an end
	nearest   = 0.1  // to the ends of an interval
)

// line searches t with the strong Wolfe conditions (Nocedal, Wright, Numerical Optimization, 2006,
// algorithms 3.5 and 3.6); φ(t) is the change of F.
type line struct {
	slope, most float64 // φ′(0) < 0; the largest t
	t           float64 // the trial
	low, high   end     // the best t so far, and the other end, if bracketed
	bracketed   bool
	last        bool // the next trial is low once more, and is taken
	trials      int
}

type end struct{ t, value, slope float64 }

// tell takes φ(t), φ′(t) and the promise for φ(t), tφ′(0) on a straight path. It accepts t, or chooses another.
func (l *line) tell(value, slope, promise float64) bool {
	if l.last {
		return true
	}
	l.trials++
	at := end{l.t, value, slope}
	fine := value-value == 0 && slope-slope == 0
	switch {
	case !fine || value > fall*promise || value >= l.low.value && l.low.t > 0:
		l.high, l.bracketed = at, true
	case math.Abs(slope) <= -flat*l.slope, slope < 0 && l.t == l.most:
		return true
	default:
		if slope >= 0 && !l.bracketed || l.bracketed && slope*(l.high.t-l.low.t) >= 0 {
			l.high, l.bracketed = l.low, true
		}
		l.low = at
	}
	switch {
	case l.trials == maxTrials-1 && l.low.t > 0:
		l.t, l.last = l.low.t, true
	case l.bracketed:
		l.t = between(l.low, l.high)
	default:
		l.t = min(growth*l.t, l.most)
	}
	return false
}

// between returns the minimiser of the cubic through the ends, kept away from them.
func between(a, b end) float64 {
	width := b.t - a.t
	d := a.slope + b.slope - 3*(b.value-a.value)/width
	root := math.Sqrt(d*d - a.slope*b.slope)
	if width < 0 {
		root = -root
	}
	share := 1 - (b.slope+root-d)/(b.slope-a.slope+2*root)
	if math.IsNaN(share) {
		share = nearest
	}
	return a.t + min(max(share, nearest), 1-nearest)*width
}

func (l *line) state(t *bilevel.State) {
	for _, v := range []*float64{&l.slope, &l.most, &l.t, &l.low.t, &l.low.value, &l.low.slope,
		&l.high.t, &l.high.value, &l.high.slope} {
		t.Float(v)
	}
	t.Flag(&l.bracketed)
	t.Flag(&l.last)
	t.Count(&l.trials)
}
