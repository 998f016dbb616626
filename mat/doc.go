// Package mat holds dense and symmetric matrices and the kernels on them.
//
// Storage: float64 by rows with a stride, in structs with exported fields; View, AsSym and Lower
// share memory. A Sym is its lower triangle. What stands above its diagonal, or between rows, is not
// written or used, though vectors may load it.
//
// Shapes and aliasing: the destination comes first, and inputs are not modified. Element-wise functions (Copy,
// Scale, AddScaled, Recur, ProjectFrob and their Sym forms) and triangular solves allow dst to be an operand;
// elsewhere it must not overlap one. Partial overlap is never allowed. Only what shows in O(1) is checked: a
// dst that begins where an operand does, a Stride below a row's length.
//
// Errors: none. Every function panics with a constant string, as "mat: Mul: dimension mismatch", where sizes do
// not match. NaN and Inf reach whatever they take part in; no product is skipped because a factor is 0.
//
// Memory: NewDense, DenseOf, NewSym, SymOf and Format allocate; products take their workspace from a
// pool. No goroutines: calls may run together unless one writes what another uses.
//
// Reproducibility: results depend on values and shapes alone. The order of summation, and so the
// last bits, may differ between builds (GOAMD64=v3, vector kernels) and vector lengths.
package mat
