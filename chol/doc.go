// Package chol factors symmetric positive definite matrices, A = L·Lᵀ, and uses the factor: solve, inverse, determinant, condition,
// rank-one update and downdate, and the question whether A − shift·I is positive definite at all.
//
// Storage: a Cholesky owns all of its memory and grows it when it meets a larger order; its zero value is ready for use, and a second
// factorisation of the same or a smaller order allocates nothing. Inputs are read through their lower triangle and are not modified.
//
// Errors: a matrix that is not positive definite, or not finite, gives a *NotPosDefError, which names the pivot and Is ErrNotPosDef.
// Sizes that do not match, and a question to a Cholesky without a factor, panic with a constant string.
//
// Concurrency: methods that read (Solve, Inverse, LogDet, LTo, ...) still use workspace of the object; no two methods of one
// Cholesky may run at a time. Different objects are independent.
//
// Reproducibility: results are a pure function of the inputs, with the rounding of package mat's kernels.
package chol
