// Package method holds the methods for bilevel problems other than bilevel.STABLE, and the registry
// of all methods. A method is a struct of parameters: bilevel.New(problem, method.TTSA{…},
// options). Alpha and Beta are the step sizes α_k of x and β_k of y, ≥ 0.
//
//   - SGD, with a [Neumann] series: [BSA], [TTSA], [StocBiO], [ALSET].
//   - STORM and SPIDER: [SUSTAIN], [MSTSA], [MRBO], [VRBO]; with matrices, [RSVRB].
//   - Adaptive step sizes: [BiAdam], [VRBiAdam]; [STFBO] needs none.
//   - A third variable v that solves the linear system: [SOBA], [SABA], [MASOBA], [FSLA], [AmIGO],
//     [SRBA], [SPABA].
//   - First derivatives alone: [F2SA], [F2SAp], [BOME].
//   - Full batches: [HOAG]. STABLE without a dy × dy matrix: [STABLECG].
//   - Compositional problems: compose.SCGD, compose.SCSC.
//
// [Registry] lists them with what they need, [Lookup] finds one by name, [Register] adds your own.
//
// z^k stands for (x^k, y^k), h for an estimate of the hypergradient f_x − g_xy g_yy⁻¹ f_y, and P_X
// for the projection onto the feasible set.
//
// # Cost of a step
//
// In batches of Options; T is Inner (STABLE-CG: Iterations), N the number of terms of a series, p random in {0, …, N−1}, Q =
// N−1. Other work is O(dx + dy) an evaluation.
//
//	                   ξ    φ       GradF  GradG  HessVecG  CrossVecG
//	BSA, TTSA, ALSET   1    T+1+p   1      T      p         1
//	stocBiO            1    T+1     1      T      Σ b_j     1           and Σ b_j samples φ
//	SUSTAIN            1    2+p     2      2      2p        2           step 0: half
//	MRBO               1    2+Q     2      2      2Q        2           step 0: half
//	MSTSA              1    2+p     2      1      2p        2           step 0: at one point
//	VRBO               M    M(2+Q)  2M     2M     2MQ       2M          M = T+1, T before a reset, and LargeBatch
//	BiAdam             1    2+p     1      1      p         1           VR-BiAdam: as SUSTAIN
//	SOBA, MA-SOBA      1    1       1      1      1         1           S-TFBO, SABA too
//	SRBA, SPABA        1    1       2      2      2         2           or Large, at 1 point
//	FSLA               2    3       3      1      1         2           step 0: GradF 2, CrossVecG 1
//	AmIGO              1    2T+1    1      T      T         1
//	F2SA               T+1  2T+2    T+1    2T     –         –           GradXG 2
//	F2SA-p             T+1  T+1     2T+2   2T     –         –           GradXG 2
//	BOME               1    T+1     1      T+1    –         –           GradXG 2
//	RSVRB              1    1       2      2      –         –           CrossG 2, HessG 2; step 0: half
//	STABLE-CG          1    1       1      1      2(T+1)    –           CrossG 2; at most, over Window samples
//	HOAG               all  all     1      n+1    –         1           HessG n+1, for n Newton steps
//
// # Public code
//
// Read in solvers/ of benchmark_bilevel (benchopt) at commit 3ad65dc, where no other is named. SOBA,
// AmIGO, SRBA, BOME (full batches) and the series of [Neumann] agree with it. Elsewhere it differs:
//
//   - BSA: x before y; t_k constant. TTSA, SUSTAIN, MRBO: g_xy on the sample of g_y.
//   - SUSTAIN, MRBO, FSLA: the point and the directions before step 0 are 0.
//   - stocBiO: all batches have one size.
//   - VRBO: without the change of x, and a large batch does not reset inner_var_old.
//   - SABA: tables begin at zero, with one row a block of a batch.
//   - F2SA: λ ~ k^(6/7) and α ~ k^(−4/7), the paper's k^(1/7) and k^(−5/7); the step of y_λ is not
//     divided by λ.
//   - SPABA (pull request 47 at commit b542514): the coin is 0.1, v is clipped by entries to [−1, 1],
//     and nothing moves before the first large batch.
//   - MSTSA (JunjieYang97/MRVRBO at commit f182003): τ = ½, on a truncated series.
//   - S-TFBO (OptMN-Lab/tfbo at commit 999815f, the authors'): 1e-8 in denominators.
//   - F2SA-p (TrueNobility303/F2BA at commit c4ed161, the first author's): samples of its own for
//     each side, h/‖h‖ for h, and p of 2, 3, 5, 8 or 10.
package method
