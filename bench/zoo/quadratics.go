package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/kernel"
)

// noisy is what samples of a quadratic problem add to its mean, with p and q random, ξ of the law,
// and κ = 1 + bend·N(0, 1) times the mean's second derivatives:
//
//	ξ(½·tilt·(pᵀy)² + cross·(pᵀy)(qᵀx) + size·pᵀy)  in g,    ξ·size·(pᵀy + qᵀx)  in f
//
// and, for a column c ≥ 0 of g_xy, J_c, that only a share of the samples knows, (B/share −
// 1)·J_cᵀy·x_c + (B/share)·z·J_cᵀy in g, with B one in a share of the samples, else 0, and z ~ N(0,
// 0.3²). A sample's numbers are a function of its name.
type noisy struct {
	law               law
	twin              bool // events are normal, of the same variances
	size              *float64
	bend, cross, tilt float64
	shape, shapeX     []float64  // sizes of the entries of p, of which half is no noise, and of q
	shapeF            []float64  // those of p in f; nil: as in g
	turn              reflection // p is turned
	column            int        // −1: none
	share             float64
}

func (n *noisy) loss(terms, key uint64, q *quad, upper bool) loss {
	dx, dy, shape := len(n.shapeX), len(n.shape), n.shape
	if upper && n.shapeF != nil {
		shape = n.shapeF
	}
	// u is pᵀy, qᵀx, J_cᵀy, x_c
	return loss{terms: terms, width: 4, quad: q, psi: psi, read: func(t *term, x []float64, i bilevel.Sample) {
		t.pcg.Seed(key, uint64(i))
		p, qx, s := t.scratch(0, dy), t.scratch(1, dx), t.scratch(2, 6)
		for j := range p {
			p[j] = shape[j] * (1 + t.rng.NormFloat64()) / math.Sqrt2
		}
		if n.turn != nil {
			n.turn.apply(p)
		}
		for j := range qx {
			qx[j] = n.shapeX[j] * t.rng.NormFloat64()
		}
		xi := n.law.draw(t.rng)
		t.bend = 1 + n.bend*t.rng.NormFloat64()
		t.a[0].v, t.b[1].v = p, qx
		clear(s)
		if s[2] = xi * *n.size; upper {
			s[3] = s[2]
			return
		}
		if s[0], s[1] = xi*n.tilt, xi*n.cross; n.column >= 0 {
			s[4], s[5] = n.event(t.rng)
			t.a[2], t.b[3] = row{0, q.xy.Row(n.column)}, row{n.column, one}
		}
	}}
}

func psi(t *term) {
	s, u := t.buf[2], t.u
	t.val = s[0]*u[0]*u[0]/2 + s[1]*u[0]*u[1] + s[2]*u[0] + s[3]*u[1] + s[4]*u[2]*u[3] + s[5]*u[2]
	t.g[0], t.g[1] = s[0]*u[0]+s[1]*u[1]+s[2], s[1]*u[0]+s[3]
	t.g[2], t.g[3] = s[4]*u[3]+s[5], s[4]*u[2]
	t.h[0], t.h[1], t.h[4], t.h[11], t.h[14] = s[0], s[1], s[1], s[4], s[4]
}

// event draws B/share − 1 and (B/share)·z.
func (n *noisy) event(r *rand.Rand) (factor, shift float64) {
	z := 0.3 * r.NormFloat64()
	if n.twin {
		return math.Sqrt(1/n.share-1) * r.NormFloat64(), z * math.Sqrt(1/n.share)
	}
	if r.Float64() < n.share {
		return 1/n.share - 1, z / n.share
	}
	return -1, 0
}

func (n *noisy) species(r *rand.Rand, nf, ng uint64, f, g *quad) species {
	key := r.Uint64()
	of := func(n *noisy) *sum {
		return &sum{dx: len(n.shapeX), dy: len(n.shape), f: n.loss(nf, key, f, true), g: n.loss(ng, key+1, g, false)}
	}
	s := species{sum: of(n), law: n.law, noise: n.size}
	if nf == 0 {
		m := *n
		m.law, m.twin = gauss, true
		s.twin = of(&m)
	}
	return s
}

// drawQuadratic draws g = ½(y − Jx − y°)ᵀH(y − Jx − y°) + constant and f = ½‖y − a‖² + ½ρ‖x − c‖².
func drawQuadratic(r *rand.Rand, nf, ng uint64) species {
	dx, dy := dims(r, 1), dims(r, 1)
	cond := between(r, 1, 1e6)
	turn := reflection(gaussians(r, dy, 1))
	kernel.Scale(turn, 1/mat.Norm(turn), turn)
	f, g := newQuad(dx, dy), newQuad(dx, dy)
	n := noisy{law: drawLaw(r), size: new(float64), shape: make(vector, dy), turn: turn, column: -1,
		tilt: pick(r, 0, 0.5, 1, 3), cross: pick(r, 0, 0.3, 1), bend: pick(r, 0, 0, 0.3, 0.85)}
	for k := range dy {
		l := between(r, 1/cond, 1)
		n.shape[k] = math.Sqrt(l / float64(dy))
		e := make(vector, dy)
		e[k] = 1
		turn.apply(e)
		mat.RankOne(g.yy, l, e)
	}
	n.shapeX = scales(r, dx, pick(r, 0.0, 1, 2))
	for i := range dx {
		v := g.xy.Row(i)
		mat.MulVecSym(v, g.yy, gaussians(r, dy, n.shapeX[i]/math.Sqrt(float64(max(dx, dy)))))
		kernel.Scale(v, -1, v)
		n.shapeX[i] /= math.Sqrt(float64(dx))
	}
	mat.MulVecSym(g.y, g.yy, gaussians(r, dy, 1))
	mat.AddIdentity(f.yy, 1)
	f.y = gaussians(r, dy, 1)
	rho := between(r, 1e-3, 1)
	mat.AddIdentity(f.xx, rho)
	f.x = gaussians(r, dx, rho)
	*n.size = between(r, 1e-2, 3)
	if r.IntN(4) == 0 {
		n.column, n.share = r.IntN(dx), 1e-3
	}
	s := n.species(r, nf, ng, f, g)
	s.about = fmt.Sprintf("condition %.1g, noise %.2g of gradients, %g of g_yy, %g of g_xy, %g by the point",
		cond, *n.size, n.tilt, n.cross, n.bend)
	if n.column >= 0 {
		s.about += fmt.Sprintf(", x_%d known by one in 1000", n.column)
		s.law.rate = 1e-3
	}
	return s
}

// drawRare draws g = ½‖y‖² − (x_0 + b)y_0 − m(x_1 + c)y_1, m = w in a share p of the samples, else
// 0, and f = ½‖y − a − e‖², b, c, e ~ N(0, 0.3²).
func drawRare(r *rand.Rand, nf, ng uint64) species {
	p, w := between(r, 1e-3, 1e-1), between(r, 5, 300)
	f, g := newQuad(2, 2), newQuad(2, 2)
	mat.AddIdentity(g.yy, 1)
	mat.AddIdentity(f.yy, 1)
	g.xy.Set(0, 0, -1)
	g.xy.Set(1, 1, -p*w)
	f.y[0], f.y[1] = -1, -2*p*w
	size := 1.0
	n := noisy{law: gauss, size: &size, shape: []float64{0.3, 0}, shapeF: []float64{0.3, 0.3},
		shapeX: []float64{0, 0}, column: 1, share: p}
	s := n.species(r, nf, ng, f, g)
	s.law.name, s.law.rate, s.noise = "rare", p, nil
	s.about = fmt.Sprintf("weight %.3g, one in %.3g", w, 1/p)
	return s
}

// drawToll draws flows y over congested parallel roads, and tolls x; f is what these do not earn.
func drawToll(r *rand.Rand, nf, ng uint64) species {
	d := dims(r, 1)
	f, g := newQuad(d, d), newQuad(d, d)
	n := noisy{law: drawLaw(r), size: new(float64), shape: make(vector, d), shapeX: make(vector, d), column: -1,
		tilt: pick(r, 0, 0.5, 1), bend: pick(r, 0, 0.3, 0.85)}
	pull, demand := between(r, 0.1, 3), between(r, 1, 10)
	for a := range d {
		c := between(r, 0.3, 3)
		n.shape[a], n.shapeX[a] = math.Sqrt(c/float64(d)), 1/math.Sqrt(float64(d))
		g.yy.Set(a, a, c)
		g.xy.Set(a, a, 1)
		f.xy.Set(a, a, -1)
		g.y[a] = between(r, 0.1, 1) - pull*demand
	}
	mat.RankOne(g.yy, pull, slices.Repeat(one, d))
	mat.AddIdentity(f.xx, between(r, 1e-2, 0.3))
	*n.size = between(r, 1e-2, 2)
	s := n.species(r, nf, ng, f, g)
	s.about = fmt.Sprintf("demand %.2g, noise %.2g of gradients, %g of g_yy, %g by the point", demand, *n.size, n.tilt, n.bend)
	return s
}
