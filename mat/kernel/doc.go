// Package kernel, which makes no promise to others, holds the inner loops under mat, chol and eig:
// register tiles and vector loops.
//
// The portable kernels, in NAME.go, are always compiled. Their vector twins, in NAME_vector.go, are
// compiled with GOEXPERIMENT=simd on Go 1.27 and run on NEON; gen writes those for AVX2 and AVX-512
// from them, and the tiles. KERNELS.md says more. Nothing is checked beyond what Go checks, nothing
// kept or allocated.
package kernel

//go:generate go run ./gen
