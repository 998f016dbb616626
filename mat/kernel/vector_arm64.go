//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// allLanes are the vector lengths: every arm64 has NEON.
var allLanes = []int{2, 0}

type (
	vec   = archsimd.Float64x2
	array = [lanes]float64
)

const lanes = 2

func wide() bool { return false }

// clearUpper is archsimd.ClearAVXUpperBits on amd64.
func clearUpper() {}

func load(x []float64) vec            { return archsimd.LoadFloat64x2Array((*array)(x)) }
func loadPart(x []float64) (vec, int) { return archsimd.LoadFloat64x2Part(x) }
func spread(x float64) (v vec)        { return v.SetElem(0, x).SetElem(1, x) }

func sum4Vector(d []float64, s0, s1, s2, s3 vec) {
	s0.ConcatAddPairs(s1).StorePart(d)
	if len(d) > 2 {
		s2.ConcatAddPairs(s3).StorePart(d[2:])
	}
}

func transposeVector(u []float64, ld int, r0, r1, r2, r3 []float64) {
	for j, v := range r0 {
		d := (*[4]float64)(u[j*ld:])
		d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
	}
}

func forward4Vector([]float64, []float64, int, int) { panic("no wide vectors") }
func back4Vector([]float64, []float64, int)         { panic("no wide vectors") }
func tileFewVector(_, _, _ []float64, _ int)        { panic("no wide vectors") }
