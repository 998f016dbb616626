package race

import (
	"math"
	"math/rand/v2"
	"strings"

	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	unit "stable/bilevel/units"
	"stable/chol"
	"stable/eig"
	"stable/mat"
)

// half says what a problem is for: the rules and constants of an untuned method may be chosen on
// one half of the problems, and are confirmed on the other.
type half string

const (
	chosen    half = "chosen"
	confirmed half = "confirmed"
)

// halfOf is the half of a problem on data, or of survive: breast_cancer and australian are looked
// at, ijcnn1, covtype and the quadratic problems of survive are not.
func halfOf(name string) half {
	if strings.Contains(name, "breast_cancer") || strings.Contains(name, "australian") {
		return chosen
	}
	return confirmed
}

// problem is an arena whose solution is known.
type problem struct {
	*arena
	half  half
	field []*entrant     // that are put to it
	work  float64        // that a sample takes, in some unit
	sum   bool           // ξ and φ come from finite sums
	limit *observe.Limit // nil where the samples set none, or it is not known

	// natural is the same problem with every entry of x in its own unit, for rivals whose one step
	// size cannot be told more than one unit; nil where that changes nothing.
	natural *arena
}

// floor is the least error that counts: one below the rounding of F may even be negative.
func (a *arena) floor() float64 { return 1e-14*math.Abs(a.best) + 1e-300 }

// of returns the arena for an entrant: a tuned one is told the units, even those of single entries.
func (p *problem) of(e *entrant) *arena {
	if p.natural != nil && !e.untuned {
		return p.natural
	}
	return p.arena
}

// recipe describes a quadratic problem with its own units and constraints.
type recipe struct {
	name string
	half half
	o    quadratic.Options

	x, y   float64 // x and y are written in units so many times smaller; 0: 1
	mixed  bool    // the entries of x go from 1e-4 to 1e4 times their size
	far    float64 // distance of x⁰ from x*; 0: about √dx
	shiftY float64 // distance of y*(x*) from 0, where y⁰ is; 0: what the problem has

	// place returns where x* is to lie, ∇F there, and the set that makes this point the solution.
	place func(dx int) (at, slope []float64, set bilevel.Set)
}

// problem makes it, with the limit that the samples set.
func (r recipe) problem(seed uint64) (*problem, error) {
	r.o.Seed += seed
	p, err := quadratic.New(r.o)
	if err != nil {
		return nil, err
	}
	r.o = p.Options()
	x, _ := p.Optimum()
	hess, err := hessianF(p, x)
	if err != nil {
		return nil, err
	}
	set, u, star := bilevel.Set(bilevel.Space{}), r.units(), make([]float64, r.o.Dx)
	if r.place != nil {
		if star, u.ShiftX, set, err = r.put(x, hess); err != nil {
			return nil, err
		}
	}
	if r.shiftY > 0 {
		u.ShiftY = make([]float64, r.o.Dy)
		for j := range u.ShiftY {
			u.ShiftY[j] = r.shiftY / math.Sqrt(float64(r.o.Dy))
		}
	}
	q, err := unit.In(p, u)
	if err != nil {
		return nil, err
	}
	a := &arena{
		name: r.name, set: set, start: r.start(q, x, set),
		fresh: func() contest {
			c, err := unit.In(p.Clone(), u)
			if err != nil {
				panic(err) // it has just been made
			}
			return solved{c}
		},
	}
	if r.place == nil {
		q.X(star, x)
	}
	if a.best, err = q.Objective(nil, star); err != nil {
		return nil, err
	}
	a.star = star
	if err := r.tell(a, q, star, hess); err != nil {
		return nil, err
	}
	out := &problem{arena: a, half: r.half}
	if r.mixed {
		r.mixed = false
		same, err := r.problem(0)
		if err != nil {
			return nil, err
		}
		out.natural = same.arena
	}
	if r.o.Tail != 0 {
		return out, nil // the variance of the samples is infinite
	}
	l, err := observe.LocalLimit(q, star, observe.LimitOptions{Set: set, Seed: seed, Draws: 4000})
	if err != nil {
		return nil, err
	}
	if l.Free > 0 {
		out.limit = &l
	}
	return out, nil
}

// units are those of the recipe, without shifts.
func (r recipe) units() unit.Units {
	u := unit.Units{X: make([]float64, r.o.Dx), Y: make([]float64, r.o.Dy)}
	for i := range u.X {
		u.X[i] = orOne(r.x)
		if r.mixed {
			u.X[i] = math.Pow(10, 8*float64(i)/float64(r.o.Dx-1)-4)
		}
	}
	for j := range u.Y {
		u.Y[j] = orOne(r.y)
	}
	return u
}

func orOne(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// put returns the solution in its place and the shift that brings it there, and moves x to it in
// the units of the quadratic problem: ∇F is linear, so that it is the slope at x* + H⁻¹slope.
func (r recipe) put(x []float64, hess *mat.Sym) (at, shift []float64, set bilevel.Set, err error) {
	at, slope, set := r.place(len(x))
	var c chol.Cholesky
	if err := c.Factor(hess); err != nil {
		return nil, nil, nil, err
	}
	c.SolveVec(slope, slope)
	mat.Axpy(x, 1, slope)
	shift = append([]float64(nil), at...)
	mat.Axpy(shift, -1, x)
	return at, shift, set, nil
}

// start draws x⁰ around x*, or far from it, and lets y⁰ be 0.
func (r recipe) start(q *unit.Problem, x []float64, set bilevel.Set) func(rng *rand.Rand) (x0, y0 []float64) {
	return func(rng *rand.Rand) (x0, y0 []float64) {
		x0, y0 = make([]float64, len(x)), make([]float64, r.o.Dy)
		for i := range x0 {
			x0[i] = rng.NormFloat64()
		}
		scale := 1.0
		if r.far > 0 {
			scale = r.far / mat.Norm(x0)
		}
		for i, v := range x {
			x0[i] = v + scale*x0[i]
		}
		q.X(x0, x0)
		set.Project(x0, x0)
		return x0, y0
	}
}

// tell fills in what methods are told of the problem: the constants of the lower level, and where
// the grid of step sizes lies, from 5 down to 1/20 over the largest curvature of F and of g.
func (r recipe) tell(a *arena, q *unit.Problem, x []float64, hess *mat.Sym) error {
	var e eig.Jacobi
	if _, err := e.FactorValues(hess); err != nil {
		return err
	}
	values := e.Values()
	lf := values[len(values)-1]
	ux, uy := orOne(r.x), orOne(r.y)
	a.units = units{alpha: 5 / lf * ux * ux, beta: 5 / r.o.LG * uy * uy, lengthX: ux, lengthY: uy}
	a.muG = r.o.MuG / (uy * uy)
	a.lG = 2 * r.o.LG / (uy * uy) // the noise of single samples doubles the curvature now and then
	if r.o.RankOneG {
		a.lG *= float64(r.o.Dy)
	}
	y, gxy := make([]float64, r.o.Dy), mat.NewDense(r.o.Dx, r.o.Dy)
	if err := q.CrossG(gxy, x, y, nil); err != nil {
		return err
	}
	a.cGxy = math.Hypot(mat.NormFrob(gxy), r.o.SigmaGxy/(ux*uy))
	return nil
}

// hessianF is ∇²F by central differences of ∇F, exact up to rounding where F is quadratic.
func hessianF(p bilevel.Truth, x []float64) (*mat.Sym, error) {
	const h = 1e-3
	n := len(x)
	hess, up, down, z := mat.NewSym(n), make([]float64, n), make([]float64, n), append([]float64(nil), x...)
	for i := range n {
		z[i] = x[i] + h
		if _, err := p.Objective(up, z); err != nil {
			return nil, err
		}
		z[i] = x[i] - h
		if _, err := p.Objective(down, z); err != nil {
			return nil, err
		}
		z[i] = x[i]
		for j := range i + 1 {
			hess.Set(i, j, (up[j]-down[j])/(2*h))
		}
	}
	return hess, nil
}
