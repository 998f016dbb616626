// Package hyperopt tunes generalised linear models as a bilevel problem: weights x are chosen so
// that the model y*(x) trained with them has the least loss on validation rows,
//
//	min over x in [Lo, Hi]^dx  F(x) = mean over validation rows of ℓ(y*(x); ξ)
//	subject to                 y*(x) = argmin_y mean over training rows of ℓ(y; φ) + Σ_i reg_i(x)·y_i².
//
// The loss is [Logistic], [Squared], [Poisson] or [Huber] of a linear predictor. What x weighs is
// the [Penalty]: each feature, which is section 4 of the STABLE paper (eq. hyer-opt), groups of
// features, all of them alike, or each training row (hyper-cleaning). What an entry of x stands for
// is the [Form]. New makes the [Problem] with hand-written derivatives: bilevel.Problem,
// bilevel.Products, bilevel.Values, and bilevel.Truth by Newton's method; [Problem.Minimise] and
// [Problem.GridSearch] give the values that a method is measured against.
//
// # Data
//
// Data holds sparse rows. ReadLIBSVM, ReadCSV and Open read them; a file that is not well formed
// gives a *SyntaxError with file and line. Reading takes memory in proportion to what is stored: no
// number that stands in a file sizes an allocation, and a record or a token without end is refused.
// Split, SplitStratified, Standardise and MaxAbs prepare them.
//
// Zeros are not stored, whether or not the file writes them; they count for the dimension only.
//
// # Concurrency and reproducibility
//
// A Data is not changed by anything here but the caller. A Problem keeps scratch memory and serves
// one goroutine; Clone makes another that shares the data. The mean over all rows is added up in
// chunks of a fixed size, in order, so that its bits do not depend on Options.Workers or on
// GOMAXPROCS. Objective starts its inner iteration from a fixed point, so its bits do not depend on
// earlier calls.
package hyperopt
