package bilevel

import (
	"math"

	"stable/mat"
)

// follower tracks the five derivatives f_x, f_y, g_y, g_xy, g_yy along the iterates, each by the
// recursion of gain, so that each is about the mean of all samples so far, taken at the present
// point. Entries of x may have units of their own: f_x has a gain an entry, g_xy a gain a row.
type follower struct {
	dx, dy int

	fx, fy, gy []float64 // the estimates
	xy         *mat.Dense
	yy         *mat.Sym

	gfx, gxy      []gain
	gfy, ggy, gyy gain

	upper *rows  // table of (f_x, f_y); nil without one
	lower *rows  // table of g_y
	bends *bends // table of g_xy and g_yy

	pastXi, pastPhi   *recall // past samples of streams, and of sums without a table; nil: none
	orderXi, orderPhi *Passes // of sums whose terms are drawn in passes; nil: uniformly

	x, y    []float64 // the last point
	now     sample    // the batch at the present point
	old     sample    // and at the last one
	one     sample    // scratch: one sample, or another batch at the present point
	other   sample    // scratch: and at the last point
	squares []float64 // scratch, 2dx

	movedYY   float64    // a bound on the Frobenius norm of the last change of yy
	noise     [5]scatter // of the changes of f_x, f_y, g_y, g_xy, g_yy
	xi, phi   []Sample   // the last batch
	nXi, nPhi int        // samples of a batch; 0: the exact value
	terms     [2]float64 // of the sums of f and g; 0: a simulator
	ablate    Ablation
}

// sample holds the five derivatives of a batch.
type sample struct {
	fx, fy, gy []float64
	xy         *mat.Dense
	yy         *mat.Sym
}

func newSample(dx, dy int) sample {
	return sample{make([]float64, dx), make([]float64, dy), make([]float64, dy), mat.NewDense(dx, dy), mat.NewSym(dy)}
}

// replayEvery is the number of steps from one replay to the next, after the first ones.
const replayEvery = 8

// replaysAt says whether step k measures the noise of the change.
func replaysAt(k int) bool { return k > 1 && (k < 2*replayEvery || k%replayEvery == 0) }

// newFollower returns one with tables as far as they fit into the given number of bytes.
func newFollower(it *Iteration, bytes float64, ablate Ablation) *follower {
	dx, dy := it.Dims()
	f := &follower{
		dx: dx, dy: dy, ablate: ablate, fx: make([]float64, dx), fy: make([]float64, dy), gy: make([]float64, dy),
		xy: mat.NewDense(dx, dy), yy: mat.NewSym(dy), gfx: make([]gain, dx), gxy: make([]gain, dx),
		x: make([]float64, dx), y: make([]float64, dy),
		now: newSample(dx, dy), old: newSample(dx, dy), one: newSample(dx, dy), other: newSample(dx, dy),
		squares: make([]float64, 2*dx),
	}
	nu, nl := it.Batches()
	f.nXi, f.nPhi = max(nu, 0), max(nl, 0)
	f.xi, f.phi = make([]Sample, f.nXi), make([]Sample, f.nPhi)
	upper, lower := it.Oracle().Streams()
	f.terms = [2]float64{float64(upper), float64(lower)}
	if need := rowsBytes(upper, dx+dy); upper > 0 && f.nXi > 0 && need <= bytes {
		f.upper = newRows(int(upper), dx+dy, f.nXi+dy)
		bytes -= need
		if ablate&AblatePasses == 0 {
			f.orderXi = NewPasses(upper)
		}
		f.gfy.pass = float64(upper) / float64(f.nXi)
		for i := range f.gfx {
			f.gfx[i].pass = f.gfy.pass
		}
	}
	need := func(whole bool) float64 { return rowsBytes(lower, dy+bendsWidth(dx, dy, whole)) }
	if lower > 0 && f.nPhi > 0 && need(false) <= bytes {
		whole := need(true) <= bytes
		f.lower = newRows(int(lower), dy, f.nPhi+dy)
		f.bends = newBends(int(lower), dx, dy, f.nPhi+dy, whole)
		if whole && ablate&AblatePasses == 0 {
			f.orderPhi = NewPasses(lower)
		}
		f.ggy.pass = float64(lower) / float64(f.nPhi)
		f.gyy.pass = f.ggy.pass
		for i := range f.gxy {
			f.gxy[i].pass = f.ggy.pass
		}
	}
	f.pastXi = f.recallOf(it.xi, f.nXi, f.upper, AblateUpper)
	f.pastPhi = f.recallOf(it.phi, f.nPhi, f.lower, AblateLower)
	return f
}

// lowerAt asks for the three derivatives of g.
func (f *follower) lowerAt(o *Oracle, dst sample, x, y []float64, phi []Sample) error {
	if err := o.GradG(dst.gy, x, y, phi); err != nil {
		return err
	}
	if err := o.CrossG(dst.xy, x, y, phi); err != nil {
		return err
	}
	return o.HessG(dst.yy, x, y, phi)
}

// ask evaluates a batch at the last and at the present point, and with tables moves their rows. Of
// an exact value only the present one is asked for; the estimate is the last one.
func (f *follower) ask(it *Iteration, xi, phi []Sample) error {
	o := it.Oracle()
	if f.nXi == 0 {
		copy(f.old.fx, f.fx)
		copy(f.old.fy, f.fy)
	} else if err := o.GradF(f.old.fx, f.old.fy, f.x, f.y, xi); err != nil {
		return err
	}
	if err := f.askUpper(it, xi); err != nil {
		return err
	}
	if err := f.recallUpper(it); err != nil {
		return err
	}
	if f.nPhi == 0 {
		copy(f.old.gy, f.gy)
		mat.Copy(f.old.xy, f.xy)
		mat.CopySym(f.old.yy, f.yy)
	} else if err := f.lowerAt(o, f.old, f.x, f.y, phi); err != nil {
		return err
	}
	if err := f.askLower(it, phi); err != nil {
		return err
	}
	return f.recallLower(it)
}

func (f *follower) askUpper(it *Iteration, xi []Sample) error {
	o, x, y := it.Oracle(), it.X(), it.Y()
	if f.upper == nil {
		return o.GradF(f.now.fx, f.now.fy, x, y, xi)
	}
	f.upper.ask(xi)
	clear(f.now.fx)
	clear(f.now.fy)
	share := 1 / float64(len(xi))
	for j := range xi {
		if err := o.GradF(f.one.fx, f.one.fy, x, y, xi[j:j+1]); err != nil {
			return err
		}
		mat.Axpy(f.now.fx, share, f.one.fx)
		mat.Axpy(f.now.fy, share, f.one.fy)
		f.upper.visit(xi[j], f.one.fx, f.one.fy)
	}
	return nil
}

func (f *follower) askLower(it *Iteration, phi []Sample) error {
	o, x, y := it.Oracle(), it.X(), it.Y()
	if f.lower == nil {
		return f.lowerAt(o, f.now, x, y, phi)
	}
	f.lower.ask(phi)
	f.bends.begin(len(phi))
	clear(f.now.gy)
	f.now.xy.Zero()
	f.now.yy.Zero()
	share := 1 / float64(len(phi))
	for j := range phi {
		if err := f.bends.ask(o, phi[j]); err != nil {
			return err
		}
		if err := f.lowerAt(o, f.one, x, y, phi[j:j+1]); err != nil {
			return err
		}
		mat.Axpy(f.now.gy, share, f.one.gy)
		mat.AddScaled(f.now.xy, f.now.xy, share, f.one.xy)
		mat.AddScaledSym(f.now.yy, f.now.yy, share, f.one.yy)
		f.lower.visit(phi[j], f.one.gy, nil)
		f.bends.visit(phi[j], x, y, f.one.xy, f.one.yy)
	}
	return nil
}

// settle lets the visits of a batch count, after the estimates have moved; old is what the bases of
// the rows move by then, see sweepTable.
func (f *follower) settle() {
	carry := f.ablate&AblateCarry == 0
	if f.upper != nil {
		if carry {
			f.upper.carry(0, f.old.fx)
			f.upper.carry(f.dx, f.old.fy)
		}
		f.upper.end()
	}
	if f.lower != nil {
		if carry {
			f.lower.carry(0, f.old.gy)
			f.bends.carry(f.old.xy, f.old.yy)
		}
		f.lower.end()
		f.bends.end()
	}
}

// replay measures the noise of the change from the last point to the present one, from how the
// batch of the last step sees it. Cost: GradF, GradG, CrossG and HessG at two points, every
// replayEvery-th step; no sample.
func (f *follower) replay(it *Iteration) error {
	o, x, y := it.Oracle(), it.X(), it.Y()
	if !replaysAt(it.K()) {
		return nil
	}
	if f.nXi > 0 {
		if err := o.GradF(f.other.fx, f.other.fy, f.x, f.y, f.xi); err != nil {
			return err
		}
		if err := o.GradF(f.one.fx, f.one.fy, x, y, f.xi); err != nil {
			return err
		}
		var d, n float64
		for i := range f.dx {
			a, b := contrast(f.now.fx[i:i+1], f.old.fx[i:i+1], f.one.fx[i:i+1], f.other.fx[i:i+1])
			d, n = d+quotient(a, b), n+quotient(b, b)
		}
		f.noise[0].add(d, n)
		f.noise[1].add(contrast(f.now.fy, f.old.fy, f.one.fy, f.other.fy))
	}
	if f.nPhi == 0 {
		return nil
	}
	if err := f.lowerAt(o, f.other, f.x, f.y, f.phi); err != nil {
		return err
	}
	if err := f.lowerAt(o, f.one, x, y, f.phi); err != nil {
		return err
	}
	f.noise[2].add(contrast(f.now.gy, f.old.gy, f.one.gy, f.other.gy))
	var d, n float64
	for i := range f.dx {
		a, b := contrast(f.now.xy.Row(i), f.old.xy.Row(i), f.one.xy.Row(i), f.other.xy.Row(i))
		d, n = d+quotient(a, b), n+quotient(b, b)
	}
	f.noise[3].add(d, n)
	d, n = 0, 0
	for i := range f.dy {
		a, b := contrast(f.now.yy.Row(i), f.old.yy.Row(i), f.one.yy.Row(i), f.other.yy.Row(i))
		d, n = d+a, n+b
	}
	f.noise[4].add(d, n)
	return nil
}

// at is g.at, less what is ablated; fresh is the piece that takes the newest batch alone.
func (f *follower) at(g *gain, k int, fresh Ablation) (tau, c float64) {
	tau, c = g.at(k)
	switch {
	case f.ablate&fresh != 0:
		tau = 1
	case f.ablate&AblateGain != 0:
		tau = min(tau, g.batch/(g.first+float64(k)*g.batch))
	}
	if f.ablate&AblateWorth != 0 && g.d > 0 {
		c = 1
	}
	return tau, c
}

// omega is the share of noise in the changes of a block, less what is ablated.
func (f *follower) omega(block int) float64 {
	if f.ablate&AblateScatter != 0 {
		return 1
	}
	return f.noise[block].omega
}

// bendXY is row i of what the table says of g_xy; nil without one.
func (f *follower) bendXY(i int) []float64 {
	if f.bends == nil {
		return nil
	}
	return f.bends.dxy.Row(i)
}

// part is v[i:j], and nil for nil.
func part(v []float64, i, j int) []float64 {
	if v == nil {
		return nil
	}
	return v[i:j]
}

// remember keeps the point and the batch of step k.
func (f *follower) remember(it *Iteration, xi, phi []Sample) {
	copy(f.x, it.X())
	copy(f.y, it.Y())
	if it.K() > 0 { // the first batch is of another size, and not replayed
		copy(f.xi, xi)
		copy(f.phi, phi)
	}
}

// sigma is the size of the noise of an eigenvalue of H_yy: √(P/d), P the mean square of its
// Frobenius norm.
func (f *follower) sigma() float64 { return math.Sqrt(f.gyy.p / float64(f.dy)) }

func (f *follower) State(t *State) {
	t.Floats(f.fx, f.fy, f.gy, f.x, f.y)
	t.Dense(f.xy)
	t.Sym(f.yy)
	for i := range f.gfx {
		f.gfx[i].State(t)
		f.gxy[i].State(t)
	}
	for _, g := range []*gain{&f.gfy, &f.ggy, &f.gyy} {
		g.State(t)
	}
	for i := range f.noise {
		t.Count(&f.noise[i].n)
		t.Float(&f.noise[i].omega)
	}
	for _, batch := range [][]Sample{f.xi, f.phi} {
		for i := range batch {
			t.Uint((*uint64)(&batch[i]))
		}
	}
	for _, p := range []*recall{f.pastXi, f.pastPhi} {
		if p != nil {
			p.State(t)
		}
	}
	f.orderXi.State(t)
	f.orderPhi.State(t)
	if f.upper != nil {
		f.upper.State(t)
	}
	if f.lower != nil {
		f.lower.State(t)
		f.bends.State(t)
	}
}
