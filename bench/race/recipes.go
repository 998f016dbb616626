package race

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

// noisy returns a problem of 10 × 10 variables, condition 10 at both levels, with noise of root
// mean square 0.5 on every derivative, with the change applied.
func noisy(seed uint64, change func(o *quadratic.Options)) quadratic.Options {
	o := quadratic.Options{Seed: 1000 * seed, CrossNorm: 3}
	loud(&o, 0.5)
	if change != nil {
		change(&o)
	}
	return o
}

// loud sets the size of the noise.
func loud(o *quadratic.Options, sigma float64) {
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = sigma, sigma, sigma, sigma, sigma
}

// streams are quadratic problems whose samples come from a simulator. The numbers before the
// options are seeds: a problem of the confirmed half is another instance than one of the chosen
// half.
var streams = []recipe{
	{name: "quadratic", half: chosen, o: noisy(1, nil)},
	{name: "nonconvex", half: confirmed, o: noisy(2, func(o *quadratic.Options) { o.Nonconvex = 1 })},
	{name: "saddle", half: chosen, o: noisy(3, func(o *quadratic.Options) { o.Saddle, o.CrossNorm = true, 1 })},
	{name: "noise 1e-3", half: confirmed, o: noisy(4, func(o *quadratic.Options) { loud(o, 1e-3) })},
	{name: "noise 10", half: chosen, o: noisy(5, func(o *quadratic.Options) { loud(o, 10) })},
	{name: "g of condition 1", half: confirmed, o: noisy(6, func(o *quadratic.Options) { o.LG = 1 })},
	{name: "g of condition 1e4", half: confirmed, o: noisy(7, func(o *quadratic.Options) { o.LG = 1e4 })},
	{name: "F of condition 1e4", half: chosen, o: noisy(8, func(o *quadratic.Options) { o.LP = 1e4 })},
	{name: "start at 100", half: confirmed, o: noisy(9, nil), far: 100},
	{name: "y* of 1e3", half: chosen, o: noisy(10, nil), shiftY: 1e3},
	{name: "rank-one f_yy", half: confirmed, o: noisy(11, func(o *quadratic.Options) { o.RankOneF = true })},
	{name: "rank-one g_yy", half: chosen, o: noisy(12, func(o *quadratic.Options) {
		o.RankOneG, o.SigmaGyy = true, 0
	})},
	{name: "tail 1.5", half: chosen, o: noisy(13, func(o *quadratic.Options) { o.Tail = 1.5 })},
	{name: "tail 1.1", half: confirmed, o: noisy(14, func(o *quadratic.Options) { o.Tail = 1.1 })},
}

// strange are the other quadratic problems of the race: in foreign units, with constraints, of
// other shapes.
var strange = []recipe{
	{name: "x in units of 1e-4", half: chosen, o: noisy(21, nil), x: 1e4},
	{name: "x in units of 1e4", half: confirmed, o: noisy(22, nil), x: 1e-4},
	{name: "x in mixed units", half: confirmed, o: noisy(23, nil), mixed: true},
	{name: "y in units of 1e-3", half: chosen, o: noisy(24, nil), y: 1e3},
	{name: "y in units of 1e3", half: confirmed, o: noisy(25, nil), y: 1e-3},
	{name: "box ±300", half: chosen, o: noisy(26, nil), place: inside(300)},
	{name: "box ±0.1", half: confirmed, o: noisy(27, nil), place: inside(0.1)},
	{name: "on the boundary", half: chosen, o: noisy(28, nil), place: corner(3)},
	{name: "in a corner", half: confirmed, o: noisy(29, nil), place: corner(math.MaxInt)},
	{name: "simplex", half: chosen, o: noisy(30, nil), place: simplex},
	{name: "ball", half: confirmed, o: noisy(31, nil), place: ball},
	{name: "d_x = 200", half: confirmed, o: noisy(32, func(o *quadratic.Options) { o.Dx = 200 })},
	{name: "d_y = 60", half: chosen, o: noisy(33, func(o *quadratic.Options) { o.Dy = 60 })},
	{name: "F of condition 1e6", half: confirmed, o: noisy(34, func(o *quadratic.Options) { o.LP = 1e6 })},
	{name: "g of condition 1e6", half: chosen, o: noisy(35, func(o *quadratic.Options) { o.LG = 1e6 })},
	{name: "‖g_xy‖ = 100", half: confirmed, o: noisy(36, func(o *quadratic.Options) { o.CrossNorm = 100 })},
	{name: "entries unknown to g", half: chosen, o: noisy(37, func(o *quadratic.Options) { o.Blind = 5 })},
	{name: "sum, condition 1e3", half: confirmed, o: noisy(38, func(o *quadratic.Options) {
		o.Terms, o.LP, o.LG = 1000, 1e3, 1e3
	})},
}

// inside returns a box around the solution, which lies a third of the way from the middle to an
// edge: a solution in the middle would favour methods that hardly move.
func inside(r float64) func(dx int) (at, slope []float64, set bilevel.Set) {
	return func(dx int) (at, slope []float64, set bilevel.Set) {
		at = make([]float64, dx)
		for i := range at {
			at[i] = r / 3 * float64(1-i%2*2)
		}
		return at, make([]float64, dx), bilevel.UniformBox(dx, -r, r)
	}
}

// corner is a box [0, 10]^dx of which the first n bounds hold the solution, at alternate sides.
func corner(n int) func(dx int) (at, slope []float64, set bilevel.Set) {
	return func(dx int) (at, slope []float64, set bilevel.Set) {
		at, slope = make([]float64, dx), make([]float64, dx)
		for i := range at {
			switch {
			case i >= n:
				at[i] = 5
			case i%2 == 0:
				slope[i] = 1
			default:
				at[i], slope[i] = 10, -1
			}
		}
		return at, slope, bilevel.UniformBox(dx, 0, 10)
	}
}

// simplex is a solution with half of its entries at 0.
func simplex(dx int) (at, slope []float64, set bilevel.Set) {
	at, slope = make([]float64, dx), make([]float64, dx)
	sum := 0.0
	for i := range at {
		slope[i] = 0.3
		if i%2 == 0 {
			slope[i] += 1
			continue
		}
		at[i] = float64(i)
		sum += at[i]
	}
	for i := range at {
		at[i] /= sum
	}
	return at, slope, bilevel.Simplex{}
}

// ball is a solution on the sphere of radius 2.
func ball(dx int) (at, slope []float64, set bilevel.Set) {
	at, slope = make([]float64, dx), make([]float64, dx)
	for i := range at {
		at[i] = 2 / math.Sqrt(float64(dx))
		slope[i] = -at[i]
	}
	return at, slope, bilevel.Ball{Radius: 2}
}
