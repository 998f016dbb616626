// Package mat holds dense and symmetric matrices and the kernels on them.
//
// Storage: float64, row by row, with a stride. Dense and Sym are structs with exported fields, so
// that a caller's memory goes in and out without a copy; View, AsSym and Lower return windows on
// the same memory. A Sym is its lower triangle: entries above the diagonal, and entries between the
// end of a row and the start of the next, are neither read nor written.
//
// Shapes and aliasing: the destination comes first, and every size must match; nothing is resized.
// Inputs are not modified. Element-wise functions (Copy, Scale, AddScaled, Recur, ProjectFrob and
// their Sym forms) allow dst to be an operand, and so do the triangular solves; for all others dst
// must not overlap an operand. Partial overlap, as of two views of one matrix shifted against each
// other, is never allowed. Functions check what they can see in O(1), and panic: a dst that begins
// at the first entry of an operand, and a Stride smaller than a row. They do not check the rest.
//
// Errors: there are none. A size that does not match is a bug of the caller and panics with a
// constant string, "mat: Mul: dimension mismatch". NaN and Inf are data: they reach whatever they
// take part in, and no product is skipped because a factor is 0.
//
// Memory: only NewDense and NewSym allocate.
//
// Concurrency: functions start no goroutines and keep no state. Calls may run at the same time if
// none writes what another reads or writes.
//
// Reproducibility: a result is a pure function of the inputs' values and shapes; addresses, strides
// and GOMAXPROCS do not matter. The order of summation, and with it the last bits, may differ
// between builds (GOAMD64=v3 and the vector kernels fuse multiply and add) and machines with
// vectors of another length.
package mat
