//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd/archsimd"

// allLanes are the machine's vector lengths, the widest first, then 0. archsimd tells them, since
// package simd halves vectors without carry-less multiplication (go.dev/issue/81884).
var allLanes = func() (all []int) {
	if archsimd.X86.AVX512() {
		all = append(all, 8)
	}
	if archsimd.X86.AVX2() && archsimd.X86.FMA() {
		all = append(all, 4)
	}
	return append(all, 0)
}()

// A vec is a vector of the AVX2 kernels, a vec8 one of 512 bits, which fills a panel.
type (
	vec    = archsimd.Float64x4
	array  = [lanes]float64
	vec8   = archsimd.Float64x8
	array8 = [Panel]float64
)

const lanes = 4

// wide tells whether kernels with a form for 512 bits run in it.
func wide() bool { return inUse == Panel }

// The tiles load by these, beside a product on the same line: else an empty instruction stays.
func load(x []float64) vec   { return archsimd.LoadFloat64x4Array((*array)(x)) }
func load8(x []float64) vec8 { return archsimd.LoadFloat64x8Array((*array8)(x)) }
func spread(x float64) vec   { return archsimd.BroadcastFloat64x4(x) }
func spread8(x float64) vec8 { return archsimd.BroadcastFloat64x8(x) }

// pick has the indices that spread one of the first four entries over a vector.
var pick = [4][8]uint64{1: {1, 1, 1, 1, 1, 1, 1, 1}, 2: {2, 2, 2, 2, 2, 2, 2, 2}, 3: {3, 3, 3, 3, 3, 3, 3, 3}}

// sum4Vector sets d to the sums of four vectors, as far as it goes.
func sum4Vector(d []float64, s0, s1, s2, s3 vec) {
	sums4(s0, s1, s2, s3).StorePart(d)
}

// sum4AVX512 is sum4Vector for longer vectors.
func sum4AVX512(d []float64, s0, s1, s2, s3 vec8) {
	low := sums4(s0.GetLo(), s1.GetLo(), s2.GetLo(), s3.GetLo())
	low.Add(sums4(s0.GetHi(), s1.GetHi(), s2.GetHi(), s3.GetHi())).StorePart(d)
}

// sums4 returns the sums of four vectors, added in the order of Sum.
func sums4(s0, s1, s2, s3 vec) vec {
	t0, t1 := s0.ConcatAddPairsGrouped(s1), s2.ConcatAddPairsGrouped(s3)
	return t0.ConcatPermute128Scalars(0, 2, t1).Add(t0.ConcatPermute128Scalars(1, 3, t1))
}

// transposeVector transposes four rows by four entries at a time.
func transposeVector(u []float64, ld int, r0, r1, r2, r3 []float64) {
	n, at := len(r0), 0
	r1, r2, r3 = r1[:n], r2[:n], r3[:n]
	for j := 4; j <= n; j += 4 {
		x0, x1 := archsimd.LoadFloat64x4Array((*[4]float64)(r0[j-4:j:j])), archsimd.LoadFloat64x4Array((*[4]float64)(r1[j-4:j:j]))
		x2, x3 := archsimd.LoadFloat64x4Array((*[4]float64)(r2[j-4:j:j])), archsimd.LoadFloat64x4Array((*[4]float64)(r3[j-4:j:j]))
		even, odd := x0.ConcatPermuteScalarsGrouped(0, 2, x1), x0.ConcatPermuteScalarsGrouped(1, 3, x1)
		even2, odd2 := x2.ConcatPermuteScalarsGrouped(0, 2, x3), x2.ConcatPermuteScalarsGrouped(1, 3, x3)
		even.ConcatPermute128Scalars(0, 2, even2).StoreArray((*[4]float64)(u[at : at+4 : at+4]))
		odd.ConcatPermute128Scalars(0, 2, odd2).StoreArray((*[4]float64)(u[at+ld : at+ld+4 : at+ld+4]))
		at += 2 * ld
		even.ConcatPermute128Scalars(1, 3, even2).StoreArray((*[4]float64)(u[at : at+4 : at+4]))
		odd.ConcatPermute128Scalars(1, 3, odd2).StoreArray((*[4]float64)(u[at+ld : at+ld+4 : at+ld+4]))
		at += 2 * ld
	}
	archsimd.ClearAVXUpperBits()
}

// subtractAVX512 is subtractVector with the rows above in the matrix.
func subtractAVX512(f *Upper, p, k, i int) {
	u, ld := f.U, f.Ld
	a := u[p*ld+i : (p+k)*ld+i]
	if f.N-i > narrow {
		for x, d := a, f.spread; len(x) > 0; x, d = x[ld:], d[4*Panel:] {
			y := (*[4]float64)(x)
			spread4AVX512((*[4 * Panel]float64)(d), y[0], y[1], y[2], y[3])
		}
	}
	for j := i / Panel * Panel; j < f.N; {
		b, c, n := u[p*ld+j:], u[i*ld+j:], panels(f.N, j)
		if f.N-i <= narrow {
			n = min(n, 2)
		}
		switch n {
		case 3:
			subtract3AVX512(c, f.spread[:4*Panel*k], b, ld)
		case 2:
			subtract2AVX512(c, a, b, ld)
		default:
			subtract1AVX512(c, a, b, ld)
		}
		j += n * Panel
	}
	archsimd.ClearAVXUpperBits()
}

// sub4AVX512 subtracts from four rows.
func sub4AVX512(c0, c1, c2, c3 []float64, s0, s1, s2, s3 vec8) {
	load8(c0).Sub(s0).StoreArray((*array8)(c0))
	load8(c1).Sub(s1).StoreArray((*array8)(c1))
	load8(c2).Sub(s2).StoreArray((*array8)(c2))
	load8(c3).Sub(s3).StoreArray((*array8)(c3))
}

// pick8 returns entry i of a, spread over a vector.
func pick8(a *array8, i int) vec8 {
	return archsimd.LoadFloat64x8Array(a).Permute(archsimd.LoadUint64x8Array(&pick[i]))
}
