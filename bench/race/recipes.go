package race

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/compose"
	"stable/bilevel/minmax"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	unit "stable/bilevel/units"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// recipe is a quadratic problem with its own units and constraints.
type recipe struct {
	name   string
	half   half
	o      quadratic.Options
	x, y   float64 // units are so many times smaller; 0: 1
	mixed  bool    // the entries of x go from 1e-4 to 1e4 times their size
	far    float64 // distance of x⁰ from x*; 0: about √dx
	shiftY float64 // distance of y*(x*) from y⁰ = 0; 0: what the problem has
	place  func(dx int) place
}

// place is where x* is to lie, ∇F there, and the set that holds it.
type place struct {
	at, slope []float64
	set       bilevel.Set
}

func made(recipes []recipe, seed uint64) []maker {
	return kit.Map(recipes, func(r recipe) maker {
		return maker{r.name, func() (*problem, error) { return r.problem(seed) }}
	})
}

func (r recipe) problem(seed uint64) (*problem, error) {
	r.o.Seed += seed
	p := kit.Must(quadratic.New(r.o))
	r.o, r.x, r.y = p.Options(), cmp.Or(r.x, 1), cmp.Or(r.y, 1)
	x, _ := p.Optimum()
	hess := kit.HessianF(p, x)
	to := place{at: make([]float64, r.o.Dx), set: bilevel.Space{}}
	u := unit.Units{X: slices.Repeat([]float64{r.x}, r.o.Dx), Y: slices.Repeat([]float64{r.y}, r.o.Dy)}
	for i := 0; r.mixed && i < r.o.Dx; i++ {
		u.X[i] = math.Pow(10, 8*float64(i)/float64(r.o.Dx-1)-4)
	}
	if r.place != nil {
		to = r.place(r.o.Dx)
		u.ShiftX = to.put(x, hess)
	}
	if r.shiftY > 0 {
		u.ShiftY = slices.Repeat([]float64{r.shiftY / math.Sqrt(float64(r.o.Dy))}, r.o.Dy)
	}
	q := kit.Must(unit.In(p, u))
	if r.place == nil {
		q.X(to.at, x)
	}
	out := &problem{half: r.half, set: to.set, start: r.start(q, x, to.set), star: to.at,
		best:  kit.Must(q.Objective(nil, to.at)),
		fresh: func() contest { return solved{kit.Must(unit.In(p.Clone(), u))} }}
	r.tell(out, q, hess)
	if r.mixed {
		r.mixed = false
		out.natural = kit.Must(r.problem(0))
	}
	if r.o.Tail != 0 {
		return out, nil // the variance of the samples is infinite
	}
	return out, out.limited(q, observe.LimitOptions{Seed: seed, Draws: 4000})
}

// put moves x to where ∇F, which is linear, is the slope, and returns the shift to the place.
func (p place) put(x []float64, hess *mat.Sym) (shift []float64) {
	var c chol.Cholesky
	kit.Must(0, c.Factor(hess))
	c.SolveVec(p.slope, p.slope)
	mat.Axpy(x, 1, p.slope)
	shift = slices.Clone(p.at)
	mat.Axpy(shift, -1, x)
	return shift
}

func (r recipe) start(q *unit.Problem, x []float64, set bilevel.Set) func(rng *rand.Rand) (x0, y0 []float64) {
	return func(rng *rand.Rand) (x0, y0 []float64) {
		x0 = normals(rng, len(x))
		scale := 1.0
		if r.far > 0 {
			scale = r.far / mat.Norm(x0)
		}
		for i, v := range x {
			x0[i] = v + scale*x0[i]
		}
		q.X(x0, x0)
		set.Project(x0, x0)
		return x0, make([]float64, r.o.Dy)
	}
}

// tell fills in what methods are told. Step sizes go from 5 down to 1/20 over the largest curvature.
func (r recipe) tell(p *problem, q *unit.Problem, hess *mat.Sym) {
	var e eig.Jacobi
	kit.Must(0, e.FactorValues(hess))
	p.units = units{alpha: 5 / kit.Last(e.Values()) * r.x * r.x, beta: 5 / r.o.LG * r.y * r.y, lengthX: r.x, lengthY: r.y}
	p.muG = r.o.MuG / (r.y * r.y)
	p.lG = 2 * r.o.LG / (r.y * r.y) // samples double it now and then
	if r.o.RankOneG {
		p.lG *= float64(r.o.Dy)
	}
	gxy := mat.NewDense(r.o.Dx, r.o.Dy)
	kit.Must(0, q.CrossG(gxy, p.star, make([]float64, r.o.Dy), nil))
	p.cGxy = math.Hypot(mat.NormFrob(gxy), r.o.SigmaGxy/(r.x*r.y))
}

// noisy has 10 × 10 variables, condition 10, and noise of 0.5 on every derivative, but for changes.
func noisy(seed uint64, changes ...func(o *quadratic.Options)) quadratic.Options {
	o := quadratic.Options{Seed: 1000 * seed, CrossNorm: 3}
	loud(&o, 0.5)
	for _, change := range changes {
		change(&o)
	}
	return o
}

func loud(o *quadratic.Options, sigma float64) {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = sigma, sigma, sigma, sigma, sigma
}

var streams = []recipe{
	{name: "quadratic", half: chosen, o: noisy(1)},
	{name: "nonconvex", half: confirmed, o: noisy(2, func(o *quadratic.Options) { o.Nonconvex = 1 })},
	{name: "saddle", half: chosen, o: noisy(3, func(o *quadratic.Options) { o.Saddle, o.CrossNorm = true, 1 })},
	{name: "noise 1e-3", half: confirmed, o: noisy(4, func(o *quadratic.Options) { loud(o, 1e-3) })},
	{name: "noise 10", half: chosen, o: noisy(5, func(o *quadratic.Options) { loud(o, 10) })},
	{name: "g of condition 1", half: confirmed, o: noisy(6, func(o *quadratic.Options) { o.LG = 1 })},
	{name: "g of condition 1e4", half: confirmed, o: noisy(7, func(o *quadratic.Options) { o.LG = 1e4 })},
	{name: "F of condition 1e4", half: chosen, o: noisy(8, func(o *quadratic.Options) { o.LP = 1e4 })},
	{name: "start at 100", half: confirmed, o: noisy(9), far: 100},
	{name: "y* of 1e3", half: chosen, o: noisy(10), shiftY: 1e3},
	{name: "rank-one f_yy", half: confirmed, o: noisy(11, func(o *quadratic.Options) { o.RankOneF = true })},
	{name: "rank-one g_yy", half: chosen, o: noisy(12, func(o *quadratic.Options) { o.RankOneG, o.SigmaGyy = true, 0 })},
	{name: "tail 1.5", half: chosen, o: noisy(13, func(o *quadratic.Options) { o.Tail = 1.5 })},
	{name: "tail 1.1", half: confirmed, o: noisy(14, func(o *quadratic.Options) { o.Tail = 1.1 })},
}

var strange = []recipe{
	{name: "x in units of 1e-4", half: chosen, o: noisy(21), x: 1e4},
	{name: "x in units of 1e4", half: confirmed, o: noisy(22), x: 1e-4},
	{name: "x in mixed units", half: confirmed, o: noisy(23), mixed: true},
	{name: "y in units of 1e-3", half: chosen, o: noisy(24), y: 1e3},
	{name: "y in units of 1e3", half: confirmed, o: noisy(25), y: 1e-3},
	{name: "box ±300", half: chosen, o: noisy(26), place: inside(300)},
	{name: "box ±0.1", half: confirmed, o: noisy(27), place: inside(0.1)},
	{name: "on the boundary", half: chosen, o: noisy(28), place: corner(3)},
	{name: "in a corner", half: confirmed, o: noisy(29), place: corner(math.MaxInt)},
	{name: "simplex", half: chosen, o: noisy(30), place: simplex},
	{name: "ball", half: confirmed, o: noisy(31), place: ball},
	{name: "d_x = 200", half: confirmed, o: noisy(32, func(o *quadratic.Options) { o.Dx = 200 })},
	{name: "d_y = 60", half: chosen, o: noisy(33, func(o *quadratic.Options) { o.Dy = 60 })},
	{name: "F of condition 1e6", half: confirmed, o: noisy(34, func(o *quadratic.Options) { o.LP = 1e6 })},
	{name: "g of condition 1e6", half: chosen, o: noisy(35, func(o *quadratic.Options) { o.LG = 1e6 })},
	{name: "‖g_xy‖ = 100", half: confirmed, o: noisy(36, func(o *quadratic.Options) { o.CrossNorm = 100 })},
	{name: "entries unknown to g", half: chosen, o: noisy(37, func(o *quadratic.Options) { o.Blind = 5 })},
	{name: "sum, condition 1e3", half: confirmed, o: noisy(38, func(o *quadratic.Options) { o.Terms, o.LP, o.LG = 1000, 1e3, 1e3 })},
}

func spot(entry func(i, dx int) (at, slope float64), set func(dx int) bilevel.Set) func(int) place {
	return func(dx int) place {
		p := place{make([]float64, dx), make([]float64, dx), set(dx)}
		for i := range dx {
			p.at[i], p.slope[i] = entry(i, dx)
		}
		return p
	}
}

func box(lo, hi float64) func(int) bilevel.Set {
	return func(dx int) bilevel.Set { return bilevel.UniformBox(dx, lo, hi) }
}

func inside(r float64) func(int) place {
	return spot(func(i, _ int) (float64, float64) { return r / 3 * float64(1-i%2*2), 0 }, box(-r, r))
}

// corner is a box of which the first n bounds hold the solution, at alternate sides.
func corner(n int) func(int) place {
	return spot(func(i, _ int) (float64, float64) {
		switch {
		case i >= n:
			return 5, 0
		case i%2 == 0:
			return 0, 1
		}
		return 10, -1
	}, box(0, 10))
}

var simplex = spot(func(i, dx int) (float64, float64) {
	if i%2 == 0 {
		return 0, 1.3
	}
	return float64(i) / float64(dx/2*(dx/2)), 0.3
}, func(int) bilevel.Set { return bilevel.Simplex{} })

var ball = spot(func(_, dx int) (float64, float64) { return 2 / math.Sqrt(float64(dx)), -2 / math.Sqrt(float64(dx)) },
	func(int) bilevel.Set { return bilevel.Ball{Radius: 2} })

// game is a quadratic min-max problem with its saddle at 0, p_1 < 0 and noise on every derivative,
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
