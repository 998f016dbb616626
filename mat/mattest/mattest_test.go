package mattest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestResidualTellsRightFromWrong(t *testing.T) {
	for _, e := range []float64{1, 1e150, 1e-150} {
		a, x := scaled(Sym(5, 1), e), Dense(5, 2, 1)
		b := Mul(Full(a), x)
		assert.Less(t, SolveResidual(a, x, b), 1.0)
		x.Set(1, 1, x.At(1, 1)+1e-6)
		assert.Greater(t, SolveResidual(a, x, b), 1e6)
	}
}

func TestCheckPadSeesStrayWrites(t *testing.T) {
	other := PadSym(Sym(4, 1), 0)
	pad := PadSym(Sym(4, 1), 0).Data[1]
	for i, v := range []float64{0, math.NaN(), pad + 2, pad + 0, 3 * pad, -pad, other.Data[1]} {
		a, s := Pad(Dense(3, 4, 1), 2), PadSym(Sym(4, 1), 0)
		CheckPad(t, a)
		CheckPadSym(t, s)
		assert.True(t, math.IsNaN(a.Data[4]+1) && math.IsNaN(s.Data[1]+1))
		a.Data[4], s.Data[1] = v, v
		var rec recorder
		CheckPad(&rec, a)
		CheckPadSym(&rec, s)
		assert.Equal(t, 2, rec.errors, "write %d", i)
	}
}

type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }
