//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

func rank2MulVector(a0, a1, v, w, x, y []float64, v0, w0, x0, v1, w1, x1 float64) (s0, s1 float64) {
	n := len(a0)
	a1, v, w, x, y = a1[:n], v[:n], w[:n], x[:n], y[:n]
	var acc0, acc1 vec
	bv0, bw0, bx0 := spread(-v0), spread(-w0), spread(x0)
	bv1, bw1, bx1 := spread(-v1), spread(-w1), spread(x1)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		vj, wj := load(v[j:k:k]), load(w[j:k:k])
		p := bw0.MulAdd(vj, bv0.MulAdd(wj, load(a0[j:k:k])))
		q := bw1.MulAdd(vj, bv1.MulAdd(wj, load(a1[j:k:k])))
		p.StoreArray((*array)(a0[j:k:k]))
		q.StoreArray((*array)(a1[j:k:k]))
		xj := load(x[j:k:k])
		acc0 = p.MulAdd(xj, acc0)
		acc1 = q.MulAdd(xj, acc1)
		bx0.MulAdd(p, bx1.MulAdd(q, load(y[j:k:k]))).Store(y[j:k:k])
	}
	var t0, t1 [8]float64
	acc0.Store(t0[:])
	acc1.Store(t1[:])
	clearUpper()
	return Sum(&t0), Sum(&t1)
}

func reflectVector(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64) {
	n := len(v)
	x0, x1, x2, x3, u = x0[:n], x1[:n], x2[:n], x3[:n], u[:n]
	var acc0, acc1, acc2, acc3 vec
	b0, b1, b2, b3 := spread(f0), spread(f1), spread(f2), spread(f3)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		vj, uj := load(v[j:k:k]), load(u[j:k:k])
		p := b0.MulAdd(vj, load(x0[j:k:k]))
		p.StoreArray((*array)(x0[j:k:k]))
		acc0 = p.MulAdd(uj, acc0)
		p = b1.MulAdd(vj, load(x1[j:k:k]))
		p.StoreArray((*array)(x1[j:k:k]))
		acc1 = p.MulAdd(uj, acc1)
		p = b2.MulAdd(vj, load(x2[j:k:k]))
		p.StoreArray((*array)(x2[j:k:k]))
		acc2 = p.MulAdd(uj, acc2)
		p = b3.MulAdd(vj, load(x3[j:k:k]))
		p.StoreArray((*array)(x3[j:k:k]))
		acc3 = p.MulAdd(uj, acc3)
	}
	var t0, t1, t2, t3 [8]float64
	acc0.Store(t0[:])
	acc1.Store(t1[:])
	acc2.Store(t2[:])
	acc3.Store(t3[:])
	clearUpper()
	return Sum(&t0), Sum(&t1), Sum(&t2), Sum(&t3)
}

func rotateVector(x, y []float64, s, tau float64) {
	n := len(x)
	y = y[:n]
	bs, ms := spread(s), spread(-s)
	bt, mt := spread(tau), spread(-tau)
	for j := 0; j+lanes <= n; j += lanes {
		k := j + lanes
		g, h := load(x[j:k:k]), load(y[j:k:k])
		ms.MulAdd(bt.MulAdd(g, h), g).Store(x[j:k:k])
		bs.MulAdd(mt.MulAdd(h, g), h).Store(y[j:k:k])
	}
	clearUpper()
}
