package bilevel

import (
	"math"

	"stable/eig"
	"stable/mat"
	"stable/mat/kernel"
)

// eigenBound carries a lower bound of λ_min(H_yy) along (STABLE-H), for a problem that is StronglyConvex. With
// t = 1−τ, Δ = g_yy(x^k, y^k; φ) − g_yy(x^{k−1}, y^{k−1}; φ) and s = ConvexityAt(x^k), before the projection
//
//	H^k = t·H^{k−1} + t·Δ + τ·g_yy(x^k, y^k; φ),
//	λ_min(H^k) ≥ t·λ_min(H^{k−1}) + t·λ_min(Δ) + τ·s,                               Weyl's inequality
//	λ_min(Δ) ≥ max(−‖Δ‖_F, min_i Δ_ii − ‖Δ − diag Δ‖_F).                            diagonal: regularisation
//
// Where it exceeds μ_g by cholMargin, the Cholesky factorisation that proves that nothing is to be
// clipped would succeed, and is left out. Elsewhere proves makes it at a shift above μ_g, which, if
// it succeeds, is a new bound for several steps.
//
// Rounding, u = 2⁻⁵³, n = dy: Cholesky of A succeeds if λ_min(A) ≥ c·tr A, and has proved λ_min(A)
// ≥ −c·tr A if it does, c = (n+2)u + O(n²u²) (Rump, BIT 46 (2006), 433-452); cholMargin is more
// than twice that. (STABLE-H) moves H^k by at most 3u(tr H^{k−1} + 2‖g_yy‖_F + ‖Δ‖_F).
type eigenBound struct {
	least float64 // λ_min(H_yy) ≥ least; −Inf where nothing is known
	loss  float64 // what the last step takes from a bound near μ_g
	reach float64 // proves tries a shift this many losses above μ_g
	skip  int     // steps to go without a bound
	wait  int     // skip after the next failure
}

// A new one is tried once in mostWait steps at least.
const (
	leastReach, firstReach, mostReach = 4, 16, 256
	mostWait                          = 256
)

// reset sets the bound for H⁰, a mean of samples ⪰ s·I.
func (b *eigenBound) reset(h *mat.Sym, s, mu float64) {
	*b = eigenBound{least: s - cholMargin(h, mu), reach: firstReach}
}

// update moves the bound along (STABLE-H). size is tr H^{k−1}, norm ‖g_yy‖_F; now − old is Δ.
func (b *eigenBound) update(tau, s, mu, size, norm float64, now, old *mat.Sym) {
	t := 1 - tau
	if !(t >= 0 && t <= 1) {
		b.least = math.Inf(-1)
		return
	}
	low, squares := math.Inf(1), 0.0
	for i := range now.N {
		d := now.Data[i*now.Stride+i] - old.Data[i*old.Stride+i]
		low, squares = min(low, d), squares+d*d
	}
	off := 2 * kernel.SumSquaresSub(kernel.Shape{Rows: now.N, Lower: true}, now.Data, now.Stride, old.Data, old.Stride)
	n, whole := float64(now.N), math.Sqrt(off+squares)
	low = max(-whole, low-math.Sqrt(off))
	rounding := 0x1p-50*(size+2*norm+whole) + n*n*0x1p-52*whole + n*0x1p-500
	rounding += (1 - t) * n * 0x1p-52 * norm // the oracle's own
	b.loss = max(0, (1-t)*(mu-s)-t*low+rounding)
	if t == 0 {
		b.least = s - rounding
		return
	}
	b.least = t*b.least + t*low + (1-t)*s - rounding
}

// proves says whether the bound, or a new one by a factorisation of h, is ≥ μ_g with a margin.
func (b *eigenBound) proves(p *eig.Truncator, h *mat.Sym, mu float64) bool {
	margin := cholMargin(h, mu)
	if b.least >= mu+margin {
		return true
	}
	shift := mu + 2*margin + b.reach*b.loss
	if !p.PosDef(h, shift) {
		if b.reach > leastReach {
			b.reach = max(b.reach/4, leastReach)
		} else {
			b.wait = min(max(2*b.wait, 1), mostWait)
		}
		b.skip = b.wait
		return false
	}
	b.reach, b.wait = min(2*b.reach, mostReach), 0
	b.least = shift - margin
	return true
}

// cholMargin bounds the rounding of a Cholesky factorisation of a − shift·I, 0 ≤ shift < λ_min(a);
// +Inf where underflow or overflow matters.
func cholMargin(a *mat.Sym, mu float64) float64 {
	tr := trace(a)
	if !(mu > 0x1p-400 && tr < 0x1p900) {
		return math.Inf(1)
	}
	return float64(a.N+16) * 0x1p-52 * tr
}

// trace is Σ|a_ii|.
func trace(a *mat.Sym) float64 {
	tr := 0.0
	for i := range a.N {
		tr += math.Abs(a.Data[i*a.Stride+i])
	}
	return tr
}

// pause says whether this step goes without a bound.
func (b *eigenBound) pause() bool {
	if b.skip == 0 {
		return false
	}
	b.skip--
	b.least = math.Inf(-1)
	return true
}

func (b *eigenBound) State(t *State) {
	for _, v := range []*float64{&b.least, &b.loss, &b.reach} {
		t.Float(v)
	}
	t.Count(&b.skip)
	t.Count(&b.wait)
}

// clippings is what an Estimator sees of g_yy in the steps in which P̲ raises eigenvalues:
// vᵀg_yy(φ)v, whose mean is not below the least eigenvalue of E[g_yy], with v the least eigenvector
// of a mean of all g_yy(φ) before. H_yy itself was raised to just below μ_g the step before.
type clippings struct {
	share float64 // of the late steps
	n     int     // steps
	next  int     // the step with the next v
	mean  *mat.Sym
	v     []float64

	m              int // steps since v was chosen
	value, squares float64
	least, err     float64 // of the v before, and its standard error

	eig   eig.Symmetric
	off   *mat.Sym // scratch: g_yy(φ) − mean
	image []float64
}

func newClippings(dy int) clippings {
	return clippings{mean: mat.NewSym(dy), off: mat.NewSym(dy), v: make([]float64, dy), image: make([]float64, dy)}
}

// add takes step k, and g_yy of its batch: 4dy² flops, and now and then an eigen-decomposition.
func (c *clippings) add(k int, clipped bool, yy *mat.Sym) error {
	if k == 0 {
		c.share, c.n, c.next, c.m, c.least, c.err = 0, 0, 16, 0, math.NaN(), math.NaN()
		clear(c.v)
		c.mean.Zero()
	}
	weight := cubicWeight(k)
	c.share -= weight * c.share
	if !clipped {
		return nil
	}
	c.share += weight
	mat.MulVecSym(c.image, yy, c.v)
	c.m++
	off := mat.Dot(c.v, c.image) - c.value
	c.value += off / float64(c.m)
	c.squares += off * off * float64(c.m-1) / float64(c.m)
	mat.AddScaledSym(c.off, yy, -1, c.mean)
	mat.AddScaledSym(c.mean, c.mean, cubicWeight(c.n), c.off)
	if c.n++; c.n < c.next {
		return nil
	}
	return c.choose()
}

func (c *clippings) choose() error {
	if c.n > 16 {
		n := float64(c.m)
		c.least, c.err = c.value, math.Sqrt(c.squares/(n*(n-1)))
	}
	if err := c.eig.Factor(c.mean); err != nil {
		return err
	}
	copy(c.v, c.eig.VectorsT().Row(0))
	c.next, c.m, c.value, c.squares = c.n+16+c.n/4, 0, 0, 0
	return nil
}

func (c *clippings) State(t *State) {
	for _, v := range []*float64{&c.share, &c.value, &c.squares, &c.least, &c.err} {
		t.Float(v)
	}
	for _, v := range []*int{&c.n, &c.next, &c.m} {
		t.Count(v)
	}
	t.Floats(c.v)
	t.Sym(c.mean)
}
