// Package mattest, which makes no promise to others, holds what the tests of mat, chol and eig
// share: one list of hard symmetric matrices, seeded random matrices, matrices whose padding is NaN
// with a check that nobody wrote there, and residuals in units of n·eps·norm.
//
// For bounds there are also Draw, an endless list of small matrices, random and structured; Exact,
// arithmetic of 320 bits, on math/big, to compare results with; Ledger, which keeps the worst case
// of each bound; and Bytes, which turns a fuzzer's input into matrices. STABLE_LONG=1 in the
// environment asks for the long form of these tests, some 60 000 matrices per package.
//
// Every function returns new memory, so that a test may overwrite what it gets. The residuals are
// plain loops over copies scaled by a power of two: they do not depend on the kernels under test,
// and neither overflow nor underflow at 1e±150.
package mattest
