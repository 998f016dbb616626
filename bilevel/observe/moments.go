package observe

import (
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// Moments summarises repeated draws of an estimate h of a vector v.
type Moments struct {
	N        int       // draws
	Mean     []float64 // of h
	Bias     float64   // ‖mean − v‖, of which StdErr is noise
	Variance float64   // the unbiased estimate of E‖h − E h‖²
	StdErr   float64   // √(Variance/N), the root mean square of ‖mean − E h‖
}

// Repeat calls draw n ≥ 2 times, for i = 0, …, n−1, to write independent estimates of v, and
// returns their moments. An error of draw ends it.
func Repeat(n int, v []float64, draw func(h []float64, i int) error) (Moments, error) {
	if n < 2 {
		return Moments{}, option.Bad("observe: Repeat: n is %d, want ≥ 2", n)
	}
	m := Moments{N: n, Mean: make([]float64, len(v))}
	h, squares := make([]float64, len(v)), 0.0
	for i := range n {
		if err := draw(h, i); err != nil {
			return Moments{}, err
		}
		// Welford's update of the mean and of Σ‖h − mean‖².
		for j, a := range h {
			d := a - m.Mean[j]
			m.Mean[j] += d / float64(i+1)
			squares += d * (a - m.Mean[j])
		}
	}
	for j, a := range m.Mean {
		h[j] = a - v[j]
	}
	m.Bias = mat.Norm(h)
	m.Variance = squares / float64(n-1)
	m.StdErr = math.Sqrt(m.Variance / float64(n))
	return m, nil
}

// Hypergradient returns the moments of the estimate f_x − H_xy H_yy⁻¹ f_y of a running STABLE with
// respect to ∇F, over n draws of a batch ξ from seed, given the estimates and their point (x^{k−1},
// y^{k−1}). The run continues undisturbed.
func (o *Observer) Hypergradient(s *bilevel.Solver, n, batch int, seed uint64) (Moments, error) {
	e := s.Estimator()
	if e == nil || s.K() == 0 {
		return Moments{}, option.Bad("observe: Hypergradient needs a method that keeps estimates, after its first step")
	}
	if batch < 1 {
		return Moments{}, option.Bad("observe: Hypergradient: batch is %d, want ≥ 1", batch)
	}
	x, y := e.Point()
	if _, err := o.truth.Objective(o.grad, x); err != nil {
		return Moments{}, err
	}
	size, _ := o.p.Streams()
	rng := rand.New(rand.NewPCG(seed, 'h'))
	xi, fx, fy := make([]bilevel.Sample, batch), make([]float64, len(x)), make([]float64, len(y))
	return Repeat(n, o.grad, func(h []float64, _ int) error {
		for i := range xi {
			if size == 0 {
				xi[i] = bilevel.Sample(rng.Uint64())
			} else {
				xi[i] = bilevel.Sample(rng.Uint64N(size))
			}
		}
		if err := o.p.GradF(fx, fy, x, y, xi); err != nil {
			return err
		}
		return e.Hypergradient(h, fx, fy)
	})
}

// FirstStep returns the moments of a method's hypergradient estimate at (opt.X0, opt.Y0), with
// respect to ∇F there: those of (x⁰ − x¹)/α over n runs of one step with the seeds opt.Seed,
// opt.Seed + 1, …
//
// m must step by x¹ = x⁰ − α h, alpha being its α at step 0, so opt.Set must leave x free.
// FirstStep refuses a trust region where it acts (STABLE.Plain leaves it out). A method that moves
// y first estimates at the new y: a β of 0 keeps y⁰.
func (o *Observer) FirstStep(m bilevel.Method, opt bilevel.Options, alpha float64, n int) (Moments, error) {
	if !(alpha > 0) || math.IsInf(alpha, 1) {
		return Moments{}, option.Bad("observe: FirstStep: alpha is %v, want a finite step size > 0", alpha)
	}
	if _, free := opt.Set.(bilevel.Space); opt.Set != nil && !free {
		return Moments{}, option.Bad("observe: FirstStep: Options.Set is not the whole space")
	}
	dx, _ := o.p.Dims()
	x := make([]float64, dx)
	copy(x, opt.X0)
	if _, err := o.truth.Objective(o.grad, x); err != nil {
		return Moments{}, err
	}
	seed := opt.Seed
	return Repeat(n, o.grad, func(h []float64, i int) error {
		opt.Seed = seed + uint64(i)
		s, err := bilevel.New(o.p, m, opt)
		if err != nil {
			return err
		}
		if err := s.Step(); err != nil {
			return err
		}
		if s.Activity().Cut > 0 {
			return option.Bad("observe: FirstStep: the trust region of %s shortened the step", m.Name())
		}
		for j, v := range s.X() {
			h[j] = (x[j] - v) / alpha
		}
		return nil
	})
}
