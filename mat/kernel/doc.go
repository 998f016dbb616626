// Package kernel, which makes no promise to others, holds the inner loops under mat, chol and eig:
// register tiles and vector loops.
//
// The portable kernels, in NAME.go, are always compiled. Their vector twins, in NAME_amd64.go and
// simd_arm64.go, are compiled with GOEXPERIMENT=simd on Go 1.27 and run on AVX2, AVX-512 or NEON;
// gen writes them. KERNELS.md says more. Nothing is checked beyond what Go checks, nothing kept or
// allocated.
package kernel

//go:generate go run ./gen
