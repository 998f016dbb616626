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
	t.count(&v.n)
	for i := range v.seen {
		t.flag(&v.seen[i])
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
}

// rowsBytes is the memory of a table of vectors.
func rowsBytes(terms uint64, width int) float64 { return 8 * float64(terms) * float64(width) }

func newRows(terms, width, batch int) *rows {
	v := func() []float64 { return make([]float64, width) }
	return &rows{
		visits: newVisits(terms, batch), width: width, table: make([]float64, terms*width),
		mean: v(), next: v(), d: v(),
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
	t := r.row(i)
	ta, tb := t[:len(a)], t[len(a):]
	replaceIn(r.next, a, ta, first, weight)
	replaceIn(r.next[len(a):], b, tb, first, weight)
	copy(ta, a)
	copy(tb, b)
}

// end lets the visits of a batch count.
func (r *rows) end() {
	copy(r.mean, r.next)
	r.leave()
}

func (r *rows) State(t *State) {
	r.visits.State(t)
	t.Floats(r.table, r.mean, r.next)
}

// points is a table of g_xy and g_yy without a matrix a term: it keeps the point of a term's last
// visit, and asks for the derivatives there again.
type points struct {
	visits
	dx, dy      int
	table       []float64  // row i is (x, y)
	xy, xyNext  *mat.Dense // means of g_xy
	yy, yyNext  *mat.Sym   // means of g_yy
	last, dxy   *mat.Dense // g_xy at the row; mean over the batch of that, less the mean
	lastYY, dyy *mat.Sym
	one         [1]Sample
	share       float64
}

// pointsBytes is the memory of a table of points.
func pointsBytes(terms uint64, dx, dy int) float64 { return rowsBytes(terms, dx+dy) }

func newPoints(terms, dx, dy, batch int) *points {
	m := func() *mat.Dense { return mat.NewDense(dx, dy) }
	h := func() *mat.Sym { return mat.NewSym(dy) }
	return &points{
		visits: newVisits(terms, batch), dx: dx, dy: dy, table: make([]float64, terms*(dx+dy)),
		xy: m(), xyNext: m(), last: m(), dxy: m(), yy: h(), yyNext: h(), lastYY: h(), dyy: h(),
	}
}

func (p *points) row(i Sample) (x, y []float64) {
	w := p.dx + p.dy
	z := p.table[int(i)*w : (int(i)+1)*w]
	return z[:p.dx], z[p.dx:]
}

// begin starts a batch of n samples.
func (p *points) begin(n int) {
	p.dxy.Zero()
	p.dyy.Zero()
	p.share = 1 / float64(n)
}

// ask evaluates both derivatives of sample i at its row, if it has one, and adds to dxy and dyy.
func (p *points) ask(o *Oracle, i Sample) error {
	if !p.seen[i] {
		return nil
	}
	x, y := p.row(i)
	p.one[0] = i
	if err := o.CrossG(p.last, x, y, p.one[:]); err != nil {
		return err
	}
	if err := o.HessG(p.lastYY, x, y, p.one[:]); err != nil {
		return err
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
func (p *points) visit(i Sample, x, y []float64, xy *mat.Dense, yy *mat.Sym) {
	first, weight, ok := p.enter(i)
	if !ok {
		return
	}
	for r := range p.dx {
		replaceIn(p.xyNext.Row(r), xy.Row(r), p.last.Row(r), first, weight)
	}
	for r := range p.dy {
		replaceIn(p.yyNext.Row(r), yy.Row(r), p.lastYY.Row(r), first, weight)
	}
	px, py := p.row(i)
	copy(px, x)
	copy(py, y)
}

// end lets the visits of a batch count.
func (p *points) end() {
	mat.Copy(p.xy, p.xyNext)
	mat.CopySym(p.yy, p.yyNext)
	p.leave()
}

func (p *points) State(t *State) {
	p.visits.State(t)
	t.Floats(p.table)
	t.Dense(p.xy)
	t.Dense(p.xyNext)
	t.Sym(p.yy)
	t.Sym(p.yyNext)
}
