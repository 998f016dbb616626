//go:build goexperiment.simd && go1.27 && !go1.28 && !purego

package eig

import (
	"simd"

	"stable/mat/kernel"
)

// vectorFrom is the length of row from which vector code is faster.
const vectorFrom = 16

// maxLanes is the number of float64s in the longest vector there is.
const maxLanes = 8

// pass2 is pass2Go.
func pass2(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	n := len(a0)
	if n < vectorFrom || !kernel.Vector() {
		return pass2Go(a0, a1, v, w, x, y, v0, w0, x0, v1, w1, x1)
	}
	a1, v, w, x, y = a1[:n], v[:n], w[:n], x[:n], y[:n]
	var acc0, acc1 simd.Float64s
	width := acc0.Len()
	m := n - n%width
	bv0, bw0, bx0 := simd.BroadcastFloat64s(-v0), simd.BroadcastFloat64s(-w0), simd.BroadcastFloat64s(x0)
	bv1, bw1, bx1 := simd.BroadcastFloat64s(-v1), simd.BroadcastFloat64s(-w1), simd.BroadcastFloat64s(x1)
	for j := 0; j+width <= n; j += width {
		vj, wj := simd.LoadFloat64s(v[j:]), simd.LoadFloat64s(w[j:])
		p := bw0.MulAdd(vj, bv0.MulAdd(wj, simd.LoadFloat64s(a0[j:])))
		q := bw1.MulAdd(vj, bv1.MulAdd(wj, simd.LoadFloat64s(a1[j:])))
		p.Store(a0[j:])
		q.Store(a1[j:])
		xj := simd.LoadFloat64s(x[j:])
		acc0 = p.MulAdd(xj, acc0)
		acc1 = q.MulAdd(xj, acc1)
		bx0.MulAdd(p, bx1.MulAdd(q, simd.LoadFloat64s(y[j:]))).Store(y[j:])
	}
	var t [2 * maxLanes]float64
	acc0.Store(t[:])
	acc1.Store(t[maxLanes:])
	kernel.ClearUpper()
	for j := range width {
		s0 += t[j]
		s1 += t[maxLanes+j]
	}
	r0, r1 := pass2Go(a0[m:], a1[m:], v[m:], w[m:], x[m:], y[m:], v0, w0, x0, v1, w1, x1)
	return s0 + r0, s1 + r1
}

// reflect4 is reflect4Go.
func reflect4(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	n := len(v)
	if n < vectorFrom || !kernel.Vector() {
		return reflect4Go(x0, x1, x2, x3, v, u, f0, f1, f2, f3)
	}
	x0, x1, x2, x3, u = x0[:n], x1[:n], x2[:n], x3[:n], u[:n]
	var acc0, acc1, acc2, acc3 simd.Float64s
	width := acc0.Len()
	m := n - n%width
	b0, b1, b2, b3 := simd.BroadcastFloat64s(f0), simd.BroadcastFloat64s(f1), simd.BroadcastFloat64s(f2), simd.BroadcastFloat64s(f3)
	for j := 0; j+width <= n; j += width {
		vj, uj := simd.LoadFloat64s(v[j:]), simd.LoadFloat64s(u[j:])
		p := b0.MulAdd(vj, simd.LoadFloat64s(x0[j:]))
		p.Store(x0[j:])
		acc0 = p.MulAdd(uj, acc0)
		p = b1.MulAdd(vj, simd.LoadFloat64s(x1[j:]))
		p.Store(x1[j:])
		acc1 = p.MulAdd(uj, acc1)
		p = b2.MulAdd(vj, simd.LoadFloat64s(x2[j:]))
		p.Store(x2[j:])
		acc2 = p.MulAdd(uj, acc2)
		p = b3.MulAdd(vj, simd.LoadFloat64s(x3[j:]))
		p.Store(x3[j:])
		acc3 = p.MulAdd(uj, acc3)
	}
	var t [4 * maxLanes]float64
	acc0.Store(t[:])
	acc1.Store(t[maxLanes:])
	acc2.Store(t[2*maxLanes:])
	acc3.Store(t[3*maxLanes:])
	kernel.ClearUpper()
	for j := range width {
		s0 += t[j]
		s1 += t[maxLanes+j]
		s2 += t[2*maxLanes+j]
		s3 += t[3*maxLanes+j]
	}
	r0, r1, r2, r3 := reflect4Go(x0[m:], x1[m:], x2[m:], x3[m:], v[m:], u[m:], f0, f1, f2, f3)
	return s0 + r0, s1 + r1, s2 + r2, s3 + r3
}

// rotate is rotateGo.
func rotate(x, y []float64, s, tau float64) {
	n := len(x)
	if n < vectorFrom || !kernel.Vector() {
		rotateGo(x, y, s, tau)
		return
	}
	y = y[:n]
	bs, ms := simd.BroadcastFloat64s(s), simd.BroadcastFloat64s(-s)
	bt, mt := simd.BroadcastFloat64s(tau), simd.BroadcastFloat64s(-tau)
	width := bs.Len()
	m := n - n%width
	for j := 0; j+width <= n; j += width {
		g, h := simd.LoadFloat64s(x[j:]), simd.LoadFloat64s(y[j:])
		ms.MulAdd(bt.MulAdd(g, h), g).Store(x[j:])
		bs.MulAdd(mt.MulAdd(h, g), h).Store(y[j:])
	}
	kernel.ClearUpper()
	rotateGo(x[m:], y[m:], s, tau)
}

// fullPays tells whether the products of a Lanczos process are faster with both triangles of a
// matrix of order n, by more than it takes to copy them: with vectors of 512 bits, up to 224.
func fullPays(n int) bool { return kernel.Vector() && simd.VectorBitSize() == 512 && n <= 224 }
