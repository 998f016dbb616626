//go:build ignore

package kernel

import "simd"

// subtractVector sets U_ij = U_ij − Σ_{p ≤ q < p+k} U_qi·U_qj for the rows i to i+3 and the panels
// of columns from i on; the rows from p on begin a block.
func subtractVector(f *Upper, p, k, i int) {
	subtractPanelsVector(f, p, k, i) //gen:128,256
	subtractRowsVector(f, p, k, i)   //gen:512
	archsimd.ClearAVXUpperBits()
}

// subtractPanelsVector is subtractVector with the rows above in panels.
//
//gen:128,256
func subtractPanelsVector(f *Upper, p, k, i int) {
	d, from := f.spread, f.panels[f.panelAt(p, i)+i%Panel:]
	for p := 0; p < k; p += 4 {
		a, e := (*[3*Panel + 4]float64)(from), (*[16 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[Q]).Store(e[Q*lanes : (Q+1)*lanes])               //gen:times 4
		simd.BroadcastFloat64s(a[Panel+Q]).Store(e[(4+Q)*lanes : (5+Q)*lanes])     //gen:times 4
		simd.BroadcastFloat64s(a[2*Panel+Q]).Store(e[(8+Q)*lanes : (9+Q)*lanes])   //gen:times 4
		simd.BroadcastFloat64s(a[3*Panel+Q]).Store(e[(12+Q)*lanes : (13+Q)*lanes]) //gen:times 4
		from, d = from[4*Panel:], d[16*lanes:]
	}
	var t tile
	t.a, t.alpha, t.ldc = f.spread[:4*lanes*k+1], -1, f.Ld
	for j := i / Panel * Panel; j < f.N; j += Panel {
		t.c, t.b = f.U[i*f.Ld+j:], f.panels[f.panelAt(p, j):]
		tile1Vector(&t)
	}
}

// subtractRowsVector is subtractVector with the rows above in the matrix.
//
//gen:512
func subtractRowsVector(f *Upper, p, k, i int) {
	u, ld := f.U, f.Ld
	a := u[p*ld+i : (p+k)*ld+i]
	if f.N-i > narrow {
		for x, d := a, f.spread; len(x) > 0; x = x[ld:] {
			y, e := (*[4]float64)(x), (*[4 * lanes]float64)(d)
			simd.BroadcastFloat64s(y[Q]).Store(e[Q*lanes : (Q+1)*lanes]) //gen:times 4
			d = d[4*lanes:]
		}
	}
	for j := i / lanes * lanes; j < f.N; {
		b, c, n := u[p*ld+j:], u[i*ld+j:], panels(f.N, j)
		if f.N-i <= narrow {
			n = min(n, 2)
		}
		switch n {
		case 3:
			subtract3Vector(c, f.spread[:4*lanes*k], b, ld)
		case 2:
			subtract2Vector(c, a, b, ld)
		default:
			subtract1Vector(c, a, b, ld)
		}
		j += n * Panel
	}
}

// subVector sets c = c − s.
//
//gen:512
func subVector(c []float64, s simd.Float64s) { simd.LoadFloat64s(c).Sub(s).Store(c) }

// divideVector eliminates, scales, and copies to panels where there are any.
func divideVector(f *Upper, i int, d *Elimination) {
	m01, m02, m03 := simd.BroadcastFloat64s(d.M01), simd.BroadcastFloat64s(d.M02), simd.BroadcastFloat64s(d.M03)
	m12, m13, m23 := simd.BroadcastFloat64s(d.M12), simd.BroadcastFloat64s(d.M13), simd.BroadcastFloat64s(d.M23)
	sQ := simd.BroadcastFloat64s(d.SQ) //gen:times 4
	ld, j := f.Ld, i/Panel*Panel
	u0, u1, u2, u3 := f.U[i*ld:][:ld], f.U[(i+1)*ld:][:ld], f.U[(i+2)*ld:][:ld], f.U[(i+3)*ld:][:ld]
	to := f.panels[f.panelAt(i, j):] //gen:128,256
	for ; j < f.N; j += Panel {
		r0, r1, r2, r3 := (*[Panel]float64)(u0[j:]), (*[Panel]float64)(u1[j:]), (*[Panel]float64)(u2[j:]), (*[Panel]float64)(u3[j:])
		x := (*[4 * Panel]float64)(to) //gen:128,256
		for v := 0; v < Panel; v += lanes {
			c0, c1, c2, c3 := simd.LoadFloat64s(r0[v:v+lanes]), simd.LoadFloat64s(r1[v:v+lanes]), simd.LoadFloat64s(r2[v:v+lanes]), simd.LoadFloat64s(r3[v:v+lanes])
			c1 = m01.MulAdd(c0, c1)
			c2 = m02.MulAdd(c0, c2)
			c3 = m03.MulAdd(c0, c3)
			c2 = m12.MulAdd(c1, c2)
			c3 = m13.MulAdd(c1, c3)
			c3 = m23.MulAdd(c2, c3)
			cQ = cQ.Mul(sQ)                          //gen:times 4
			cQ.Store(rQ[v : v+lanes])                //gen:times 4
			cQ.Store(x[Q*Panel+v : Q*Panel+v+lanes]) //gen:times 4 //gen:128,256
		}
		to = to[PanelStep:] //gen:128,256
	}
	archsimd.ClearAVXUpperBits()
}
