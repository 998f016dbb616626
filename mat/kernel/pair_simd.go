//go:build !amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

import "simd"

func pairsVector(s *Pairs) {
	room := (*[pairRoom]float64)(s.Room)
	t := pairVector{b: s.B, alpha: room[:lanes], fence: room[8:16], tail: room[16:], set: s.Set}
	simd.BroadcastFloat64s(s.Alpha).Store(t.alpha)
	k := s.K &^ (unrolled - 1)
	for i := 0; i < s.Rows; i += 2 {
		next := min(i+1, s.Rows-1)
		t.a0, t.a1 = s.A[i*s.Lda:][:s.K], s.A[next*s.Lda:][:s.K]
		t.c0, t.c1 = s.C[i*s.Ldc:][:s.N], s.C[next*s.Ldc:][:s.N]
		if i == next {
			t.c1 = nil
		}
		if k < s.K {
			for q := 0; q < unrolled; q += lanes {
				v, _ := simd.LoadFloat64sPart(t.a0[min(k+q, s.K):])
				v.Store(t.tail[q:])
				v, _ = simd.LoadFloat64sPart(t.a1[min(k+q, s.K):])
				v.Store(t.tail[unrolled+q:])
			}
		}
		switch (s.N + lanes - 1) / lanes {
		case 1:
			pair1Vector(&t)
		case 2:
			pair2Vector(&t)
		case 3:
			pair3Vector(&t)
		case 4:
			pair4Vector(&t)
		case 5:
			pair5Vector(&t)
		case 6:
			pair6Vector(&t)
		default:
			pair7Vector(&t)
		}
	}
	ClearUpper()
}

// A pairVector is two rows by one to seven vectors of a product:
//
//	for j: c0[j] (+)= alpha · Σ_p a0[p]·b_pj, and c1 by a1
//
// with b packed. The rows of a go by eight; what is left of them is in tail, followed by zeros.
// Something is stored to fence at each inner index: the compiler then loads what it needs there
// and not far ahead, when it would run out of registers and put numbers aside by old instructions.
type pairVector struct {
	a0, a1, b, c0, c1  []float64
	alpha, fence, tail []float64
	set                bool
}

func pair1Vector(t *pairVector) {
	var c00, c10 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[p*lanes:(p+1)*lanes]), v0, v1, c00, c10)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	putPartVector(t.c0, t.set, f, c00)
	if t.c1 == nil {
		return
	}
	putPartVector(t.c1, t.set, f, c10)
}

func pair2Vector(t *pairVector) {
	var c00, c01, c10, c11 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 2*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[2 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[2*p*lanes:(2*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(2*p+1)*lanes:(2*p+2)*lanes]), v0, v1, c01, c11)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[2*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	putPartVector(t.c0[lanes:], t.set, f, c01)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	putPartVector(t.c1[lanes:], t.set, f, c11)
}

func pair3Vector(t *pairVector) {
	var c00, c01, c02, c10, c11, c12 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 3*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[3 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[3*p*lanes:(3*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(3*p+1)*lanes:(3*p+2)*lanes]), v0, v1, c01, c11)
			c02, c12 = pairAxpyVector(simd.LoadFloat64s(y[(3*p+2)*lanes:(3*p+3)*lanes]), v0, v1, c02, c12)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[3*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	put1Vector(t.c0[lanes:], t.set, f, c01)
	putPartVector(t.c0[2*lanes:], t.set, f, c02)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	put1Vector(t.c1[lanes:], t.set, f, c11)
	putPartVector(t.c1[2*lanes:], t.set, f, c12)
}

func pair4Vector(t *pairVector) {
	var c00, c01, c02, c03, c10, c11, c12, c13 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 4*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[4 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[4*p*lanes:(4*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(4*p+1)*lanes:(4*p+2)*lanes]), v0, v1, c01, c11)
			c02, c12 = pairAxpyVector(simd.LoadFloat64s(y[(4*p+2)*lanes:(4*p+3)*lanes]), v0, v1, c02, c12)
			c03, c13 = pairAxpyVector(simd.LoadFloat64s(y[(4*p+3)*lanes:(4*p+4)*lanes]), v0, v1, c03, c13)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[4*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	put1Vector(t.c0[lanes:], t.set, f, c01)
	put1Vector(t.c0[2*lanes:], t.set, f, c02)
	putPartVector(t.c0[3*lanes:], t.set, f, c03)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	put1Vector(t.c1[lanes:], t.set, f, c11)
	put1Vector(t.c1[2*lanes:], t.set, f, c12)
	putPartVector(t.c1[3*lanes:], t.set, f, c13)
}

func pair5Vector(t *pairVector) {
	var c00, c01, c02, c03, c04, c10, c11, c12, c13, c14 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 5*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[5 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[5*p*lanes:(5*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(5*p+1)*lanes:(5*p+2)*lanes]), v0, v1, c01, c11)
			c02, c12 = pairAxpyVector(simd.LoadFloat64s(y[(5*p+2)*lanes:(5*p+3)*lanes]), v0, v1, c02, c12)
			c03, c13 = pairAxpyVector(simd.LoadFloat64s(y[(5*p+3)*lanes:(5*p+4)*lanes]), v0, v1, c03, c13)
			c04, c14 = pairAxpyVector(simd.LoadFloat64s(y[(5*p+4)*lanes:(5*p+5)*lanes]), v0, v1, c04, c14)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[5*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	put1Vector(t.c0[lanes:], t.set, f, c01)
	put1Vector(t.c0[2*lanes:], t.set, f, c02)
	put1Vector(t.c0[3*lanes:], t.set, f, c03)
	putPartVector(t.c0[4*lanes:], t.set, f, c04)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	put1Vector(t.c1[lanes:], t.set, f, c11)
	put1Vector(t.c1[2*lanes:], t.set, f, c12)
	put1Vector(t.c1[3*lanes:], t.set, f, c13)
	putPartVector(t.c1[4*lanes:], t.set, f, c14)
}

func pair6Vector(t *pairVector) {
	var c00, c01, c02, c03, c04, c05, c10, c11, c12, c13, c14, c15 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 6*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[6 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[6*p*lanes:(6*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(6*p+1)*lanes:(6*p+2)*lanes]), v0, v1, c01, c11)
			c02, c12 = pairAxpyVector(simd.LoadFloat64s(y[(6*p+2)*lanes:(6*p+3)*lanes]), v0, v1, c02, c12)
			c03, c13 = pairAxpyVector(simd.LoadFloat64s(y[(6*p+3)*lanes:(6*p+4)*lanes]), v0, v1, c03, c13)
			c04, c14 = pairAxpyVector(simd.LoadFloat64s(y[(6*p+4)*lanes:(6*p+5)*lanes]), v0, v1, c04, c14)
			c05, c15 = pairAxpyVector(simd.LoadFloat64s(y[(6*p+5)*lanes:(6*p+6)*lanes]), v0, v1, c05, c15)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[6*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	put1Vector(t.c0[lanes:], t.set, f, c01)
	put1Vector(t.c0[2*lanes:], t.set, f, c02)
	put1Vector(t.c0[3*lanes:], t.set, f, c03)
	put1Vector(t.c0[4*lanes:], t.set, f, c04)
	putPartVector(t.c0[5*lanes:], t.set, f, c05)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	put1Vector(t.c1[lanes:], t.set, f, c11)
	put1Vector(t.c1[2*lanes:], t.set, f, c12)
	put1Vector(t.c1[3*lanes:], t.set, f, c13)
	put1Vector(t.c1[4*lanes:], t.set, f, c14)
	putPartVector(t.c1[5*lanes:], t.set, f, c15)
}

func pair7Vector(t *pairVector) {
	var c00, c01, c02, c03, c04, c05, c06, c10, c11, c12, c13, c14, c15, c16 simd.Float64s
	a0, a1, b, fence := t.a0, t.a1, t.b, t.fence[:lanes]
	for len(b) >= 7*lanes*unrolled {
		if len(a0) < unrolled {
			a0, a1 = t.tail[:unrolled], t.tail[unrolled:2*unrolled]
		}
		x0, x1, y := (*[unrolled]float64)(a0), (*[unrolled]float64)(a1), (*[7 * lanes * unrolled]float64)(b)
		for p := range 8 { //gen:unroll
			v0, v1 := simd.BroadcastFloat64s(x0[p]), simd.BroadcastFloat64s(x1[p])
			c00, c10 = pairAxpyVector(simd.LoadFloat64s(y[7*p*lanes:(7*p+1)*lanes]), v0, v1, c00, c10)
			c01, c11 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+1)*lanes:(7*p+2)*lanes]), v0, v1, c01, c11)
			c02, c12 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+2)*lanes:(7*p+3)*lanes]), v0, v1, c02, c12)
			c03, c13 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+3)*lanes:(7*p+4)*lanes]), v0, v1, c03, c13)
			c04, c14 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+4)*lanes:(7*p+5)*lanes]), v0, v1, c04, c14)
			c05, c15 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+5)*lanes:(7*p+6)*lanes]), v0, v1, c05, c15)
			c06, c16 = pairAxpyVector(simd.LoadFloat64s(y[(7*p+6)*lanes:(7*p+7)*lanes]), v0, v1, c06, c16)
			v0.Store(fence)
		}
		a0, a1, b = a0[unrolled:], a1[unrolled:], b[7*lanes*unrolled:]
	}
	f := simd.LoadFloat64s(t.alpha)
	put1Vector(t.c0, t.set, f, c00)
	put1Vector(t.c0[lanes:], t.set, f, c01)
	put1Vector(t.c0[2*lanes:], t.set, f, c02)
	put1Vector(t.c0[3*lanes:], t.set, f, c03)
	put1Vector(t.c0[4*lanes:], t.set, f, c04)
	put1Vector(t.c0[5*lanes:], t.set, f, c05)
	putPartVector(t.c0[6*lanes:], t.set, f, c06)
	if t.c1 == nil {
		return
	}
	put1Vector(t.c1, t.set, f, c10)
	put1Vector(t.c1[lanes:], t.set, f, c11)
	put1Vector(t.c1[2*lanes:], t.set, f, c12)
	put1Vector(t.c1[3*lanes:], t.set, f, c13)
	put1Vector(t.c1[4*lanes:], t.set, f, c14)
	put1Vector(t.c1[5*lanes:], t.set, f, c15)
	putPartVector(t.c1[6*lanes:], t.set, f, c16)
}

// pairAxpyVector returns c + y·v for two rows.
func pairAxpyVector(y, v0, v1, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	return y.MulAdd(v0, c0), y.MulAdd(v1, c1)
}

// putPartVector is put1Vector for what may be less than a vector.
func putPartVector(c []float64, set bool, f, s simd.Float64s) {
	if set {
		s.Mul(f).StorePart(c)
	} else {
		old, _ := simd.LoadFloat64sPart(c)
		s.MulAdd(f, old).StorePart(c)
	}
}
