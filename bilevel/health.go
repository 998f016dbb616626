package bilevel

import (
	"fmt"
	"math"
)

// Health is what a running method can tell of its iterate: estimates from samples; NaN: not known.
type Health struct {
	// Lower is ‖H_yy⁻¹g_y‖, the length of the Newton step of y, with the standard error of y*(x)
	// where it is known. LowerBound ≥ Lower is ‖g_y‖/μ_g.
	Lower, LowerBound float64

	// Gradient is the norm of the hypergradient h over the entries of x that no bound holds, StdErr
	// its standard error √E‖h − ∇F‖². A Gradient below StdErr tells nothing from 0. Both want
	// entries of x of one unit.
	Gradient, StdErr float64

	// Gap is what is left of F(x) − F*: ½(hᵀM⁻¹h + tr M⁻¹C) over the entries that no bound holds, and of the
	// others what they fall by where h_i has its sign by chance, or nothing tells that F feels x_i, with M a
	// learned Hessian of F and C the covariance of h; the second part is observe.LocalLimit. In a set without
	// bounds for each entry they are what the last step promised, and that of its face. +Inf where F clearly
	// curves down along entries that may move, or what they need is not known.
	Gap float64

	// MuG is the μ_g that the method was told, 0 for none. Least is the least eigenvalue of g_yy that it sees,
	// before any is raised, LeastErr its standard error; NaN where STABLE and RSVRB raise too few.
	MuG, Least, LeastErr float64

	// Clipped is the share of late steps, with weights j³, in which eigenvalues of H_yy were raised.
	Clipped float64

	// LargeMuG: g_yy has eigenvalues below μ_g by more than three standard errors, and in STABLE and RSVRB most
	// late steps raise some. NotConvex: it has some below 0 by as much, and y is no minimum of g.
	LargeMuG, NotConvex bool

	// Saddle: the hypergradient vanishes, as far as the samples tell, and ∇²F has a clearly
	// negative eigenvalue along entries that may move.
	Saddle bool

	// Flat lists the entries of x without effect, as far as the samples tell: nothing depends on
	// them, as at some saddles, or, without bounds, they are where y*(x) does not change any more.
	Flat []int

	// Slow: Gradient is above 30 standard errors and x hardly moves, since no step of any length
	// did what the method foresaw.
	Slow bool
}

// HealthReporter is a Stepper that knows its health. What it will never know is always NaN.
type HealthReporter interface {
	Health() Health
}

// mostClipped is the share up to which a projection of H_yy is no sign of anything.
const mostClipped = 0.5

// Warnings says in words what is wrong, a line each.
func (h Health) Warnings() (list []string) {
	saw := fmt.Sprintf("the least eigenvalue of g_yy is %.3g ± %.1g", h.Least, h.LeastErr)
	if h.Clipped > mostClipped {
		saw += fmt.Sprintf(", and H_yy was raised in %.0f %% of the late steps", 100*h.Clipped)
	}
	if math.IsNaN(h.Least) {
		saw = "no y*(x) is found"
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
		list = append(list, "x is at a saddle or a maximum of F: the hypergradient vanishes, and F curves down; start elsewhere")
	}
	if n := len(h.Flat); n > 0 {
		list = append(list, fmt.Sprintf("F does not change with %d of the entries of x where the run is, such as x[%d]: its "+
			"minimum may be at infinity; another start, or bounds that keep them from there, may lead lower", n, h.Flat[0]))
	}
	if h.Slow {
		list = append(list, fmt.Sprintf("x hardly moves, where the hypergradient is %.3g ± %.1g; another start or a box "+
			"around x may lead elsewhere", h.Gradient, h.StdErr))
	}
	return list
}
