package bilevel

// Health is what a running method can tell of its iterate without knowing the solution. Every field
// is an estimate, made of samples; a NaN stands for what the method does not know.
type Health struct {
	// Lower is ‖H_yy⁻¹g_y‖, the length of the Newton step of y: how far y is from y*(x). LowerBound
	// is ‖g_y‖/μ_g, a bound of that, and NaN where the method was told no μ_g.
	Lower, LowerBound float64

	// Gradient is the norm of the hypergradient over the entries of x that no bound holds, and
	// StdErr its standard error: √E‖h − ∇F‖². A Gradient below StdErr tells nothing from 0. Both
	// have a meaning where all entries of x have one unit.
	Gradient, StdErr float64

	// Gap is what is left of F(x) − F*: ½(hᵀB⁻¹h + tr B⁻¹C) over the entries that no bound holds,
	// with B the learned Hessian of F and C the covariance of h. The second part is the local
	// asymptotic limit of the samples so far, see observe.LocalLimit. It is +Inf as long as B does
	// not foresee how the hypergradient changes, or is not positive. Run.Gap can stop on it.
	Gap float64

	// Clipped is the share of the late steps, with weights j³, in which eigenvalues of H_yy were
	// raised. LargeMuG says that at the last look H_yy had eigenvalues below μ_g by more than three
	// times their noise: that μ_g is too large.
	Clipped  float64
	LargeMuG bool
}

// HealthReporter is a Stepper that knows its health. Before the first step, too, it tells by a NaN
// what it will never know.
type HealthReporter interface {
	Health() Health
}

// Health returns what the method tells of the present iterate, and whether it tells anything: it
// does if its Stepper is a HealthReporter. It may cost as much as a step, asks no oracle, and
// changes nothing.
func (s *Solver) Health() (h Health, ok bool) {
	r, ok := s.it.stepper.(HealthReporter)
	if !ok || s.it.k == 0 {
		return Health{}, false
	}
	return r.Health(), true
}
