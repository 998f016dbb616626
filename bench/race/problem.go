package race

import (
	"cmp"
	"math"
	"math/rand/v2"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// half says what a problem is for: to choose an untuned method's rules, or to confirm them.
type half string

const (
	chosen    half = "chosen"
	confirmed half = "confirmed"
)

type problem struct {
	name          string
	half          half
	data          []kit.Source
	features      string
	fresh         func() contest
	set           bilevel.Set
	muG, lG, cGxy float64
	batch         int // 0: 1
	units         units
	best          float64 // F*
	star          []float64
	limit         *observe.Limit // nil: none, or not known
	start         func(rng *rand.Rand) (x0, y0 []float64)
	natural       *problem // with natural units; nil: the same
	work          float64  // of a sample
	sum           bool     // of finite sums
}

// contest has an exact objective, which may start from y and leave y*(x) there.
type contest interface {
	bilevel.Problem
	ObjectiveFrom(grad, y, x []float64) (float64, error)
}

type maker struct {
	name string
	make func() (*problem, error)
}

// floor is the least error that counts: one below the rounding of F may even be negative.
func (p *problem) floor() float64 { return 1e-14*math.Abs(p.best) + 1e-300 }

// of returns the problem as it is put to an entrant: a rival has one step size for all entries.
func (p *problem) of(e *entrant) *problem {
	if p.natural != nil && e.rival() {
		return p.natural
	}
	return p
}

// units are factors of α and β in the grid, and those where α or β is the length of a step; 0 stands
// for 1. A user would have to find them out.
type units struct{ alpha, beta, lengthX, lengthY float64 }

func (u units) of(e *entrant) (alpha, beta float64) {
	alpha, beta = u.alpha, u.beta
	if e.Lengths[0] {
		alpha = u.lengthX
	}
	if e.Lengths[1] {
		beta = u.lengthY
	}
	return cmp.Or(alpha, 1), cmp.Or(beta, 1)
}

type exact interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Truth
}

type solved struct{ exact }

func (s solved) ObjectiveFrom(grad, _, x []float64) (float64, error) { return s.Objective(grad, x) }

func quadraticSum(name string, o quadratic.Options) maker {
	return maker{name, func() (*problem, error) {
		o.Terms, o.CrossNorm = 1000, 3
		loud(&o, 1)
		p, err := quadratic.New(o)
		if err != nil {
			return nil, err
		}
		x, best := p.Optimum()
		c := p.Constants(3)
		return &problem{
			name: name, half: confirmed,
			fresh: func() contest { return solved{p.Clone()} },
			set:   bilevel.Space{},
			muG:   c.MuG, lG: 2 * c.Lg, cGxy: c.Cgxy, // samples double it now and then
			best: best,
			start: func(rng *rand.Rand) (x0, y0 []float64) {
				x0 = normals(rng, len(x))
				mat.Axpy(x0, 1, x)
				return x0, make([]float64, 10)
			},
		}, nil
	}}
}

func normals(rng *rand.Rand, n int) (v []float64) {
	for range n {
		v = append(v, rng.NormFloat64())
	}
	return v
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
