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

// A vec has 256 bits, a vec8 512: a panel.
type (
	vec    = archsimd.Float64x4
	array  = [lanes]float64
	vec8   = archsimd.Float64x8
	array8 = [Panel]float64
)

const lanes = 4

// wide tells whether kernels may use 512 bits.
func wide() bool { return inUse == Panel }

// The tiles load by these, beside a product on the same line: else an empty instruction stays.
func load(x []float64) vec   { return archsimd.LoadFloat64x4Array((*array)(x)) }
func load8(x []float64) vec8 { return archsimd.LoadFloat64x8Array((*array8)(x)) }
func spread(x float64) vec   { return archsimd.BroadcastFloat64x4(x) }
func spread8(x float64) vec8 { return archsimd.BroadcastFloat64x8(x) }

// pick has the indices that spread an entry over a vector.
var pick = func() (p [Panel][Panel]uint64) {
	for i := range Panel * Panel {
		p[i/Panel][i%Panel] = uint64(i / Panel)
	}
	return p
}()

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

// transposeVector transposes four rows, of a multiple of four entries.
func transposeVector(u []float64, ld int, r0, r1, r2, r3 []float64) {
	n := len(r0)
	r0, r1, r2, r3 = r0[:n:n], r1[:n:n], r2[:n:n], r3[:n:n]
	for j, at := 0, 0; j < n; j += 4 {
		x0, x1 := archsimd.LoadFloat64x4Array((*[4]float64)(r0[j:j+4:j+4])), archsimd.LoadFloat64x4Array((*[4]float64)(r1[j:j+4:j+4]))
		x2, x3 := archsimd.LoadFloat64x4Array((*[4]float64)(r2[j:j+4:j+4])), archsimd.LoadFloat64x4Array((*[4]float64)(r3[j:j+4:j+4]))
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

// subtractAVX512 is subtractVector with tiles of up to six panels that pick entries, or of three.
func subtractAVX512(f *Upper, p, k, i int) {
	j, ld := i/Panel*Panel, f.Ld
	b, c, first := f.panels[f.panelAt(p, j):], f.U[i*ld+j:], i-j
	if f.N-j > narrow {
		d, x := f.spread, b[first:]
		for range k {
			y := (*[4]float64)(x)
			spread4AVX512((*[4 * Panel]float64)(d), y[0], y[1], y[2], y[3])
			d, x = d[4*Panel:], x[Panel:]
		}
		var t tile
		t.a, t.b, t.c, t.alpha, t.ldc = f.spread[:4*Panel*k+1], b, c, -1, ld
		for {
			n := panels(f.N, j)
			switch n {
			case 3:
				tile3AVX512(&t)
			case 2:
				tile2AVX512(&t)
			default:
				tile1AVX512(&t)
			}
			if j += n * Panel; j >= f.N {
				break
			}
			t.b, t.c = t.b[n*PanelStep:], t.c[n*Panel:]
		}
		archsimd.ClearAVXUpperBits()
		return
	}
	a := b[:Panel*k+1]
	for rest := (f.N - j + Panel - 1) / Panel; ; {
		n := rest
		if rest > 6 {
			n = min(6, (rest+1)/2)
		}
		switch n {
		case 1:
			pick1AVX512(c, a, b, ld, first)
		case 2:
			pick2AVX512(c, a, b, ld, first)
		case 3:
			pick3AVX512(c, a, b, ld, first)
		case 4:
			pick4AVX512(c, a, b, ld, first)
		case 5:
			pick5AVX512(c, a, b, ld, first)
		default:
			pick6AVX512(c, a, b, ld, first)
		}
		if rest -= n; rest == 0 {
			break
		}
		b, c = b[n*PanelStep:], c[n*Panel:]
	}
	archsimd.ClearAVXUpperBits()
}

func sub4AVX512(c0, c1, c2, c3 []float64, s0, s1, s2, s3 vec8) {
	sub2AVX512(c0, c1, s0, s1)
	sub2AVX512(c2, c3, s2, s3)
}

func sub2AVX512(c0, c1 []float64, s0, s1 vec8) {
	load8(c0).Sub(s0).StoreArray((*array8)(c0))
	load8(c1).Sub(s1).StoreArray((*array8)(c1))
}

// forward4Vector has a row of X meet four entries of U in four orders, exclusive ors of lanes.
func forward4Vector(x, u []float64, ld, from int) {
	minus := archsimd.BroadcastFloat64x4(-1)
	for i := from; 4*i < len(x); i += 4 {
		var s0, s1, s2, s3 vec
		at := from*ld + i
		for p := 4 * from; p < 4*i; p += 16 {
			y := (*[16]float64)(x[p : p+16 : p+16])
			r0 := (*[4]float64)(u[at : at+4 : at+4])
			at += ld
			r1 := (*[4]float64)(u[at : at+4 : at+4])
			at += ld
			r2 := (*[4]float64)(u[at : at+4 : at+4])
			at += ld
			r3 := (*[4]float64)(u[at : at+4 : at+4])
			at += ld
			s0, s1, s2, s3 = outer4(load(r0[:]), load(y[:4]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(load(r1[:]), load(y[4:8]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(load(r2[:]), load(y[8:12]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(load(r3[:]), load(y[12:]), s0, s1, s2, s3)
		}
		s0, s1, s2, s3 = rows4(s0, s1, s2, s3)
		z := (*[16]float64)(x[4*i : 4*i+16 : 4*i+16])
		at = i*ld + i
		r0 := (*[4]float64)(u[at : at+4 : at+4])
		at += ld
		r1 := (*[4]float64)(u[at : at+4 : at+4])
		at += ld
		r2 := (*[4]float64)(u[at : at+4 : at+4])
		at += ld
		r3 := (*[4]float64)(u[at : at+4 : at+4])
		t := minus.Div(spread(r0[0]))
		s0 = s0.Sub(load(z[:4])).Mul(t)
		t = minus.Div(spread(r1[1]))
		s1 = s1.Sub(load(z[4:8])).Mul(t)
		s1 = spread(r0[1]).Mul(t).MulAdd(s0, s1)
		t = minus.Div(spread(r2[2]))
		s2 = s2.Sub(load(z[8:12])).Mul(t)
		s2 = spread(r0[2]).Mul(t).MulAdd(s0, s2)
		s2 = spread(r1[2]).Mul(t).MulAdd(s1, s2)
		t = minus.Div(spread(r3[3]))
		s3 = s3.Sub(load(z[12:])).Mul(t)
		s3 = spread(r0[3]).Mul(t).MulAdd(s0, s3)
		s3 = spread(r1[3]).Mul(t).MulAdd(s1, s3)
		s3 = spread(r2[3]).Mul(t).MulAdd(s2, s3)
		s0.StoreArray((*[4]float64)(z[:4]))
		s1.StoreArray((*[4]float64)(z[4:8]))
		s2.StoreArray((*[4]float64)(z[8:12]))
		s3.StoreArray((*[4]float64)(z[12:]))
	}
	archsimd.ClearAVXUpperBits()
}

// back4Vector is forward4Vector from the last strip on, with blocks of U transposed.
func back4Vector(x, u []float64, ld int) {
	minus := archsimd.BroadcastFloat64x4(-1)
	n := len(x) / 4
	for i := n - 4; i >= 0; i -= 4 {
		var s0, s1, s2, s3 vec
		u0, u1, u2, u3 := u[i*ld:][:n], u[(i+1)*ld:][:n], u[(i+2)*ld:][:n], u[(i+3)*ld:][:n]
		for j := n - 4; j > i; j -= 4 {
			r0, r1 := load(u0[j:j+4:j+4]), load(u1[j:j+4:j+4])
			r2, r3 := load(u2[j:j+4:j+4]), load(u3[j:j+4:j+4])
			even, odd := r0.ConcatPermuteScalarsGrouped(0, 2, r1), r0.ConcatPermuteScalarsGrouped(1, 3, r1)
			even2, odd2 := r2.ConcatPermuteScalarsGrouped(0, 2, r3), r2.ConcatPermuteScalarsGrouped(1, 3, r3)
			y := (*[16]float64)(x[4*j : 4*j+16 : 4*j+16])
			s0, s1, s2, s3 = outer4(even.ConcatPermute128Scalars(0, 2, even2), load(y[:4]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(odd.ConcatPermute128Scalars(0, 2, odd2), load(y[4:8]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(even.ConcatPermute128Scalars(1, 3, even2), load(y[8:12]), s0, s1, s2, s3)
			s0, s1, s2, s3 = outer4(odd.ConcatPermute128Scalars(1, 3, odd2), load(y[12:]), s0, s1, s2, s3)
		}
		s0, s1, s2, s3 = rows4(s0, s1, s2, s3)
		z := (*[16]float64)(x[4*i : 4*i+16 : 4*i+16])
		r0, r1 := (*[4]float64)(u0[i:i+4:i+4]), (*[4]float64)(u1[i:i+4:i+4])
		r2, r3 := (*[4]float64)(u2[i:i+4:i+4]), (*[4]float64)(u3[i:i+4:i+4])
		t := minus.Div(spread(r3[3]))
		s3 = s3.Sub(load(z[12:])).Mul(t)
		t = minus.Div(spread(r2[2]))
		s2 = s2.Sub(load(z[8:12])).Mul(t)
		s2 = spread(r2[3]).Mul(t).MulAdd(s3, s2)
		t = minus.Div(spread(r1[1]))
		s1 = s1.Sub(load(z[4:8])).Mul(t)
		s1 = spread(r1[3]).Mul(t).MulAdd(s3, s1)
		s1 = spread(r1[2]).Mul(t).MulAdd(s2, s1)
		t = minus.Div(spread(r0[0]))
		s0 = s0.Sub(load(z[:4])).Mul(t)
		s0 = spread(r0[3]).Mul(t).MulAdd(s3, s0)
		s0 = spread(r0[2]).Mul(t).MulAdd(s2, s0)
		s0 = spread(r0[1]).Mul(t).MulAdd(s1, s0)
		s0.StoreArray((*[4]float64)(z[:4]))
		s1.StoreArray((*[4]float64)(z[4:8]))
		s2.StoreArray((*[4]float64)(z[8:12]))
		s3.StoreArray((*[4]float64)(z[12:]))
	}
	archsimd.ClearAVXUpperBits()
}

// outer4 adds to lane l of sum k the product of entries k^l of a and l of y.
func outer4(a, y, s0, s1, s2, s3 vec) (t0, t1, t2, t3 vec) {
	b := a.ConcatPermuteScalarsGrouped(1, 2, a)
	c, d := a.ConcatPermute128Scalars(1, 2, a), b.ConcatPermute128Scalars(1, 2, b)
	return a.MulAdd(y, s0), b.MulAdd(y, s1), c.MulAdd(y, s2), d.MulAdd(y, s3)
}

// rows4 returns the sums of outer4 by rows: lane l of row k is that of sum k^l.
func rows4(s0, s1, s2, s3 vec) (r0, r1, r2, r3 vec) {
	a, b := s0.ConcatPermuteScalarsGrouped(0, 3, s1), s1.ConcatPermuteScalarsGrouped(0, 3, s0)
	c, d := s2.ConcatPermuteScalarsGrouped(0, 3, s3), s3.ConcatPermuteScalarsGrouped(0, 3, s2)
	return a.ConcatPermute128Scalars(0, 3, c), b.ConcatPermute128Scalars(0, 3, d),
		c.ConcatPermute128Scalars(0, 3, a), d.ConcatPermute128Scalars(0, 3, b)
}
