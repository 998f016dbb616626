//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// ClearUpper ends every vector function: with the upper halves of the registers in use, scalar code
// after it runs at half speed on amd64.
func ClearUpper() { archsimd.ClearAVXUpperBits() }
