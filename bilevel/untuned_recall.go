package bilevel

import "math/rand/v2"

// recall asks past samples of a stream again, for f_x, f_y and g_y. One name is one draw wherever
// it is evaluated, so this takes no sample. It takes no memory either: the generator of the stream
// gives its names once more.
//
// The mean e of all N samples is moved along with the iterates by the change that one sample sees.
// The noise of these changes adds up to a difference between e and the mean of all samples at the
// present point, of mean square δ = P − S/N. New samples take it away no faster than they tell of
// the mean itself: in balance it is √(QS), with Q = ω‖now − old‖². With a samples at both points,
// the new one and a − 1 past ones in their order, over and over, e follows the mean of all samples
// itself,
//
//	ρ = mean of old − e − ε/N,   V = (1 − a/N)S/a,   t = δ/(δ + V)       means over these a
//	e ← e + mean of (now − old) + ε/N + tρ
//	δ ← (1 − t)²δ + t²V + (1 − a/N)Q/a,   P = S/N + δ
//
// and the balance is √(QS)/a. With a = N, e is the mean. (Past samples between new ones:
// Daneshmand, Lucchi, Hofmann, Starting Small, ICML 2016.)
//
// A step does so where δ is more than a quarter of S/N, in f_y, in g_y, or in f_x in the mean over
// its entries. Streams on which the iterates hardly move, or whose noise is the same everywhere,
// pay nothing. a − 1 is d_y: for gradients of O(d_y) flops that is the cost of forming one g_yy.
type recall struct {
	names    stream   // the names of the stream once more
	first    rand.PCG // where they begin
	given    uint64   // how many of them this pass has had
	end      uint64   // and will have
	n        int      // past samples of this step; 0: none
	old, now sample   // means over them
}

// newRecall returns one for a stream that has not been drawn from.
func newRecall(s *stream, dx, dy int) *recall {
	gradients := func() sample {
		return sample{fx: make([]float64, dx), fy: make([]float64, dy), gy: make([]float64, dy)}
	}
	r := &recall{
		names: stream{size: s.size, pcg: s.pcg, buf: make([]Sample, dy)}, first: s.pcg,
		old: gradients(), now: gradients(),
	}
	r.names.count = &r.given
	return r
}

// recallOf is newRecall for a stream of n samples a step; nil where they have a table, or where it
// or the mean itself is ablated.
func (f *follower) recallOf(s *stream, n int, table *rows, fresh Ablation) *recall {
	if n == 0 || table != nil || f.ablate&(AblateRecall|fresh) != 0 {
		return nil
	}
	return newRecall(s, f.dx, f.dy)
}

// batch returns the next past samples, at most as many as most, where the stream has given so many.
func (r *recall) batch(most int, samples float64) []Sample {
	if r.given == r.end {
		r.given, r.end, r.names.pcg = 0, uint64(samples), r.first
	}
	r.n = int(min(uint64(most), r.end-r.given))
	return r.names.draw(nil, r.n, r.n)
}

// excess is δ over S/N before step k.
func (g *gain) excess(k int) float64 {
	if g.s == 0 {
		return 0
	}
	return max(0, g.p/g.s*g.samples(k-1)/g.batch-1)
}

// recallUpper asks past samples of f again where that is worth it.
func (f *follower) recallUpper(it *Iteration) error {
	r, k := f.pastXi, it.K()
	if r == nil {
		return nil
	}
	r.n = 0
	sum := 0.0
	for i := range f.gfx {
		sum += f.gfx[i].excess(k)
	}
	if max(f.gfy.excess(k), sum/float64(f.dx)) <= 0.25 {
		return nil
	}
	o, batch := it.Oracle(), r.batch(f.dy, f.gfy.samples(k-1))
	if err := o.GradF(r.old.fx, r.old.fy, f.x, f.y, batch); err != nil {
		return err
	}
	return o.GradF(r.now.fx, r.now.fy, it.X(), it.Y(), batch)
}

// recallLower is recallUpper for g_y.
func (f *follower) recallLower(it *Iteration) error {
	r, k := f.pastPhi, it.K()
	if r == nil {
		return nil
	}
	r.n = 0
	if f.ggy.excess(k) <= 0.25 {
		return nil
	}
	o, batch := it.Oracle(), r.batch(f.dy, f.ggy.samples(k-1))
	if err := o.GradG(r.old.gy, f.x, f.y, batch); err != nil {
		return err
	}
	return o.GradG(r.now.gy, it.X(), it.Y(), batch)
}

// asked is the number of past samples of this step.
func (r *recall) asked() int {
	if r == nil {
		return 0
	}
	return r.n
}

// follow is carry with n past samples, whose means are pastNow and pastOld. A long ρ is clipped as
// a long ε is, since one of the past samples may be as long.
func (f *follower) follow(g *gain, k, block int, e, now, old, pastNow, pastOld []float64, n int) {
	all := g.batch + float64(n)
	share := g.batch / all // of the new samples
	tau := g.batch / g.samples(k)
	m := measure(e, now, old, nil, 0)
	keep := f.clip(g, k, block, tau, m.rr, 1)
	squares := 0.0
	for i, v := range e {
		squares += sq((share-tau)*keep*(old[i]-v) + (1-share)*(pastOld[i]-v))
	}
	part := share * max(0, 1-all/g.samples(k))
	delta, noise := sq(1-tau)*g.excess(k)*g.s*g.batch/g.samples(k-1), part*g.s
	back := quotient(delta, delta+noise)
	pull := back * f.clip(g, k, block, tau, squares/sq(share), 1/share)
	for i, v := range e {
		change := share*(now[i]-old[i]) + (1-share)*(pastNow[i]-pastOld[i])
		eps := keep * (old[i] - v)
		e[i] = v + change + tau*eps + pull*((share-tau)*eps+(1-share)*(pastOld[i]-v))
	}
	g.learn(k, tau, m.times(keep*keep), 0)
	g.p = tau*g.s + sq(1-back)*delta + sq(back)*noise + part*f.omega(block)*m.move
}

func (r *recall) State(t *State) {
	t.Rand(&r.names.pcg)
	t.Uint(&r.given)
	t.Uint(&r.end)
	t.After(r.check)
}

// check refuses a pass that has no end.
func (r *recall) check() error {
	if r.given > r.end {
		return damaged("a pass over past samples is longer than it is")
	}
	return nil
}
