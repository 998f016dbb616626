// Package saa is the module's default: Newton's method on growing samples (sample average
// approximation), for streams and finite sums. It is not the paper's method: of STABLE it keeps the
// contract and the drift correction of y. [Newton] has nothing to choose:
//
//	s, err := bilevel.New(problem, saa.Newton{}, bilevel.Options{Set: set})
//
// All N samples so far enter one set of equations, each sample with all its derivatives at one point,
//
//	G(x, y) = mean g_y = 0,    h(x, y) = mean f_x − (mean g_xy) v = 0 on X,    v = (mean g_yy)⁻¹ mean f_y,
//
// whose root is the M-estimator of all samples. No method does better in the long run (Hájek, Le Cam;
// van der Vaart, Asymptotic Statistics, 1998, chapters 5 and 8). An old sample is asked again by its
// name, which costs an evaluation and no sample. On a finite sum the last block is the sum itself, and
// the same steps are those of a deterministic method of second order.
//
// # The equations
//
// Samples come in blocks of ρN. Each line is the function of that name; z = (x, y), means over all
// samples, each asked at its z_b, and δ = z − mean z_b.
//
//	add      the block at z: sums of f_x, f_y, g_y, g_xy, g_yy, and of g_yy(y_b − y_r) + g_xyᵀ(x_b − x_r)
//	lower    ĝ = mean g_y carried to z;   H = mean g_yy, eigenvalues at least half their noise;   u = −H⁻¹ĝ
//	upper    v = H⁻¹f_y,  J = −H⁻¹g_xyᵀ,  h = f_x − g_xy v + Bδ_x + E(δ_y − Jδ_x + u), that is at (x, y + u)
//	lengths  ℓ_i = min(width of X, max‖y‖_H/‖Je_i‖_H): how far x_i alone goes until y* moves by its own size
//	learn    with q = f_x − g_xy v + Jᵀ(f_y − g_yy v), v and J fixed:  B e_i = [q(z + ε(e_i, Je_i)) − q(z)]/ε
//	metric   M = |B| on the entries that may move, in units ℓ
//	find     s = argmin hᵀs + ½sᵀMs  over x + s in X,  |s_i| ≤ Δℓ_i·min(1, |h_i|/σ_i),  σ_i the standard error of h_i
//	follow   x⁺ = x + s,  y⁺ = y + u + Js
//	unread   x⁺ stands as it is while the remainder of the model is below a tenth of the standard error
//	         of h; it is taken from the last steps read, and grows with the length or its square
//	try      else all samples are asked again at z⁺, y⁺ settled there by Newton steps (settle), and
//	         ϱ = ½sᵀ(h + h⁺)/(hᵀs + ½sᵀBs): F's fall by the trapezoid rule, of the same samples at both ends
//	trust    ϱ ≤ .05: back, Δ = τ/4;  ϱ < .25 or > 4: Δ = τ/2;  in (.75, 1.5): Δ ≥ 2τ;  in (.9, 1.1): Δ ≥ 4τ;  τ = max|s_i|/ℓ_i
//	secant   B ← B + the least symmetric change (in units ℓ) that makes it foresee h⁺ − h along s
//	stat     tr M⁻¹ cov(h), twice the statistical error of F, where x is unknown by less than ℓ; steps are
//	         read again while they promise more than 1/64 of it
//
// dq along (s, Js) is ∇²F s, since q does not change with v to first order: so B is the reduced
// Hessian of F, from first and second derivatives alone, and E its slope in y. Blocks that all
// samples were read in are followed by one of N/4, others by one of N/16.
//
// # On a finite sum
//
// Terms are drawn in passes. In the first pass the sum grows like a stream. After it, a block is a
// pass: its steps ask all terms by the empty batch at z⁺, and B anew by differences over all terms along
// the entries that no bound holds. When h and g_y are rounding, the run has arrived (bilevel.Arrived).
//
// # Cost
//
// A step draws one batch of each kind, and asks each sample once (four oracles). Blocks cost O(dx·dy²
// + dx²·dy + dx³ + dy³) beside the oracles, some 16 of them while samples double. [Newton.Calls]
// bounds what is asked again. Memory 9dx² + 12dx·dy + 6dy² numbers, and 8 bytes for each term of a sum;
// on a stream it does not grow. Up to dx = 2000.
//
// # Sources
//
// Growing samples: Pasupathy, Oper. Res. 58 (2010); Byrd, Chin, Nocedal, Wu, Math. Program. 134 (2012);
// Mokhtari et al., NeurIPS 2016. Reduced SQP: Nocedal, Wright, Numerical Optimization, chapter 18.
package saa
