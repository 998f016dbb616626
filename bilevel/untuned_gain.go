package bilevel

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// gain holds the scalars of one tracked estimate e of a mean t(z) = E[t(z; i)]: how far e is off,
// how far single samples are off, and how much of that a table foresees. At step k ≥ 1, with one
// sample at two points, now = t(z^k; i) and old = t(z^(k−1); i), and d = T_i − T̄ from a table,
//
//	ε = old − e                             the innovation
//	r = ε − c·d                             what the table does not foresee of it
//	e ← now − (1−τ)ε − τc·d                 c = 0: STORM; τ = c = 1: SAGA; c = 1: ZeroSARAH
//	P ← (1−τ)²P + τ²·max(S−P, S/4) + q,       q = ω‖now − old‖²
//	S, N, D ← means of ‖r‖², ⟨ε, d⟩, ‖d‖²   over the late steps, see newest
//
// where a long r counts in part, see clip,
//
// with the gain of a Kalman filter with these variances, τ = P/S or 1/N for N samples so far,
// whichever is more, and the worth of the table c = N/D, clipped to [0, 1]. Both come from the
// samples before this one. ω is the share of the change that is noise, see scatter.
//
// S − P is the noise of a sample. Right after a long move, P is above S, which is of before it, τ
// is 1, and S − P says that a sample has no noise. Unless that is at least a part of S, the P to
// come is 0, the floor of H_yy with it, and where a single g_yy is near 0, as of a saturated loss,
// y and x go to where no step size comes back from.
//
// In a stream whose points stand still, P is the exact variance of e, and τ = 1/N: e is the mean of
// all samples. (ROOT-SGD: Li, Mou, Wainwright, Jordan, COLT 2022; STORM: Cutkosky, Orabona, NeurIPS
// 2019; SAGA: Defazio, Bach, Lacoste-Julien, NeurIPS 2014; ZeroSARAH: Li, Hanzely, Richtárik,
// arXiv 2103.01447.)
type gain struct {
	p, s  float64 // mean squares of the error of e and of r
	n, d  float64 // means of ⟨ε, d⟩ and ‖d‖²
	pass  float64 // steps in which a table is asked for as many terms as it has; 0: no table
	first float64 // samples in the first estimate
	batch float64 // samples in every one after
	held  float64 // see holds; 0 at first
}

// begin sets the scalars after a first batch of n samples, from the sum of squares about its mean.
func (g *gain) begin(squares float64, n, batch int) {
	g.first, g.batch = float64(max(n, 1)), float64(max(batch, 1))
	if n > 1 {
		g.s = squares / float64(n-1) / g.batch // of a mean over a later batch
		g.p = squares / float64(n-1) / g.first
	}
}

// at returns τ and c of step k ≥ 1.
func (g *gain) at(k int) (tau, c float64) {
	tau = 1
	if g.p < g.s {
		tau = max(g.p/g.s, g.batch/g.samples(k))
	}
	if g.d > 0 {
		c = min(max(g.n/g.d, 0), 1)
	}
	return tau, c
}

// moments are what a sweep over the entries of an estimate adds up.
type moments struct {
	rr, ed, dd, move float64 // of ‖r‖², ⟨ε, d⟩, ‖d‖², ‖now − old‖²
}

func (a *moments) add(b moments, weight float64) {
	a.rr += weight * b.rr
	a.ed += weight * b.ed
	a.dd += weight * b.dd
	a.move += weight * b.move
}

// times is what counts of the moments of a sample that counts in part; the change counts in full.
func (a moments) times(weight float64) moments {
	return moments{weight * a.rr, weight * a.ed, weight * a.dd, a.move}
}

// clip returns the share of r that counts at step k, with ‖r‖² = squares: r is shortened to ‖r‖² ≤
// (N/4 + 8)S for N batches so far; the 8 is there so that early ones are hardly touched. A mean of
// samples of infinite variance is thrown by the largest of them. Truncated where the root of the
// sum of squares is, which grows with the tail, it has the least error in the mean that can be had
// of N such samples, up to a constant (Bubeck, Cesa-Bianchi, Lugosi, IEEE Trans. Inf. Theory 59,
// 2013), and the tail index need not be known. S learns from what is left of r, so that one sample
// raises the bound by a factor of about two, of four in the first ten. Where the variance is
// finite, what is cut off has a mean of at most E[‖r‖²; ‖r‖² > NS/4]·2/√(NS) = o(1/√N), less than
// the error of any estimate.
//
// Bounds that grow as √N are 5 times better where heavy tails are symmetric, but bias what is
// skewed: 6 times worse with lognormal samples, whose variance is finite. A sixteenth in place of
// the quarter is 2 times worse there.
//
// Of a sum of several r, which has as many mean squares, squares is that of the sum.
func (g *gain) clip(k int, squares, of float64) float64 {
	n := g.samples(k) / g.batch
	if bound := (n/4 + 8*of) * g.s; squares > bound && bound > 0 {
		return math.Sqrt(bound / squares)
	}
	return 1
}

// samples is how many samples there are so far at step k.
func (g *gain) samples(k int) float64 { return g.first + float64(k)*g.batch }

// holds returns which share of a correction τr holds for the estimates of the past, too, at which
// the terms of a table were visited: in the mean over the terms. By q the move of this step raises
// P. The error of today is that of an earlier step, less what corrections took of it, and the noise
// of the moves since. Of what is learned about it, a share of Π P/(P+q) over these moves tells of
// the earlier one: all where moves make no noise, next to nothing where one made more than there
// was. (It is the gain of the smoother of Rauch, Tung, Striebel, AIAA J. 3, 1965.) The bases of
// rows move by the rest of the correction, see rows.carry.
func (g *gain) holds(q float64) float64 {
	g.held *= 1 - quotient(q, g.p+q)
	return g.held
}

// learn moves the scalars by what the sweep of step k ≥ 1 has seen, with the q of holds.
func (g *gain) learn(k int, tau float64, m moments, q float64) {
	if g.pass > 0 { // terms visited in this step
		g.held += max(1/g.pass, g.batch/g.samples(k)) * (1 - g.held)
	}
	if g.s == 0 && g.p == 0 { // a first batch of one sample, or none of them differed
		g.s, g.p = m.rr, m.rr*g.batch/(g.first+g.batch)
	} else {
		g.s += g.newest(k-1+int(g.first/g.batch)) * (m.rr - g.s)
	}
	g.p = sq(1-tau)*g.p + sq(tau)*max(g.s-g.p, g.s/4) + q
	if g.d > 0 || m.dd > 0 {
		g.n += g.newest(k-1) * (m.ed - g.n)
		g.d += g.newest(k-1) * (m.dd - g.d)
	}
}

// newest is the weight of the newest of k+1 terms: that of weights j³, and with a table not less
// than one over a pass. As x arrives, what the table does not foresee vanishes at a linear rate.
// Means over a longer time follow at a rate of their own, and hold τ and the error back: with three
// passes, the error of quadratic sums is three times as large at the end of ten.
func (g *gain) newest(k int) float64 {
	if g.pass == 0 {
		return newest(k)
	}
	return windowed(k, max(g.pass, 50))
}

// measure adds up the moments of a sample over some of the entries; a nil d is 0.
func measure(e, now, old, d []float64, c float64) (m moments) {
	now, old = now[:len(e)], old[:len(e)]
	if d == nil {
		return moments{rr: distance(old, e), move: distance(now, old)}
	}
	d = d[:len(e)]
	for i, v := range e {
		eps, move := old[i]-v, now[i]-old[i]
		r := eps - c*d[i]
		m.rr += r * r
		m.ed += eps * d[i]
		m.dd += d[i] * d[i]
		m.move += move * move
	}
	return m
}

// sweep is e ← now − (1−τ)ε for some of the entries.
func sweep(e, now, old []float64, tau float64) {
	now, old = now[:len(e)], old[:len(e)]
	if len(e) < shortRow {
		for i, v := range e {
			e[i] = (1-tau)*(v-old[i]) + now[i]
		}
	} else {
		kernel.Recur(kernel.Shape{Rows: 1, Cols: len(e)}, e, 0, tau, e, 0, old, 0, now, 0)
	}
}

// sweepTable is sweep where there is a table. It makes old what the rows move by: all of e⁺ − e but
// for the share held of the correction τr.
func sweepTable(e, now, old, d []float64, tau, c, held float64) {
	now, old, d = now[:len(e)], old[:len(e)], d[:len(e)]
	for i, v := range e {
		eps := old[i] - v
		e[i] = now[i] - (1-tau)*eps - tau*(c*d[i])
		old[i] = now[i] - old[i] + (1-held)*tau*(eps-c*d[i])
	}
}

// shortRow is the length below which a call of a kernel costs more than the plain loop.
const shortRow = 8

// distance is ‖a − b‖².
func distance(a, b []float64) (squares float64) {
	if len(a) >= shortRow {
		return kernel.SumSquaresSub(kernel.Shape{Rows: 1, Cols: len(a)}, a, 0, b, 0)
	}
	for i, v := range a {
		squares += sq(v - b[i])
	}
	return squares
}

// distanceSym is the square of the Frobenius norm of a − b, both triangles.
func distanceSym(a, b *mat.Sym) float64 {
	diag := 0.0
	for i := range a.N {
		diag += sq(a.Data[i*a.Stride+i] - b.Data[i*b.Stride+i])
	}
	return 2*kernel.SumSquaresSub(kernel.Shape{Rows: a.N, Lower: true}, a.Data, a.Stride, b.Data, b.Stride) + diag
}

// welford adds sample number n ≥ 1 to the mean, and returns by how much the sum of squares about it
// grows.
func welford(mean, t []float64, n int) (squares float64) {
	for i, v := range t {
		d := v - mean[i]
		mean[i] += d / float64(n)
		squares += d * (v - mean[i])
	}
	return squares
}

// scatter measures the share ω of the change of t between two points that is noise: of the changes
// a and b of two samples between the same points, ‖a−b‖²/(‖a‖²+‖b‖²), which is 0 where they agree
// and 1 in the mean where they have nothing in common. With ω = 1, all change counted as noise, τ
// stays at some 10/k where the iterates move as fast as the noise moves the root. Without past
// samples, see recall, that costs a factor 5 of the error on quadratic streams, and 1000 with
// condition 1e4 of F.
type scatter struct {
	n     int
	omega float64
}

// add takes ‖a−b‖² and ‖a‖²+‖b‖², or sums of such with weights of their own.
func (c *scatter) add(difference, size float64) {
	if size == 0 {
		return
	}
	c.omega += windowed(c.n, 50) * (min(1, difference/size) - c.omega)
	c.n++
}

// contrast returns ‖(now−old) − (now2−old2)‖² and the sum of both squares.
func contrast(now, old, now2, old2 []float64) (difference, size float64) {
	for i, v := range now {
		a, b := v-old[i], now2[i]-old2[i]
		difference += (a - b) * (a - b)
		size += a*a + b*b
	}
	return difference, size
}

// windowed is the weight of the newest of k+1 terms in a mean that forgets after about window
// terms.
func windowed(k int, window float64) float64 { return max(newest(k), 1/window) }

// quotient is a/b, and 0 where a is 0.
func quotient(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

func (g *gain) State(t *State) {
	for _, v := range []*float64{&g.p, &g.s, &g.n, &g.d, &g.first, &g.batch, &g.held} {
		t.Float(v)
	}
}
