package data

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		labels  string
		forced  []string
		want    []float64
		classes []string
	}{
		{"1 -1 +1", nil, []float64{1, -1, 1}, []string{"-1", "1"}},
		{"0 1", nil, []float64{-1, 1}, []string{"0", "1"}},
		{"2 1.0 2.0", nil, []float64{1, -1, 1}, []string{"1", "2"}},
		{"1 1", nil, []float64{1, 1}, []string{"", "1"}},
		{"2", nil, []float64{1}, []string{"", "2"}},
		{"0", nil, []float64{-1}, []string{"0", ""}},
		{"-1", nil, []float64{-1}, []string{"-1", ""}},
		{"1 1", []string{"1", "2"}, []float64{-1, -1}, []string{"1", "2"}},
		{"7 3", []string{"7", "3"}, []float64{-1, 1}, []string{"7", "3"}},
		{"malignant benign malignant", nil, []float64{1, -1, 1}, []string{"benign", "malignant"}},
		{"4 2 4", nil, []float64{1, -1, 1}, []string{"2", "4"}},
		{"-0.5 1e3", nil, []float64{-1, 1}, []string{"-0.5", "1000"}},
		{"4", nil, []float64{-1}, []string{"4", ""}},
		{"b a", []string{"b", "a"}, []float64{-1, 1}, []string{"b", "a"}},
		{"10 9 0", nil, []float64{2, 1, 0}, []string{"0", "9", "10"}},
		{"c a b", nil, []float64{2, 0, 1}, []string{"a", "b", "c"}},
		{"c a", []string{"b", "a", "c"}, []float64{2, 1}, []string{"b", "a", "c"}},
		{"no", nil, []float64{-1}, []string{"no", ""}},
	} {
		text := "x,class\n1," + strings.ReplaceAll(c.labels, " ", "\n2,")
		d, err := ReadCSV(strings.NewReader(text), "t", ReadOptions{Classes: c.forced, Several: len(c.classes) > 2})
		require.NoError(t, err, c.labels)
		assert.Equal(t, c.want, d.Label, c.labels)
		assert.Equal(t, c.classes, d.Classes, c.labels)
	}
	for _, c := range []struct {
		labels string
		forced []string
		line   int
		want   string
	}{
		{"a b c", nil, 4, "third"},
		{"c d", []string{"a", "b", "c"}, 3, "none of the 3 classes"},
		{"a 1", nil, 3, "mixed"},
		{"1 a", nil, 3, "mixed"},
		{"a NA", nil, 3, "missing"},
		{"a nan", nil, 3, "NaN"},
		{"4 5 6", nil, 4, `a third label "6", after "4" and "5"`},
		{"1 2", []string{"-1", "1"}, 3, "neither"},
		{"a c", []string{"a", "b"}, 3, "neither"},
		{"a 1", []string{"a", "b"}, 3, "neither"},
	} {
		text := "x,class\n1," + strings.ReplaceAll(c.labels, " ", "\n2,")
		_, err := ReadCSV(strings.NewReader(text), "t", ReadOptions{Classes: c.forced})
		requireSyntax(t, err, "t", c.line, c.want)
	}
	for _, opt := range []ReadOptions{{Classes: []string{"a", "a"}}, {Classes: []string{"1", "+1"}},
		{Classes: []string{"a", "b"}, Regression: true}} {
		_, err := ReadCSV(strings.NewReader("x,y\n1,1"), "t", opt)
		require.ErrorContains(t, err, "ReadOptions.Classes")
	}
}
