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
// name, which costs an evaluation and no sample.
//
// # The equations
//
// Samples come in blocks of ρN. Each line is the function of that name; z = (x, y), means over all
// samples, each asked at its z_b, and δ = z − mean z_b.
//
//	add      the block at z: sums of f_x, f_y, g_y, g_xy, g_yy, and of g_yy(y_b − y_r) + g_xyᵀ(x_b − x_r)
//	weigh    on a stream, a group counts by less than its size where one of its derivatives, in units ℓ and
//	         D, is longer than twice the second longest of all groups: by as much as makes it so long
//	lower    ĝ = mean g_y carried to z;   H = mean g_yy, eigenvalues at least half their noise;   u = −H⁻¹ĝ;
//	         where g curves down |H|, at least 3 standard errors along v: y goes down, and x waits where it is less
//	upper    v = H⁻¹f_y,  J = −H⁻¹g_xyᵀ,  h = f_x − g_xy v + Bδ_x + E(δ_y − Jδ_x + u), that is at (x, y + u)
//	lengths  ℓ_i = min(width of X, max‖y‖_H/‖Je_i‖_H): how far x_i alone goes until y* moves by its own size;
//	         without a width, ‖Je_i‖_H counts as a quarter of the most that it was, at least; on a stream x_i goes
//	         no farther than to 1/N of that for less than stat, or |h_i| < σ_i; and ℓ_i is 16 times the way at most on
//	         which x_i alone makes its row of g_xy another; on a stream, of an x_i that f alone knows, the most
//	         that √(mean f_x²)/|f_xx| was; one for all in a bilevel.Set that has no metric
//	learn    with q = f_x − g_xy v + Jᵀ(f_y − g_yy v), v and J fixed:  B e_i = [q(z + ε(e_i, Je_i)) − q(z)]/ε
//	resolve  at the start ‖y‖_H counts as no less than 2³⁰ times what g_y does not tell from y
//	metric   M = |B| on the entries that may move, in units ℓ; rows next to 0 are lifted on sums
//	find     s = argmin hᵀs + ½sᵀMs  over x + s in X,  |s_i| ≤ Δℓ_i·min(1, |h_i|/σ_i),  σ_i the standard error of h_i;
//	         in a set that does not consist of bounds 2Δℓ_i, by a multiple of the identity on M
//	drift    B is asked anew where ‖(DEᵀ + EDᵀ)s‖_M⁻¹ > 4‖s‖_M, D the change of Jᵀ since
//	faded    on a stream, so are rows i of B and E where the effect of x_i has become an eighth, also at a bound, or
//	         eight times as large since; of what has faded, the scatter of h_i is made that of what is left
//	turn     within bounds, s goes on along an eigenvector of B with λ < 0, to Δ or to the bound, if ½|λ| times the square
//	         of that way is more than stat, and than what the step promises without it
//	follow   x⁺ = x + s,  y⁺ = y + u + Js, but y + Js, and no step unread, where u leaps: ‖u‖_H > 8‖y‖_H, and ⅛ of the largest
//	unread   x⁺ stands as it is while the remainder of the model, by the last steps read and by drift, is below
//	         a tenth of the standard error of h, and no x_i without a width goes beyond Δℓ, makes its row of g_xy
//	         another, or moves what it acts on by its size, nor any to a quarter of its distance to a bound; back, where
//	         z was read last, if ‖y‖_H has grown fourfold
//	share    else, as near, the first n samples are asked at z and z⁺, and the sums at z⁺ are those at z and N/n
//	         times what those of the part changed by; n = D‖x⁺ − x_a‖²_M/(.3²stat), all were asked last at x_a,
//	         D is 1 or the variance of a sample's share of h⁺ − h, over ‖s‖²; if n > N/4, or all
//	         are due, N/16 scout: they say whether the step fails, and where y settles, before all are asked
//	sees     and all if g_xyᵀs, a mean over the part, is off by half, or h scatters less than half as much there as over
//	         all: of rare or huge samples it may hold none
//	doubt    the standard error of h⁺ − h by how groups of the part differ: above .3√stat all are asked, unless
//	         the part sees ϱ ≤ .05 beyond it, or y* astray
//	try      y⁺ is settled at z⁺ by Newton steps (settle), each a reading, unless F rises as much as it should fall, and
//	         ϱ = ½sᵀ(h + h⁺)/(hᵀs + ½sᵀBs): F's fall by the trapezoid rule, of the same samples at both ends;
//	         −1 where f or g have no value at z⁺ (bilevel.ErrDomain), or y* is far from where it
//	         should be, or the entries of y are that an x_i without a width acts on
//	         while samples are to come, a step that moves y by more than .2‖y‖_H is read at its middle, too, for Simpson's rule, and is
//	         no step where ϱ < .25 and sᵀh⁺ > −sᵀh/64: few samples let x jump over a valley and the ridge behind it
//	trust    ϱ ≤ .05: back, Δ = τ/4;  ϱ < .25 or > 4, on sums .5, 2: Δ = τ/2;  in (.75, 1.5): Δ ≥ 2τ;  in (.9, 1.1): Δ ≥ 4τ;  τ = max|s_i|/ℓ_i;
//	         while samples are to come Δ ≥ 2τ and 4τ are at most max(1, ρN): a few may say that F falls for ever
//	stat     tr M⁻¹ cov(h) on the face of X, twice the statistical error of F, where x is unknown by less than Δℓ; steps
//	         are read again while they promise more than 1/64 of it
//
// dq along (s, Js) is ∇²F s, since q does not change with v to first order: so B is the reduced
// Hessian of F, from first and second derivatives alone, and E its slope in y. Once a step, or drift,
// has asked old samples, none are until N is 5/4 of what it was: unread allows 2√stat of the last reading then. A step
// that promises more than stat is read all the same, also beyond Calls, if what came in since pays for it.
//
// # A theorem
//
// On a stream with as many ξ as φ, independent, let g_yy(z*) and ∇²F(x*) be positive definite, x*
// inside of a box or strictly complementary at its bounds (then ∇²F of the free entries), and near
// z* let all derivatives that the oracles give have two moments, and derivatives that are Lipschitz
// with constants of two moments. Where z_b → z*, and Δ holds no step in the end, at the ends of
// blocks √N(x_N − x*) → N(0, V) with the least V (observe.LocalLimit), though all samples are asked
// again only when N has grown fourfold; and stat over twice the mean error of F → 1.
//
// Proof. The root x̂_N with all samples at one point has this limit (van der Vaart, section 5.3),
// so that √N(x_N − x̂_N) → 0 is left to show. Blocks grow by a sixteenth, so that z_b − z* =
// O_p(N_b^−½) if z_N − z* = O_p(N^−½). Of g_y, each sample is carried by its own derivatives: what
// is left out is of second order, (1/N) Σ n_b‖z_N − z_b‖² = O_p(log N/N). In h all are carried by B
// and E: the difference to their own derivatives, at z_b that do not know them, is a martingale,
// O_p(√log N/N), and B is asked anew of a share of all samples whenever N is four times what it
// was, so that B − ∇²F = O_p(N^−½), times z_N − mean z_b. What is weighed away is one group of each
// kind, o(√N) long where there are two moments, so that means change by o(N^−½). The model's root is
// O_p(1/N) from that of the equations it stands for, and one step goes there: the eigenvalues of H
// keep away from a floor that falls as N^−½, and credit does not run out, since 4N evaluations of a
// reading, when N has grown fourfold, are below those that N samples bring. Steps are O_p(N^−½), and
// unread allows N^−¼ in the end: parts, whose error is .3√stat, are asked ever less (2 of 100 runs at 10⁶). □
//
// TestTheorem sees each of this on the running code (STABLE_LONG=1: to 10⁶ samples). Measured alone
// is that runs come to z*, and that Δ lets go. Before the end of a block the answer is that of its
// beginning, 3 % of the samples behind in the mean.
//
// # On a finite sum
//
// Terms are drawn in passes. In the first pass the sum grows like a stream. After it, a block is a
// pass: its steps ask all terms by the empty batch at z⁺, and B anew by differences over all terms along
// the entries that no bound holds. When h and g_y are rounding, the run has arrived (bilevel.Arrived), or when
// what steps promise of F is, and has not halved in eight. An x_i without a width that has left all but 2⁻¹⁰ of its
// effect on y* behind stays where h_i times the way since is below 2⁻⁴⁰‖v‖_H‖y‖_H: its minimum may be at infinity.
//
// # Cost
//
// On a stream a step draws one batch of each kind, and asks each sample once (four oracles). Blocks cost
// O(dx·dy² + dx²·dy + dx³ + dy³) beside the oracles, some 12 of them while samples double. [Newton.Calls]
// bounds what is asked again. Memory 13dx² + 12dx·dy + 10dy² numbers, and 8 bytes for each term of a sum;
// on a stream it does not grow. In sets that do not consist of bounds, dx may be 2000 at most.
//
// # A long x
//
// Above dx = 200, within bounds or none, no dx² numbers are kept. Blocks double, and all samples
// are asked at each point, or as many as [Newton.Calls] pays for. A step minimises hᵀs + ½sᵀ∇²Fs over
// the bounds and |s_i| ≤ Δℓ_i, by conjugate gradients on the free face with products with ∇²F
// (implicit.Function), each of all samples at one more point; on a stream until a round gains a fifth of
// the mean. ϱ and Δ are as above; a step that fails is tried at a quarter first. Steps go on until one
// promises a tenth of what the new samples brought. ℓ_i² ≤ ‖y‖_H‖v‖_H/|D_i|, D = diag(f_xx − vᵀg_yxx), if that is
// diagonal. x_i stays where less than 3 groups of samples know it; groups are not weighed. Gap is what F
// fell by in the block, times the new samples' share of h. Memory 3dx·dy + 25dx + 3dy² numbers. Between the
// ends of blocks the answer is that of half the samples; units of y are not kept bit for bit.
//
// # Sources
//
// Growing samples: Pasupathy, Oper. Res. 58 (2010); Byrd, Chin, Nocedal, Wu, Math. Program. 134 (2012);
// Mokhtari et al., NeurIPS 2016. Reduced SQP: Nocedal, Wright, Numerical Optimization, chapter 18.
package saa
