package saa

import (
	"cmp"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

type totals struct {
	n          [2]float64 // samples of f, of g
	fx, fy, gy []float64
	xy         *mat.Dense
	yy         *mat.Sym
	binned     *mat.Dense // of a part: sums of the influences on h of every bins-th group
}

// sums are those of all samples so far, each at the point where it was last asked, and the scatter
// between groups of them.
type sums struct {
	totals
	part  totals    // the first samples, asked at z_r or, where a step leads, at (x, y)
	readX []float64 // x_a, where all samples were asked last

	refX, refY []float64 // z_r, where all but the blocks since count as asked
	carry      []float64 // Σ g_yy(y_b − y_r) + g_xyᵀ(x_b − x_r)
	zx, zy     []float64 // Σ z_b − z_r

	long   [2][3]float64 // the longest of each derivative, of groups of f and of g, in units ℓ and D
	second [2][3]float64 // the second longest
	before [2][3]float64 // the same when all samples were last read
	groups [2]float64
	q      [2][]float64 // Σ of the influences of groups on h
	qq     [2]*mat.Sym
	t      []float64  // Σ H⁻¹g_y
	tt     [2]float64 // Σ ‖H⁻¹g_y‖², and in H
	f2, c2 []float64  // over groups of n: Σ n²f_x², and Σ n²‖row of g_xy‖² in units D
	curv   [2]float64 // Σ of the curvature wᵀg_yy w/wᵀD⁻²w, w = D·low, and of its square; 0: not known
}

func newSums(dx, dy int) *sums {
	s := &sums{totals: newTotals(dx, dy), part: newTotals(dx, dy), qq: [...]*mat.Sym{mat.NewSym(dx), mat.NewSym(dx)}}
	s.part.binned = mat.NewDense(bins, dx)
	zeros(dx, &s.readX, &s.refX, &s.zx, &s.f2, &s.c2, &s.q[0], &s.q[1])
	zeros(dy, &s.refY, &s.carry, &s.zy, &s.t)
	return s
}

func newTotals(dx, dy int) totals {
	t := totals{xy: mat.NewDense(dx, dy), yy: mat.NewSym(dy)}
	zeros(dx, &t.fx)
	zeros(dy, &t.fy, &t.gy)
	return t
}

// zeros makes vectors of length n.
func zeros(n int, vectors ...*[]float64) {
	for _, v := range vectors {
		*v = make([]float64, n)
	}
}

func each[T any](visit func(*T), list ...*T) {
	for _, v := range list {
		visit(v)
	}
}

// begin empties the sums, to read at (x, y).
func (p *point) begin() {
	before := p.second
	for _, v := range p.numbers() {
		clear(v)
	}
	p.before = before
	copy(p.readX, p.x)
	copy(p.refX, p.x)
	copy(p.refY, p.y)
}

func (p *point) carried() bool { return !slices.Equal(p.x, p.refX) || !slices.Equal(p.y, p.refY) }

// shift writes what the sums of from become at p, if all samples change from z_r on as the part does. What carries g_y
// from z_b to z_r stays.
func (p *point) shift(from *point) {
	to := p.numbers()
	for i, v := range from.numbers() {
		copy(to[i], v)
	}
	copy(p.refX, p.x)
	copy(p.refY, p.y)
	was, is := from.part.vectors(), p.part.vectors()
	for i, v := range p.vectors() {
		share := p.n[sideOf[i]] / p.part.n[sideOf[i]]
		for j := range v {
			v[j] += share * (is[i][j] - was[i][j])
		}
	}
}

// addCarry adds c(g_yy dy + g_xyᵀ dx) to dst; it writes work.
func (t *totals) addCarry(dst, work []float64, c float64, dx, dy []float64) {
	mat.MulVecSym(work, t.yy, dy)
	mat.Axpy(dst, c, work)
	mat.MulVecTrans(work, t.xy, dx)
	mat.Axpy(dst, c, work)
}

func (s *sums) numbers() [][]float64 {
	v := s.vectors()
	list := append(v[:], s.n[:], s.readX, s.refX, s.refY, s.carry, s.zx, s.zy, s.groups[:], s.q[0], s.q[1], s.qq[0].Data,
		s.qq[1].Data, s.t, s.tt[:], s.f2, s.c2, s.curv[:])
	for k := range s.long {
		list = append(list, s.long[k][:], s.second[k][:], s.before[k][:])
	}
	return list
}

func (t *totals) vectors() [5][]float64 {
	return [...][]float64{t.fx, t.fy, t.gy, t.yy.Data, t.xy.Data}
}

var sideOf = [5]int{0, 0, 1, 1, 1} // of these

// asker asks groups of samples, whose means totals are, and adds what they say to sums.
type asker struct {
	totals
	r, t, hv []float64 // the influence on h, H⁻¹g_y, and g_yy v
}

func newAsker(dx, dy int) asker {
	a := asker{totals: newTotals(dx, dy)}
	zeros(dx, &a.r)
	zeros(dy, &a.t, &a.hv)
	return a
}

// ask writes what a group of samples of side k says at (x, y).
func (a *asker) ask(it *bilevel.Iteration, k int, x, y []float64, group []bilevel.Sample) error {
	o := it.Oracle()
	if k == 0 {
		return cmp.Or(o.GradF(a.fx, a.fy, x, y, group), it.Finite(a.fx, a.fy))
	}
	err := o.GradG(a.gy, x, y, group)
	if err == nil {
		err = o.HessG(a.yy, x, y, group)
	}
	if err == nil {
		err = o.CrossG(a.xy, x, y, group)
	}
	return cmp.Or(err, it.Finite(a.gy, a.yy.Data, a.xy.Data))
}

// add adds what n samples of side k have said.
func (t *totals) add(k int, n float64, a *asker) {
	t.n[k] += n
	said := a.vectors()
	for i, v := range t.vectors() {
		if sideOf[i] == k {
			mat.Axpy(v, n, said[i])
		}
	}
}

// include asks a group of samples of side k at p, and adds it to the sums there: weighed, and with
// its scatter, by what the point by knows, if that is not nil.
func (m *newton) include(it *bilevel.Iteration, k int, p, by *point, group []bilevel.Sample, n float64) error {
	a, w := &m.asker, 1.0
	if err := a.ask(it, k, p.x, p.y, group); err != nil {
		return err
	}
	known := by != nil && group != nil
	if known && m.sides[k].terms == 0 {
		w = a.weigh(p.sums, k, n, by)
	}
	n *= w
	p.add(k, n, a)
	if k == 0 {
		for i, v := range a.fx {
			p.f2[i] += n * v * n * v
		}
	} else {
		for i := range p.c2 {
			p.c2[i] += n * n * square(a.xy.Row(i), p.d)
		}
		if p.carried() {
			p.displace(a, n)
		}
	}
	if !known {
		return nil
	}
	a.influence(k, by, m.curve.e)
	p.groups[k]++
	mat.Axpy(p.q[k], n, a.r)
	mat.RankOne(p.qq[k], n*w, a.r)
	if k == 0 {
		return nil
	}
	mat.Axpy(p.t, n, a.t)
	p.tt[0] += n * w * mat.Dot(a.t, a.t)
	p.tt[1] += n * w * mat.Dot(a.t, a.gy)
	if vv := mat.Dot(by.low, by.low); vv > 0 {
		for j, v := range by.low {
			a.t[j] = by.d[j] * v
		}
		mat.MulVecSym(a.hv, a.yy, a.t)
		bow := mat.Dot(a.t, a.hv) / vv
		p.curv[0] += n * bow
		p.curv[1] += n * w * bow * bow
	}
	return nil
}

// influence writes that on h of the samples of side k asked last, with what p knows: f_x + Jᵀf_y of
// ξ, and −g_xy v − Jᵀg_yy v − E H⁻¹g_y of φ.
func (a *asker) influence(k int, p *point, e *mat.Dense) {
	if k == 0 {
		mat.MulVec(a.r, p.jt, a.fy)
		mat.Axpy(a.r, 1, a.fx)
		return
	}
	_ = p.solve(a.t, a.gy)
	mat.MulVecSym(a.hv, a.yy, p.v)
	for i := range a.r {
		a.r[i] = -mat.Dot(a.xy.Row(i), p.v) - mat.Dot(p.jt.Row(i), a.hv) - mat.Dot(e.Row(i), a.t)
	}
}

// weigh returns the weight of a group of n samples of a stream, and notes how long its derivatives
// are, in the units of p.
func (a *asker) weigh(to *sums, k int, n float64, p *point) float64 {
	w, squares := 1.0, [3]float64{square(a.fx, p.unit), square(a.fy, p.d)}
	if k == 1 {
		squares = [3]float64{square(a.gy, p.d), squareSym(a.yy, p.d), squareDense(a.xy, p.unit, p.d)}
	}
	for e, sq := range squares {
		long, most := n*math.Sqrt(sq), 2*max(to.before[k][e], to.second[k][e])
		if long > most && most > 0 {
			w = min(w, most/long)
		}
		to.second[k][e] = max(to.second[k][e], min(long, to.long[k][e]))
		to.long[k][e] = max(to.long[k][e], long)
	}
	return w
}

func squareSym(a *mat.Sym, unit []float64) float64 {
	sum := 0.0
	for i, u := range unit {
		row := a.Row(i)
		sum += u * u * (2*square(row[:i], unit) + square(row[i:], unit[i:]))
	}
	return sum
}

// subtract writes a − b.
func subtract(dst, a, b []float64) {
	for i, v := range a {
		dst[i] = v - b[i]
	}
}

// displace adds the group to carry, and its distance from z_r to zx and zy.
func (p *point) displace(a *asker, n float64) {
	subtract(a.r, p.x, p.refX)
	subtract(a.t, p.y, p.refY)
	mat.Axpy(p.zx, n, a.r)
	mat.Axpy(p.zy, n, a.t)
	a.addCarry(p.carry, a.hv, n, a.r, a.t)
}

func squareDense(a *mat.Dense, rows, cols []float64) float64 {
	sum := 0.0
	for i, u := range rows {
		sum += u * u * square(a.Row(i), cols)
	}
	return sum
}

func square(v, unit []float64) float64 {
	sum := 0.0
	for i, x := range v {
		sum += x * unit[i] * (x * unit[i])
	}
	return sum
}

// fade scales the scatter of the influences on h_i to a share.
func (s *sums) fade(i int, share float64) {
	for k := range s.qq {
		s.q[k][i] *= share
		for j := range s.q[k] {
			s.qq[k].Set(i, j, s.qq[k].At(i, j)*share)
		}
		s.qq[k].Set(i, i, s.qq[k].At(i, i)*share)
	}
}

// variance returns the covariance (i, j ≤ i) of the influence of one sample of side k, estimated between groups.
func (s *sums) variance(k, i, j int) float64 {
	if s.groups[k] < 2 {
		return 0
	}
	return (s.qq[k].At(i, j) - s.q[k][i]*s.q[k][j]/s.n[k]) / (s.groups[k] - 1)
}
