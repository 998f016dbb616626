package bilevel

// newestAlone are the pieces that take the newest batch alone, of f_x, f_y, g_y, g_xy, g_yy.
var newestAlone = [5]Ablation{AblateUpper, AblateUpper, AblateLower, AblateBends, AblateBends}

// carry is the recursion for one estimate of a block.
func (f *follower) carry(g *gain, k, block int, e, now, old, d []float64) {
	tau, c := f.at(g, k, newestAlone[block])
	keep := f.clip(g, k, tau, residual(e, old, d, c))
	m := sweep(e, now, old, d, keep*tau, c)
	g.learn(k, tau, m.times(keep*keep), f.omega(block))
}

// carryYY is carry for g_yy, of which an entry below the diagonal stands for two.
func (f *follower) carryYY(k int) {
	tau, c := f.at(&f.gyy, k, AblateBends)
	squares := 0.0
	for i := range f.dy {
		e, old, d := f.yy.Row(i), f.old.yy.Row(i), f.bendYY(i)
		squares += 2*residual(e[:i], old, d, c) + residual(e[i:], old[i:], part(d, i, i+1), c)
	}
	keep := f.clip(&f.gyy, k, tau, squares)
	var m moments
	for i := range f.dy {
		e, now, old, d := f.yy.Row(i), f.now.yy.Row(i), f.old.yy.Row(i), f.bendYY(i)
		m.add(sweep(e[:i], now, old, d, keep*tau, c), 2)
		m.add(sweep(e[i:], now[i:], old[i:], part(d, i, i+1), keep*tau, c), 1)
	}
	f.gyy.learn(k, tau, m.times(keep*keep), f.omega(4))
}

// clip is g.clip, less what is ablated.
func (f *follower) clip(g *gain, k int, tau, squares float64) float64 {
	if tau == 1 || f.ablate&AblateClip != 0 {
		return 1
	}
	return g.clip(k, squares)
}

// bendYY is row i of what the table says of g_yy; nil without one.
func (f *follower) bendYY(i int) []float64 {
	if f.bends == nil {
		return nil
	}
	return f.bends.dyy.Row(i)
}
