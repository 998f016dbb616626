// Package eig decomposes symmetric matrices, A = V·Λ·Vᵀ, and projects them onto {X ⪰ mu·I}.
//
// [Symmetric] is the eigensolver for general use: by way of the tridiagonal form, 10n³/3 flops with
// all vectors, and by Jacobi rotations up to n = 3. [Jacobi] is the reference: slow, simple, and
// accurate to the last digits of every eigenvalue of a graded positive definite matrix.
//
// [Truncator] computes the projection in the Frobenius norm, which raises the eigenvalues below mu
// to mu. Truncator.project tries these routes in this order; they agree up to rounding. k is the
// number of eigenvalues below mu.
//
//	route        flops                    where, and in which file
//	clear        n³/3                     Cholesky of A − mu·I succeeds: chol/posdef.go
//	krylov       n³/3 + 50n²              n ≥ 48, k ≤ n/16, far below mu: krylov.go, lanczos.go
//	tridiagonal  4n³/3 + 3n²·min(k, n−k)  elsewhere: householder.go, spectral.go, tridiagonal.go
//	jacobi       60n³                     the others decline, as for no known matrix: jacobi.go
//
// clear returns A itself. krylov is a Lanczos process with A; a Cholesky factorisation of P proves
// that it missed no eigenvalue. tridiagonal finds the eigenvectors of the smaller side of mu.
//
// # Why no basis is kept
//
// A Truncator keeps no basis from one call to the next. With one, the bits of a result would depend
// on earlier calls, and where half the spectrum is clipped there is little to gain: a basis of half
// the space must be multiplied by A several times, n³ flops each.
//
// # Accuracy and conventions
//
// Accuracy, with eps = 2⁻⁵² and V, Λ, P the computed results:
//
//	Symmetric    |λ − λ_exact| ≤ 4n·eps·‖A‖_F, ‖AV − VΛ‖_F ≤ 4n·eps·‖A‖_F, ‖VᵀV − I‖_F ≤ 16n·eps
//	Jacobi       |λ − λ_exact| ≤ 4n·eps·‖A‖_F, ‖AV − VΛ‖_F ≤ 4n·eps·‖A‖_F, ‖VᵀV − I‖_F ≤ 4n·eps
//	 if A ≻ 0    |λ − λ_exact| ≤ 4n·eps·κ·λ_exact while n·eps·κ < 0.1,
//	             κ that of A scaled to a unit diagonal
//	Truncate     ‖P − P_exact‖_F ≤ 16u, P ⪰ (mu − 16u)·I, the projection of P is within 16u of P,
//	             and so are MinEigenvalue and Change of what they stand for;
//	             u = n·eps·(‖A‖_F + √n·|mu|)
//	SolveVec     ‖b − P·x‖ ≤ 4n·eps·‖P‖_F·‖x‖
//
// TestAccuracy checks these constants on structured and random matrices of order up to 40, in
// arithmetic of 320 bits, and TestJacobiStaysOrthogonal on larger ones. A number that is subnormal
// has 2⁻¹⁰⁷⁴ more, its own rounding (TestSubnormal); SolveVec needs normal pivots, as chol.Factor
// does. Where ‖A‖_F is close to overflow, nothing is promised.
//
// Storage: functions read and write only the lower triangle of a mat.Sym. Eigenvalues ascend.
// Eigenvectors are the rows of a matrix Vᵀ, where each is contiguous.
//
// Aliasing: an input is never written, unless the destination is the same matrix and the function
// allows it.
//
// Errors: NaN and infinities are refused with ErrNotFinite, which names the entry. An iteration
// that reaches its cap returns ErrNoConvergence. Sizes that do not match are bugs of the caller and
// panic.
//
// Memory: the zero value of each struct works and owns its workspace, which grows to the largest
// order seen; a call at that order or below, by the same route, allocates nothing. One value must
// not be used by two goroutines at a time.
//
// Reproducibility: no randomness, no goroutine. A result depends only on the input, to the last
// bit, and not on earlier calls.
package eig
