// Package check finds mistakes in the oracles of a bilevel.Problem ([Problem]) and in a
// bilevel.Method ([Method]) before a run shows them less clearly, or not at all.
//
// Problem evaluates every oracle at a few random points and samples, and names what is wrong:
//
//	projection   Options.Set projects to the nearest point; else nothing more is checked
//	call         no oracle panics or fails
//	finite       every entry is finite
//	overwrite    destinations, handed over full of NaN, are overwritten, and nothing beside them
//	inputs       x, y, v, the samples and the headers of destinations stay as they are
//	same draw    a name is one draw: the same bits at a second call, after another x, y or both; no jump nearby
//	batch mean   a batch is the mean of its singles
//	derivative   f_x, f_y, g_y and g_x against differences of Values, g_xy and g_yy against those of g_y
//	symmetry     ∂g_y/∂y is symmetric; without Values, ∂(f_x, f_y)/∂(x, y) too, and ∂g_x/∂y is g_xy
//	convexity    the mean g_yy is positive definite, with eigenvalues ≥ Options.MuG; samples keep ConvexityAt
//	unbiased     the exact value is the mean over the samples
//	product      HessVecG and CrossVecG against the matrices, JointG against both and GradG
//	truth        y*(x), F and ∇F against those of package implicit, and ∇F against differences of F
//	effect       each entry of x acts on F: f_x or g_xy is not 0 somewhere; otherwise the report has a gap
//
// Without bilevel.Values the report is never complete: a negated f_y, where f does not mix x and y,
// and a wrong constant in g_y contradict no other oracle.
//
// A derivative is the best of a ladder of extrapolated central differences. Its tolerance is ten times the
// difference between steps of the ladder plus rounding; where that exceeds a thousandth of the largest entry,
// the report has a gap. Sums are compared to 1e-9 of their largest entry. A finite sum of up to
// Options.MaxTerms terms is averaged in full. Other streams get a z-test, entry by entry, on Options.Samples
// draws, with Bonferroni's inequality; entries to which too few draws contribute are left out, and counted.
// Points x lie in Options.Set, and steps of differences where X has room; where it has none, as in a simplex,
// they leave it by at most ScaleX/100, and an oracle that fails there is not accused.
//
// The same problem and options give the same report. For each point and two samples, and once for all
// terms of a sum of 10⁵/(dx + dy)² at most, or 100, a check costs 12 evaluations of g_y and of each value for every
// coordinate of x and y, and 12 values of F for each of x; for each oracle, one evaluation of every
// term of a finite sum, or of Options.Samples draws. Everything allocates.
package check

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// FalseAlarm is the probability that a call's z-tests accuse a correct problem with normal means.
const FalseAlarm = 1e-6

// Options says where Problem looks, and how closely. The zero value is usable.
type Options struct {
	Points int    // number of points (x, y), ≥ 1; 0 means 3
	Seed   uint64 // of points and samples

	// Points x are averages of projections: of Center, and three N(Center, (4·ScaleX)²) draws.
	Set    bilevel.Set // nil means bilevel.Space
	Center []float64   // nil means 0
	ScaleX float64     // > 0; 0 means 1

	// Points y are normal draws around CenterY.
	CenterY []float64 // nil means 0
	ScaleY  float64   // deviation, > 0; 0 means 1

	MuG      float64 // the least eigenvalue that g_yy is meant to have, ≥ 0; 0 asks for > 0 only
	MaxTerms uint64  // the largest finite sum that is averaged in full; 0 means 65536
	Samples  int     // draws of a z-test, ≥ 500; 0 means 1000
}

// Problem checks the oracles of p, and Products, Joint, UpperGradient, Values, Truth and StronglyConvex where p
// implements them. The error is about the options, the dimensions or a nil p alone. Panics of oracles are
// caught. An oracle that failed, or does not keep to its samples, is not checked further, nor another by it.
func Problem(p bilevel.Problem, o Options) (*Report, error) {
	if p == nil {
		return nil, option.Bad("check: Problem needs a problem, and it is nil")
	}
	dx, dy := p.Dims()
	if err := o.complete(dx, dy); err != nil {
		return nil, err
	}
	c := &checker{o: o, p: p, dx: dx, dy: dy, rng: rand.New(rand.NewPCG(o.Seed, 1))}
	c.sizes[upper], c.sizes[lower] = p.Streams()
	c.x, c.y, c.v, c.vec = make([]float64, dx), make([]float64, dy), make([]float64, dy), make([]float64, dy)
	c.normal(c.vec, 1)
	for i := range o.Points {
		c.points = append(c.points, c.point(i))
	}
	if c.set(); len(c.log.Findings) > 0 {
		return &c.log, nil
	}
	c.oracles = slices.DeleteFunc(c.list(), func(o *oracle) bool { // of bilevel.Complete
		_, err := c.attempt(o, c.points[0].of(c.points[0].names[o.stream][0]), 0)
		return errors.Is(err, bilevel.ErrMissing) && !slices.Contains([]string{"GradF", "GradG", "CrossG", "HessG"}, o.name)
	})
	for _, or := range c.oracles {
		c.basics(or)
		c.sameDraw(or)
		c.batchMean(or)
	}
	c.unbiased()
	c.derivatives()
	c.products()
	c.joint()
	c.convexity()
	c.promise()
	c.truth()
	c.effect()
	c.log.cut()
	return &c.log, nil
}

func (o *Options) complete(dx, dy int) error {
	if err := option.Dims(dx, dy); err != nil {
		return err
	}
	option.Default(&o.Points, 3)
	option.Default(&o.Samples, 1000)
	option.Default(&o.MaxTerms, 1<<16)
	option.Default(&o.ScaleX, 1)
	option.Default(&o.ScaleY, 1)
	option.Default[bilevel.Set](&o.Set, bilevel.Space{})
	for center, n := range map[*[]float64]int{&o.Center: dx, &o.CenterY: dy} {
		if *center == nil {
			*center = make([]float64, n)
		}
	}
	if !(o.MuG >= 0) || math.IsInf(o.MuG, 1) {
		return option.Bad("check: MuG is %v, want a finite number ≥ 0", o.MuG)
	}
	return cmp.Or(
		option.AtLeast("check: Points", o.Points, 1),
		option.AtLeast("check: Samples", o.Samples, 500),
		option.Vector("check: Center", o.Center, dx),
		option.Vector("check: CenterY", o.CenterY, dy),
		option.Finite("check: ScaleX", o.ScaleX),
		option.Finite("check: ScaleY", o.ScaleY),
		o.Set.Validate(dx),
	)
}

// set wants (z − P(z))ᵀ(w − P(z)) ≤ 0 for all w in X, here the last P(z), and points near z.
func (c *checker) set() {
	z, p, w := make([]float64, c.dx), slices.Clone(c.points[0].x), make([]float64, c.dx)
	o, rng := &oracle{name: "Options.Set"}, c.rng
	c.rng = rand.New(rand.NewPCG(c.o.Seed, 2))
	defer func() { c.rng = rng }()
	for round := range 320 {
		if round%8 == 0 {
			copy(w, p)
			c.normal(z, 4*c.o.ScaleX)
			mat.Axpy(z, 1, c.o.Center)
			c.o.Set.Project(p, z)
		}
		for i, v := range p {
			if round%8 > 0 {
				w[i] = v + (z[i]-v)/2*float64(c.rng.IntN(2))
			}
		}
		c.o.Set.Project(w, w)
		size, gone, far, off := 0.0, 0.0, 0.0, 0.0
		for i, v := range p {
			size, gone = max(size, math.Abs(v), math.Abs(z[i])), max(gone, math.Abs(z[i]-v))
			far = max(far, math.Abs(w[i]-v))
			off += (z[i] - v) * (w[i] - v)
		}
		if tol := float64(c.dx) * gone * (1e-6*far + 1e-9*size); !(off <= tol) {
			c.log.find(o.whole(Projection, "(z − P(z))ᵀ(w − P(z))", c.points[0],
				"Project does not return the nearest point of X, or X is not convex"), off, 0, tol)
			return
		}
	}
}

type point struct {
	index int
	x, y  []float64
	names [2][2]bilevel.Sample // by stream
	batch []bilevel.Sample     // empty: the exact value
}

func (pt point) of(batch ...bilevel.Sample) point {
	pt.batch = batch
	return pt
}

type checker struct {
	o       Options
	p       bilevel.Problem
	dx, dy  int
	sizes   [2]uint64 // of the streams
	rng     *rand.Rand
	points  []point
	oracles []*oracle
	log     Report

	// The arguments of oracles: copies, at the same addresses in every call.
	x, y, v      []float64
	names, batch []bilevel.Sample
	vec          []float64 // the v of the products

	outside bool // the call steps out of X: a failure accuses nobody
}

// point draws y, and x = (P(c) + P(c+z) + P(c−z) + P(c+z′))/4, in X by convexity.
func (c *checker) point(index int) point {
	pt := point{index: index, x: make([]float64, c.dx), y: make([]float64, c.dy)}
	z, w := make([]float64, c.dx), make([]float64, c.dx)
	for k, sign := range []float64{0, 1, -1, 1} {
		if k != 2 {
			c.normal(z, 4*c.o.ScaleX)
		}
		for i := range w {
			w[i] = c.o.Center[i] + sign*z[i]
		}
		c.o.Set.Project(w, w)
		mat.Axpy(pt.x, 0.25, w)
	}
	c.normal(pt.y, c.o.ScaleY)
	mat.Axpy(pt.y, 1, c.o.CenterY)
	for s := range pt.names {
		pt.names[s] = [2]bilevel.Sample{c.name(s), c.name(s)}
		for try := 0; try < 100 && pt.names[s][0] == pt.names[s][1]; try++ {
			pt.names[s][1] = c.name(s)
		}
	}
	return pt
}

func (c *checker) places(o *oracle, exact bool) (all []point) {
	for _, pt := range c.points {
		s := pt.names[o.stream]
		all = append(all, pt.of(s[0]), pt.of(s[1]))
		if exact {
			all = append(all, pt.of())
		}
	}
	return all
}

func (c *checker) name(stream int) bilevel.Sample {
	if n := c.sizes[stream]; n > 0 {
		return bilevel.Sample(c.rng.Uint64N(n))
	}
	return bilevel.Sample(c.rng.Uint64())
}

func (c *checker) normal(x []float64, scale float64) {
	for i := range x {
		x[i] = scale * c.rng.NormFloat64()
	}
}

func maxAbs(x []float64) float64 { return mat.MaxAbs(mat.DenseOf(1, len(x), x)) }
