// Package saa is the module's default: Newton's method on growing samples (sample average
// approximation), for streams and finite sums. It is not the paper's method: of STABLE it keeps one
// batch of each kind a step, and the drift correction of y. [Newton] has nothing to choose:
//
//	s, err := bilevel.New(problem, saa.Newton{}, bilevel.Options{Set: set})
//
// All N samples so far enter one set of equations, each sample with all its derivatives at one point,
//
//	G(x, y) = mean g_y = 0,    h(x, y) = mean f_x − (mean g_xy) v = 0 on X,    v = (mean g_yy)⁻¹ mean f_y,
//
// whose root is the M-estimator of all samples. No method does better in the long run (Hájek, Le Cam;
// van der Vaart, Asymptotic Statistics, 1998, chapters 5 and 8). An old sample is asked again by its
// name, which costs an evaluation and no sample.
//
// # The equations
//
// Samples come in blocks of ρN, ρ = 1/16, in whole batches; z_b = (x_b, y_b) is where those of block b were
// asked last. f_x, g_yy, … are means over all samples, each at its z_b, and δ = z − mean z_b. To read a point is to
// ask all samples there, or a part that stands for all. All were read last at z_a, all or a part at z_r.
// x_i is open where X is unbounded along it. σ_i is the standard error of h_i, Δ the trust radius, and
// ‖y‖²_H = yᵀHy. Each line is the function of that name.
//
//	The model at z
//	add      sums f_x, f_y, g_y, g_xy, g_yy of a block, asked at z, and g_yy(y_b − y_r) + g_xyᵀ(x_b − x_r)
//	weigh    on a stream, a group of samples asked at once, one of whose derivatives is longer than twice the
//	         second longest of all groups, in units ℓ of x and diag(H)^−½ of y, is scaled to that length
//	lower    ĝ = mean of g_y + g_yy(y − y_b) + g_xyᵀ(x − x_b),  y's Newton step u = −H⁻¹ĝ,  H = g_yy
//	down     if g_yy is indefinite, H = |g_yy|, at least 3 standard errors: y descends; x waits while it may be noise
//	upper    v = H⁻¹f_y,  J = −H⁻¹g_xyᵀ = dy*/dx,  h = f_x − g_xy v + Bδ_x + E(δ_y − Jδ_x + u), carried to (x, y + u)
//	learn    rows of B and E, differences of ∇L along (e_i, Je_i), on n_B samples, with
//	         L = f − vᵀg_y, v fixed, and n_B = max(min(4(dx + dy), max(64, 8 for each free entry)), N/4dx):
//	         E_i = [L_y(z + ε(e_i, Je_i)) − L_y(z)]/ε,    B_i = [L_x(z + ε(e_i, Je_i)) − L_x(z)]/ε + JᵀE_i
//	lengths  ℓ_i = min(width of X, max‖y‖_H/‖Je_i‖_H): how far x_i alone goes until y* moves by its own size. If
//	         x_i is open, ‖Je_i‖_H counts as ¼ of its maximum at least, but on streams, beside a bound, ℓ_i may be the way
//	         since over ln of the fall, and ℓ_i is at most 10 times the way on which row i of g_xy changes by its length;
//	         on streams, if f alone knows x_i, the most that √(mean f_x²)/|f_xx| was, or a step past its minimum; not if x_i is rounding
//	The step
//	mayMove  x_i is free if no bound holds it and more than 3 groups know it, or none in a set that does not consist of bounds; an
//	         open one does not go on down a flat, its effect on y* 4/N of what it counts as, for less than stat or 2⁻³⁶ of F's
//	         largest scale, or with |h_i| < σ_i, as the set leaves h on a step's way (along)
//	metric   M = |B| of the free entries, in units ℓ
//	find     s = argmin hᵀs + ½sᵀMs  over x + s in X,  |s_i| ≤ Δℓ_i·min(1, |h_i|/σ_i);
//	         in a set that does not consist of bounds |s_i| ≤ 2Δℓ_i, by a multiple of the identity added to M
//	damp     in sets of bounds, to M is added its largest eigenvalue along those with |λ| below 2⁻²⁰ of it, and no more
//	         than 2⁻¹⁶ of h: B is differences, and F may not change there at all, as when all logits of a softmax do alike
//	turn     within finite bounds, or where stat is 0, s also goes along eigenvectors of B with λ < 0, to Δ or a bound,
//	         where ½|λ| times the square of that way is more than stat and ½hᵀM⁻¹h, which the step promises without it,
//	         and than rounding of B, 2⁻²⁰ of F's scale: of the largest h_iℓ_i, its terms without their signs
//	drift    B is asked anew where ‖(CᵀEᵀ + EC)s‖_M⁻¹ > 4‖s‖_M, C the change of J since; of 4n_B samples, up to N, where F would
//	         fall as in turn, and x does not go: B of few is noise; where N is 4 times what it was,
//	         32 times while the model's remainder is below ‖s‖_M/20; after a step by old rows with |ϱ − 1| > ¼, as if N
//	         were 4N;  row i, on a stream, where the effect of x_i on y* has become a tenth, or tenfold, or if f knows
//	         x_i, the terms of h_i and f_x of a sample (faded)
//	follow   x⁺ = x + s,  y⁺ = y + u + Js
//	stat     tr M⁻¹cov(h) on the face of X, twice the statistical error of F; a direction in which x is unknown by
//	         more than max(1, Δ)ℓ counts by its slope alone. Steps go on while they promise stat/64; on streams it
//	         is at least 2⁻⁸⁰ of F's scale, for where no sample differs
//	Is it read, and on which samples?
//	unread   no, while both kinds of samples come, ‖x⁺ − x_r‖_M is within twice the steps read of late, the remainder of
//	         the model, as these and drift tell it, within √stat/10, N less than 32-fold since all were read; of a step on
//	         streams that promises less than stat/64, not against Δ, as much as that allows, unless samples since then tell
//	         a stat below a quarter (recent): far off they scatter more; nor after a singular g_yy;
//	near     no open x_i goes beyond Δℓ_i of x_r, or changes its row of g_xy, or the y_j that it acts on, by their size,
//	narrows  and none comes within a quarter of x_r's distance to a bound;  a step against Δ, unread, doubles it, up to ¼
//	back     returns to z_r, and reads it, where ‖y‖_H has grown fourfold
//	share    else on a part, the first n samples, asked at z_r and z⁺: the sums at z⁺ are those at z_r and N/n times the
//	         change of its own; n = D‖x⁺ − x_a‖²_M/(.5²P), at least n_B, P = max(stat, what s promises), D ≥ 1 the variance
//	         of a sample's share of h⁺ − h, over ‖s‖²_M;  on all where n > N/4 (D is halved), where they are due, or not near
//	sees     but on all, if the part has no value at z_r, errs by half in g_xyᵀs, or h scatters less than half as much in
//	         it: rare samples may be missing
//	doubt    or if the standard error of h⁺ − h, between bins of the part, is above .5√P, unless the step fails;
//	         or if H⁺ is indefinite
//	Does it stand?
//	try      y settles at z⁺ by Newton steps (settle), each read, unless F rises as much as it should fall, until u is half
//	         of its way, or on streams below sigmaY, its standard error, and ‖y‖_H/10. Where ϱ is not in (¼, 4), and z was not read
//	         or settled, closer than sigmaY if ϱ = −1, z is, and on sums Δ stays
//	fall     ½sᵀ(h + h⁺), of the same samples at both ends; while samples are to come, by Simpson's rule, the middle
//	         read, too, where y moves by more than ¼max‖y‖_H
//	ratio    ϱ = fall/(hᵀs + ½sᵀBs), 1 on streams if both are below stat/64;  −1 where f or g have no value (ErrDomain),
//	         or y*, or what an open x_i acts on, is far from y⁺;  by Simpson's rule ≤ .05 if ϱ < .25 and sᵀh⁺ > −sᵀh/64
//	trust    ϱ ≤ .05: back, Δ = τ/4;  ϱ < .25 or > 4, on sums .5, 2: Δ = τ/2;  in (.75, 1.5): Δ ≥ 2τ;
//	         in (.9, 1.1): Δ ≥ 4τ, up to max(1, ρN) while samples are to come: few may mislead;  τ = max|s_i|/ℓ_i
//	block    ends where it began, and waits, if F curves down after 30 steps in which ‖y‖_H grew 2¹⁰-fold, and an x_i is open;
//	         the first, to 2N, if 60 steps of y grow no shorter: g of few samples may fall for ever
//
// B is ∇²F, and E is ∂h/∂y, of first and second derivatives alone: v and J may be held, since L_y = 0, and L_x + JᵀL_y
// does not change with v. Once a step, or drift, has asked old samples, none are until N is 5/4 of what it was: unread
// allows 2√stat of the last reading then. A step that promises more than stat is read all the same, also beyond Calls,
// if what came in since pays for it, and puts no other off.
//
// # A theorem
//
// On a stream with as many ξ as φ, independent, let g_yy(z*) and ∇²F(x*) be positive definite, x* inside of a box or
// strictly complementary at its bounds (then ∇²F of the free entries), and near z* let all derivatives that the
// oracles give have two moments, and derivatives of their own, Lipschitz with constants of two moments. If z_b → z*,
// and Δ binds no step in the end, then at the ends of blocks √N(x_N − x*) → N(0, V) with the least V
// (observe.LocalLimit), though all samples are asked again only when N has grown 32-fold; and stat over twice the
// mean error of F → 1.
//
// Proof. The root x̂_N with all samples at one point has this limit (van der Vaart, section 5.3), and √N(x_N − x̂_N) →
// 0 is left to show. Blocks grow by a sixteenth, so that z_b − z* = O_p(N_b^−½) if z_N − z* = O_p(N^−½). Of g_y, each
// sample is carried by its own derivatives: what is left out is of second order, (1/N) Σ n_b‖z_N − z_b‖² = O_p(log
// N/N). In h all are carried by B and E instead: the difference to their own derivatives, at z_b that do not depend on
// them, is a martingale, O_p(√log N/N); and B, asked anew of a share of all samples at the latest when N is 128d_x times
// what it was, has the error O_p(N^−½), times z_N − mean z_b. One group of each kind is weighed down, o(√N) long where
// there are two moments, so means change by o(N^−½). The model's root is O_p(1/N) from that of the equations, and one step
// goes there: credit does not run out, since the 4N evaluations of a reading, due when N has grown 32-fold, are below
// those that N samples bring. Steps are O_p(N^−½), and unread allows N^−¼: parts, whose error is .5√stat, are ever
// rarer. □
//
// TestTheorem sees each of this on the code (STABLE_LONG=1: to 10⁶ samples). Measured alone is that runs come to z*,
// and that Δ binds none. Before the end of a block the answer is that of its beginning, 3 % of N behind in the mean;
// the last sample of a budget ends one, too.
//
// # On a finite sum
//
// Terms are drawn in passes, in the first like a stream. After it, a block is a pass: its steps ask all terms, by
// the empty batch, at z⁺, and for B. It has arrived (bilevel.Arrived) when h and g_y are rounding, and turn leads nowhere,
// or when what steps promise is 2⁻⁶⁰ of F's scale, or of 2⁻²⁰ of its largest, and has not halved in 8, or 2⁻⁵⁰ in 18, or at
// a kink: a step with τ ≤ 2⁻⁴² fails, and sᵀh⁺ > 0. In mayMove a flat begins at 2⁻¹⁰ of the maximum, and holds x_i where
// h_i times the way since is below it: its minimum may be at infinity, but not where that way is 2¹⁰ times
// the one on which row i of g_xy changes by its length.
//
// # Cost
//
// On a stream a step draws one batch of each kind, in a block as many ξ as φ, and asks each sample once (four
// oracles). Blocks cost O(dx·dy² + dx²·dy + dx³ + dy³) beside the oracles, some 12 of them while samples double.
// [Newton.Calls] bounds what is asked again. Memory 13dx² + 12dx·dy + 10dy² numbers, and 8 bytes for each term of a
// sum; on a stream it does not grow. In sets that do not consist of bounds, dx may be 2000 at most.
//
// # A long x
//
// Above dx = 200, in sets of bounds, no dx² numbers are kept. Blocks double N. A point is asked of all samples, or
// of as many as [Newton.Calls] pays for. A step minimises hᵀs + ½sᵀ∇²Fs over the bounds and |s_i| ≤ Δℓ_i, by
// conjugate gradients on the free face, and at least to the first bound; a product with ∇²F asks all samples once more.
// On a stream, they end with a round whose products gain less than a fifth of the mean; on a sum, where h is 0,
// they go along any direction in which F curves down. ϱ and Δ are as above; a step that fails is first tried at a
// quarter. Steps go on until one promises a tenth of what the new samples brought. ℓ_i² ≤ ‖y‖_H‖v‖_H/|(L_xx)_ii|,
// if L_xx is diagonal; that of an open x_i has the bound by g_xy, too, all of x moving at once. Groups are not
// weighed. Gap is what F fell by in the block, times the new samples' share of h. Memory 4dx·dy + 25dx + 3dy²
// numbers. Between the ends of blocks the answer is that of half the samples. Here a scaling of y by powers of 2
// changes bits.
//
// # Sources
//
// Growing samples: Pasupathy, Oper. Res. 58 (2010); Byrd, Chin, Nocedal, Wu, Math. Program. 134 (2012);
// Mokhtari et al., NeurIPS 2016. Reduced SQP: Nocedal, Wright, Numerical Optimization, chapter 18.
package saa
