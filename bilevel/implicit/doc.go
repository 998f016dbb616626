// Package implicit holds a bilevel problem's upper objective as a function of x alone, on exact
// oracles,
//
//	F(x) = f(x, y*(x)),   ∇F = f_x − g_xy v,   v = g_yy⁻¹ f_y,   at y*(x) = argmin_y g(x, y),
//
// by the implicit function theorem. [Function] computes y*(x), F, ∇F and products with ∇²F;
// [Minimiser] is L-BFGS-B for any smooth function over a box, [Minimise] a loop around it:
//
//	f, y := implicit.New(problem), make([]float64, dy)
//	m, err := implicit.Minimise(func(grad, x []float64) (float64, error) {
//		if err := f.Solve(y, x, 0); err != nil {
//			return 0, err
//		}
//		return f.Gradient(grad, x, y)
//	}, x0, implicit.Options{Lo: lo, Hi: hi})
//
// In steady state nothing allocates. A Function or Minimiser is for one goroutine at a time.
package implicit
