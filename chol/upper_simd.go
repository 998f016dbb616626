//go:build !amd64 && goexperiment.simd && go1.27 && !go1.28 && !purego

package chol

import (
	"simd"

	"stable/mat/kernel"
)

const lanes = 2 // of simd on arm64 and wasm

// subtractVector sets U_ij = U_ij − Σ_{p ≤ q < p+k} U_qi·U_qj for the rows i to i+3 and the columns
// from i to n, and some on their left, where whole vectors or panels begin and end.
func subtractVector(u []float64, ld int, panels []float64, p, k, i, n int, spread []float64) {
	if lanes == panelLanes && len(panels) > 0 {
		subtractPanelsVector(u, ld, panels, p, k, i, n, spread)
		kernel.ClearUpper()
		return
	}
	d := spread
	for x := p*ld + i; x < (p+k)*ld; x += ld {
		a, e := (*[4]float64)(u[x:x+4]), (*[4 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[0]).Store(e[:lanes])
		simd.BroadcastFloat64s(a[1]).Store(e[lanes : 2*lanes])
		simd.BroadcastFloat64s(a[2]).Store(e[2*lanes : 3*lanes])
		simd.BroadcastFloat64s(a[3]).Store(e[3*lanes:])
		d = d[4*lanes:]
	}
	a := spread[:4*lanes*k]
	for j := i / lanes * lanes; j < n; {
		b, c := u[p*ld+j:], u[i*ld+j:]
		switch w := panelVector(n - j); w {
		case 3:
			subtract3Vector(c, a, b, ld)
			j += 3 * lanes
		case 2:
			subtract2Vector(c, a, b, ld)
			j += 2 * lanes
		default:
			subtract1Vector(c, a, b, ld)
			j += lanes
		}
	}
	kernel.ClearUpper()
}

// subtractPanelsVector is subtractVector with the rows above in panels.
func subtractPanelsVector(u []float64, ld int, panels []float64, p, k, i, n int, spread []float64) {
	at, step := panelAt(i, p, n), panelStep(p, n)
	d, from := spread, panels[at+i%panelWidth:]
	for q := range k {
		a, e := (*[4]float64)(from[q*panelWidth:]), (*[4 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[0]).Store(e[:lanes])
		simd.BroadcastFloat64s(a[1]).Store(e[lanes : 2*lanes])
		simd.BroadcastFloat64s(a[2]).Store(e[2*lanes : 3*lanes])
		simd.BroadcastFloat64s(a[3]).Store(e[3*lanes:])
		d = d[4*lanes:]
	}
	for j := i / panelWidth * panelWidth; j < n; j += panelWidth {
		packed2Vector(u[i*ld+j:], ld, spread[:4*lanes*k], panels[at:])
		at += step
	}
}

// panelVector returns how many vectors to take at a time where n columns are left. With 256 bits
// there are registers for the sums of two; one by itself keeps the multipliers waiting.
func panelVector(n int) int {
	most := 3
	if lanes == 4 {
		most = 2
	}
	rest := (n + lanes - 1) / lanes
	if rest == 4 {
		return 2
	}
	return min(rest, most)
}

// subtract3Vector subtracts from four rows of three vectors the sum of a, spread, times rows of b.
// The rows go by four, as many as a strip has.
func subtract3Vector(c, a, b []float64, ld int) {
	var c00, c01, c02, c10, c11, c12, c20, c21, c22, c30, c31, c32 simd.Float64s
	for {
		x := (*[16 * lanes]float64)(a)
		for p := range 4 { //gen:unroll
			y := (*[3 * lanes]float64)(b)
			y0, y1, y2 := simd.LoadFloat64s(y[:lanes]), simd.LoadFloat64s(y[lanes:2*lanes]), simd.LoadFloat64s(y[2*lanes:])
			c00, c01, c02 = axpy3Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, y2, c00, c01, c02)
			c10, c11, c12 = axpy3Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, y2, c10, c11, c12)
			c20, c21, c22 = axpy3Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, y2, c20, c21, c22)
			c30, c31, c32 = axpy3Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, y2, c30, c31, c32)
			b = b[ld:]
		}
		a = a[16*lanes:]
		if len(a) == 0 {
			break
		}
	}
	subVector(c, c00)
	subVector(c[lanes:], c01)
	subVector(c[2*lanes:], c02)
	c = c[ld:]
	subVector(c, c10)
	subVector(c[lanes:], c11)
	subVector(c[2*lanes:], c12)
	c = c[ld:]
	subVector(c, c20)
	subVector(c[lanes:], c21)
	subVector(c[2*lanes:], c22)
	c = c[ld:]
	subVector(c, c30)
	subVector(c[lanes:], c31)
	subVector(c[2*lanes:], c32)
}

func subtract2Vector(c, a, b []float64, ld int) {
	var c00, c01, c10, c11, c20, c21, c30, c31 simd.Float64s
	for {
		x := (*[16 * lanes]float64)(a)
		for p := range 4 { //gen:unroll
			y := (*[2 * lanes]float64)(b)
			y0, y1 := simd.LoadFloat64s(y[:lanes]), simd.LoadFloat64s(y[lanes:])
			c00, c01 = axpy2Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, c00, c01)
			c10, c11 = axpy2Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, c10, c11)
			c20, c21 = axpy2Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, c20, c21)
			c30, c31 = axpy2Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, c30, c31)
			b = b[ld:]
		}
		a = a[16*lanes:]
		if len(a) == 0 {
			break
		}
	}
	subVector(c, c00)
	subVector(c[lanes:], c01)
	c = c[ld:]
	subVector(c, c10)
	subVector(c[lanes:], c11)
	c = c[ld:]
	subVector(c, c20)
	subVector(c[lanes:], c21)
	c = c[ld:]
	subVector(c, c30)
	subVector(c[lanes:], c31)
}

func subtract1Vector(c, a, b []float64, ld int) {
	var c0, c1, c2, c3 simd.Float64s
	for {
		x := (*[16 * lanes]float64)(a)
		for p := range 4 { //gen:unroll
			y := simd.LoadFloat64s(b[:lanes])
			c0 = simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]).MulAdd(y, c0)
			c1 = simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]).MulAdd(y, c1)
			c2 = simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]).MulAdd(y, c2)
			c3 = simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]).MulAdd(y, c3)
			b = b[ld:]
		}
		a = a[16*lanes:]
		if len(a) == 0 {
			break
		}
	}
	subVector(c, c0)
	c = c[ld:]
	subVector(c, c1)
	c = c[ld:]
	subVector(c, c2)
	c = c[ld:]
	subVector(c, c3)
}

// packed2Vector is subtract2Vector for the rows of a panel, one after the other.
func packed2Vector(c []float64, ld int, a, b []float64) {
	var c00, c01, c10, c11, c20, c21, c30, c31 simd.Float64s
	for len(a) >= 32*lanes {
		x, y := (*[32 * lanes]float64)(a), (*[16 * lanes]float64)(b)
		for p := range 8 { //gen:unroll
			y0, y1 := simd.LoadFloat64s(y[2*p*lanes:(2*p+1)*lanes]), simd.LoadFloat64s(y[(2*p+1)*lanes:(2*p+2)*lanes])
			c00, c01 = axpy2Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, c00, c01)
			c10, c11 = axpy2Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, c10, c11)
			c20, c21 = axpy2Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, c20, c21)
			c30, c31 = axpy2Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, c30, c31)
		}
		a, b = a[32*lanes:], b[16*lanes:]
	}
	for len(a) >= 16*lanes {
		x, y := (*[16 * lanes]float64)(a), (*[8 * lanes]float64)(b)
		for p := range 4 { //gen:unroll
			y0, y1 := simd.LoadFloat64s(y[2*p*lanes:(2*p+1)*lanes]), simd.LoadFloat64s(y[(2*p+1)*lanes:(2*p+2)*lanes])
			c00, c01 = axpy2Vector(simd.LoadFloat64s(x[4*p*lanes:(4*p+1)*lanes]), y0, y1, c00, c01)
			c10, c11 = axpy2Vector(simd.LoadFloat64s(x[(4*p+1)*lanes:(4*p+2)*lanes]), y0, y1, c10, c11)
			c20, c21 = axpy2Vector(simd.LoadFloat64s(x[(4*p+2)*lanes:(4*p+3)*lanes]), y0, y1, c20, c21)
			c30, c31 = axpy2Vector(simd.LoadFloat64s(x[(4*p+3)*lanes:(4*p+4)*lanes]), y0, y1, c30, c31)
		}
		a, b = a[16*lanes:], b[8*lanes:]
	}
	subVector(c, c00)
	subVector(c[lanes:], c01)
	c = c[ld:]
	subVector(c, c10)
	subVector(c[lanes:], c11)
	c = c[ld:]
	subVector(c, c20)
	subVector(c[lanes:], c21)
	c = c[ld:]
	subVector(c, c30)
	subVector(c[lanes:], c31)
}

// subVector sets c = c − s.
func subVector(c []float64, s simd.Float64s) { simd.LoadFloat64s(c).Sub(s).Store(c) }

// axpy3Vector returns c + x·y, for three vectors. MulAdd overwrites what it is called on: y would
// have to be copied, x is not used again.
func axpy3Vector(x, y0, y1, y2, c0, c1, c2 simd.Float64s) (simd.Float64s, simd.Float64s, simd.Float64s) {
	c0 = y0.MulAdd(x, c0)
	c1 = y1.MulAdd(x, c1)
	c2 = x.MulAdd(y2, c2)
	return c0, c1, c2
}

// axpy2Vector is axpy3Vector for two vectors.
func axpy2Vector(x, y0, y1, c0, c1 simd.Float64s) (simd.Float64s, simd.Float64s) {
	c0 = y0.MulAdd(x, c0)
	c1 = x.MulAdd(y1, c1)
	return c0, c1
}

// divideVector divides the rows i to i+3, from the vector of column i to n, by the corner d: it
// eliminates, then scales.
func divideVector(u []float64, ld int, panels []float64, i, n int, d *corner, spread []float64) {
	e := (*[10 * lanes]float64)(spread)
	simd.BroadcastFloat64s(d.m01).Store(e[:lanes])
	simd.BroadcastFloat64s(d.m02).Store(e[lanes : 2*lanes])
	simd.BroadcastFloat64s(d.m03).Store(e[2*lanes : 3*lanes])
	simd.BroadcastFloat64s(d.m12).Store(e[3*lanes : 4*lanes])
	simd.BroadcastFloat64s(d.m13).Store(e[4*lanes : 5*lanes])
	simd.BroadcastFloat64s(d.m23).Store(e[5*lanes : 6*lanes])
	simd.BroadcastFloat64s(d.s0).Store(e[6*lanes : 7*lanes])
	simd.BroadcastFloat64s(d.s1).Store(e[7*lanes : 8*lanes])
	simd.BroadcastFloat64s(d.s2).Store(e[8*lanes : 9*lanes])
	simd.BroadcastFloat64s(d.s3).Store(e[9*lanes : 10*lanes])
	for j := i / lanes * lanes; j < n; j += lanes {
		t := u[i*ld+j:]
		t0, t1, t2, t3 := t, t[ld:], t[2*ld:], t[3*ld:]
		c0, c1, c2, c3 := simd.LoadFloat64s(t0), simd.LoadFloat64s(t1), simd.LoadFloat64s(t2), simd.LoadFloat64s(t3)
		c1 = simd.LoadFloat64s(e[:lanes]).MulAdd(c0, c1)
		c2 = simd.LoadFloat64s(e[lanes:2*lanes]).MulAdd(c0, c2)
		c3 = simd.LoadFloat64s(e[2*lanes:3*lanes]).MulAdd(c0, c3)
		c2 = simd.LoadFloat64s(e[3*lanes:4*lanes]).MulAdd(c1, c2)
		c3 = simd.LoadFloat64s(e[4*lanes:5*lanes]).MulAdd(c1, c3)
		c3 = simd.LoadFloat64s(e[5*lanes:6*lanes]).MulAdd(c2, c3)
		c0 = c0.Mul(simd.LoadFloat64s(e[6*lanes : 7*lanes]))
		c1 = c1.Mul(simd.LoadFloat64s(e[7*lanes : 8*lanes]))
		c2 = c2.Mul(simd.LoadFloat64s(e[8*lanes : 9*lanes]))
		c3 = c3.Mul(simd.LoadFloat64s(e[9*lanes:]))
		c0.Store(t0)
		c1.Store(t1)
		c2.Store(t2)
		c3.Store(t3)
		if lanes == panelLanes && len(panels) > 0 {
			x := panels[panelAt(j, i, n)+j%panelWidth:]
			c0.Store(x)
			c1.Store(x[panelWidth:])
			c2.Store(x[2*panelWidth:])
			c3.Store(x[3*panelWidth:])
		}
	}
	kernel.ClearUpper()
}
