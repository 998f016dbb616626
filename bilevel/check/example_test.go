package check_test

import (
	"fmt"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/mat"
)

// line is g = ½‖y − (x, 2x)‖², f = ½x² + ½‖y‖² with a g_xy by hand, which has the wrong sign.
type line struct{ *auto.Problem }

func (line) CrossG(gxy *mat.Dense, _, _ []float64, _ []bilevel.Sample) error {
	gxy.Set(0, 0, 1)
	gxy.Set(0, 1, 2)
	return nil
}

func ExampleProblem() {
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 2, Upper: 1, Lower: 1,
		F: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.SquaredNorm().Add(y.SquaredNorm()).Scale(0.5) },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
			return y.Sub(auto.Stack(x.At(0), x.At(0).Scale(2))).SquaredNorm().Scale(0.5)
		},
	}))
	report := bileveltest.Must(check.Problem(line{p}, check.Options{}))
	for _, f := range report.Findings {
		fmt.Println(f)
	}
	// Output:
	// derivative: CrossG: g_xy[0,1]: differs from the differences of GradG: all entries are -1 times that: got 2, want -2
	// derivative: CrossG: g_xy[0,0]: differs from the differences of GradG: all entries are -1 times that: got 1, want -1
}
