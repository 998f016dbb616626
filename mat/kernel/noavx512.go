//go:build amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego && noavx512

package kernel

import "slices"

func init() {
	allLanes = slices.DeleteFunc(allLanes, func(n int) bool { return n == 8 })
	inUse = allLanes[0]
}
