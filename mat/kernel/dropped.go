//go:build (amd64 || arm64) && goexperiment.simd && !(go1.27 && !go1.28) && !purego

package kernel

func init() { Dropped = true }
