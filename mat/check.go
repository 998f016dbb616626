package mat

import (
	"math/bits"

	"stable/mat/kernel"
)

// Besides sizes, every function checks that rows, or dst and an operand, do not overlap.
const (
	mismatch = ": dimension mismatch"
	torn     = kernel.MsgTorn
	shared   = kernel.MsgShared
	short    = ": Data is too short"
)

func refuse(when bool, name, why string) {
	if when {
		panic(name + why)
	}
}

// times returns i·j, i, j ≥ 0, or beyond every slice where that overflows.
func times(i, j int) uint {
	hi, lo := bits.Mul(uint(i), uint(j))
	return lo | -hi
}

func (a *Dense) ends() bool {
	last, size := times(a.Rows-1, a.Stride), uint(len(a.Data))
	return last <= size && uint(a.Cols) <= size-last || a.Rows == 0 || a.Cols == 0
}

func (a *Dense) torn() bool { return kernel.Torn(a.Rows, a.Cols, a.Stride) }

func (s *Sym) torn() bool { return kernel.Torn(s.N, s.N, s.Stride) }

// at reports whether a begins at the same entry as x; an empty matrix begins nowhere.
func (a *Dense) at(x []float64) bool { return a.Rows > 0 && a.Cols > 0 && kernel.SameStart(a.Data, x) }

func fit(name string, a, b, c *Dense) {
	refuse(a.torn() || b.torn() || c.torn(), name, torn)
	refuse(!(a.ends() && b.ends() && c.ends()), name, short)
}

// noAlias panics if a matrix does not fit its Data, or dst begins where a or b does.
func noAlias(name string, dst, a, b *Dense) {
	fit(name, dst, a, b)
	refuse(dst.Rows > 0 && dst.Cols > 0 && (a.at(dst.Data) || b.at(dst.Data)), name, shared)
}

func noAliasVec(name string, a *Dense, overlap bool) {
	refuse(a.torn(), name, torn)
	refuse(overlap, name, shared)
}

// alike panics unless dst and a have one size, and are apart or the same matrix.
func alike(name string, dst, a *Dense) {
	refuse(dst.Rows != a.Rows || dst.Cols != a.Cols, name, mismatch)
	refuse(dst.torn() || a.torn(), name, torn)
	refuse(dst.Stride != a.Stride && dst.Rows > 1 && dst.at(a.Data), name, shared)
}

func alikeSym(name string, dst, a *Sym) {
	if dst.N != a.N || dst.Stride != a.Stride || dst.Stride < dst.N {
		checkAlikeSym(name, dst, a)
	}
}

func checkAlikeSym(name string, dst, a *Sym) {
	x, y := dst.Lower(), a.Lower()
	alike(name, &x, &y)
}
