package theory

import (
	"context"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/mat"
)

// walk is one run; its result depends on its fields alone.
type walk struct {
	problem *quadratic.Problem // cloned
	method  bilevel.Method
	batch   int     // of ξ and of φ; 0: 1
	radius  float64 // ‖x⁰ − x*‖; y⁰ = 0
	start   uint64  // seed of the direction of x⁰
	seed    uint64  // of all else
	marks   []int   // ascending steps
	rho     float64 // of the Moreau envelope; 0: errors at the marks
}

type reading [4][]float64

const (
	upper = iota // ‖x^k − x*‖²; with ρ, the mean of ρ²‖x̂(x^j) − x^j‖² over j = 1, …, k
	lower        // ‖y^k − y*(x^k)‖²
	xi           // samples drawn
	phi
)

func (r *reading) add(other reading, weight float64) {
	for q, v := range other {
		if r[q] == nil {
			r[q] = make([]float64, len(v))
		}
		mat.Axpy(r[q], weight, v)
	}
}

type outcome struct {
	Reading reading
	End     string `json:",omitempty"` // why the method failed
}

// perSpan is how many iterates, at least, are measured while the steps double.
const perSpan = 512

// run walks to the last mark. If the method fails, its last reading stands at later marks.
func (w walk) run(ctx context.Context) (out outcome, err error) {
	m := walker{walk: w, p: w.problem.Clone(), pick: rand.New(rand.NewPCG(w.seed, 'p'))}
	m.best, _ = m.p.Optimum()
	dx, dy := m.p.Dims()
	m.xhat, m.ystar = make([]float64, dx), make([]float64, dy)
	m.moreau = observe.Moreau{F: m.p, Rho: w.rho}
	if m.solver, err = bilevel.New(m.p, w.method, bilevel.Options{X0: from(m.best, w.radius, w.start), Seed: w.seed,
		UpperBatch: w.batch, LowerBatch: w.batch, Explode: 1e6}); err != nil {
		return out, err
	}
	for _, mark := range w.marks {
		if out.End == "" {
			if out.End, err = m.walkTo(ctx, mark); err != nil {
				return out, err
			}
		}
		if err := m.read(&out.Reading); err != nil {
			return out, err
		}
	}
	return out, nil
}

type walker struct {
	walk
	p                 *quadratic.Problem
	solver            *bilevel.Solver
	moreau            observe.Moreau
	best, xhat, ystar []float64
	pick              *rand.Rand
	sum               float64
}

func from(centre []float64, radius float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 's'))
	x := make([]float64, len(centre))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	scale := radius / mat.Norm(x)
	for i, c := range centre {
		x[i] = c + scale*x[i]
	}
	return x
}

// walkTo measures at one random step of each stratum, weighted by its length.
func (m *walker) walkTo(ctx context.Context, mark int) (end string, err error) {
	for s := m.solver; s.K() < mark; {
		if err := ctx.Err(); err != nil {
			return "", context.Cause(ctx)
		}
		k := s.K()
		last := min(k+1+k/perSpan, mark)
		at := k + 1 + m.pick.IntN(last-k)
		for s.K() < last {
			if err := s.Step(); err != nil {
				return err.Error(), nil
			}
			if s.K() != at || m.rho == 0 {
				continue
			}
			e, err := m.moreau.At(m.xhat, s.X())
			if err != nil {
				return "", err
			}
			m.sum += e.Near * float64(last-k)
		}
	}
	return "", nil
}

func (m *walker) read(r *reading) error {
	s := m.solver
	error, c := m.sum/math.Max(1, float64(s.K())), s.Counts()
	if m.rho == 0 {
		error = distance2(s.X(), m.best)
	}
	err := m.p.Solution(m.ystar, s.X())
	for q, v := range []float64{error, distance2(s.Y(), m.ystar), float64(c.Xi), float64(c.Phi)} {
		r[q] = append(r[q], v)
	}
	return err
}

func distance2(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return sum
}
