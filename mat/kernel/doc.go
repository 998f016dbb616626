// Package kernel, which makes no promise to others, holds the inner loops under mat, chol and eig:
// register tiles and vector loops.
//
// Each kernel stands here twice. The portable one, in NAME.go, is plain Go and always compiled. Its
// vector twin, in NAME_simd.go, is compiled with GOEXPERIMENT=simd on Go 1.27. It runs where the
// machine has the registers for it; Lanes says how long they are. On amd64 NAME_amd64.go takes its
// place: gen writes the twin there once for AVX2 and once for AVX-512. A test runs them all in one
// build by SetLanes.
//
// The functions check nothing beyond what Go checks: their callers have checked the sizes. They
// keep no state and do not allocate.
package kernel

//go:generate go run ./gen
