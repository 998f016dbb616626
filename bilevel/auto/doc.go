// Package auto makes a bilevel.Problem of two losses. The caller writes f(x, y; ξ) and g(x, y; φ),
// each once and for one sample, as Go functions over recorded numbers; the package computes f_x,
// f_y, g_x, g_y, g_xy, g_yy, the products of both with vectors, values, and means over batches.
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
// Num is a number, Vec a vector, Mat a vector seen as a matrix. A loss gets x and y as Vecs, and
// every method returns a new value. Const, Data and Matrix make constants of Go numbers, slices and
// matrices; these may stand wherever a recorded value may, and an operation on constants alone is a
// constant. The zero Num is 0, so a sum can start from var sum auto.Num.
//
//	numbers    Add Sub Mul Div Neg Scale Shift Inv Square Pow Sqrt Exp Log Tanh Sigmoid Softplus
//	           Sin Cos, and Apply for a function of the caller's
//	vectors    the same entry by entry; ScaleBy, Slice, Stack
//	reductions At Sum Dot DotSparse SquaredNorm WeightedSquares LogSumExp
//	matrices   MulVec MulVecTrans, of constant and of recorded matrices and vectors
//
// A loop or a comparison may depend on data, on Value of a number or of a vector, and on the
// sample: each evaluation is recorded anew. The derivative is that of the branch that was taken;
// the caller sees to it that branches meet smoothly.
//
// A loss must be a function of its arguments: the same sample is the same draw at every point. See
// bilevel.Sample. Constants stay in the caller's memory. Numbers that the loss has made a constant
// of must not change until its next call: the loss may fill a buffer anew for each sample, but not
// twice in one.
//
// # How it is computed
//
// Derivatives are exact to rounding. The gradient is one sweep back over the record (reverse mode:
// Griewank, Walther, Evaluating Derivatives, 2008, chapter 3). A product with a second derivative
// is a sweep forward and two back (reverse over forward, section 5.1). Either costs a small
// constant times the loss. A product evaluates only the operations that it needs. The derivative of
// g_x along v in y comes from operations that depend on x and on y and are not linear; the fit of a
// row to y has no part in it, unless x weighs it, and then is recorded, but not computed. Value,
// LogSumExp too, computes what is recorded before it.
//
// The matrices g_yy and g_xy use structure. A function of a sum of entries of y, such as that of a
// linear predictor aᵀy, is cut there: the sum becomes a variable of its own, with a gradient that
// is known. What is left has a diagonal Hessian in the entries of y, which one sweep finds (as by
// Curtis, Powell, Reid, 1974), and m + 1 sweeps find all there is for m variables. A logistic loss
// with weights on squares is one variable: g_yy costs O(d²), a rank-one update and a diagonal.
// Where the structure has at least half as many variables as y has entries, the package makes a
// sweep for each entry of y. So vector operations are not just shorter to write: a matrix-vector
// product is one operation of the record, and d·d products of numbers are d·d.
//
// # Derivatives by hand
//
// A type that embeds *Problem and has a method of the same name replaces that oracle and keeps the
// others; see the example of Problem.
//
// # Errors
//
// An evaluation ends at a function outside of its domain, an overflow, lengths that do not match,
// or a value that was kept from an earlier evaluation or belongs to another problem. The oracle
// then returns an Error that names the loss, the sample, the operation and the line of the call. To
// end it, the package panics through the caller's function and recovers. Other panics of the
// caller's function go through. Values, gradients and matrices report every such failure. HessVecG
// and CrossVecG report those of what they evaluate; they evaluate a product that is not finite once
// more with all operations, to name the one at fault. (An oracle of second derivatives that fails
// evaluates the loss twice.) An empty batch asks for the exact value: MeanF or MeanG if given, else
// the mean of all terms of a finite sum, else bilevel.ErrNoExact. Destinations of wrong shapes
// panic.
//
// # Allocation, concurrency, reproducibility
//
// A record reuses the memory of those before it: after the first evaluation of a size nothing is
// allocated, apart from what the losses allocate, and operations on constant vectors alone. A
// Problem serves one goroutine at a time; Clone makes more. The same binary, problem and arguments
// give the same bits.
package auto
