package data

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadCSV(t *testing.T) {
	want := &Data{
		Name: "t", Dim: 2, RowPtr: []int{0, 2, 3}, Col: []int32{0, 1, 1}, Val: []float64{1.5, -2, 4},
		Label: []float64{1, -1}, Classes: []string{"benign", "malignant"},
		Features: []string{"mean radius", "area, worst"}, LabelName: "diagnosis",
	}
	for name, text := range map[string]string{
		"plain":           "mean radius,diagnosis,\"area, worst\"\n1.5,malignant,-2\n0,benign,4\n",
		"dressed":         "\xef\xbb\xbf mean radius , diagnosis,\"area, worst\"\r\n\r\n 1.5,\"malignant\",\t-2 \r\n0.0,benign ,4",
		"trailing":        "mean radius,diagnosis,\"area, worst\",\n1.5,malignant,-2,\n0,benign,4\n",
		"trailing in one": "mean radius,diagnosis,\"area, worst\"\n1.5,malignant,-2\n0,benign,4, \n",
		"blanks":          "\"mean radius\"  diagnosis \"area, worst\"\r\n 1.5\tmalignant  \t -2 \r\n\r\n0 benign 4",
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := ReadCSV(r, "t", ReadOptions{LabelColumn: "diagnosis", Dim: 2})
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			require.NoError(t, got.Check())
		}
	}
	d, err := ReadCSV(strings.NewReader("\"a  \tb\"   y\n1 0\n2  1\n"), "t", ReadOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a  \tb"}, d.Features)
	d, err = ReadCSV(strings.NewReader("\xef\xbb\xbf0,1,y\r\n\r\n 1 ,2, 3.25 \r\n4,5,6"), "t",
		ReadOptions{Regression: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1"}, d.Features)
	assert.Equal(t, []float64{1, 2, 4, 5}, d.Val)
	assert.Equal(t, []float64{3.25, 6}, d.Label)
}

func TestReadCSVErrors(t *testing.T) {
	for _, c := range []struct {
		text, column string
		line         int
		want         string
	}{
		{"", "", 1, "empty"},
		{"a,b\n", "", 1, "no rows"},
		{"1,2\n3,1\n", "", 1, "header"},
		{"17.99,10,malignant\n1,2,benign\n", "", 1, "header"},
		{"a,b\n1,1\n", "c", 1, "no column"},
		{"a,b,a,y\n1,1,1,0\n", "", 1, `two columns are named "a"`},
		{"a,b,b\n1,1,1\n", "", 1, `two columns are named "b"`},
		{"\xff\xfea\x00,\x00y\x00\n\x00", "", 1, "UTF-16"},
		{"a,b\n1,1\n1,1,1\n", "", 3, "wrong number of fields: 3, and the header has 2"},
		{"a,b\n1,1\n1", "", 3, "wrong number of fields: 1, and the header has 2"},
		{"a,b\n1,1\n\n?,1\n", "", 4, "missing"},
		{"a,b\n1,\n", "", 2, "missing"},
		{"a,b\nNaN,1\n", "", 2, "NaN"},
		{"a,b\n1,1\n-Inf,1\n", "", 3, "infinite"},
		{"a,b\n1e400,1\n", "", 2, "too large"},
		{"a,b\nx,1\n", "", 2, "not a number"},
		{"a,b\n1\"2,1\n", "", 2, "quote"},
		{"a,b\n\"1,1\n", "", 2, "quote"},
	} {
		_, err := ReadCSV(strings.NewReader(c.text), "some.csv", ReadOptions{LabelColumn: c.column})
		requireSyntax(t, err, "some.csv", c.line, c.want)
	}
	_, err := ReadCSV(strings.NewReader("a,b\n1,x\n"), "t", ReadOptions{Regression: true})
	requireSyntax(t, err, "t", 2, "not a number")
	_, err = ReadCSV(strings.NewReader("a,b\n1,1\n"), "t", ReadOptions{Dim: 3})
	requireSyntax(t, err, "t", 1, "want 3")
	fail := errors.New("disk on fire")
	_, err = ReadCSV(io.MultiReader(strings.NewReader("a,b\n1,1\n1,"), iotest.ErrReader(fail)), "f", ReadOptions{})
	requireSyntax(t, err, "f", 2, "disk on fire")
	require.ErrorIs(t, err, fail)
	_, err = ReadCSV(io.MultiReader(strings.NewReader("a,b\n1,1\n\""), zeros{}), "endless", ReadOptions{})
	requireSyntax(t, err, "endless", 2, "record is longer than")
}

func TestReadCSVLatin1(t *testing.T) {
	latin := "gr\xf6\xdfe,h\xf6he,klasse\n1,2,sch\xf6n\n3,4,gut\n"
	want, err := ReadCSV(strings.NewReader("größe,höhe,klasse\n1,2,schön\n3,4,gut\n"), "t", ReadOptions{})
	require.NoError(t, err)
	got, err := ReadCSV(strings.NewReader(latin), "t", ReadOptions{})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []string{"größe", "höhe"}, got.Features)
	for _, classes := range [][]string{want.Classes, {"gut", "sch\xf6n"}} {
		again, err := ReadCSV(strings.NewReader(latin), "t", ReadOptions{Classes: classes})
		require.NoError(t, err)
		assert.Equal(t, want, again)
	}
	for _, column := range []string{"höhe", "h\xf6he"} {
		d, err := ReadCSV(strings.NewReader("h\xf6he,x\n1,2\n0,3\n"), "t", ReadOptions{LabelColumn: column})
		require.NoError(t, err)
		assert.Equal(t, []float64{1, -1}, d.Label)
	}
	unnamed, err := ReadCSV(strings.NewReader("a,,,y\n1,2,3,0\n4,5,6,1\n"), "t", ReadOptions{})
	require.NoError(t, err, "columns without a name")
	assert.Equal(t, []string{"a", "", ""}, unnamed.Features)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestReadCSVFeatures(t *testing.T) {
	opt := ReadOptions{Features: []string{"a", "b"}, Regression: true}
	for text, want := range map[string]float64{
		"a,b,y\n1,2,7\n": 7, "y,b,a\n7,2,1\n": 7, "b,other,a\n2,7,1\n": 7,
	} {
		d, err := ReadCSV(strings.NewReader(text), "t", opt)
		require.NoError(t, err, text)
		require.NoError(t, d.Check())
		assert.Equal(t, []string{"a", "b"}, d.Features)
		assert.Equal(t, [][]float64{{1, 2}}, denseRows(d), text)
		assert.Equal(t, []float64{want}, d.Label)
	}
	for text, want := range map[string]string{
		"a,c,y\n1,2,3\n":      `no column is named "b"; there are "a", "c", "y"`,
		"a,b,id,y\n1,2,3,4\n": `column "id" is neither the label nor one of the 2 features, which begin "a", "b"`,
		"a,b\n1,2\n":          "the columns are the features alone",
	} {
		_, err := ReadCSV(strings.NewReader(text), "t", opt)
		requireSyntax(t, err, "t", 1, want)
		assert.Equal(t, strings.Contains(want, "alone"), errors.Is(err, ErrNoLabel))
	}
	named := opt
	named.LabelColumn = "y"
	_, err := ReadCSV(strings.NewReader("a,b,z\n1,2,3\n"), "t", named)
	requireSyntax(t, err, "t", 1, `column "z" is neither the label`)
	named.Drop = []string{"z", "absent"}
	_, err = ReadCSV(strings.NewReader("a,b,z\n1,2,3\n"), "t", named)
	assert.ErrorIs(t, err, ErrNoLabel)

	opt.Unlabelled = true
	for _, text := range []string{"a,b\n1,2\n", "id,b,a,y\nx,2,1,\n", "b,a,y\n2,1,yes\n"} {
		d, err := ReadCSV(strings.NewReader(text), "t", opt)
		require.NoError(t, err, text)
		assert.Equal(t, [][]float64{{1, 2}}, denseRows(d), text)
		assert.Equal(t, []float64{0}, d.Label)
	}
	unnamed, err := ReadCSV(strings.NewReader("y,,a,\n0,2,1,3\n1,2,1,3\n"), "t", ReadOptions{Features: []string{"", "a", ""}})
	require.NoError(t, err, "columns without a name keep their order")
	assert.Equal(t, [][]float64{{2, 1, 3}, {2, 1, 3}}, denseRows(unnamed))
}

func TestReadCSVHeaderless(t *testing.T) {
	opt := ReadOptions{Headerless: true, LabelColumn: "1"}
	d, err := ReadCSV(strings.NewReader("yes;1,5;2\nno;3;4\n"), "t", opt)
	require.NoError(t, err)
	assert.Equal(t, []string{"2", "3"}, d.Features)
	assert.Equal(t, [][]float64{{1.5, 2}, {3, 4}}, denseRows(d))
	assert.Equal(t, []float64{1, -1}, d.Label)
	opt.Features, opt.Classes = d.Features, d.Classes
	_, err = ReadCSV(strings.NewReader("5,6\n"), "t", opt)
	require.ErrorIs(t, err, ErrNoLabel)
	opt.Unlabelled = true
	for _, text := range []string{"5,6\n", "?,5,6\n"} {
		d, err = ReadCSV(strings.NewReader(text), "t", opt)
		require.NoError(t, err, text)
		assert.Equal(t, [][]float64{{5, 6}}, denseRows(d), text)
	}
	_, err = ReadCSV(strings.NewReader(""), "t", ReadOptions{Headerless: true})
	requireSyntax(t, err, "t", 1, "empty")
}
