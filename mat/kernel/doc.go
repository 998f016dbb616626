// Package kernel holds the inner loops under mat, chol and eig: register tiles and vector loops.
//
// Each stands here twice. The portable one, in NAME.go, is plain Go and always compiled. Its vector
// twin, in NAME_simd.go, is compiled with GOEXPERIMENT=simd on Go 1.27, and used where the machine
// has the registers for it; Lanes says how long they are. On amd64 it is NAME_amd64.go that is
// compiled, the twin once more for AVX2 and for AVX-512, which gen writes. A test runs them all in
// one build by SetLanes.
//
// The functions check nothing beyond what Go checks: their callers have looked at the sizes. They
// keep no state and do not allocate.
package kernel

//go:generate go run ./gen
