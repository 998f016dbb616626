//go:build !noavx512

package kernel

// noAVX512 keeps the kernels from vectors of 512 bits: go test -tags noavx512.
const noAVX512 = false
