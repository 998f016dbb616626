package bilevel

import "stable/mat"

// visits says which terms of a finite sum have been visited, and in which of them this batch was.
type visits struct {
	seen  []bool
	n     int // terms seen
	fresh []Sample
	now   []bool // visited in this batch
}

func newVisits(terms, batch int) visits {
	return visits{seen: make([]bool, terms), now: make([]bool, terms), fresh: make([]Sample, 0, batch)}
}

// enter marks term i. It returns false where this batch has visited it before, and the weight of
// the term in the mean over the terms seen.
func (v *visits) enter(i Sample) (first bool, weight float64, ok bool) {
	if v.now[i] {
		return false, 0, false
	}
	v.now[i] = true
	v.fresh = append(v.fresh, i)
	if first = !v.seen[i]; first {
		v.seen[i] = true
		v.n++
	}
	return first, 1 / float64(v.n), true
}

// leave ends a batch.
func (v *visits) leave() {
	for _, i := range v.fresh {
		v.now[i] = false
	}
	v.fresh = v.fresh[:0]
}

func (v *visits) State(t *State) {
	t.Count(&v.n)
	for i := range v.seen {
		t.Flag(&v.seen[i])
	}
}

// replaceIn moves a mean over terms by the term that was last and is now.
func replaceIn(mean, now, last []float64, first bool, weight float64) {
	if first {
		last = mean
	}
	for j, v := range now {
		mean[j] += (v - last[j]) * weight
	}
}

// rows is a table of vectors: the terms of a finite sum, each as it was at its last visit. Terms
// not yet visited count as the mean of the others, so that no full pass is ever made.
type rows struct {
	visits
	width      int
	table      []float64 // row i is T_i
	mean, next []float64 // of the rows seen; next with the visits of this batch
	d          []float64 // mean over the batch of T_i − mean
	base       []float64 // what rows are differences from, see carry
}

// rowsBytes is the memory of a table of vectors.
func rowsBytes(terms uint64, width int) float64 { return 8 * float64(terms) * float64(width) }

func newRows(terms, width, batch int) *rows {
	v := func() []float64 { return make([]float64, width) }
	return &rows{
		visits: newVisits(terms, batch), width: width, table: make([]float64, terms*width),
		mean: v(), next: v(), d: v(), base: v(),
	}
}

func (r *rows) row(i Sample) []float64 { return r.table[int(i)*r.width : (int(i)+1)*r.width] }

// ask sets d for a batch.
func (r *rows) ask(batch []Sample) {
	clear(r.d)
	share := 1 / float64(len(batch))
	for _, i := range batch {
		if !r.seen[i] {
			continue
		}
		for j, v := range r.row(i) {
			r.d[j] += share * (v - r.mean[j])
		}
	}
}

// visit makes the vectors a and b, one behind the other, the term of sample i.
func (r *rows) visit(i Sample, a, b []float64) {
	first, weight, ok := r.enter(i)
	if !ok {
		return
	}
	r.put(i, 0, a, first, weight)
	r.put(i, len(a), b, first, weight)
}

// put makes t, less the base, the entries of row i from number off on.
func (r *rows) put(i Sample, off int, t []float64, first bool, weight float64) {
	row, next, base := r.row(i)[off:], r.next[off:], r.base[off:]
	for j, v := range t {
		v -= base[j]
		last := row[j]
		if first {
			last = next[j]
		}
		next[j] += (v - last) * weight
		row[j] = v
	}
}

// carry tells by how much the mean over all terms is thought to have changed in this step, in
// entries off and on: that is added to the base. A row holds by how much its term differed from the
// base at its last visit, so that what changes alike for all terms is not in it. Without that, a
// term that waits for its turn differs from the mean by its age, the more the later in a pass,
// which is a bias. Terms of this batch were visited after the change, when the base had not moved
// yet.
//
// The base begins as the estimate, and moves as it does but for a part of its corrections: those of
// an error that the estimate had at the visits of the terms already, see gain.holds. A base that
// took all of them would hand the errors of one pass on to the next; one that took none would add
// up the noise of all changes.
func (r *rows) carry(off int, change []float64) {
	to := off + len(change)
	mat.Axpy(r.base[off:to], 1, change)
	mat.Axpy(r.next[off:to], -float64(len(r.fresh))/float64(r.n), change)
	for _, i := range r.fresh {
		mat.Axpy(r.row(i)[off:to], -1, change)
	}
}

// end lets the visits of a batch count.
func (r *rows) end() {
	copy(r.mean, r.next)
	r.leave()
}

func (r *rows) State(t *State) {
	r.visits.State(t)
	t.Floats(r.table, r.mean, r.next, r.base)
}

// bends is a table of g_xy and g_yy. A row holds both, and is carried along as the rows of vectors
// are; or, where that takes too much memory, the point of the term's last visit, at which the
// derivatives are asked for again.
type bends struct {
	visits
	dx, dy      int
	whole       bool // a row holds g_xy, and the lower triangle of g_yy
	width       int
	table       []float64  // row i is (x, y), or both derivatives less baseXY, baseYY
	baseXY      *mat.Dense // see carry
	baseYY      *mat.Sym
	xy, xyNext  *mat.Dense // means of g_xy
	yy, yyNext  *mat.Sym   // means of g_yy
	last, dxy   *mat.Dense // g_xy at the row; mean over the batch of that, less the mean
	lastYY, dyy *mat.Sym
	one         [1]Sample
	share       float64
}

// bendsWidth is the length of a row.
func bendsWidth(dx, dy int, whole bool) int {
	if whole {
		return dx*dy + dy*(dy+1)/2
	}
	return dx + dy
}

func newBends(terms, dx, dy, batch int, whole bool) *bends {
	m := func() *mat.Dense { return mat.NewDense(dx, dy) }
	h := func() *mat.Sym { return mat.NewSym(dy) }
	width := bendsWidth(dx, dy, whole)
	return &bends{
		visits: newVisits(terms, batch), dx: dx, dy: dy, whole: whole, width: width, table: make([]float64, terms*width),
		xy: m(), xyNext: m(), last: m(), dxy: m(), yy: h(), yyNext: h(), lastYY: h(), dyy: h(), baseXY: m(), baseYY: h(),
	}
}

func (p *bends) row(i Sample) []float64 { return p.table[int(i)*p.width : (int(i)+1)*p.width] }

// each calls f for each part of a row that holds both derivatives, beside the parts of a and b.
func (p *bends) each(i Sample, a *mat.Dense, b *mat.Sym, f func(row, part []float64)) {
	row := p.row(i)
	for r := range p.dx {
		f(row[:p.dy], a.Row(r))
		row = row[p.dy:]
	}
	for r := range p.dy {
		f(row[:r+1], b.Row(r))
		row = row[r+1:]
	}
}

// begin starts a batch of n samples.
func (p *bends) begin(n int) {
	p.dxy.Zero()
	p.dyy.Zero()
	p.share = 1 / float64(n)
}

// ask adds what the row of sample i says, if it has one, to dxy and dyy.
func (p *bends) ask(o *Oracle, i Sample) error {
	if !p.seen[i] {
		return nil
	}
	if p.whole {
		p.each(i, p.last, p.lastYY, func(row, part []float64) { copy(part, row) })
	} else {
		z := p.row(i)
		p.one[0] = i
		if err := o.CrossG(p.last, z[:p.dx], z[p.dx:], p.one[:]); err != nil {
			return err
		}
		if err := o.HessG(p.lastYY, z[:p.dx], z[p.dx:], p.one[:]); err != nil {
			return err
		}
	}
	for r := range p.dx {
		addDifference(p.dxy.Row(r), p.last.Row(r), p.xy.Row(r), p.share)
	}
	for r := range p.dy {
		addDifference(p.dyy.Row(r), p.lastYY.Row(r), p.yy.Row(r), p.share)
	}
	return nil
}

// addDifference is d ← d + s(a − b).
func addDifference(d, a, b []float64, s float64) {
	for j, v := range a {
		d[j] += s * (v - b[j])
	}
}

// visit makes (x, y) the row of sample i, whose derivatives there are xy and yy; ask comes before.
// It overwrites xy and yy.
func (p *bends) visit(i Sample, x, y []float64, xy *mat.Dense, yy *mat.Sym) {
	first, weight, ok := p.enter(i)
	if !ok {
		return
	}
	if p.whole {
		mat.AddScaled(xy, xy, -1, p.baseXY)
		mat.AddScaledSym(yy, yy, -1, p.baseYY)
		p.each(i, xy, yy, func(row, part []float64) { copy(row, part) })
	} else {
		z := p.row(i)
		copy(z, x)
		copy(z[p.dx:], y)
	}
	for r := range p.dx {
		replaceIn(p.xyNext.Row(r), xy.Row(r), p.last.Row(r), first, weight)
	}
	for r := range p.dy {
		replaceIn(p.yyNext.Row(r), yy.Row(r), p.lastYY.Row(r), first, weight)
	}
}

// carry is rows.carry, for rows that hold both derivatives.
func (p *bends) carry(xy *mat.Dense, yy *mat.Sym) {
	if !p.whole {
		return
	}
	mat.AddScaled(p.baseXY, p.baseXY, 1, xy)
	mat.AddScaledSym(p.baseYY, p.baseYY, 1, yy)
	share := float64(len(p.fresh)) / float64(p.n)
	mat.AddScaled(p.xyNext, p.xyNext, -share, xy)
	mat.AddScaledSym(p.yyNext, p.yyNext, -share, yy)
	for _, i := range p.fresh {
		p.each(i, xy, yy, func(row, part []float64) { mat.Axpy(row, -1, part[:len(row)]) })
	}
}

// end lets the visits of a batch count.
func (p *bends) end() {
	mat.Copy(p.xy, p.xyNext)
	mat.CopySym(p.yy, p.yyNext)
	p.leave()
}

func (p *bends) State(t *State) {
	p.visits.State(t)
	t.Floats(p.table)
	t.Dense(p.xy)
	t.Dense(p.xyNext)
	t.Sym(p.yy)
	t.Sym(p.yyNext)
	t.Dense(p.baseXY)
	t.Sym(p.baseYY)
}
