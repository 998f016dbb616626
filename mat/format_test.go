package mat_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"stable/mat"
)

func TestFormat(t *testing.T) {
	a := mat.Dense{Rows: 2, Cols: 2, Stride: 3, Data: []float64{1, -2.5, nan, 1.0 / 3, 1e10, nan}}
	assert.Equal(t, "[       1   -2.5\n 0.333333  1e+10]", fmt.Sprint(a))
	assert.Equal(t, fmt.Sprint(a), fmt.Sprintf("%s", &a))
	assert.Equal(t, "[1.00           -2.50\n 0.33  10000000000.00]", fmt.Sprintf("%.2f", a))
	for _, layout := range []string{"%5.1g", "%-5.1g", "%+05.1g", "% #5.1g"} {
		assert.Equal(t, "[    1     -2\n   0.3  1e+10]", fmt.Sprintf(layout, a))
	}
	assert.Contains(t, fmt.Sprintf("%#v", a), "mat.Dense{Rows:2, Cols:2, Stride:3, Data:[]float64{1, -2.5")

	s := mat.Sym{N: 2, Stride: 2, Data: []float64{2, nan, 1, 3}}
	assert.Equal(t, "[2  1\n 1  3]", fmt.Sprint(s))
	assert.Contains(t, fmt.Sprintf("%#v", s), "mat.Sym{N:2, Stride:2")

	assert.Equal(t, "[] (0 × 3)", fmt.Sprint(mat.NewDense(0, 3)))
	assert.Equal(t, "[NaN  +Inf]",
		fmt.Sprint(mat.Dense{Rows: 1, Cols: 2, Stride: 2, Data: []float64{nan, inf}}))
}

func TestFormatLeavesOutTheMiddle(t *testing.T) {
	a := mat.NewDense(12, 11)
	for i := range 12 {
		for j := range 11 {
			a.Set(i, j, float64(100*i+j))
		}
	}
	text := fmt.Sprint(a)
	assert.Contains(t, text, "[   0     1     2     3     4  …     6     7     8     9    10\n")
	assert.Contains(t, text, "\n    ⋮     ⋮     ⋮     ⋮     ⋮  ⋮     ⋮     ⋮     ⋮     ⋮     ⋮\n")
	assert.NotContains(t, text, "505")
	assert.Contains(t, text, "1110]")
	assert.Contains(t, fmt.Sprintf("%+v", a), " 505 ")
	assert.Equal(t, fmt.Sprintf("%v", mat.NewDense(10, 10)), fmt.Sprintf("%+v", mat.NewDense(10, 10)))
}
