package bilevel

import "fmt"

// Health is what a running method can tell of its iterate without knowing the solution. Every field
// is an estimate, made of samples; a NaN stands for what the method does not know.
type Health struct {
	// Lower is ‖H_yy⁻¹g_y‖, the length of the Newton step of y, with the standard error of y*(x)
	// where the method knows it: how far y is from y*(x). LowerBound is ‖g_y‖/μ_g, a bound of that,
	// and NaN where the method was told no μ_g.
	Lower, LowerBound float64

	// Gradient is the norm of the hypergradient over the entries of x that no bound holds, and
	// StdErr its standard error: √E‖h − ∇F‖². A Gradient below StdErr tells nothing from 0. Both
	// have a meaning where all entries of x have one unit.
	Gradient, StdErr float64

	// Gap is what is left of F(x) − F*: ½(hᵀM⁻¹h + tr M⁻¹C) over the entries that no bound holds,
	// with M a learned Hessian of F and C the covariance of h. The second part is the local
	// asymptotic limit of the samples so far, see observe.LocalLimit. It is +Inf where the Hessian
	// has a negative eigenvalue, and too large where a curved set, such as Ball, holds x.
	Gap float64

	// MuG is the μ_g that the method was told, 0 for none. Least is the least eigenvalue of g_yy
	// that it sees, before any is raised, and LeastErr its standard error. STABLE and RSVRB look at
	// the steps in which they raise eigenvalues: NaN where these are too few.
	MuG, Least, LeastErr float64

	// Clipped is the share of the late steps, with weights j³, in which eigenvalues of H_yy were
	// raised.
	Clipped float64

	// LargeMuG says that μ_g is too large: g_yy has eigenvalues below it by more than three times
	// their noise, and in STABLE and RSVRB most late steps raise some. NotConvex says that it has
	// eigenvalues below 0 by as much, in the last step, too: y is no minimum of g.
	LargeMuG, NotConvex bool

	// Saddle says that the hypergradient vanishes, as far as the samples tell, where ∇²F has a
	// clearly negative eigenvalue along entries that may move.
	Saddle bool

	// Slow says that Gradient is above 30 standard errors and that x hardly moves, since no step of
	// any length did what the method foresaw. False where the method does not tell.
	Slow bool
}

// HealthReporter is a Stepper that knows its health. Before the first step, too, it tells by a NaN
// what it will never know.
type HealthReporter interface {
	Health() Health
}

// mostClipped is the share of late steps up to which a projection of H_yy is no sign of anything:
// with the right μ_g it is below, but for a g of condition 1, which noise moves below at any time.
const mostClipped = 0.5

// Warnings says in words what is wrong, a line each; nothing where nothing is.
func (h Health) Warnings() (list []string) {
	saw := fmt.Sprintf("the least eigenvalue of g_yy is %.3g ± %.1g", h.Least, h.LeastErr)
	if h.Clipped > mostClipped {
		saw += fmt.Sprintf(", and H_yy was raised in %.0f %% of the late steps", 100*h.Clipped)
	}
	switch {
	case h.NotConvex:
		list = append(list, "g(x, ·) is not convex where the run is, so that y need not be its minimum: "+saw)
	case h.MuG == 0 && h.Clipped > mostClipped && h.Least < 3*h.LeastErr:
		list = append(list, "g(x, ·) may not be strongly convex: "+saw)
	case h.LargeMuG:
		list = append(list, fmt.Sprintf("μ_g = %.3g looks too large: %s", h.MuG, saw))
	}
	if h.Saddle {
		list = append(list, "x is at a saddle or a maximum of F: the hypergradient vanishes there, and F curves down; "+
			"start elsewhere")
	}
	if h.Slow {
		list = append(list, fmt.Sprintf("x hardly moves, where the hypergradient is %.3g ± %.1g; another start or a box "+
			"around x may lead elsewhere", h.Gradient, h.StdErr))
	}
	return list
}
