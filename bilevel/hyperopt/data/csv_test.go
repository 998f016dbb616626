package data

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustCSV(t *testing.T, text string, opt ReadOptions) *Data {
	t.Helper()
	d, err := ReadCSV(strings.NewReader(text), "t", opt)
	require.NoError(t, err, text)
	require.NoError(t, d.Check())
	return d
}

func denseRows(d *Data) [][]float64 {
	rows := make([][]float64, d.Rows())
	for i := range rows {
		rows[i] = make([]float64, d.Dim)
		col, val := d.Row(i)
		for k, c := range col {
			rows[i][c] = val[k]
		}
	}
	return rows
}

const shop = "id;city;sex;age;spent;bought\na1;Oslo;f;34;1,5;yes\na2;Rome;m;;2;no\na3;Lima;m;51;;yes\na4;Oslo;;40;4,25;no\n"

func TestReadCSVColumns(t *testing.T) {
	opt := ReadOptions{Categorical: true, Impute: "median", Drop: []string{"id"}}
	d := mustCSV(t, shop, opt)
	assert.Equal(t, []string{"city=Lima", "city=Oslo", "city=Rome", "sex=m", "age", "spent"}, d.Features)
	assert.Equal(t, []float64{1, -1, 1, -1}, d.Label)
	assert.Equal(t, [][]float64{
		{0, 1, 0, 0, 34, 1.5},
		{0, 0, 1, 1, 40, 2},
		{1, 0, 0, 1, 51, 2},
		{0, 1, 0, 1, 40, 4.25}, // the most frequent sex
	}, denseRows(d))

	opt.Columns, opt.Classes = d.Columns, d.Classes
	e := mustCSV(t, "id,city,sex,age,spent,bought\nb1,Rome,f,NaN,1,no\nb2,Lima,,1,2,yes\n", opt)
	assert.Equal(t, d.Features, e.Features)
	assert.Equal(t, [][]float64{{0, 0, 1, 0, 40, 1}, {1, 0, 0, 1, 1, 2}}, denseRows(e))

	u := mustCSV(t, "id\tcity\tsex\tage\tspent\nb1\tRome\tf\t\t1\n",
		ReadOptions{Columns: d.Columns, Impute: "mean", Drop: []string{"id"}, Unlabelled: true})
	assert.Equal(t, [][]float64{{0, 0, 1, 0, 40, 1}}, denseRows(u))
	assert.Equal(t, []float64{0}, u.Label)

	v := mustCSV(t, "id,city,sex,age,spent,bought\nb1,Bonn,,,3,no\n,Lima,x,7,NA,no\n",
		ReadOptions{Columns: d.Columns, Impute: "mean", ID: "id", Classes: d.Classes})
	assert.Equal(t, [][]float64{{0, 1, 0, 1, 40, 3}, {1, 0, 0, 1, 7, 2}}, denseRows(v), "city, sex, age; sex, spent")
	assert.Equal(t, 5, v.Filled)
	assert.Equal(t, []string{"b1", ""}, v.IDs)
	assert.Equal(t, []string{"", "b1", ""}, Join(v, v).Subset([]int{1, 2, 3}).IDs)

	mean := mustCSV(t, "a,y\n1,0\n,1\n2,1\n6,0\n", ReadOptions{Impute: "mean"})
	assert.Equal(t, [][]float64{{1}, {3}, {2}, {6}}, denseRows(mean))
}

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
		"blank lines":     "mean radius,diagnosis,\"area, worst\"\n1.5,malignant,-2\n \t\n0,benign,4\n\n  \n",
		"trailing in one": "mean radius,diagnosis,\"area, worst\"\n1.5,malignant,-2\n0,benign,4, \n",
		"remarks":         "# 3, of hospitals\r\n#, a,b\nmean radius,diagnosis,\"area, worst\"\n1.5,malignant,-2\n0,benign,4\n",
		"Excel":           "\xef\xbb\xbfsep=;\r\nmean radius;diagnosis;area, worst\r\n1,5;malignant;-2\r\n0;benign;4\r\n",
		"blanks":          "\"mean radius\"  diagnosis \"area, worst\"\r\n 1.5\tmalignant  \t -2 \r\n\r\n0 benign 4",
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := ReadCSV(r, "t", ReadOptions{LabelColumn: "diagnosis", Dim: 2})
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
	}
	assert.Equal(t, []string{"a  \tb"}, mustCSV(t, "\"a  \tb\"   y\n1 0\n2  1\n", ReadOptions{}).Features)
	assert.Equal(t, []string{"# a"}, mustCSV(t, "# a;y\n1,5;no\n2;yes\n", ReadOptions{}).Features)
	for _, opt := range []ReadOptions{{}, {Impute: "mean"}} {
		assert.Equal(t, [][]float64{{1}, {0}, {1}, {0.5}}, denseRows(mustCSV(t, "a,y\nTRUE,0\nfalse,1\nTrue,0\n.5,1\n", opt)))
	}
	d := mustCSV(t, "\xef\xbb\xbf0,1,y\r\n\r\n 1 ,2, 3.25 \r\n4,5,6", ReadOptions{Regression: true})
	assert.Equal(t, []string{"0", "1"}, d.Features)
	assert.Equal(t, []float64{1, 2, 4, 5}, d.Val)
	assert.Equal(t, []float64{3.25, 6}, d.Label)
}

func TestReadCSVLatin1(t *testing.T) {
	latin := "gr\xf6\xdfe,h\xf6he,klasse\n1,2,sch\xf6n\n3,4,gut\n"
	want := mustCSV(t, "größe,höhe,klasse\n1,2,schön\n3,4,gut\n", ReadOptions{})
	assert.Equal(t, []string{"größe", "höhe"}, want.Features)
	for _, classes := range [][]string{nil, want.Classes, {"gut", "sch\xf6n"}} {
		assert.Equal(t, want, mustCSV(t, latin, ReadOptions{Classes: classes}))
	}
	for _, column := range []string{"höhe", "h\xf6he"} {
		assert.Equal(t, []float64{1, -1}, mustCSV(t, "h\xf6he,x\n1,2\n0,3\n", ReadOptions{LabelColumn: column}).Label)
	}
}

func TestReadCSVFeatures(t *testing.T) {
	assert.Equal(t, []string{"a", "", ""}, mustCSV(t, "a,,,y\n1,2,3,0\n4,5,6,1\n", ReadOptions{}).Features)
	unnamed := mustCSV(t, "y,,a,\n0,2,1,3\n1,2,1,3\n", ReadOptions{Features: []string{"", "a", ""}})
	assert.Equal(t, [][]float64{{2, 1, 3}, {2, 1, 3}}, denseRows(unnamed), "columns without a name keep their order")
	for text, label := range map[string]float64{
		"a,b,y\n1,2,7\n": 7, "y,b,a\n7,2,1\n": 7, "b,other,a\n2,7,1\n": 7,
		"a,b\n1,2\n": 0, "id,b,a,y\nx,2,1,\n": 0, "b,a,y\n2,1,yes\n": 0,
	} {
		d := mustCSV(t, text, ReadOptions{Features: []string{"a", "b"}, Regression: true, Unlabelled: label == 0})
		assert.Equal(t, []string{"a", "b"}, d.Features)
		assert.Equal(t, [][]float64{{1, 2}}, denseRows(d), text)
		assert.Equal(t, []float64{label}, d.Label)
	}
}

func TestReadCSVHeaderless(t *testing.T) {
	opt := ReadOptions{Headerless: true, LabelColumn: "1"}
	d := mustCSV(t, "yes;1,5;2\nno;3;4\n", opt)
	assert.Equal(t, []string{"2", "3"}, d.Features)
	assert.Equal(t, [][]float64{{1.5, 2}, {3, 4}}, denseRows(d))
	assert.Equal(t, []float64{1, -1}, d.Label)
	opt.Features, opt.Classes = d.Features, d.Classes
	_, err := ReadCSV(strings.NewReader("5,6\n"), "t", opt)
	require.ErrorIs(t, err, ErrNoLabel)
	opt.Unlabelled = true
	for _, text := range []string{"5,6\n", "?,5,6\n"} {
		assert.Equal(t, [][]float64{{5, 6}}, denseRows(mustCSV(t, text, opt)), text)
	}
}

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
		{"-0.5 1e3", nil, []float64{-1, 1}, []string{"-0.5", "1000"}},
		{"9007199254740993 9007199254740992", nil, []float64{1, -1}, []string{"9007199254740992", "9007199254740993"}},
		{"b a", []string{"b", "a"}, []float64{-1, 1}, []string{"b", "a"}},
		{"10 9 0", nil, []float64{2, 1, 0}, []string{"0", "9", "10"}},
		{"c a b", nil, []float64{2, 0, 1}, []string{"a", "b", "c"}},
		{"c a", []string{"b", "a", "c"}, []float64{2, 1}, []string{"b", "a", "c"}},
		{"no", nil, []float64{-1}, []string{"no", ""}},
	} {
		d := mustCSV(t, "x,class\n1,"+strings.ReplaceAll(c.labels, " ", "\n2,"),
			ReadOptions{Classes: c.forced, Several: len(c.classes) > 2})
		assert.Equal(t, c.want, d.Label, c.labels)
		assert.Equal(t, c.classes, d.Classes, c.labels)
	}
}
