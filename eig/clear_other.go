//go:build goexperiment.simd && go1.27 && !go1.28 && !purego && (arm64 || wasm)

package eig

func clearUpper() {}
