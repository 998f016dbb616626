//go:build ignore

package kernel

import "simd"

//gen:128,256
func rank2MulVector(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	n := len(a0)
	a1, v, w, x, y = a1[:n], v[:n], w[:n], x[:n], y[:n]
	var acc0, acc1 simd.Float64s
	bv0, bw0, bx0 := simd.BroadcastFloat64s(-v0), simd.BroadcastFloat64s(-w0), simd.BroadcastFloat64s(x0)
	bv1, bw1, bx1 := simd.BroadcastFloat64s(-v1), simd.BroadcastFloat64s(-w1), simd.BroadcastFloat64s(x1)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		vj, wj := simd.LoadFloat64s(v[j:k:k]), simd.LoadFloat64s(w[j:k:k])
		p := bw0.MulAdd(vj, bv0.MulAdd(wj, simd.LoadFloat64s(a0[j:k:k])))
		q := bw1.MulAdd(vj, bv1.MulAdd(wj, simd.LoadFloat64s(a1[j:k:k])))
		p.Store(a0[j:k:k])
		q.Store(a1[j:k:k])
		xj := simd.LoadFloat64s(x[j:k:k])
		acc0 = p.MulAdd(xj, acc0)
		acc1 = q.MulAdd(xj, acc1)
		bx0.MulAdd(p, bx1.MulAdd(q, simd.LoadFloat64s(y[j:k:k]))).Store(y[j:k:k])
	}
	var t0, t1 [8]float64
	acc0.Store(t0[:])
	acc1.Store(t1[:])
	archsimd.ClearAVXUpperBits()
	return Sum(&t0), Sum(&t1)
}

//gen:128,256
func reflectVector(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	n := len(v)
	x0, x1, x2, x3, u = x0[:n], x1[:n], x2[:n], x3[:n], u[:n]
	var acc0, acc1, acc2, acc3 simd.Float64s
	b0, b1, b2, b3 := simd.BroadcastFloat64s(f0), simd.BroadcastFloat64s(f1), simd.BroadcastFloat64s(f2), simd.BroadcastFloat64s(f3)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		vj, uj := simd.LoadFloat64s(v[j:k:k]), simd.LoadFloat64s(u[j:k:k])
		p := b0.MulAdd(vj, simd.LoadFloat64s(x0[j:k:k]))
		p.Store(x0[j:k:k])
		acc0 = p.MulAdd(uj, acc0)
		p = b1.MulAdd(vj, simd.LoadFloat64s(x1[j:k:k]))
		p.Store(x1[j:k:k])
		acc1 = p.MulAdd(uj, acc1)
		p = b2.MulAdd(vj, simd.LoadFloat64s(x2[j:k:k]))
		p.Store(x2[j:k:k])
		acc2 = p.MulAdd(uj, acc2)
		p = b3.MulAdd(vj, simd.LoadFloat64s(x3[j:k:k]))
		p.Store(x3[j:k:k])
		acc3 = p.MulAdd(uj, acc3)
	}
	var t0, t1, t2, t3 [8]float64
	accQ.Store(tQ[:]) //gen:times 4
	archsimd.ClearAVXUpperBits()
	return Sum(&t0), Sum(&t1), Sum(&t2), Sum(&t3)
}

func rotateVector(x, y []float64, s, tau float64) {
	n := len(x)
	y = y[:n]
	bs, ms := simd.BroadcastFloat64s(s), simd.BroadcastFloat64s(-s)
	bt, mt := simd.BroadcastFloat64s(tau), simd.BroadcastFloat64s(-tau)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		g, h := simd.LoadFloat64s(x[j:k:k]), simd.LoadFloat64s(y[j:k:k])
		ms.MulAdd(bt.MulAdd(g, h), g).Store(x[j:k:k])
		bs.MulAdd(mt.MulAdd(h, g), h).Store(y[j:k:k])
	}
	archsimd.ClearAVXUpperBits()
}
