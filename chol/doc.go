// Package chol factors symmetric positive definite matrices, A = L·Lᵀ, and uses the factor: solve,
// inverse, determinant, condition, rank-one update and downdate, and the question whether A −
// shift·I is positive definite at all.
//
// Storage: a Cholesky owns all of its memory and grows it when it meets a larger order; its zero
// value is ready for use, and a second factorisation of the same or a smaller order allocates
// nothing. Inputs are read through their lower triangle and are not modified.
//
// Errors: a matrix that is not positive definite, or not finite, gives a *NotPosDefError, which
// names the pivot and wraps ErrNotPosDef. Sizes that do not match, and calls that need a factor
// where there is none, panic with a constant string.
//
// Accuracy, with eps = 2⁻⁵², κ = ‖A‖_F·‖A⁻¹‖_F, and L, x, X the computed results:
//
//	Factor    ‖A − LLᵀ‖_F ≤ 4n·eps·‖A‖_F, and |A − LLᵀ|_ij ≤ 4n·eps·√(a_ii·a_jj); it succeeds where A − n·eps·diag(A) is positive definite
//	          and no pivot is subnormal, and only where A + n·eps·diag(A) is positive definite, and so does PosDef
//	Solve     ‖b − A·x‖ ≤ 4n·eps·‖A‖_F·‖x‖, and ‖x − A⁻¹b‖ ≤ 4n·eps·κ·‖A⁻¹b‖
//	Inverse   ‖X − A⁻¹‖_F ≤ 4n·eps·κ·‖A⁻¹‖_F
//	LogDet    an error of at most 4·eps·(nκ + 2·Σ|log L_ii|)
//	Cond      at most (1 + 4n·eps·κ)·κ₁; up to order 32 at least (1 − 4n·eps·κ)·κ₁; beyond, no theorem
//	          bounds it from below: what it then computes was at least κ₁/3 for the matrices of TestAccuracy,
//	          κ₁/8 for those of TestCondOfIntegers, and a matrix made against its three start vectors can fool it
//	Update    and Downdate: ‖L̃L̃ᵀ − (LLᵀ ± xxᵀ)‖_F ≤ 4n·eps·max(‖L‖_F, ‖L̃‖_F)²
//
// Bounds with κ are meant for n·eps·κ < 0.1. Their forms are those of Higham, Accuracy and
// Stability of Numerical Algorithms, theorems 10.3 to 10.7. TestAccuracy checks the constants on
// structured and random matrices of order up to 40, in arithmetic of 320 bits. Underflow adds to
// the errors.
//
// Concurrency: methods that only read (Solve, Inverse, LogDet, LTo, ...) still use workspace of the
// object, so no two methods of one Cholesky may run at the same time. Different objects are
// independent.
//
// Reproducibility: results are a pure function of the inputs, with the rounding of package mat's
// kernels.
package chol
