package mattest

import (
	"math"
	"reflect"
	"testing"

	"stable/mat"
)

// padding returns the bits for entry 0; those of entry p are larger by p: a signaling NaN that
// holds its address. Arithmetic makes it quiet, so that every write leaves a trace.
func padding(data []float64) uint64 {
	const signaling = 0x7ff0 << 48
	return signaling | uint64(reflect.ValueOf(data).Pointer()/8)
}

// Strides lists the paddings a kernel is tested with.
var Strides = []int{0, 3}

// Pad returns a copy of a with Stride = Cols+pad and NaN outside, also behind the last row.
func Pad(a *mat.Dense, pad int) *mat.Dense {
	p := &mat.Dense{Rows: a.Rows, Cols: a.Cols, Stride: a.Cols + pad, Data: make([]float64, a.Rows*(a.Cols+pad))}
	fill(p.Data)
	for i := range a.Rows {
		copy(p.Row(i), a.Row(i))
	}
	return p
}

// PadSym is Pad for a symmetric matrix, with NaN above the diagonal too.
func PadSym(a *mat.Sym, pad int) *mat.Sym {
	p := &mat.Sym{N: a.N, Stride: a.N + pad, Data: make([]float64, a.N*(a.N+pad))}
	fill(p.Data)
	for i := range a.N {
		copy(p.Row(i), a.Row(i))
	}
	return p
}

// CheckPad reports an error if anything outside a matrix of Pad was written to.
func CheckPad(t testing.TB, a *mat.Dense) {
	t.Helper()
	check(t, a.Data, a.Stride, func(int) int { return a.Cols })
}

// CheckPadSym is CheckPad for a matrix that PadSym returned.
func CheckPadSym(t testing.TB, a *mat.Sym) {
	t.Helper()
	check(t, a.Data, a.Stride, func(i int) int { return i + 1 })
}

func fill(x []float64) {
	first := padding(x)
	for p := range x {
		x[p] = math.Float64frombits(first + uint64(p))
	}
}

func check(t testing.TB, data []float64, stride int, width func(i int) int) {
	t.Helper()
	first := padding(data)
	for p, v := range data {
		i, j := p/stride, p%stride
		if j >= width(i) && math.Float64bits(v) != first+uint64(p) {
			t.Errorf("stray write of %g at row %d, column %d", v, i, j)
			return
		}
	}
}
