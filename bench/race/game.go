package race

import (
	"math"
	"math/rand/v2"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/bilevel/minmax"
	"stable/bilevel/observe"
	"stable/mat"
)

// game is a quadratic min-max problem with its saddle point at 0, p_1 < 0 and noise on every
// derivative,
//
//	s(x, y; ζ) = ½ Σ p_i x_i² + xᵀK y − ½ Σ q_j y_j² + σ(eᵀx + e′ᵀy + xᵀN y),
//
// with Gaussian e, e′ and N. F = ½ xᵀ(P + KQ⁻¹Kᵀ)x is convex although s(·, y) is not.
type game struct {
	p, q  []float64
	k     *mat.Dense
	sigma float64
	seed  uint64
	pcg   *rand.PCG
	rng   *rand.Rand
	e     [2][]float64 // scratch
	n     *mat.Dense
}

func newGame(d int, sigma float64, seed uint64) *game {
	vector, pcg := func() []float64 { return make([]float64, d) }, new(rand.PCG)
	g := &game{p: vector(), q: vector(), k: mat.NewDense(d, d), sigma: sigma, seed: seed, pcg: pcg, rng: rand.New(pcg),
		e: [2][]float64{vector(), vector()}, n: mat.NewDense(d, d)}
	rng := rand.New(rand.NewPCG(seed, 'g'))
	for i := range d {
		g.p[i], g.q[i] = 1+float64(i), 1+float64(i)/2
		for j := range d {
			g.k.Set(i, j, rng.NormFloat64()/math.Sqrt(float64(d)))
		}
	}
	g.p[0] = -0.1
	g.k.Set(0, 0, 2)
	return g
}

func (g *game) Dims() (dx, dy int) { return len(g.p), len(g.q) }
func (g *game) Stream() uint64     { return 0 }

// draw writes σ times the means of e, e′ and N over a batch, and K added to the last.
func (g *game) draw(zeta []bilevel.Sample) {
	clear(g.e[0])
	clear(g.e[1])
	mat.Copy(g.n, g.k)
	root := math.Sqrt(float64(len(g.p)))
	w := g.sigma / root / float64(len(zeta))
	for _, z := range zeta {
		g.pcg.Seed(g.seed, uint64(z))
		for _, v := range g.e {
			for i := range v {
				v[i] += w * g.rng.NormFloat64()
			}
		}
		for i := range g.n.Data {
			g.n.Data[i] += w / root * g.rng.NormFloat64()
		}
	}
}

func (g *game) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	g.draw(zeta)
	s := mat.Dot(g.e[0], x) + mat.Dot(g.e[1], y)
	for i, v := range x {
		s += v * (g.p[i]*v/2 + mat.Dot(g.n.Row(i), y))
	}
	for j, v := range y {
		s -= g.q[j] * v * v / 2
	}
	return s, nil
}

func (g *game) Grad(sx, sy, x, y []float64, zeta []bilevel.Sample) error {
	g.draw(zeta)
	mat.MulVec(sx, g.n, y)
	mat.MulVecTrans(sy, g.n, x)
	for i, v := range x {
		sx[i] += g.p[i]*v + g.e[0][i]
		sy[i] += g.e[1][i] - g.q[i]*y[i]
	}
	return nil
}

func (g *game) Cross(sxy *mat.Dense, _, _ []float64, zeta []bilevel.Sample) error {
	g.draw(zeta)
	mat.Copy(sxy, g.n)
	return nil
}

func (g *game) Hess(syy *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	syy.Zero()
	for j, v := range g.q {
		syy.Set(j, j, -v)
	}
	return nil
}

func gameMaker(name string, h half, d int, sigma float64, seed uint64) maker {
	return maker{name, func() (*problem, error) {
		g, star := newGame(d, sigma, seed), make([]float64, d)
		hess := kit.HessianF(minmax.Adapt(g), star)
		p := &problem{
			half: h, set: bilevel.Space{}, star: star,
			fresh: func() contest { return solved{bilevel.Complete(minmax.Adapt(newGame(d, sigma, seed)))} },
			muG:   g.q[0], lG: 2 * g.q[d-1], cGxy: math.Hypot(mat.NormFrob(g.k), sigma),
			units: units{alpha: 5 / mat.NormFrobSym(hess), beta: 5 / g.q[d-1]},
			start: func(rng *rand.Rand) (x0, y0 []float64) { return normals(rng, d), normals(rng, d) },
		}
		return p, p.limited(minmax.Adapt(g), observe.LimitOptions{Seed: seed})
	}}
}

// composed keeps the composition, which methods made for such look for.
type composed struct{ *compose.Problem }

func (c composed) ObjectiveFrom(grad, _, x []float64) (float64, error) { return c.Objective(grad, x) }

// portfolio is a mean-variance choice among d assets over a set, on scenarios with one factor.
func portfolio(name string, h half, d int, set bilevel.Set, seed uint64) maker {
	return maker{name, func() (*problem, error) {
		const scenarios, risk = 400, 2
		rng := rand.New(rand.NewPCG(seed, 'r'))
		returns := mat.NewDense(scenarios, d)
		for i := range scenarios {
			factor := rng.NormFloat64()
			for j := range d {
				returns.Set(i, j, 0.05+0.1*float64(j)/float64(d)+0.2*(0.5*factor+rng.NormFloat64()))
			}
		}
		m := kit.Must(compose.NewMeanVariance(returns, risk))
		x, best, err := m.Optimum()
		p := compose.Adapt(m)
		l := mat.NormFrobSym(kit.HessianF(p, x))
		if _, free := set.(bilevel.Space); !free {
			// The proximal point method: each round leaves ρ/(ρ + μ) of the distance, μI ⪯ ∇²F ⪯ l·I.
			prox, next := observe.Moreau{F: p, Set: set, Rho: 1e-4 * l, Tol: 1e-12}, make([]float64, d)
			for range 12 {
				kit.Must(prox.At(next, x))
				copy(x, next)
			}
			best = kit.Must(p.Objective(nil, x))
		}
		return &problem{
			half: h, fresh: func() contest { return composed{compose.Adapt(m)} }, set: set,
			muG: 1, lG: 1, cGxy: 10, best: best, star: x, units: units{alpha: 5 / l},
			start: func(rng *rand.Rand) (x0, y0 []float64) {
				x0 = normals(rng, d)
				set.Project(x0, x0)
				return x0, normals(rng, 2)
			},
		}, err
	}}
}
