// Package kernel, which makes no promise to others, holds the inner loops under mat, chol and eig:
// register tiles and vector loops.
//
// Each kernel stands here twice. The portable one, in NAME.go, is plain Go and always compiled. Its
// vector twin, in NAME_amd64.go, is compiled with GOEXPERIMENT=simd on Go 1.27, and runs where the
// processor has AVX2 or AVX-512; gen writes it from gen/templates. KERNELS.md says more.
//
// The functions check nothing beyond what Go checks: their callers have checked the sizes. They
// keep no state and do not allocate.
package kernel

//go:generate go run ./gen
