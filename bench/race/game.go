package race

import (
	"fmt"
	"math"
	"math/rand/v2"

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
	e, f  []float64 // scratch
	n     *mat.Dense
}

// newGame has dx = dy = d.
func newGame(d int, sigma float64, seed uint64) *game {
	g := &game{p: make([]float64, d), q: make([]float64, d), k: mat.NewDense(d, d), sigma: sigma, seed: seed}
	rng := rand.New(rand.NewPCG(seed, 'g'))
	for i := range d {
		g.p[i], g.q[i] = 1+float64(i), 1+float64(i)/2
		for j := range d {
			g.k.Set(i, j, rng.NormFloat64()/math.Sqrt(float64(d)))
		}
	}
	g.p[0] = -0.1
	g.k.Set(0, 0, 2)
	return g.clone()
}

// clone returns a game that shares what is only read.
func (g *game) clone() *game {
	d := len(g.p)
	c := *g
	c.pcg = new(rand.PCG)
	c.rng = rand.New(c.pcg)
	c.e, c.f, c.n = make([]float64, d), make([]float64, d), mat.NewDense(d, d)
	return &c
}

func (g *game) Dims() (dx, dy int) { return len(g.p), len(g.q) }
func (g *game) Stream() uint64     { return 0 }

// draw writes σ times the means of e, e′ and N over a batch, and K added to the last.
func (g *game) draw(zeta []bilevel.Sample) {
	clear(g.e)
	clear(g.f)
	mat.Copy(g.n, g.k)
	for _, z := range zeta {
		g.pcg.Seed(g.seed, uint64(z))
		w := g.sigma / math.Sqrt(float64(len(g.p))) / float64(len(zeta))
		for _, v := range [][]float64{g.e, g.f} {
			for i := range v {
				v[i] += w * g.rng.NormFloat64()
			}
		}
		w /= math.Sqrt(float64(len(g.p)))
		for i := range g.n.Data {
			g.n.Data[i] += w * g.rng.NormFloat64()
		}
	}
}

func (g *game) Value(x, y []float64, zeta []bilevel.Sample) (float64, error) {
	g.draw(zeta)
	s := mat.Dot(g.e, x) + mat.Dot(g.f, y)
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
		sx[i] += g.p[i]*v + g.e[i]
	}
	for j, v := range y {
		sy[j] += g.f[j] - g.q[j]*v
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

// gameProblem returns the game as a bilevel problem.
func gameProblem(name string, h half, d int, sigma float64, seed uint64) (*problem, error) {
	g := newGame(d, sigma, seed)
	instance := func() contest {
		return solved{bilevel.Complete(minmax.Adapt(g.clone()))}
	}
	star := make([]float64, d)
	hess, err := hessianF(minmax.Adapt(g.clone()), star)
	if err != nil {
		return nil, err
	}
	l, err := observe.LocalLimit(minmax.Adapt(g.clone()), star, observe.LimitOptions{Seed: seed})
	if err != nil {
		return nil, err
	}
	return &problem{half: h, limit: &l, arena: &arena{
		name: name, fresh: instance, set: bilevel.Space{}, star: star,
		muG: g.q[0], lG: 2 * g.q[d-1], cGxy: math.Hypot(mat.NormFrob(g.k), sigma),
		units: units{alpha: 5 / mat.NormFrobSym(hess), beta: 5 / g.q[d-1]},
		start: func(rng *rand.Rand) (x0, y0 []float64) { return normals(rng, d), normals(rng, d) },
	}}, nil
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// composed is a compositional problem as a contest, which the methods made for such find in it.
type composed struct{ *compose.Problem }

func (c composed) ObjectiveFrom(grad, _, x []float64) (float64, error) { return c.Objective(grad, x) }

// portfolio is a mean-variance choice among d assets, a compositional problem, on scenarios of a
// model with one factor; over a set, or all of R^d.
func portfolio(name string, h half, d int, set bilevel.Set, seed uint64) (*problem, error) {
	const scenarios, risk = 400, 2
	rng := rand.New(rand.NewPCG(seed, 'r'))
	returns := mat.NewDense(scenarios, d)
	for i := range scenarios {
		factor := rng.NormFloat64()
		for j := range d {
			returns.Set(i, j, 0.05+0.1*float64(j)/float64(d)+0.2*(0.5*factor+rng.NormFloat64()))
		}
	}
	m, err := compose.NewMeanVariance(returns, risk)
	if err != nil {
		return nil, err
	}
	x, best, err := m.Optimum()
	if err != nil {
		return nil, err
	}
	p := compose.Adapt(m)
	hess, err := hessianF(p, x)
	if err != nil {
		return nil, err
	}
	l := mat.NormFrobSym(hess)
	if _, free := set.(bilevel.Space); !free {
		if best, err = leastOver(p, set, l, x); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &problem{half: h, arena: &arena{
		name: name, fresh: func() contest { return composed{compose.Adapt(m)} }, set: set,
		muG: 1, lG: 1, cGxy: 10, best: best, star: x,
		units: units{alpha: 5 / l},
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0 = normals(rng, d)
			set.Project(x0, x0)
			return x0, normals(rng, 2)
		},
	}}, nil
}

// leastOver returns the least value of a convex F over a set, by the proximal point method: each
// round leaves ρ/(ρ + μ) of the distance, where μI ⪯ ∇²F ⪯ l·I.
func leastOver(f bilevel.Truth, set bilevel.Set, l float64, x []float64) (float64, error) {
	m := observe.Moreau{F: f, Set: set, Rho: 1e-4 * l, Tol: 1e-12}
	next := make([]float64, len(x))
	for range 12 {
		if _, err := m.At(next, x); err != nil {
			return 0, err
		}
		copy(x, next)
	}
	return f.Objective(nil, x)
}
