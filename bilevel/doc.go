// Package bilevel solves stochastic bilevel problems
//
//	min over x in X   F(x) = E_ξ[f(x, y*(x); ξ)]   subject to   y*(x) = argmin_y E_φ[g(x, y; φ)].
//
// A caller describes the problem by its derivatives at named samples ([Problem]), picks a method,
// and makes a [Solver] from both. [Solver.Step] does one iteration, [Solver.Run] continues until a
// stop rule is met, and [Solver.SaveFile] writes a checkpoint. Any package can implement a
// [Method]. This one has [STABLE] of Chen, Sun, Xiao and Yin (AISTATS 2022): (STABLE-H) is
// [Estimator], (STABLE) is [STABLE], package theorem has the step sizes of its theorems. The
// default, without step sizes to choose, is Newton in package saa, the other methods are in package
// method.
//
// f_x, f_y, g_y are gradients; g_xy is the dx × dy matrix of ∂²g/∂x_i∂y_j, g_yy the dy × dy
// Hessian. Where the paper prints H_yy⁻¹H_xy f_y, the shapes require H_xy H_yy⁻¹ f_y.
//
// [New] refuses invalid options with an error that wraps [ErrOption] and names the field. A run
// that fails keeps its last good iterate, and its error names the step and the cause:
// [DivergedError], [OracleError] or [StepError]. A step allocates nothing, and nothing starts a
// goroutine. A run is a pure function of problem, method, options and seed: the same binary gives
// the same bits on any number of cores, and when another process continues from a checkpoint.
package bilevel
