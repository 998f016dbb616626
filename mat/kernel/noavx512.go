//go:build noavx512

package kernel

// noAVX512 keeps the kernels from vectors of 512 bits.
const noAVX512 = true
