// Package mattest, which makes no promise to others, holds what the tests of mat, chol and eig
// share: hard symmetric and seeded random matrices, matrices with a checked padding of NaN, and
// residuals in units of n·eps·norm.
//
// For bounds, Draw lists small matrices without end, Exact has arithmetic of 320 bits, Ledger keeps
// each bound's worst case, and Bytes makes matrices of a fuzzer's input. STABLE_LONG=1 asks for
// long tests, some 60 000 matrices per package.
//
// Functions return new memory. Residuals are plain loops, independent of the kernels under test but
// for norms, and safe at 1e±150.
package mattest
