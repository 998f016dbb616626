//go:build ignore

package kernel

import "simd"

// subtractVector sets U_ij = U_ij − Σ_{p ≤ q < p+k} U_qi·U_qj for the rows i to i+3 and the columns
// from i to N, and some on their left, where whole vectors or panels begin and end.
func subtractVector(f *Upper, p, k, i int) {
	if len(f.panels) > 0 { //gen:256
		subtractPanelsVector(f, p, k, i) //gen:256
		archsimd.ClearAVXUpperBits()     //gen:256
		return                           //gen:256
	} //gen:256
	u, ld := f.U, f.Ld
	d := f.spread
	for x := p*ld + i; x < (p+k)*ld; x += ld {
		a, e := (*[4]float64)(u[x:x+4]), (*[4 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[0]).Store(e[:lanes])
		simd.BroadcastFloat64s(a[1]).Store(e[lanes : 2*lanes])
		simd.BroadcastFloat64s(a[2]).Store(e[2*lanes : 3*lanes])
		simd.BroadcastFloat64s(a[3]).Store(e[3*lanes:])
		d = d[4*lanes:]
	}
	a := f.spread[:4*lanes*k]
	for j := i / lanes * lanes; j < f.N; {
		b, c := u[p*ld+j:], u[i*ld+j:]
		_, w := PanelAt(f.N, j)
		switch w {
		case 3 * lanes: //gen:512
			subtract3Vector(c, a, b, ld) //gen:512
		case 2 * lanes:
			subtract2Vector(c, a, b, ld)
		default:
			subtract1Vector(c, a, b, ld)
		}
		j += w
	}
	archsimd.ClearAVXUpperBits()
}

// subtractPanelsVector is subtractVector with the rows above in panels.
//
//gen:256
func subtractPanelsVector(f *Upper, p, k, i int) {
	at, step := f.panelAt(i, p), f.panelStep(p)
	d, from := f.spread, f.panels[at+i%panelWidth:]
	for q := range k {
		a, e := (*[4]float64)(from[q*panelWidth:]), (*[4 * lanes]float64)(d)
		simd.BroadcastFloat64s(a[0]).Store(e[:lanes])
		simd.BroadcastFloat64s(a[1]).Store(e[lanes : 2*lanes])
		simd.BroadcastFloat64s(a[2]).Store(e[2*lanes : 3*lanes])
		simd.BroadcastFloat64s(a[3]).Store(e[3*lanes:])
		d = d[4*lanes:]
	}
	for j := i / panelWidth * panelWidth; j < f.N; j += panelWidth {
		subtractPackedVector(f.U[i*f.Ld+j:], f.Ld, f.spread[:4*lanes*k], f.panels[at:])
		at += step
	}
}

// subVector sets c = c − s.
func subVector(c []float64, s simd.Float64s) { simd.LoadFloat64s(c).Sub(s).Store(c) }

// divideVector eliminates, then scales.
func divideVector(f *Upper, i int, d *Elimination) {
	u, ld := f.U, f.Ld
	e := (*[10 * lanes]float64)(f.spread)
	simd.BroadcastFloat64s(d.M01).Store(e[:lanes])
	simd.BroadcastFloat64s(d.M02).Store(e[lanes : 2*lanes])
	simd.BroadcastFloat64s(d.M03).Store(e[2*lanes : 3*lanes])
	simd.BroadcastFloat64s(d.M12).Store(e[3*lanes : 4*lanes])
	simd.BroadcastFloat64s(d.M13).Store(e[4*lanes : 5*lanes])
	simd.BroadcastFloat64s(d.M23).Store(e[5*lanes : 6*lanes])
	simd.BroadcastFloat64s(d.S0).Store(e[6*lanes : 7*lanes])
	simd.BroadcastFloat64s(d.S1).Store(e[7*lanes : 8*lanes])
	simd.BroadcastFloat64s(d.S2).Store(e[8*lanes : 9*lanes])
	simd.BroadcastFloat64s(d.S3).Store(e[9*lanes : 10*lanes])
	for j := i / lanes * lanes; j < f.N; j += lanes {
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
		if len(f.panels) > 0 { //gen:256
			x := f.panels[f.panelAt(j, i)+j%panelWidth:] //gen:256
			c0.Store(x)                                  //gen:256
			c1.Store(x[panelWidth:])                     //gen:256
			c2.Store(x[2*panelWidth:])                   //gen:256
			c3.Store(x[3*panelWidth:])                   //gen:256
		} //gen:256
	}
	archsimd.ClearAVXUpperBits()
}
