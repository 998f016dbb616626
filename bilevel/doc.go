// Package bilevel solves stochastic bilevel problems
//
//	min over x in X   F(x) = E_ξ[f(x, y*(x); ξ)]   subject to   y*(x) = argmin_y E_φ[g(x, y; φ)].
//
// A [Problem] gives derivatives at named samples, a [Method] the rule of a step; [New] makes a
// [Solver] of both, and [Solver.Run] does steps until a stop rule is met. [STABLE] is the method of
// Chen, Sun, Xiao and Yin (AISTATS 2022), [Estimator] its (STABLE-H). The default, which has no step
// sizes, is in package saa, the other methods are in package method.
//
// f_x, f_y, g_y are gradients, g_xy is the dx × dy matrix of ∂²g/∂x_i∂y_j, g_yy the dy × dy Hessian.
// Where the paper prints H_yy⁻¹H_xy f_y, the shapes require H_xy H_yy⁻¹ f_y. Errors about options
// wrap [ErrOption] and name the field; a run that fails keeps its last good iterate. A step of STABLE
// allocates nothing in steady state, nothing starts a goroutine, and the same binary, problem, method,
// options and seed give the same bits on any number of cores, and across a checkpoint.
package bilevel
