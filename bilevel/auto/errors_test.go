package auto_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/mat"
)

func TestErrors(t *testing.T) {
	nan, inf, keptNum, keptVec := math.NaN(), math.Inf(1), num{}, vec{}
	other := lowerLoss(t, 2, 2, func(x, y vec) num {
		keptNum, keptVec = x.At(0), y
		return y.Sum()
	})
	bileveltest.Must(other.ValueG([]float64{1, 2}, []float64{3, 4}, nil))
	var own, ownResult num
	first := func(kept *num, v num) num {
		if *kept == (num{}) {
			*kept = v
		}
		return *kept
	}
	for _, c := range []struct {
		op, reason string
		g          func(x, y vec) num
	}{
		{"Log", "of -4 is NaN", func(x, y vec) num { return y.At(1).Log() }},
		{"Log", "of -4 is NaN at entry 1", func(x, y vec) num { return y.Log().Sum() }},
		{"Div", "by 0", func(x, y vec) num { return x.At(0).Div(y.At(0).Sub(y.At(0))) }},
		{"Div", "by 0", func(x, y vec) num { return y.At(0).Div(auto.Const(0)) }},
		{"Inv", "by 0 at entry 0", func(x, y vec) num { return y.Scale(0).Inv().Sum() }},
		{"Div", "by 0 at entry 1", func(x, y vec) num { return y.Div(auto.Data([]float64{1, 0})).Sum() }},
		{"Mul", "of 1e+200 and 1e+200 is +Inf", func(x, y vec) num { return x.At(0).Scale(1e200).Mul(x.At(0).Scale(1e200)) }},
		{"Add", "of 1e+308 and 1e+308 is +Inf", func(x, y vec) num { return x.At(0).Scale(1e308).Add(x.At(0).Scale(1e308)) }},
		{"SquaredNorm", "is +Inf", func(x, y vec) num { return y.Scale(1e200).SquaredNorm() }},
		{"Dot", "has NaN at entry 1 of operand 1", func(x, y vec) num { return y.Dot(auto.Data([]float64{0, nan})) }},
		{"Sum", "has +Inf at entry 0 of operand 0", func(x, y vec) num { return y.Add(auto.Data([]float64{inf, 1})).Sum() }},
		{"Tanh", "of NaN at entry 0", func(x, y vec) num { return y.Mul(auto.Data([]float64{nan, 1})).Tanh().Sum() }},
		{"MulVec", "has NaN at entry 0 of operand 0",
			func(x, y vec) num { return auto.Data([]float64{nan, 1}).Mat(1, 2).MulVec(y).Sum() }},
		{"WeightedSquares", "has NaN at entry 1 of operand 1",
			func(x, y vec) num { return y.WeightedSquares(auto.Data([]float64{1, nan})) }},
		{"Scale", "of 3 and NaN is NaN", func(x, y vec) num { return y.At(0).Scale(nan) }},
		{"Mul", "of +Inf and 3 is +Inf", func(x, y vec) num { return auto.Const(inf).Mul(y.At(0)) }},
		{"Div", "of 3 and NaN is NaN", func(x, y vec) num { return y.At(0).Div(auto.Const(nan)) }},
		{"Log", "of -1 is NaN", func(x, y vec) num { return y.At(0).Add(auto.Const(-1).Log()) }},
		{"Sqrt", "of -1 is NaN at entry 0", func(x, y vec) num { return auto.Data([]float64{-1}).Sqrt().Sum() }},
		{"Apply", "of 3 is NaN", func(x, y vec) num { return y.At(0).Apply(nan, 1, 1) }},
		{"the result", "is NaN", func(x, y vec) num { return auto.Const(nan) }},

		{"At", "of entry 2 of 2", func(x, y vec) num { return y.At(2) }},
		{"Slice", "from 1 to 3 of 2 entries", func(x, y vec) num { return y.Slice(1, 3).Sum() }},
		{"Dot", "of lengths 2 and 3", func(x, y vec) num { return y.Dot(auto.Data(make([]float64, 3))) }},
		{"Add", "of lengths 2 and 1", func(x, y vec) num { return y.Add(x.Slice(0, 1)).Sum() }},
		{"WeightedSquares", "of lengths 2 and 1", func(x, y vec) num { return y.WeightedSquares(x.Slice(1, 2)) }},
		{"DotSparse", "of lengths 1 and 2", func(x, y vec) num { return y.DotSparse([]int32{0}, []float64{1, 2}) }},
		{"DotSparse", "has column 2 behind 0, for 2 entries",
			func(x, y vec) num { return y.DotSparse([]int32{0, 2}, []float64{1, 2}) }},
		{"DotSparse", "has column 1 behind 1, for 2 entries",
			func(x, y vec) num { return y.DotSparse([]int32{1, 1}, []float64{1, 2}) }},
		{"At", "of entry 1 of 1", func(x, y vec) num { return auto.Data([]float64{1}).At(1).Add(y.At(0)) }},
		{"Div", "of lengths 2 and 1", func(x, y vec) num { return y.Div(auto.Data([]float64{1})).Sum() }},
		{"Mat", "of 2 × 2 of 2 entries", func(x, y vec) num { return y.Mat(2, 2).MulVec(x).Sum() }},
		{"MulVec", "of lengths 2 and 1", func(x, y vec) num { return y.Mat(1, 2).MulVec(x.Slice(0, 1)).Sum() }},
		{"MulVecTrans", "of lengths 1 and 2", func(x, y vec) num { return y.Mat(1, 2).MulVecTrans(x).Sum() }},
		{"LogSumExp", "of an empty vector", func(x, y vec) num { return y.Slice(1, 1).LogSumExp() }},

		{"Exp", "of a value that is not of this evaluation", func(x, y vec) num { return keptNum.Exp().Add(y.At(0)) }},
		{"Add", "of values of two problems", func(x, y vec) num { return y.At(0).Add(keptNum) }},
		{"Mul", "of values of two problems", func(x, y vec) num { return keptNum.Mul(y.At(0)) }},
		{"ScaleBy", "of values of two problems", func(x, y vec) num { return keptVec.ScaleBy(y.At(0)).Sum() }},
		{"Stack", "of values of two problems", func(x, y vec) num { return auto.Stack(y.At(0), keptNum).Sum() }},
		{"MulVec", "of values of two problems", func(x, y vec) num { return keptVec.Mat(1, 2).MulVec(y).Sum() }},
		{"the result", "is a value of another problem", func(x, y vec) num { return keptNum }},
		{"Neg", "of a value kept from an earlier evaluation", func(x, y vec) num { return first(&own, y.At(0)).Neg() }},
		{"the result", "is a value kept from an earlier evaluation",
			func(x, y vec) num { return first(&ownResult, y.At(0)) }},
	} {
		t.Run(c.op+" "+c.reason, func(t *testing.T) {
			p := lowerLoss(t, 2, 2, c.g)
			x, y := []float64{1, 2}, []float64{3, -4}
			_, _ = p.ValueG(x, y, nil) // for what is kept
			for oracle, call := range calls(p, x, y, y) {
				var e *auto.Error
				_, err := call(sample0)
				require.ErrorAs(t, err, &e, oracle)
				assert.Equal(t, regexp.MustCompile("NaN|Inf|by 0").MatchString(c.reason), errors.Is(err, bilevel.ErrDomain))
				assert.Equal(t, c.op, e.Op)
				assert.Equal(t, c.reason, e.Reason)
				file := "errors"
				if c.op == "the result" {
					file = "(errors|problems)" // of the oracle's call
				}
				assert.Regexp(t, "^"+file+`_test.go:\d+$|^$`, e.Line)
			}
		})
	}
}

// What is smooth only where it is not asked for derivatives has a value there.
func TestEdgesOfDomains(t *testing.T) {
	for _, c := range []struct {
		g           func(x, y vec) num
		first, both string
	}{
		{func(x, y vec) num { return y.At(0).Sqrt() }, "Sqrt of 0 has the derivative +Inf", ""},
		{func(x, y vec) num { return y.At(0).Pow(1.5) }, "", "Pow of 0 has the second derivative +Inf"},
		{func(x, y vec) num { return y.Pow(1.5).Sum() }, "", "Pow of 0 has the second derivative +Inf"},
		{func(x, y vec) num { return y.At(0).Pow(2).Add(x.At(0).Shift(-1).Sqrt()) }, "", ""},
		{func(x, y vec) num { return y.At(0).Scale(1e200).Softplus().Scale(1e200) }, "G has the norm +Inf", ""},
		{func(x, y vec) num { return y.At(0).Scale(1e200).Cos() }, "", "HessVecG has the norm +Inf"},
	} {
		oracles := calls(lowerLoss(t, 1, 1, c.g), []float64{1}, []float64{0}, []float64{1})
		for oracle, want := range map[string]string{"ValueG": "", "GradG": c.first, "HessVecG": cmp.Or(c.first, c.both)} {
			_, err := oracles[oracle](nil)
			assert.Contains(t, fmt.Sprint(err), cmp.Or(want, "<nil>"), oracle)
			assert.Equal(t, want != "", errors.Is(err, bilevel.ErrDomain), oracle)
		}
	}
	power := lowerLoss(t, 1, 1, func(x, y vec) num { return x.At(0).Pow(1.5).Mul(y.At(0)) })
	for oracle, call := range calls(power, []float64{0}, []float64{1}, []float64{1}) {
		_, err := call(nil)
		assert.NoError(t, err, oracle)
	}
}

func TestErrorNamesTheSample(t *testing.T) {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 4, Lower: 4,
		F:     func(x, y vec, s bilevel.Sample) num { return y.At(0).Shift(-float64(s)).Log() },
		G:     func(x, y vec, s bilevel.Sample) num { return y.SquaredNorm() },
		MeanG: func(x, y vec) num { return y.At(0).Neg().Log() },
	}))
	x, y, u, v := []float64{1}, []float64{1.5}, []float64{0}, []float64{0}
	require.ErrorContains(t, p.GradF(u, v, x, y, nil), "auto: f at sample 2: Log of -0.5 is NaN (errors_test.go:")
	require.ErrorContains(t, p.GradG(u, x, y, nil), "auto: g at the mean: Log of -1.5 is NaN (errors_test.go:")
	require.NoError(t, p.GradG(u, x, y, sample0))
	assert.Equal(t, []float64{3}, u)
	require.ErrorContains(t, p.GradG(u, x, y, []bilevel.Sample{0, 4}), "auto: g: sample 4, but there are 4")

	loss := func(x, y vec, s bilevel.Sample) num { return y.SquaredNorm() }
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 1, F: loss, G: loss}))
	require.NoError(t, p.GradF(u, v, x, y, nil))
	require.ErrorIs(t, p.GradG(u, x, y, nil), bilevel.ErrNoExact)
}

func TestConstantsOutsideOfALoss(t *testing.T) {
	defer func() {
		e := recover().(*auto.Error)
		assert.Regexp(t, `^auto: Log of -1 is NaN \(errors_test.go:\d+\)$`, e.Error())
	}()
	auto.Const(-1).Log()
}

func TestPanicsOfTheCaller(t *testing.T) {
	mine := errors.New("mine")
	var p *auto.Problem
	loss := func(x, y vec, s bilevel.Sample) num {
		switch s {
		case 1:
			panic(mine)
		case 2:
			_, err := p.ValueG([]float64{1}, []float64{1}, sample0)
			panic(err)
		case 3: // the caller swallows the panic of this package
			func() {
				defer func() { _ = recover() }()
				y.Neg().Log()
			}()
		}
		return y.SquaredNorm()
	}
	p = bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, F: loss, G: loss}))
	x, y, u := []float64{1}, []float64{1}, []float64{0}
	assert.PanicsWithValue(t, mine, func() { _ = p.GradG(u, x, y, []bilevel.Sample{1}) })
	require.NoError(t, p.GradG(u, x, y, sample0))
	assert.PanicsWithError(t, "auto: an oracle was called while another one runs: by a loss of this problem, "+
		"or by a second goroutine, which needs a Clone", func() {
		_ = p.GradG(u, x, y, []bilevel.Sample{2})
	})
	require.ErrorContains(t, p.GradG(u, x, y, []bilevel.Sample{3}), "Log of -1 is NaN")
	require.NoError(t, p.GradG(u, x, y, sample0))
}

func TestNewRefuses(t *testing.T) {
	loss := func(x, y vec, s bilevel.Sample) num { return y.SquaredNorm() }
	for field, l := range map[string]auto.Losses{
		"Losses.Dx is 0":  {Dy: 1, F: loss, G: loss},
		"Losses.Dy is -1": {Dx: 1, Dy: -1, F: loss, G: loss},
		"Losses.F is nil": {Dx: 1, Dy: 1, G: loss},
		"Losses.G is nil": {Dx: 1, Dy: 1, F: loss},
	} {
		_, err := auto.New(l)
		require.ErrorIs(t, err, bilevel.ErrOption)
		require.ErrorContains(t, err, field)
	}
}

func TestShapesPanic(t *testing.T) {
	p := lowerLoss(t, 2, 3, func(x, y vec) num { return y.SquaredNorm() })
	x, y := make([]float64, 2), make([]float64, 3)
	for name, call := range map[string]func(){
		"GradF":     func() { _ = p.GradF(y, y, x, y, nil) },
		"GradG":     func() { _ = p.GradG(y, y, y, nil) },
		"GradXG":    func() { _ = p.GradXG(y, x, y, nil) },
		"CrossG":    func() { _ = p.CrossG(mat.NewDense(3, 2), x, y, nil) },
		"HessG":     func() { _ = p.HessG(mat.NewSym(2), x, y, nil) },
		"HessVecG":  func() { _ = p.HessVecG(y, x, y, x, nil) },
		"CrossVecG": func() { _ = p.CrossVecG(y, x, y, y, nil) },
		"ValueF":    func() { _, _ = p.ValueF(x, x, nil) },
	} {
		assert.PanicsWithValue(t, "auto: "+name+": dimension mismatch", call)
	}
}

// A loss that takes the seed of a stream for an index is told which size was forgotten.
func TestForgottenSizes(t *testing.T) {
	data := []float64{1, 2, 3}
	loss := func(x, y vec, s bilevel.Sample) num { return y.At(0).Sub(x.At(0)).Shift(-data[s]).Square() }
	for field, l := range map[string]auto.Losses{
		"Losses.Upper": {Dx: 1, Dy: 1, Lower: 3, F: loss, G: loss},
		"Losses.Lower": {Dx: 1, Dy: 1, Upper: 3, F: loss, G: loss},
	} {
		p := bileveltest.Must(auto.New(l))
		s := bileveltest.Must(bilevel.New(p, bilevel.STABLE{MuG: 1}, bilevel.Options{}))
		require.ErrorContains(t, s.Step(), "a finite sum must give its number of terms there (in package auto: "+field+")")
		r := bileveltest.Must(check.Problem(p, check.Options{}))
		require.ErrorContains(t, r.Err(), "in package auto: "+field)
	}
}
