package mattest

import (
	"math"
	"reflect"
	"testing"

	"stable/mat"
)

// Orders are those around the tiles of the kernels.
var Orders = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129}

// Strides lists the paddings a kernel is tested with.
var Strides = []int{0, 3}

// Pad returns a copy of a with Stride = Cols+pad and NaN outside, also behind the last row.
func Pad(a *mat.Dense, pad int) *mat.Dense {
	stride := a.Cols + pad
	return &mat.Dense{Rows: a.Rows, Cols: a.Cols, Stride: stride, Data: padded(a.Rows, stride, a.Row)}
}

// PadSym is Pad for a symmetric matrix, with NaN above the diagonal too.
func PadSym(a *mat.Sym, pad int) *mat.Sym {
	return &mat.Sym{N: a.N, Stride: a.N + pad, Data: padded(a.N, a.N+pad, a.Row)}
}

// padded fills data with signaling NaN that hold their address: arithmetic makes them quiet, so that
// every write leaves a trace.
func padded(rows, stride int, row func(i int) []float64) []float64 {
	data := make([]float64, rows*stride)
	for p := range data {
		data[p] = math.Float64frombits(padding(data, p))
	}
	for i := range rows {
		copy(data[i*stride:], row(i))
	}
	return data
}

func padding(data []float64, p int) uint64 {
	const signaling = 0x7ff0 << 48
	return signaling | uint64(reflect.ValueOf(data).Pointer()/8) + uint64(p)
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

func check(t testing.TB, data []float64, stride int, width func(i int) int) {
	t.Helper()
	for p, v := range data {
		i, j := p/stride, p%stride
		if j >= width(i) && math.Float64bits(v) != padding(data, p) {
			t.Errorf("stray write of %g at row %d, column %d", v, i, j)
			return
		}
	}
}
