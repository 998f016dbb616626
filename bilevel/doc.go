// Package bilevel solves stochastic bilevel problems
//
//	min over x in X   F(x) = E_ξ[f(x, y*(x); ξ)]   subject to   y*(x) = argmin_y E_φ[g(x, y; φ)]
//
// with the single-timescale method STABLE of Chen, Sun, Xiao and Yin (A Single-Timescale Method for
// Stochastic Bilevel Optimization, AISTATS 2022).
//
// A caller describes the problem by its derivatives at named samples (Problem), picks a method
// (STABLE), and makes a Solver of both. Step moves it by one iteration inside a loop of the
// caller's; Run moves it until a stop rule is met. Estimator is the part of STABLE that estimates
// the hypergradient, for callers with an upper-level rule of their own.
//
// # Where the paper's equations are
//
//	(STABLE-H), both projections    estimator.go
//	(STABLE), Algorithm 1           stable.go
//	step sizes of Theorems 2 and 3  theorems.go
//	the feasible set X, P_X         sets.go
//	samples ξ and φ                 problem.go, stream.go
//	the feasible set's metric       sets_metric.go
//	momentum, STORM, Adam (C1)      upper.go
//	the peers of Table 1            bsa.go, ttsa.go, stocbio.go; their g_yy⁻¹ in neumann.go
//	concurrent and later methods    alset.go, sustain.go, mstsa.go, mrbo.go, vrbo.go, rsvrb.go, biadam.go, soba.go, saba.go
//	checkpoints                     checkpoint.go
//	Theorem 1's dynamics            package flow
//	Moreau envelope, Lyapunov       package observe
//	compositional problems          package compose
//	min-max problems                package minmax
//
// # What the paper leaves open
//
// H⁰ is the plain estimate over an initial batch (STABLE.InitBatch). x⁰ is the feasible point
// nearest to 0 and y⁰ is 0 unless given. C_gxy is +∞ unless given; μ_g has to be given. Samples are
// drawn with replacement.
//
// # Notation
//
// f_x, f_y, g_y are gradients; g_xy is the dx × dy matrix of ∂²g/∂x_i∂y_j, g_yy the dy × dy
// Hessian. Where the paper prints H_yy⁻¹H_xy f_y, the shapes want H_xy H_yy⁻¹ f_y, which is what
// stands here.
//
// # Errors, allocation, reproducibility
//
// Invalid options are refused by New with an error that wraps ErrOption and names the field. A run
// that meets a value that is not finite, or that explodes, ends with a DivergedError that names the
// step and the quantity, whether or not the feasible set would have hidden it; a problem that
// fails, panics, or changes the shape of a matrix that it is handed, with an OracleError; the last
// good iterate stands. A step allocates nothing. A run is a pure function of the problem, the
// method, the options and the seed: the same binary gives the same bits on any number of cores, and
// so does a run that is saved, ended and loaded in another process (Solver.SaveFile). No function
// starts a goroutine.
package bilevel
