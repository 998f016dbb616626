//go:build !(goexperiment.simd && !(go1.27 && !go1.28) && !purego)

package kernel

// Dropped says that a build asks for vector kernels, and that its toolchain is one that they were
// not tried with. This build does not.
const Dropped = false
