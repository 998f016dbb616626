package bilevel

import (
	"errors"
	"math"

	"stable/bilevel/option"
	"stable/mat"
)

// Upper is a rule that moves x with STABLE's estimates, in place of SGD: [Momentum], [STORM] or
// [Adam]. The paper mentions such rules, at the end of its section 2 and in its conclusion, as a
// way to faster rates, and leaves them to later work. Below, h(x, y; ξ) stands for f_x − H_xy
// H_yy⁻¹ f_y, and α_k is STABLE.Alpha.
type Upper interface {
	name() string
	start(it *Iteration) (upperRule, error)
}

// upperRule is the running state of an Upper.
type upperRule interface {
	// look is called at the start of step k, with ξ^k, while the estimator still holds H^{k−1}
	// (nothing at step 0).
	look(it *Iteration, m *stable, xi []Sample) error

	// move writes x^{k+1} into it.NextX(), from h^k in m.h. It returns α_k, or the MetricStep of
	// the step sizes of the entries where they differ.
	move(it *Iteration, m *stable) (alpha float64, err error)

	// Vectors visits the vectors of the last step.
	Vectors(visit func(name string, v []float64))

	// State visits what outlives a step.
	State(t *State)
}

// Momentum is the heavy ball of Polyak (USSR Comput. Math. Math. Phys. 4, 1964),
//
//	x^{k+1} = P_X(x^k − α_k h(x^k, y^k; ξ^k) + w_k (x^k − x^{k−1})).
//
// The last displacement is the one that x made after the projection and the trust region. A
// constant w makes the steps 1/(1−w) times as long in the end, so choose α smaller than that of SGD
// by this factor. Memory dx; oracles as for SGD.
type Momentum struct {
	// Weight is w_k in [0, 1]; 0 is SGD. Default: nil, Constant(0.9).
	Weight Schedule
}

// momentumRule is the running state of Momentum.
type momentumRule struct {
	weight Schedule
	xOld   []float64 // x^{k−1}
}

func (Momentum) name() string { return "Momentum" }

func (u Momentum) start(it *Iteration) (upperRule, error) {
	if u.Weight == nil {
		u.Weight = Constant(0.9)
	}
	if err := option.Schedule("STABLE.Upper: Momentum.Weight", u.Weight, 1); err != nil {
		return nil, err
	}
	r := &momentumRule{u.Weight, make([]float64, len(it.X()))}
	copy(r.xOld, it.X())
	return r, nil
}

func (r *momentumRule) look(*Iteration, *stable, []Sample) error { return nil }

func (r *momentumRule) move(it *Iteration, m *stable) (float64, error) {
	alpha := m.Alpha.At(it.K())
	w, err := it.At("Momentum.Weight", r.weight, 1)
	if err != nil {
		return 0, err
	}
	for i, x := range it.X() {
		it.NextX()[i] = x - alpha*m.h[i] + w*(x-r.xOld[i])
	}
	it.Project(it.NextX())
	copy(r.xOld, it.X())
	return alpha, nil
}

func (r *momentumRule) State(t *State) { t.Floats(r.xOld) }

func (r *momentumRule) Vectors(func(name string, v []float64)) {}

// STORM is the recursive momentum of Cutkosky and Orabona (NeurIPS 2019),
//
//	d^k = h^k(x^k, y^k; ξ^k) + (1−τ_k)(d^{k−1} − h^{k−1}(x^{k−1}, y^{k−1}; ξ^k)),   x^{k+1} = P_X(x^k − α_k d^k),
//
// with the same ξ^k at both points. h^k uses H^k, and h^{k−1} uses H^{k−1}, the estimates at the
// old point. So d differs from h only by the noise of ξ, whatever H does, and exact f_x and f_y
// keep d = h. With H^k at both points, each change of H would stay in d for about 1/τ steps. Memory
// 3dx + dy. For k ≥ 1 a step calls GradF once more than SGD does, on the same sample, and solves
// with H_yy once more, O(dy² + dx·dy).
type STORM struct {
	// Tau is τ_k in [0, 1], the weight of the new sample; 1 is SGD. Default: nil, (k+1)^(−2/3), for
	// α ~ (k+1)^(−1/3).
	Tau Schedule
}

// stormRule is the running state of STORM.
type stormRule struct {
	tau        Schedule
	xOld, yOld []float64 // (x^{k−1}, y^{k−1})
	hOld, d    []float64 // h^{k−1} there, with ξ^k
}

func (STORM) name() string { return "STORM" }

func (u STORM) start(it *Iteration) (upperRule, error) {
	if u.Tau == nil {
		u.Tau = Power{C: 1, P: 2.0 / 3}
	}
	if err := option.Schedule("STABLE.Upper: STORM.Tau", u.Tau, 1); err != nil {
		return nil, err
	}
	dx, dy := len(it.X()), len(it.Y())
	return &stormRule{u.Tau, make([]float64, dx), make([]float64, dy), make([]float64, dx), make([]float64, dx)}, nil
}

func (r *stormRule) look(it *Iteration, m *stable, xi []Sample) error {
	if it.K() == 0 {
		return nil
	}
	if err := it.Oracle().GradF(m.fx, m.fy, r.xOld, r.yOld, xi); err != nil {
		return err
	}
	return m.est.Hypergradient(r.hOld, m.fx, m.fy)
}

func (r *stormRule) move(it *Iteration, m *stable) (float64, error) {
	alpha := m.Alpha.At(it.K())
	tau, err := it.At("STORM.Tau", r.tau, 1)
	if err != nil {
		return 0, err
	}
	mat.RecurVec(r.d, tau, r.hOld, m.h)
	it.MoveX(alpha, r.d)
	copy(r.xOld, it.X())
	copy(r.yOld, it.Y())
	return alpha, nil
}

func (r *stormRule) State(t *State) { t.Floats(r.xOld, r.yOld, r.d) }

func (r *stormRule) Vectors(visit func(name string, v []float64)) {
	visit("the hypergradient at the last iterate", r.hOld)
	visit("the direction of x", r.d)
}

// Adam is Algorithm 1 of Kingma and Ba (ICLR 2015), with a projection in its own metric,
//
//	m^k = β₁m^{k−1} + (1−β₁)h,   v^k = β₂v^{k−1} + (1−β₂)h²,   m̂ = m^k/(1−β₁^{k+1}),   v̂ = v^k/(1−β₂^{k+1}),
//	x^{k+1} = argmin over x in X of Σ a_i(x_i − x^k_i + α_k m̂_i/a_i)²,   a_i = √v̂_i + ε.
//
// The set must be a MetricSet. Memory 3dx; oracles as for SGD.
type Adam struct {
	// Beta1 and Beta2 in (0, 1) are the weights of the past. Default 0.9 and 0.999.
	Beta1, Beta2 float64

	// Eps is ε > 0. Default 1e-8.
	Eps float64
}

// adamRule is the running state of Adam.
type adamRule struct {
	Adam
	set     MetricSet
	m, v, a []float64
	p1, p2  float64 // β₁^{k+1}, β₂^{k+1}
}

func (Adam) name() string { return "Adam" }

func (u Adam) start(it *Iteration) (upperRule, error) {
	option.Default(&u.Beta1, 0.9)
	option.Default(&u.Beta2, 0.999)
	option.Default(&u.Eps, 1e-8)
	set, err := it.MetricSet()
	if err := errors.Join(
		err,
		option.Share("STABLE.Upper: Adam.Beta1", u.Beta1),
		option.Share("STABLE.Upper: Adam.Beta2", u.Beta2),
		option.Finite("STABLE.Upper: Adam.Eps", u.Eps),
	); err != nil {
		return nil, err
	}
	d := len(it.X())
	return &adamRule{Adam: u, set: set, m: make([]float64, d), v: make([]float64, d), a: make([]float64, d), p1: 1,
		p2: 1}, nil
}

func (r *adamRule) look(*Iteration, *stable, []Sample) error { return nil }

func (r *adamRule) move(it *Iteration, m *stable) (float64, error) {
	alpha := m.Alpha.At(it.K())
	r.p1 *= r.Beta1
	r.p2 *= r.Beta2
	for i, h := range m.h {
		r.m[i] = r.Beta1*r.m[i] + (1-r.Beta1)*h
		r.v[i] = r.Beta2*r.v[i] + (1-r.Beta2)*h*h
		r.a[i] = math.Sqrt(r.v[i]/(1-r.p2)) + r.Eps
		it.NextX()[i] = it.X()[i] - alpha*(r.m[i]/(1-r.p1))/r.a[i]
	}
	if err := it.Finite(r.a); err != nil { // a weight of the projection
		return 0, err
	}
	r.set.ProjectMetric(it.NextX(), it.NextX(), r.a)
	return alpha * MetricStep(it.NextX(), it.X(), r.a), nil
}

func (r *adamRule) State(t *State) {
	t.Floats(r.m, r.v)
	t.Float(&r.p1)
	t.Float(&r.p2)
}

func (r *adamRule) Vectors(visit func(name string, v []float64)) {
	visit("the mean of the hypergradients", r.m)
	visit("the metric", r.a)
}
