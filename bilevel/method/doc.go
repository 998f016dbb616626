// Package method holds the methods for bilevel problems other than bilevel.STABLE, and the registry
// of all methods. A method is a struct of parameters: bilevel.New(problem, method.TTSA{…},
// options).
//
//   - SGD on y, then on x along a hypergradient by a [Neumann] series: [BSA], [TTSA], [StocBiO],
//     [ALSET].
//   - Recursive momentum (STORM, SPIDER): [SUSTAIN], [MSTSA], [MRBO], [VRBO]; [RSVRB] tracks
//     matrices.
//   - Adaptive step sizes: [BiAdam], [VRBiAdam]; [STFBO] needs none.
//   - A third variable that solves the linear system, one product a step: [SOBA], [SABA], [MASOBA],
//     [FSLA], [AmIGO], [SRBA], [SPABA].
//   - First derivatives alone: [F2SA], [F2SAp], [BOME].
//   - All terms of finite sums in every step: [HOAG].
//   - STABLE without a dy × dy matrix: [STABLECG].
//   - Compositional problems alone: compose.SCGD, compose.SCSC.
//
// [Registry] lists all of them, [Lookup] finds one by its name, and [Register] adds one of your
// own. An [Entry] says what a method needs, and which parameters tune it.
//
// z^k stands for (x^k, y^k), h for an estimate of the hypergradient f_x − g_xy g_yy⁻¹ f_y, and P_X
// for the projection onto the feasible set, which papers for X = R^dx leave out. A batch has the
// size that bilevel.Options gives. Tests follow every rule through a run, step by step, but for
// SPABA and STABLE-CG, which are tested by their reductions to SOBA and STABLE. bilevel/GUIDE.md
// compares what the methods cost.
//
// # Public code
//
// Read in solvers/ of benchmark_bilevel (benchopt) at commit 3ad65dc, where no other is named. SOBA,
// AmIGO, SRBA, BOME (full batches) and the series of [Neumann] agree with it. Elsewhere it differs:
//
//   - BSA: x first, then y; t_k constant. TTSA, SUSTAIN, MRBO: g_xy on the sample of g_y.
//   - SUSTAIN, MRBO, FSLA: the point and the directions before step 0 are 0.
//   - stocBiO: all products have batches of one size.
//   - VRBO: the change of x is left out, so that directions stay those of the old x until the next
//     large batch, and a large batch does not reset inner_var_old.
//   - SABA: tables begin at zero, with one row for each block of a batch.
//   - F2SA: λ grows as k^(6/7), the paper's as k^(1/7); the step of x falls as k^(−4/7), the paper's
//     as k^(−5/7); that of y_λ is not divided by λ.
//   - SPABA (pull request 47 at commit b542514): the same recursion; the coin is 0.1, v is clipped by
//     entries to [−1, 1], and nothing moves before the first large batch.
//   - MSTSA (JunjieYang97/MRVRBO at commit f182003): τ = ½, on a truncated series.
//   - S-TFBO (OptMN-Lab/tfbo at commit 999815f, the authors'): the same but for 1e-8 in denominators.
//   - F2SA-p (TrueNobility303/F2BA at commit c4ed161, the first author's): each side has its own
//     samples, the step of x is normalised ([F2SAp].Normalise), and p is 2, 3, 5, 8 or 10.
package method
