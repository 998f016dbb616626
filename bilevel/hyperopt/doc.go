// Package hyperopt tunes generalised linear models as a bilevel problem: weights x are chosen so
// that the model y*(x) trained with them has the least loss on validation rows,
//
//	min over x in [Lo, Hi]^dx  F(x) = mean over validation rows of ℓ(y*(x); ξ)
//	subject to                 y*(x) = argmin_y mean over training rows of ℓ(y; φ) + Σ_i reg_i(x)·y_i².
//
// The loss is [Logistic] or [Squared] of a linear predictor. The [Penalty] says what x weighs: each
// feature, as in section 4 of the STABLE paper (eq. hyer-opt), groups of features, all features
// alike, or each training row (hyper-cleaning). The [Form] says how an entry of x becomes a weight.
// New makes the [Problem] with hand-written derivatives: bilevel.Problem,
// bilevel.Products, bilevel.Values, and bilevel.Truth by Newton's method; [Problem.Minimise] and
// [Problem.GridSearch] give exact values to compare a method with.
//
// Rows come from [stable/bilevel/hyperopt/data], which reads and prepares files.
//
// # Concurrency and reproducibility
//
// A Problem keeps scratch memory and is
// for one goroutine; Clone returns another that shares the data. The mean over all rows is summed
// in chunks of a fixed size, in order, so that its bits do not depend on Options.Workers or on
// GOMAXPROCS. Objective starts its inner iteration from a fixed point, so its bits do not depend on
// earlier calls.
package hyperopt
