package mattest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/mat"
)

func TestResidualsTellRightFromWrong(t *testing.T) {
	for _, e := range []float64{1, 1e150, 1e-150} {
		a := scaled(diag(4, 9, 16), e)
		l := mat.NewDense(3, 3)
		for i, v := range []float64{2, 3, 4} {
			l.Set(i, i, v*math.Sqrt(e))
		}
		assert.Less(t, CholResidual(a, l), 1.0)
		l.Set(1, 0, math.Sqrt(e)/1e6)
		assert.Greater(t, CholResidual(a, l), 1e6)

		q := Orthogonal(3, 1)
		assert.Less(t, Orthogonality(q), 5.0)
		lambda := []float64{-2, 1, 3}
		s := scaled(Spectrum(lambda, 1), e)
		for i := range lambda {
			lambda[i] *= e
		}
		assert.Less(t, EigResidual(s, lambda, q), 5.0)
		b := Mul(Full(s), q)
		assert.Less(t, SolveResidual(s, q, b), 5.0)
		q.Set(1, 1, q.At(1, 1)+1e-6)
		assert.Greater(t, Orthogonality(q), 1e6)
		assert.Greater(t, EigResidual(s, lambda, q), 1e6)
		assert.Greater(t, SolveResidual(s, q, b), 1e6)
	}
}

func TestCheckPadSeesStrayWrites(t *testing.T) {
	other := PadSym(Sym(4, 1), 0)
	for name, write := range map[string]func(x *float64){
		"set":    func(x *float64) { *x = 0 },
		"NaN":    func(x *float64) { *x = math.NaN() },
		"add":    func(x *float64) { *x += 2 },
		"add 0":  func(x *float64) { *x += 0 },
		"scale":  func(x *float64) { *x *= 3 },
		"negate": func(x *float64) { *x = -*x },
		"copy":   func(x *float64) { *x = other.Data[1] },
	} {
		a, s := Pad(Dense(3, 4, 1), 2), PadSym(Sym(4, 1), 0)
		CheckPad(t, a)
		CheckPadSym(t, s)
		assert.True(t, math.IsNaN(a.Data[4]+1) && math.IsNaN(s.Data[1]+1))
		write(&a.Data[4])
		write(&s.Data[1])
		var rec recorder
		CheckPad(&rec, a)
		CheckPadSym(&rec, s)
		assert.Equal(t, 2, rec.errors, name)
	}
}

type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }
