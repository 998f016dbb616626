// Package method holds the methods for bilevel problems other than bilevel.STABLE, and the registry
// of all methods. A method is a struct of parameters: bilevel.New(problem, method.TTSA{…},
// options).
//
// One or more steps of SGD on y, then one on x, along a hypergradient by a [Neumann] series:
// [BSA] (Ghadimi, Wang 2018), [TTSA] (Hong et al. 2020), [StocBiO] (Ji et al. 2021), [ALSET] (Chen
// et al. 2021).
//
// Recursive momentum (STORM, SPIDER) on the hypergradient or on both levels: [SUSTAIN] and [MSTSA]
// (Khanduri et al. 2021), [MRBO] and [VRBO] (Yang et al. 2021), [RSVRB] (Guo et al. 2021), which
// tracks matrices.
//
// Adaptive step sizes: [BiAdam], [VRBiAdam] (Huang, Huang 2021); [STFBO] (Yang et al. 2025), which
// needs none.
//
// A third variable that solves the linear system, one product a step: [SOBA], and [SABA] with
// tables of a finite sum (Dagréou et al. 2022); [MASOBA] (Chen et al. 2023), [FSLA] (Li et al.
// 2022), [AmIGO] (Arbel, Mairal 2022); [SRBA] (Dagréou et al. 2024), [SPABA] (Chu et al. 2024).
//
// First derivatives alone: [F2SA] (Kwon et al. 2023), [F2SAp] (Chen et al. 2026), [BOME] (Ye et al.
// 2022).
//
// All terms of finite sums in every step: [HOAG] (Pedregosa 2016).
//
// STABLE without a dy × dy matrix: [STABLECG].
//
// Compositional problems alone: compose.SCGD, compose.SCSC.
//
// [Registry] lists all of them, and [Register] adds one of your own. An [Entry] says what a method
// needs, what it uses, and which parameters tune it; tests and comparisons run over the entries.
// [Tune] returns a method by its name.
//
// In the comments of the methods z^k stands for (x^k, y^k), h for an estimate of the hypergradient
// f_x − g_xy g_yy⁻¹ f_y, and P_X for the projection onto the feasible set. A batch has the size
// that bilevel.Options gives. benchmark_bilevel is the collection of that name by benchopt, at
// commit 3ad65dc. The comment of each method says where its rule differs from that collection's,
// and a table in GUIDE.md lists all differences. Every rule is also written out once more in a test
// that follows a run by it, step by step: in TestAlternatingFollowsThePapers,
// TestMomentumFollowsThePapers, TestMethodsFollowPublicCode, or a test with the method's name;
// that of SPABA is tested by its reductions to SOBA, that of STABLE-CG by that to STABLE.
package method
