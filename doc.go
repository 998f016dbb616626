// Package stable is the root of a module for stochastic bilevel optimisation in pure Go, and holds
// its version alone; begin with stable/bilevel.
//
//	mat                  dense and symmetric matrices, norms, the projection onto a Frobenius ball
//	mat/kernel           the inner loops, portable and simd
//	chol                 Cholesky: factor, solve, inverse, condition, rank-one update and downdate
//	eig                  symmetric eigensolvers, the projection onto {X ⪰ μI}
//	bilevel              problems, methods, the solver, feasible sets, and the method STABLE
//	bilevel/saa          the default, Newton's method on growing samples
//	bilevel/method       the other methods, and the registry of all
//	bilevel/implicit     F and its derivatives as functions of x alone, and L-BFGS-B
//	bilevel/auto         a problem made of two losses
//	bilevel/hyperopt     a problem: hyper-parameter tuning on data, which hyperopt/data reads
//	bilevel/quadratic    a problem: synthetic, with a closed-form truth
//	bilevel/units        a problem in other units
//	bilevel/stream       a finite sum as an unbounded stream
//	bilevel/option       checks of parameters
//	bilevel/theorem      the paper's constants and step sizes
//	bilevel/compose      compositional problems as bilevel ones
//	bilevel/minmax       min-max problems as bilevel ones
//	bilevel/flow         the continuous-time dynamics of Theorem 1
//	bilevel/observe      diagnostics along a run
//	bilevel/check        a checker for problems and methods of one's own
//	bench                the experiments and the benchmarks
//	testdata             the data set of the main job
package stable

// Version is the release that this tree is, or will be; CHANGELOG.md says what is in it.
const Version = "0.3.0"
