// Package stable is the root of a module for stochastic bilevel optimisation in pure Go: the method STABLE (Chen, Sun, Xiao, Yin, AISTATS 2022) on
// linear algebra of its own. The package itself is empty; begin with stable/bilevel.
//
//	mat      matrices, kernels, norms, Frobenius-ball projection
//	chol     Cholesky factorisation
//	eig      Jacobi eigensolver, projection onto {X ⪰ μI}
//	bilevel  the oracle contract, STABLE, its peers, problems
//	bench    experiments and benchmarks
package stable
