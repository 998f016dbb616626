package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/quadratic"
)

// lying has wrong truths.
type lying struct {
	*quadratic.Problem
	solution  func(y []float64)
	objective func(f float64, grad []float64) float64
}

func (l *lying) Solution(y, x []float64) error {
	err := l.Problem.Solution(y, x)
	if l.solution != nil {
		l.solution(y)
	}
	return err
}

func (l *lying) Objective(grad, x []float64) (float64, error) {
	f, err := l.Problem.Objective(grad, x)
	if l.objective != nil {
		f = l.objective(f, grad)
	}
	return f, err
}

func TestWrongTruths(t *testing.T) {
	q := newQuadratic(t, noisy)

	f := requireOnly(t, run(t, &lying{Problem: q, solution: func(y []float64) { y[2] += 1e-4 }}, Options{}), Truth, "Solution")
	assert.Contains(t, f[0].Message, "Newton step")
	assert.Equal(t, 2, f[0].I)
	assert.InDelta(t, 1e-4, f[0].Got-f[0].Want, 1e-9)

	n := 0.0
	f = requireOnly(t, run(t, &lying{Problem: q, solution: func(y []float64) { n++; y[1] += 1e-5 * n }}, Options{}), Truth, "Solution")
	assert.Contains(t, f[0].Message, "another start")

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 {
		if grad != nil {
			grad[1] = -grad[1]
		}
		return f
	}}, Options{}), Truth, "Objective")
	assert.Equal(t, "∇F", f[0].Quantity)
	assert.Equal(t, 1, f[0].I)

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 { return f + 1 }}, Options{}), Truth, "Objective")
	assert.Equal(t, "F", f[0].Quantity)
	assert.Contains(t, f[0].Message, "f(x, y*(x))")

	f = requireOnly(t, run(t, &lying{Problem: q, objective: func(f float64, grad []float64) float64 {
		if grad == nil {
			f++
		}
		return f
	}}, Options{}), Truth, "Objective")
	assert.Contains(t, f[0].Message, "comes with the gradient")

	f = requireOnly(t, run(t, &lying{Problem: q, solution: func([]float64) { panic("singular") }}, Options{}), Call, "Solution")
	assert.Contains(t, f[0].Message, "singular")
}

func TestTruthCanBeLeftAlone(t *testing.T) {
	l := &lying{Problem: newQuadratic(t, noisy), solution: func([]float64) { panic("called") }, objective: func(float64, []float64) float64 { panic("called") }}
	r := run(t, l, Options{NoTruth: true})
	require.NoError(t, r.Err())
	assert.Equal(t, []Skip{{Truth, "Objective", "Options.NoTruth", false}}, r.Skipped)
}
