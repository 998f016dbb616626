//go:build goexperiment.simd && go1.27 && !go1.28 && !purego && amd64 && noavx512

package kernel

// noAVX512 keeps the kernels from vectors of 512 bits.
const noAVX512 = true
