package flow

import (
	"errors"
	"math"

	"stable/bilevel/option"
	"stable/bilevel/theorem"
)

// ErrNoTruth is what Lyapunov returns for a problem without bilevel.Truth.
var ErrNoTruth = errors.New("flow: problem does not know its solution")

// Lyapunov returns V (eq.cont-lyap) at the present state. Errors are ErrNoTruth and those of
// bilevel.Truth. Cost: one Solution and one Objective.
func (f *Flow) Lyapunov() (float64, error) {
	if f.truth == nil {
		return 0, ErrNoTruth
	}
	copy(f.star, f.y)
	if err := f.truth.Solution(f.star, f.x); err != nil {
		return 0, err
	}
	v, err := f.truth.Objective(nil, f.x)
	if err != nil {
		return 0, err
	}
	for j, y := range f.y {
		d := y - f.star[j]
		v += d * d / 2
	}
	return v, nil
}

// MaxAlpha returns the largest α for which Theorem 1 proves that V falls, for a given β > 0,
//
//	α ≤ 2μ_g β / (L_f² + 2 B_x L),
//
// and +Inf if nothing bounds it: L_f is that of c.Lipschitz, B_x = C_fx + (C_gxy/μ_g) C_fy bounds
// ‖T‖, and L = L_gxy/μ_g + C_gxy L_gyy/μ_g² is the Lipschitz constant of g_yy⁻¹ g_xyᵀ in y, the
// paper's L_y of this place. Read from c are MuG > 0, Lfx, Lfy, Lgxy, Lgyy, Cfx, Cfy and Cgxy. An
// error wraps bilevel.ErrOption. In a quadratic problem, where L = 0, V falls up to twice the
// bound.
func MaxAlpha(c theorem.Constants, beta float64) (float64, error) {
	if err := errors.Join(
		option.Finite("flow: MaxAlpha: beta", beta),
		option.Finite("flow: MaxAlpha: Constants.MuG", c.MuG),
	); err != nil {
		return 0, err
	}
	for i, v := range []float64{c.Lfx, c.Lfy, c.Lgxy, c.Lgyy, c.Cfx, c.Cfy, c.Cgxy} {
		if !(v >= 0) || math.IsInf(v, 1) {
			name := [...]string{"Lfx", "Lfy", "Lgxy", "Lgyy", "Cfx", "Cfy", "Cgxy"}[i]
			return 0, option.Bad("flow: MaxAlpha: Constants.%s is %v, want a finite value ≥ 0", name, v)
		}
	}
	lf, _, _ := c.Lipschitz()
	r := c.Cgxy / c.MuG
	bx := c.Cfx + r*c.Cfy
	l := (c.Lgxy + r*c.Lgyy) / c.MuG
	return 2 * c.MuG * beta / (lf*lf + 2*bx*l), nil
}
