package mat

import "stable/mat/kernel"

// What every function checks besides the sizes: that the rows of a matrix do not overlap each
// other, and that dst does not begin where an operand begins, where that is not allowed.
const (
	mismatch = ": dimension mismatch"
	torn     = kernel.MsgTorn
	shared   = kernel.MsgShared
)

func (a *Dense) torn() bool { return kernel.Torn(a.Rows, a.Cols, a.Stride) }

func (s *Sym) torn() bool { return kernel.Torn(s.N, s.N, s.Stride) }

// at reports whether a begins at the same entry as x. An empty matrix begins nowhere.
func (a *Dense) at(x []float64) bool {
	return a.Rows > 0 && a.Cols > 0 && kernel.SameStart(a.Data, x)
}

func (s *Sym) at(x []float64) bool { return s.N > 0 && kernel.SameStart(s.Data, x) }

// untorn panics if rows of one of the matrices overlap.
func untorn(name string, a, b, c *Dense) {
	if a.torn() || b.torn() || c.torn() {
		panic(name + torn)
	}
}

// apart panics if rows of a matrix overlap, or if dst begins where a or b does.
func apart(name string, dst, a, b *Dense) {
	untorn(name, dst, a, b)
	if dst.Rows > 0 && dst.Cols > 0 && (a.at(dst.Data) || b.at(dst.Data)) {
		panic(name + shared)
	}
}

// apartSym is apart for a symmetric dst.
func apartSym(name string, dst *Sym, a, b *Dense) {
	untorn(name, a, b, a)
	if dst.torn() {
		panic(name + torn)
	}
	if dst.N > 0 && (a.at(dst.Data) || b.at(dst.Data)) {
		panic(name + shared)
	}
}

// alike panics unless dst and a are of one size, and apart or the same matrix: the same memory with
// another stride is neither.
func alike(name string, dst, a *Dense) {
	if dst.Rows != a.Rows || dst.Cols != a.Cols {
		panic(name + mismatch)
	}
	if dst.torn() || a.torn() {
		panic(name + torn)
	}
	if dst.Stride != a.Stride && dst.Rows > 1 && dst.at(a.Data) {
		panic(name + shared)
	}
}

// alikeSym is alike for symmetric matrices.
func alikeSym(name string, dst, a *Sym) {
	if dst.N != a.N {
		panic(name + mismatch)
	}
	if dst.torn() || a.torn() {
		panic(name + torn)
	}
	if dst.Stride != a.Stride && dst.N > 1 && dst.at(a.Data) {
		panic(name + shared)
	}
}
