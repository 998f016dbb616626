//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

// solveUpperTransVector solves four rows, and subtracts them from what is right of them.
func solveUpperTransVector(x, u []float64, ld int) {
	n := len(x)
	i := 0
	for ; i+3 < n; i += 4 {
		r0, r1, r2, r3 := u[i*ld:][:n], u[(i+1)*ld:][:n], u[(i+2)*ld:][:n], u[(i+3)*ld:][:n]
		c := x[i : i+4]
		v0 := c[0] * (1 / r0[i])
		v1 := (c[1] - r0[i+1]*v0) * (1 / r1[i+1])
		v2 := (c[2] - r0[i+2]*v0 - r1[i+2]*v1) * (1 / r2[i+2])
		v3 := (c[3] - r0[i+3]*v0 - r1[i+3]*v1 - r2[i+3]*v2) * (1 / r3[i+3])
		c[0], c[1], c[2], c[3] = v0, v1, v2, v3
		f0, f1, f2, f3 := spread(-v0), spread(-v1), spread(-v2), spread(-v3)
		j := i + 4
		for ; j+lanes <= n; j += lanes {
			d := x[j : j+lanes : j+lanes]
			s := f0.MulAdd(load(r0[j:j+lanes:j+lanes]), load(d))
			t := f1.Mul(load(r1[j : j+lanes : j+lanes]))
			s = f2.MulAdd(load(r2[j:j+lanes:j+lanes]), s)
			t = f3.MulAdd(load(r3[j:j+lanes:j+lanes]), t)
			s.Add(t).Store(d)
		}
		if j < n {
			s, _ := loadPart(x[j:])
			a, _ := loadPart(r0[j:])
			s = f0.MulAdd(a, s)
			a, _ = loadPart(r1[j:])
			s = f1.MulAdd(a, s)
			a, _ = loadPart(r2[j:])
			s = f2.MulAdd(a, s)
			a, _ = loadPart(r3[j:])
			s = f3.MulAdd(a, s)
			s.StorePart(x[j:])
		}
		clearUpper()
	}
	for ; i < n; i++ {
		x[i] *= 1 / u[i*ld+i]
		axpyRow(x[i+1:], -x[i], u[i*ld+i+1:])
	}
}

// solveUpperVector subtracts from four rows, the last first, what is right of them, and solves.
func solveUpperVector(x, u []float64, ld int) {
	n := len(x)
	var t [4][8]float64
	i := n - 4
	for ; i >= 0; i -= 4 {
		r0, r1, r2, r3 := u[i*ld:][:n], u[(i+1)*ld:][:n], u[(i+2)*ld:][:n], u[(i+3)*ld:][:n]
		var s0, s1, s2, s3 vec
		j := i + 4
		for ; j+lanes <= n; j += lanes {
			y := load(x[j : j+lanes : j+lanes])
			s0 = load(r0[j:j+lanes:j+lanes]).MulAdd(y, s0)
			s1 = load(r1[j:j+lanes:j+lanes]).MulAdd(y, s1)
			s2 = load(r2[j:j+lanes:j+lanes]).MulAdd(y, s2)
			s3 = load(r3[j:j+lanes:j+lanes]).MulAdd(y, s3)
		}
		if j < n {
			y, _ := loadPart(x[j:])
			a, _ := loadPart(r0[j:])
			s0 = a.MulAdd(y, s0)
			a, _ = loadPart(r1[j:])
			s1 = a.MulAdd(y, s1)
			a, _ = loadPart(r2[j:])
			s2 = a.MulAdd(y, s2)
			a, _ = loadPart(r3[j:])
			s3 = a.MulAdd(y, s3)
		}
		s0.Store(t[0][:])
		s1.Store(t[1][:])
		s2.Store(t[2][:])
		s3.Store(t[3][:])
		clearUpper()
		c := x[i : i+4]
		v3 := (c[3] - Sum(&t[3])) * (1 / r3[i+3])
		v2 := (c[2] - Sum(&t[2]) - r2[i+3]*v3) * (1 / r2[i+2])
		v1 := (c[1] - Sum(&t[1]) - r1[i+3]*v3 - r1[i+2]*v2) * (1 / r1[i+1])
		v0 := (c[0] - Sum(&t[0]) - r0[i+3]*v3 - r0[i+2]*v2 - r0[i+1]*v1) * (1 / r0[i])
		c[0], c[1], c[2], c[3] = v0, v1, v2, v3
	}
	clearUpper()
	for i += 3; i >= 0; i-- {
		x[i] = (x[i] - Dot(x[i+1:], u[i*ld+i+1:])) * (1 / u[i*ld+i])
	}
}
