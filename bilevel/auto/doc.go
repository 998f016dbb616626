// Package auto makes a bilevel.Problem of two losses. The caller writes f(x, y; ξ) and g(x, y; φ),
// each for one sample, as Go functions over recorded numbers; the package computes values,
// gradients, g_xy, g_yy, their products with vectors, and means over batches.
//
//	problem, err := auto.New(auto.Losses{
//		Dx: d, Dy: d, Upper: uint64(len(test)), Lower: uint64(len(train)),
//		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
//			return y.Dot(auto.Data(test[i])).Shift(-want[i]).Square().Scale(0.5)
//		},
//		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
//			fit := y.Dot(auto.Data(train[i])).Shift(-label[i]).Square()
//			return fit.Add(y.WeightedSquares(x.Exp())).Scale(0.5)
//		},
//	})
//
// # The parts of a loss
//
// Num is a number, Vec a vector, Mat a vector seen as a matrix. A loss gets x and y as Vecs; every
// method returns a new value. Const, Data and Matrix make constants, which may stand wherever a
// recorded value may. The zero Num is 0, to start sums from.
//
//	numbers    Add Sub Mul Div Neg Scale Shift Inv Square Pow Sqrt Exp Log Tanh Sigmoid Softplus
//	           Sin Cos, and Apply for a function of the caller's
//	vectors    the same entry by entry; ScaleBy, Slice, Stack
//	reductions At Sum Dot DotSparse SquaredNorm WeightedSquares LogSumExp
//	matrices   MulVec MulVecTrans, of constant and of recorded matrices and vectors
//
// Loops and comparisons may depend on data, on Value, and on the sample: each evaluation is
// recorded anew, and the derivative is that of the branch taken.
//
// A loss must be a function of its arguments: the same sample is the same draw at every point
// (bilevel.Sample). Constants stay in the caller's memory and must not change until the next call:
// a loss may fill a buffer anew for each sample, but not twice in one.
//
// A type that embeds *Problem and has a method of the same name replaces that oracle.
//
// # Errors
//
// An evaluation ends at a function outside of its domain, an overflow, lengths that do not match,
// or a value of another evaluation or problem. The oracle then returns an Error that names the
// loss, the sample, the operation and the line of the call; the first two kinds wrap
// bilevel.ErrDomain. To end it, the package panics through the caller's function and recovers;
// other panics go through. An empty batch asks for the exact value: MeanF or MeanG if given, else
// the mean of a finite sum, else bilevel.ErrNoExact. Destinations of wrong shapes panic.
//
// # Cost
//
// A gradient, and a product with a second derivative, cost a small constant times the loss, exact
// to rounding. g_yy and g_xy cost one sweep and one for each nonlinear function of a sum of
// entries, or one for each entry of y where that is less: O(d²) for a logistic loss with weights on
// squares. A vector operation is one operation of the record: a matrix-vector product is one, d·d
// products of numbers are d·d.
//
// After the first evaluation of a size nothing is allocated, but by the losses, and by operations
// on constant vectors alone. A Problem serves one goroutine at a time; Clone makes more. The same
// binary, problem and arguments give the same bits.
//
// # How it works
//
// The gradient is one sweep back over the record (reverse mode: Griewank, Walther, Evaluating
// Derivatives, 2008, chapter 3), a product a sweep forward and two back (section 5.1), of those
// operations alone that depend on both sides of it.
//
// For matrices, a function of a sum of entries of y, such as a linear predictor aᵀy, is cut there:
// the sum becomes a variable with a known gradient. What is left has a diagonal Hessian in the
// entries, which one sweep finds (Curtis, Powell, Reid, 1974); m + 1 find all for m variables.
package auto
