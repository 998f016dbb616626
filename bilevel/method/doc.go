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
// own. An [Entry] says what a method needs, what it uses, and which parameters tune it.
//
// In the comments of the methods z^k stands for (x^k, y^k), h for an estimate of the hypergradient
// f_x − g_xy g_yy⁻¹ f_y, and P_X for the projection onto the feasible set, which papers for X =
// R^dx leave out. A batch has the size that bilevel.Options gives. Tests follow every rule through
// a run, step by step, but for SPABA and STABLE-CG, which are tested by their reductions to SOBA
// and STABLE. GUIDE.md lists what public code each was checked against, and where that differs.
package method
