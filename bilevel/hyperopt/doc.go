// Package hyperopt tunes generalised linear models as a bilevel problem: the weights x minimise the
// validation loss of the model y*(x) trained with them,
//
//	min over x in [Lo, Hi]^dx  F(x) = mean over validation rows of ℓ(y*(x); ξ)
//	subject to                 y*(x) = argmin_y mean over training rows of ℓ(y; φ) + Σ_i reg_i(x)·y_i².
//
// ℓ is [Logistic], [Squared] or [Softmax] of a linear predictor. The [Penalty] says what x weighs: each
// feature but a free intercept (section 4 of the STABLE paper, eq. hyer-opt), or each training row
// (hyper-cleaning); the [Form], how an entry of x becomes a weight. The [Problem] of New implements
// bilevel.Problem, Products, Values and Truth; implicit.Minimise of its Objective gives exact minima
// to compare with. [stable/bilevel/hyperopt/data] reads the rows.
//
// # Concurrency and reproducibility
//
// A Problem is for one goroutine; Clone shares its data. Sums over all rows go in chunks of fixed
// size and order: their bits depend neither on Options.Workers nor on GOMAXPROCS. Objective always
// starts from the same point, so its bits do not depend on earlier calls.
package hyperopt
