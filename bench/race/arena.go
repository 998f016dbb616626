package race

import (
	"math"
	"math/rand/v2"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/quadratic"
)

// arena is a problem that methods are compared on.
type arena struct {
	name          string
	data          []kit.Source   // the files that it is made of
	features      string         // on data: how many there are, and how they are scaled
	fresh         func() contest // an instance for one goroutine
	set           bilevel.Set
	muG, lG, cGxy float64 // constants of the lower level
	batch         int     // samples in a batch of ξ and of φ; 0: 1
	units         units
	best          float64   // F*
	star          []float64 // x*; nil where nobody asks
	start         func(rng *rand.Rand) (x0, y0 []float64)
}

// units says where the grid of step sizes lies on a problem in which x, y or the curvature have
// another size than in the paper. A user of a tuned method would have to find this out. 0 stands
// for 1.
type units struct {
	alpha, beta      float64 // factors of α and β
	lengthX, lengthY float64 // the same where α or β is the length of a step
}

// of returns the factors for an entrant.
func (u units) of(e *entrant) (alpha, beta float64) {
	alpha, beta = u.alpha, u.beta
	if e.lengths[0] {
		alpha = u.lengthX
	}
	if e.lengths[1] {
		beta = u.lengthY
	}
	return orOne(alpha), orOne(beta)
}

// contest is a problem with its exact objective: ObjectiveFrom returns F(x), and may start from y
// and leave y*(x) there.
type contest interface {
	bilevel.Problem
	ObjectiveFrom(grad, y, x []float64) (float64, error)
}

// weights says how x stands for regularisation weights, and bounds them.
type weights struct {
	form   string // raw: x_i, as in the paper; exp: ½exp(x_i)
	lo, hi float64
}

// quickRows is the number of rows that -quick takes of a larger data set.
const quickRows = 20000

// table is a data file in two random halves, scaled.
type table struct {
	train, val *data.Data
	origin     kit.Source
	features   string
}

// halves splits at most rows rows of a data file at random.
func halves(file string, rows int, seed uint64) (t table, err error) {
	d, origin, err := kit.OpenData(file, data.ReadOptions{})
	if err != nil {
		return t, err
	}
	if d.Rows() > rows {
		part, err := d.Split(seed, float64(rows), float64(d.Rows()-rows))
		if err != nil {
			return t, err
		}
		d = part[0]
	}
	parts, err := d.Split(seed, 1, 1)
	if err != nil {
		return t, err
	}
	scaler, err := kit.Scale(parts)
	if err != nil {
		return t, err
	}
	features := "features of " + kit.DataName(file) + ": " + kit.Features(scaler, "the training rows")
	return table{parts[0], parts[1], origin, features}, nil
}

// arena returns the paper's test problem on the table: x in a box, with random starts in it.
func (t table) arena(name string, w weights, out kit.Terminal) (*arena, error) {
	a, err := tuningArena(name, t.train, t.val, w, out)
	if err != nil {
		return nil, err
	}
	a.data, a.features = []kit.Source{t.origin}, t.features
	return a, nil
}

// dataArena returns the arena of random halves of at most rows rows of a data file.
func dataArena(file string, rows int, seed uint64, w weights, out kit.Terminal) (*arena, error) {
	t, err := halves(file, rows, seed)
	if err != nil {
		return nil, err
	}
	return t.arena(kit.DataName(file), w, out)
}

// tuningArena is the test problem on given rows.
func tuningArena(name string, train, val *data.Data, w weights, out kit.Terminal) (*arena, error) {
	opt := hyperopt.Options{Form: hyperopt.Raw, Lo: w.lo, Hi: w.hi}
	if w.form == "exp" {
		opt = hyperopt.Options{Form: hyperopt.Exp, Lo: math.Log(2 * w.lo), Hi: math.Log(2 * w.hi)}
	}
	p, err := hyperopt.New(train, val, opt)
	if err != nil {
		return nil, err
	}
	pr := kit.NewProgress(out)
	pr.Update(0, "%s: exact minimum", name)
	defer pr.Clear()
	best, err := kit.LeastF(p)
	if err != nil {
		return nil, err
	}
	lo, hi := p.Box()
	return &arena{
		name:  name,
		fresh: func() contest { return p.Clone() },
		set:   bilevel.Box{Lo: lo, Hi: hi},
		muG:   p.StrongConvexity(), lG: p.Smoothness(), cGxy: p.CrossBound(),
		best: best.F, star: best.X,
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0, y0 = make([]float64, len(lo)), make([]float64, len(lo))
			for i := range x0 {
				x0[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
				y0[i] = rng.NormFloat64()
			}
			return x0, y0
		},
	}, nil
}

// exact is a problem that knows its objective from x alone.
type exact interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Truth
}

// solved makes an exact problem a contest.
type solved struct{ exact }

func (s solved) ObjectiveFrom(grad, _, x []float64) (float64, error) { return s.Objective(grad, x) }

// quadraticArena is a problem of 10 × 10 variables with noise on every derivative, a finite sum,
// and starts around its solution.
func quadraticArena(name string, o quadratic.Options) (*arena, error) {
	o.Terms, o.CrossNorm = 1000, 3
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = 1, 1, 1, 1, 1
	p, err := quadratic.New(o)
	if err != nil {
		return nil, err
	}
	x, best := p.Optimum()
	c := p.Constants(3)
	return &arena{
		name:  name,
		fresh: func() contest { return solved{p.Clone()} },
		set:   bilevel.Space{},
		muG:   c.MuG, lG: 2 * c.Lg, cGxy: c.Cgxy, // the noise of single samples doubles the curvature now and then
		best: best,
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0, y0 = make([]float64, len(x)), make([]float64, 10)
			for i := range x0 {
				x0[i] = x[i] + rng.NormFloat64()
			}
			return x0, y0
		},
	}, nil
}
