//go:build (amd64 || arm64) && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

// inUse is the number of float64s in the kernels' vectors, 0 for the portable kernels.
var inUse = allLanes[0]

// Vector tells whether the kernels run on vectors: compiled in, supported, and switched on.
func Vector() bool { return inUse > 0 }

// Lanes returns the number of float64s in the kernels' vectors: 8, 4, 2, or 0 for portable kernels.
func Lanes() int { return inUse }

// AllLanes returns what Lanes can be on this machine, the widest first, 0 last.
func AllLanes() []int { return allLanes }

// SetLanes sets the vectors' length, one of AllLanes, and returns the one before. Not for concurrent use.
func SetLanes(n int) (was int) {
	was, inUse = inUse, n
	return was
}

// Only a wide tile takes more than one panel.
func tile2Vector(*tile) {}
func tile3Vector(*tile) {}
