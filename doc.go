// Package stable is the root of a module for stochastic bilevel optimisation in pure Go: the method
// STABLE (Chen, Sun, Xiao, Yin, AISTATS 2022) on linear algebra of its own. The package itself
// holds the version alone; begin with stable/bilevel.
//
//	mat                  dense and symmetric matrices, norms, the projection onto a Frobenius ball
//	mat/kernel           the inner loops, portable and simd; KERNELS.md says how they are built
//	chol                 Cholesky: factor, solve, inverse, condition, rank-one update and downdate
//	eig                  symmetric eigensolvers, the projection onto {X ⪰ μI}
//	bilevel              problems, methods, the solver, feasible sets, and the method STABLE
//	bilevel/saa          the default, Newton's method on growing samples
//	bilevel/method       the other methods, and the registry of all of them
//	bilevel/implicit     F and its derivatives as functions of x alone, and L-BFGS-B
//	bilevel/auto         a problem made of two losses
//	bilevel/hyperopt     a problem: hyper-parameter tuning on data, generalised linear models
//	bilevel/quadratic    a problem: synthetic, with a closed-form truth
//	bilevel/units        a problem in other units
//	bilevel/stream       a finite sum as an unbounded stream
//	bilevel/option       checks of parameters
//	bilevel/theorem      the paper's constants, and the step sizes of Theorems 2 and 3
//	bilevel/compose      compositional problems as bilevel ones
//	bilevel/minmax       min-max problems as bilevel ones
//	bilevel/flow         the continuous-time dynamics of Theorem 1
//	bilevel/observe      diagnostics along a run
//	bilevel/check        a checker for oracles of one's own
//	bench                the experiments, and the benchmarks: go test -bench . ./bench
//	testdata             the data set of the main job, with its origin and licence
package stable

// Version is the release that this tree is, or will be: CHANGELOG.md says what is in it. A copy
// carries it, and `go run ./bench -version` prints it.
const Version = "0.1.0"
