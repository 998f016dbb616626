package check_test

import (
	"fmt"

	"stable/bilevel"
	"stable/bilevel/check"
	"stable/mat"
)

// line is g = ½‖y − (x, 2x)‖², f = ½x² + ½‖y‖², without noise. Its g_xy has the wrong sign.
type line struct{}

func (line) Dims() (dx, dy int)             { return 1, 2 }
func (line) Streams() (upper, lower uint64) { return 0, 0 }

func (line) GradF(fx, fy, x, y []float64, _ []bilevel.Sample) error {
	copy(fx, x)
	copy(fy, y)
	return nil
}

func (line) GradG(gy, x, y []float64, _ []bilevel.Sample) error {
	gy[0], gy[1] = y[0]-x[0], y[1]-2*x[0]
	return nil
}

func (line) CrossG(gxy *mat.Dense, _, _ []float64, _ []bilevel.Sample) error {
	gxy.Set(0, 0, 1)
	gxy.Set(0, 1, 2)
	return nil
}

func (line) HessG(gyy *mat.Sym, _, _ []float64, _ []bilevel.Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	return nil
}

func ExampleProblem() {
	report, err := check.Problem(line{}, check.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f)
	}
	// Output:
	// derivative: CrossG: g_xy[0,1]: differs from the differences of GradG: all entries are -1 times that: got 2, want -2
	// derivative: CrossG: g_xy[0,0]: differs from the differences of GradG: all entries are -1 times that: got 1, want -1
}
