//go:build arm64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package kernel

// subtractVector sets U_ij = U_ij − Σ_{p ≤ q < p+k} U_qi·U_qj for the rows i to i+3 and the panels
// of columns from i on; the rows from p on begin a block.
func subtractVector(f *Upper, p, k, i int) {
	if wide() {
		subtractAVX512(f, p, k, i)
		return
	}
	if lanes == 4 && f.N-i/Panel*Panel <= narrow {
		a := f.panels[f.panelAt(p, i)+i%Panel:]
		for j := i / Panel * Panel; j < f.N; j += Panel {
			tileFewVector(f.U[i*f.Ld+j:], a, f.panels[f.panelAt(p, j):][:Panel*k+1], f.Ld)
		}
		clearUpper()
		return
	}
	d, from := f.spread, f.panels[f.panelAt(p, i)+i%Panel:]
	for range k / 4 {
		a, e := (*[3*Panel + 4]float64)(from), (*[16 * lanes]float64)(d)
		spread4Vector((*[4 * lanes]float64)(e[:]), a[0], a[1], a[2], a[3])
		spread4Vector((*[4 * lanes]float64)(e[4*lanes:]), a[Panel], a[Panel+1], a[Panel+2], a[Panel+3])
		spread4Vector((*[4 * lanes]float64)(e[8*lanes:]), a[2*Panel], a[2*Panel+1], a[2*Panel+2], a[2*Panel+3])
		spread4Vector((*[4 * lanes]float64)(e[12*lanes:]), a[3*Panel], a[3*Panel+1], a[3*Panel+2], a[3*Panel+3])
		from, d = from[4*Panel:], d[16*lanes:]
	}
	var t tile
	t.a, t.alpha, t.ldc = f.spread[:4*lanes*k+1], -1, f.Ld
	j := i / Panel * Panel
	t.c, t.b = f.U[i*f.Ld+j:], f.panels[f.panelAt(p, j):]
	for {
		tile1Vector(&t)
		if j += Panel; j >= f.N {
			break
		}
		t.c, t.b = t.c[Panel:], t.b[PanelStep:]
	}
	clearUpper()
}

// divideVector eliminates, scales, and copies to panels.
func divideVector(f *Upper, i int, d *Elimination) {
	if wide() {
		divideAVX512(f, i, d)
		return
	}
	m01, m02, m03 := spread(d.M01), spread(d.M02), spread(d.M03)
	m12, m13, m23 := spread(d.M12), spread(d.M13), spread(d.M23)
	s0, s1, s2, s3 := spread(d.S0), spread(d.S1), spread(d.S2), spread(d.S3)
	ld, j := f.Ld, i/Panel*Panel
	u0, u1, u2, u3 := f.U[i*ld:][:ld], f.U[(i+1)*ld:][:ld], f.U[(i+2)*ld:][:ld], f.U[(i+3)*ld:][:ld]
	to := f.panels[f.panelAt(i, j):]
	for ; j < f.N; j += Panel {
		end := j + Panel
		r0, r1 := (*[Panel]float64)(u0[j:end:end]), (*[Panel]float64)(u1[j:end:end])
		r2, r3 := (*[Panel]float64)(u2[j:end:end]), (*[Panel]float64)(u3[j:end:end])
		x := (*[4 * Panel]float64)(to)
		for v := 0; v < Panel; v += lanes {
			c0, c1, c2, c3 := load(r0[v:v+lanes]), load(r1[v:v+lanes]), load(r2[v:v+lanes]), load(r3[v:v+lanes])
			c1, c2, c3 = m01.MulAdd(c0, c1), m02.MulAdd(c0, c2), m03.MulAdd(c0, c3)
			c2, c3 = m12.MulAdd(c1, c2), m13.MulAdd(c1, c3)
			c3 = m23.MulAdd(c2, c3)
			c0, c1, c2, c3 = c0.Mul(s0), c1.Mul(s1), c2.Mul(s2), c3.Mul(s3)
			c0.StoreArray((*array)(r0[v : v+lanes]))
			c1.StoreArray((*array)(r1[v : v+lanes]))
			c2.StoreArray((*array)(r2[v : v+lanes]))
			c3.StoreArray((*array)(r3[v : v+lanes]))
			c0.StoreArray((*array)(x[v : v+lanes]))
			c1.StoreArray((*array)(x[Panel+v : Panel+v+lanes]))
			c2.StoreArray((*array)(x[2*Panel+v : 2*Panel+v+lanes]))
			c3.StoreArray((*array)(x[3*Panel+v : 3*Panel+v+lanes]))
		}
		to = to[PanelStep:]
	}
	clearUpper()
}
