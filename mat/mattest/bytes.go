package mattest

import (
	"math"
	"testing"

	"stable/mat"
)

// seeds hold matrices of all small orders, NaN, Inf and huge and tiny entries.
var seeds = [][]byte{
	{}, {1, 0, 4}, {2, 0, 4, 0, 2, 0, 3, 1}, {3, 0, 4, 0, 2, 0, 5, 0, 1, 0, 1, 0, 9}, {2, 6, 0, 0, 1, 0, 1},
	{2, 0, 1, 6, 1, 0, 1}, {1, 6, 5}, {2, 6, 6, 6, 6, 6, 6}, {2, 6, 3, 0, 0, 6, 3},
	{3, 0, 1, 0, 1, 6, 9, 0, 1, 0, 1, 0, 1},
	{4, 5, 4, 100, 0, 0, 5, 4, 156, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4},
	{5, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1},
}

// Fuzz has f check inputs, these and seeds first.
func Fuzz(f *testing.F, check func(t *testing.T, b Bytes), first ...[]byte) {
	for _, s := range append(first, seeds...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// Bytes turns fuzz input into numbers and small matrices, also NaN, Inf, subnormal and huge. Zeros follow at its end.
type Bytes []byte

func (b *Bytes) next() byte {
	if len(*b) == 0 {
		return 0
	}
	v := (*b)[0]
	*b = (*b)[1:]
	return v
}

// Int returns a number below n.
func (b *Bytes) Int(n int) int { return int(b.next()) % n }

var special = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
	0x1p-1022, -0x1p-1022,
	Eps, 1 + Eps, 1 - Eps/2, math.Copysign(0, -1), 1e150, -1e150, 1e-150, 0x1p511,
}

// Float returns a small integer, a multiple of a power of two, a special number, or any bits.
func (b *Bytes) Float() float64 {
	switch tag := b.next(); tag % 8 {
	case 0, 1, 2:
		return float64(int8(b.next()))
	case 3, 4:
		return float64(int8(b.next())) / 64
	case 5:
		return math.Ldexp(float64(int8(b.next())), 8*int(int8(b.next())))
	case 6:
		return special[b.Int(len(special))]
	}
	raw := uint64(0)
	for i := range 8 {
		raw |= uint64(b.next()) << (8 * i)
	}
	return math.Float64frombits(raw)
}

// Vec returns n numbers.
func (b *Bytes) Vec(n int) []float64 { return List(n, func(int) float64 { return b.Float() }) }

// Sym returns a matrix of order 0 to 8, padded by Pad.
func (b *Bytes) Sym() *mat.Sym {
	s := SymOf(b.Int(9), func(int, int) float64 { return b.Float() })
	return PadSym(s, b.Int(3))
}

// Dense returns a matrix of up to 7 × 7, padded by Pad.
func (b *Bytes) Dense() *mat.Dense {
	rows, cols := b.Int(8), b.Int(8)
	return Pad(mat.DenseOf(rows, cols, b.Vec(rows*cols)), b.Int(3))
}

// Finite reports whether all numbers are.
func Finite(x ...float64) bool { return mat.NotFinite(x) < 0 }
