package bilevel

import (
	"math"

	"stable/mat"
)

// newestAlone are the pieces that take the newest batch alone, of f_x, f_y, g_y, g_xy, g_yy.
var newestAlone = [5]Ablation{AblateUpper, AblateUpper, AblateLower, AblateBends, AblateBends}

// move is the recursion, for all five.
func (f *follower) move(k int) {
	var dfx, dfy, dgy []float64
	if f.upper != nil {
		dfx, dfy = f.upper.d[:f.dx], f.upper.d[f.dx:]
	}
	if f.lower != nil {
		dgy = f.lower.d
	}
	past, n := f.pastXi, f.pastXi.asked()
	for i := range f.dx {
		e, now, old := f.fx[i:i+1], f.now.fx[i:i+1], f.old.fx[i:i+1]
		if n > 0 {
			f.follow(&f.gfx[i], k, 0, e, now, old, past.now.fx[i:i+1], past.old.fx[i:i+1], n)
		} else {
			f.carry(&f.gfx[i], k, 0, e, now, old, part(dfx, i, i+1))
		}
		f.carry(&f.gxy[i], k, 3, f.xy.Row(i), f.now.xy.Row(i), f.old.xy.Row(i), f.bendXY(i))
	}
	if n > 0 {
		f.follow(&f.gfy, k, 1, f.fy, f.now.fy, f.old.fy, past.now.fy, past.old.fy, n)
	} else {
		f.carry(&f.gfy, k, 1, f.fy, f.now.fy, f.old.fy, dfy)
	}
	if past, n := f.pastPhi, f.pastPhi.asked(); n > 0 {
		f.follow(&f.ggy, k, 2, f.gy, f.now.gy, f.old.gy, past.now.gy, past.old.gy, n)
	} else {
		f.carry(&f.ggy, k, 2, f.gy, f.now.gy, f.old.gy, dgy)
	}
	f.carryYY(k)
	f.settle()
}

// carry is the recursion for one estimate of a block.
func (f *follower) carry(g *gain, k, block int, e, now, old, d []float64) {
	tau, c := f.at(g, k, newestAlone[block])
	m := measure(e, now, old, d, c)
	keep := f.clip(g, k, block, tau, m.rr, 1)
	q := f.omega(block) * m.move
	if d == nil {
		sweep(e, now, old, keep*tau)
	} else {
		sweepTable(e, now, old, d, keep*tau, c, f.holds(g, q))
	}
	g.learn(k, tau, m.times(keep*keep), q)
}

// carryYY is carry for g_yy, of which an entry below the diagonal stands for two.
func (f *follower) carryYY(k int) {
	tau, c := f.at(&f.gyy, k, AblateBends)
	m := f.measureYY(c)
	keep := f.clip(&f.gyy, k, 4, tau, m.rr, 1)
	// e⁺ − e = now − old + τr, and the rounding of that and of the sums.
	r := math.Sqrt(m.rr)
	f.movedYY = (1+0x1p-20)*(math.Sqrt(m.move)+keep*tau*r) + 0x1p-50*(r+c*math.Sqrt(m.dd))
	q := f.omega(4) * m.move
	if f.bends == nil {
		mat.RecurSym(f.yy, keep*tau, f.yy, f.old.yy, f.now.yy)
	} else {
		held := f.holds(&f.gyy, q)
		for i := range f.dy {
			sweepTable(f.yy.Row(i), f.now.yy.Row(i), f.old.yy.Row(i), f.bends.dyy.Row(i), keep*tau, c, held)
		}
	}
	f.gyy.learn(k, tau, m.times(keep*keep), q)
}

// holds is g.holds, less what is ablated.
func (f *follower) holds(g *gain, q float64) float64 {
	held := g.holds(q)
	if f.ablate&AblateHeld != 0 {
		return 0
	}
	return held
}

// measureYY is measure for g_yy.
func (f *follower) measureYY(c float64) (m moments) {
	if f.bends == nil {
		return moments{rr: distanceSym(f.old.yy, f.yy), move: distanceSym(f.now.yy, f.old.yy)}
	}
	for i := range f.dy {
		e, now, old, d := f.yy.Row(i), f.now.yy.Row(i), f.old.yy.Row(i), f.bends.dyy.Row(i)
		m.add(measure(e[:i], now, old, d, c), 2)
		m.add(measure(e[i:], now[i:], old[i:], d[i:], c), 1)
	}
	return m
}

// clip is g.clip, less what is ablated, until as many samples are drawn as a sum has terms: from
// then on no term is more than all of them together.
func (f *follower) clip(g *gain, k, block int, tau, squares, of float64) float64 {
	terms := f.terms[min(block/2, 1)]
	if tau == 1 || f.ablate&AblateClip != 0 || terms > 0 && g.samples(k) >= terms {
		return 1
	}
	return g.clip(k, squares, of)
}
