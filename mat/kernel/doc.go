// Package kernel holds the inner loops under mat, chol and eig: register tiles and vector loops.
//
// Each stands here twice. The portable one is plain Go and always compiled. The vector one is
// compiled with GOEXPERIMENT=simd on Go 1.27, and used where the machine has vector registers;
// Vector says so, and a test may switch it off to run the portable one in the same build.
//
// The functions check nothing beyond what Go checks: their callers have looked at the sizes. They
// keep no state and do not allocate.
package kernel
