package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
)

// anyStep is the range of a step size.
var anyStep = math.Inf(1)

// checkSteps refuses step sizes that are missing or out of range. name is the Go name.
func checkSteps(name string, alpha, beta bilevel.Schedule) error {
	return errors.Join(option.Schedule(name+".Alpha", alpha, anyStep), option.Schedule(name+".Beta", beta, anyStep))
}

func vectors(n int, list ...*[]float64) {
	for _, v := range list {
		*v = make([]float64, n)
	}
}
