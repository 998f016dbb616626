// Package eig decomposes symmetric matrices, A = V·Λ·Vᵀ, and projects them onto {X ⪰ mu·I}.
//
// [Symmetric] is the eigensolver for general use; [Jacobi] is slow, and accurate to the last digits
// of every eigenvalue of a graded positive definite matrix; [Truncator] computes the projection in
// the Frobenius norm, which raises the eigenvalues below mu to mu.
//
// # Routes of Truncate
//
// Truncator.project tries these in order; they agree up to rounding; k eigenvalues are below mu.
//
//	route        when                           flops                    file
//	clear        Cholesky of A − mu·I succeeds  n³/3                     chol/factor.go
//	krylov       n ≥ 48, few, far below mu      n³/3 + (2n² + 3nk)·m     krylov.go
//	tridiagonal  else                           4n³/3 + 3n²·min(k, n−k)  spectral.go
//
// clear returns A itself. krylov is a Lanczos process of m ≈ 1.1k + 13 steps, twice that where those above mu are far
// apart, and gives up where more seem needed than pay; a Cholesky of P − mu·I, but for rounding, proves that it missed none.
//
// # Accuracy and conventions
//
// With eps = 2⁻⁵² and computed V, Λ, P:
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
// TestAccuracy checks these up to order 40 in arithmetic of 320 bits. Subnormal results have 2⁻¹⁰⁷⁴
// more; SolveVec needs normal pivots; with ‖A‖_F close to overflow nothing is promised.
//
// Only the lower triangle of a mat.Sym is read and written; an input is written only where it is
// the destination. Eigenvalues ascend; eigenvectors are the rows of Vᵀ.
//
// ErrNotFinite names the NaN or infinite entry; ErrNoConvergence means that an iteration reached
// its cap. Sizes that do not match panic.
//
// Zero values work and own a workspace that grows to the largest order seen; a call at that order
// or below, by the same route, allocates nothing. One goroutine at a time.
//
// Bits depend on the input alone.
package eig
