package bilevel

// Method is a rule that computes the next iterate from the present one. Any package can implement
// it; the Solver counts, catches panics, looks for values that are not finite, saves and loads
// checkpoints, and keeps the last good iterate.
//
// A method consists of two types: the Method holds the parameters, and the Stepper that Start
// returns is the running method. check.Method, in package check, says which of the rules below a
// method breaks, such as a State that leaves something out. This is a complete method, to copy:
//
//	// Loopless moves y, v ≈ g_yy⁻¹f_y, and x along a mean d of hypergradients:
//	//
//	//	y ← y − βg_y,  v ← v − β(g_yy v − f_y),  d ← wd + (1−w)(f_x − g_xy v),  x ← P_X(x − αd).
//	type Loopless struct {
//		Alpha, Beta bilevel.Schedule // step sizes of x, and of y and v. Required, ≥ 0
//		Past        float64          // w in (0, 1), the weight of the past in d. Default 0.9
//	}
//
//	func (Loopless) Name() string { return "Loopless" }
//
//	func (m Loopless) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
//		option.Default(&m.Past, 0.9)
//		if err := errors.Join(
//			option.Schedule("Loopless.Alpha", m.Alpha, math.Inf(1)), // finite and ≥ 0
//			option.Schedule("Loopless.Beta", m.Beta, math.Inf(1)),
//			option.Share("Loopless.Past", m.Past),
//		); err != nil {
//			return nil, err
//		}
//		dx, dy := it.Dims()
//		vec := func(n int) []float64 { return make([]float64, n) }
//		return &loopless{
//			Loopless: m, v: vec(dy), d: vec(dx),
//			fx: vec(dx), fy: vec(dy), gy: vec(dy), gyyv: vec(dy), gxyv: vec(dx),
//		}, nil
//	}
//
//	type loopless struct {
//		Loopless
//		fx, fy, gy, gyyv, gxyv []float64
//		v, d                   []float64 // these two outlive a step
//	}
//
//	func (m *loopless) Step(it *bilevel.Iteration) error {
//		alpha, beta := m.Alpha.At(it.K()), m.Beta.At(it.K())
//		o, x, y, phi := it.Oracle(), it.X(), it.Y(), it.DrawPhi(0)
//		if err := errors.Join(
//			it.UseSteps(alpha, beta, 0),
//			o.GradG(m.gy, x, y, phi),
//			o.GradF(m.fx, m.fy, x, y, it.DrawXi(0)),
//			o.HessVecG(m.gyyv, x, y, m.v, phi),
//			o.CrossVecG(m.gxyv, x, y, m.v, phi),
//		); err != nil {
//			return err
//		}
//		for i, fx := range m.fx {
//			m.d[i] += (1 - m.Past) * (fx - m.gxyv[i] - m.d[i])
//		}
//		for j, fy := range m.fy {
//			m.v[j] -= beta * (m.gyyv[j] - fy)
//		}
//		it.MoveX(alpha, m.d)
//		it.MoveY(beta, m.gy)
//		return nil
//	}
//
//	func (m *loopless) Vectors(visit func(name string, v []float64)) {
//		visit("g_y", m.gy)
//		visit("f_x", m.fx)
//		visit("f_y", m.fy)
//		visit("g_yy v", m.gyyv)
//		visit("g_xy v", m.gxyv)
//		visit("d", m.d)
//		visit("v", m.v)
//	}
//
//	func (m *loopless) State(st *bilevel.State) { st.Floats(m.v, m.d) }
type Method interface {
	// Name is the method's name in the literature. Error messages and checkpoints carry it.
	Name() string

	// Start returns the running method, with all the memory that its steps need. It fills in
	// defaults, and refuses invalid parameters with an error that wraps ErrOption and names the
	// field. It may read Dims, Set, Batches, the start X and Y, and Oracle().Streams of it, draws
	// no sample and calls no oracle. Load calls Start once more.
	Start(it *Iteration) (Stepper, error)
}

// Stepper is a running Method. In every iteration, the Solver calls Step once, and then Vectors.
type Stepper interface {
	// Step computes the next iterate: it reads it.X() and it.Y(), and writes it.NextX() and
	// it.NextY(), which hold the present iterate at the start. It must keep x in the feasible set,
	// and must not change X and Y. It reports its step sizes by it.UseSteps. On an error the run
	// ends and the next iterate is dropped. Step should allocate nothing.
	Step(it *Iteration) error

	// Vectors calls visit with each vector that the last step computed, in the order of computation
	// and under its name in the paper. After each step the Solver looks, in that order, for the
	// first entry that is not finite, and names it.
	Vectors(visit func(name string, v []float64))

	// State visits, in a fixed order, all numbers that later steps depend on, except x, y and k, for
	// a checkpoint: the same number of words each time, from Start on.
	State(st *State)
}
