package data

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mustCSV reads text that is right.
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

const shop = "id;city;sex;age;spent;bought\n" +
	"a1;Oslo;f;34;1,5;yes\n" +
	"a2;Rome;m;;2;no\n" +
	"a3;Lima;m;51;;yes\n" +
	"a4;Oslo;;40;4,25;no\n"

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
