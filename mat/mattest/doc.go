// Package mattest holds what the tests of mat, chol and eig share: one list of hard symmetric matrices, seeded random
// matrices, matrices whose padding is NaN with a check that nobody wrote there, and residuals in units of n·eps·norm.
//
// Every function returns new memory, so that a test may overwrite what it gets. The residuals are plain loops over copies
// scaled by a power of two: they owe nothing to the kernels under test, and neither overflow nor underflow at 1e±150.
package mattest
