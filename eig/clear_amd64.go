//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package eig

import "simd/archsimd"

// clearUpper ends vector code: with the upper halves of the registers in use, scalar code runs at half its speed.
func clearUpper() { archsimd.ClearAVXUpperBits() }
