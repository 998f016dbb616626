package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// STFBO is the tuning-free single-loop method of Yang, Ban, Huang, Ma and Ji (Tuning-Free Bilevel
// Optimization, ICLR 2025): SOBA's directions with step sizes of AdaGrad-norm,
//
//	b² ← b² + ‖D_y‖²,   c² ← c² + ‖D_v‖²,   a² ← a² + ‖D_x‖²,   s = max(b, c),
//	y ← y − D_y/b,   v ← v − D_v/s,   x ← P_X(x − D_x/(a·s)).
//
// The analysis is deterministic: under noise the roots of the sums grow as √k, so the step sizes
// fall as 1/√k, and that of x as 1/k. The authors' code is OptMN-Lab/tfbo at commit 999815f
// (benchopt/solvers/stfbo.py; the sums in coreset/bcsr_training.py).
//
// Samples and cost of a step as for SOBA.
type STFBO struct {
	// A, B and C > 0 are the roots a, b, c before the first step, in the units of the directions.
	// Default 1 each.
	A, B, C float64
}

func (STFBO) Name() string { return "S-TFBO" }

type stfbo struct {
	*soba
	a, b, c float64 // the sums of squares
}

func (m STFBO) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	option.Default(&m.A, 1)
	option.Default(&m.B, 1)
	option.Default(&m.C, 1)
	if err := errors.Join(
		option.Finite("STFBO.A", m.A),
		option.Finite("STFBO.B", m.B),
		option.Finite("STFBO.C", m.C),
	); err != nil {
		return nil, err
	}
	return &stfbo{soba: newSOBA(it), a: m.A * m.A, b: m.B * m.B, c: m.C * m.C}, nil
}

func (m *stfbo) Step(it *bilevel.Iteration) error {
	if err := m.parts(it); err != nil {
		return err
	}
	gy, dv, dx := m.split(m.g)
	mat.Axpy(dv, 1, m.f[len(dx):])         // g_yy v + f_y
	mat.Axpy(dx, 1, m.f[:len(dx)])         // g_xy v + f_x
	if err := it.Finite(m.g); err != nil { // which would spoil the sums
		return err
	}
	m.a += mat.Dot(dx, dx)
	m.b += mat.Dot(gy, gy)
	m.c += mat.Dot(dv, dv)
	a, b := math.Sqrt(m.a), math.Sqrt(m.b)
	s := max(b, math.Sqrt(m.c))
	if err := it.UseSteps(1/(a*s), 1/b, 0); err != nil {
		return err
	}
	it.MoveY(1/b, gy)
	it.MoveX(1/(a*s), dx)
	mat.Axpy(m.v, -1/s, dv)
	it.Watch(mat.Norm(dv))
	return nil
}

func (m *stfbo) State(t *bilevel.State) {
	m.soba.State(t)
	t.Float(&m.a)
	t.Float(&m.b)
	t.Float(&m.c)
}
