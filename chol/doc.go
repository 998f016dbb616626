// Package chol factors symmetric positive definite matrices, A = L·Lᵀ, and uses the factor: solve,
// inverse, determinant, condition, rank-one update and downdate, and the question whether A −
// shift·I is positive definite at all.
//
// The zero value of a Cholesky works; its memory grows to the largest order seen, and at that order or
// below only errors allocate. Inputs are read in their lower triangle. One goroutine at a time.
//
// A matrix not positive definite, or not finite, gives a *NotPosDefError. Sizes that do not match,
// and calls without a factor, panic with a constant string.
//
// Accuracy, with eps = 2⁻⁵², κ = ‖A‖_F·‖A⁻¹‖_F, and computed L, x, X:
//
//	Factor    ‖A − LLᵀ‖_F ≤ 4n·eps·‖A‖_F, and |A − LLᵀ|_ij ≤ 4n·eps·√(a_ii·a_jj); it succeeds where A − n·eps·diag(A) is positive definite
//	          and no pivot is subnormal, and only where A + n·eps·diag(A) is positive definite, and so does PosDef
//	Solve     ‖b − A·x‖ ≤ 4n·eps·‖A‖_F·‖x‖, and ‖x − A⁻¹b‖ ≤ 4n·eps·κ·‖A⁻¹b‖
//	Inverse   ‖X − A⁻¹‖_F ≤ 4n·eps·κ·‖A⁻¹‖_F
//	LogDet    an error of at most 4·eps·(nκ + 2·Σ|log L_ii|)
//	Cond      at most (1 + 4n·eps·κ)·κ₁; up to order 16 at least (1 − 4n·eps·κ)·κ₁; beyond, at least
//	          κ₁/3 in TestAccuracy, κ₁/5 in TestCondOfIntegers (κ₁/7 was seen), and no theorem: it can be fooled
//	Update    and Downdate: ‖L̃L̃ᵀ − (LLᵀ ± xxᵀ)‖_F ≤ 4n·eps·max(‖L‖_F, ‖L̃‖_F)²
//
// κ-bounds need n·eps·κ < 0.1; underflow adds to all. Higham, Accuracy and Stability of Numerical Algorithms,
// theorems 10.3 to 10.7; TestAccuracy checks the constants up to order 40 in arithmetic of 320 bits.
//
// Results are a pure function of the inputs, with the rounding of package mat's kernels.
package chol
