//go:build goexperiment.simd && !(go1.27 && !go1.28) && !purego

package kernel

// Dropped says that this build asks for vector kernels (GOEXPERIMENT=simd), and that the toolchain
// is one that they were not tried with: package simd is an experiment, and may change with every
// release. The portable kernels run. KERNELS.md lists what to check before a release is let in.
const Dropped = true
