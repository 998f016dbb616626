package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shop = "id;city;sex;age;spent;bought\n" +
	"a1;Oslo;f;34;1,5;yes\n" +
	"a2;Rome;m;;2;no\n" +
	"a3;Lima;m;51;;yes\n" +
	"a4;Oslo;;40;4,25;no\n"

func TestReadCSVColumns(t *testing.T) {
	opt := ReadOptions{Categorical: true, Impute: "median", Drop: []string{"id"}}
	d, err := ReadCSV(strings.NewReader(shop), "t", opt)
	require.NoError(t, err)
	require.NoError(t, d.Check())
	assert.Equal(t, []string{"city=Lima", "city=Oslo", "city=Rome", "sex=m", "age", "spent"}, d.Features)
	assert.Equal(t, []float64{1, -1, 1, -1}, d.Label)
	assert.Equal(t, [][]float64{
		{0, 1, 0, 0, 34, 1.5},
		{0, 0, 1, 1, 40, 2},
		{1, 0, 0, 1, 51, 2},
		{0, 1, 0, 1, 40, 4.25}, // the most frequent sex
	}, denseRows(d))

	second := "id,city,sex,age,spent,bought\nb1,Rome,f,NaN,1,no\nb2,Lima,,1,2,yes\n"
	opt.Columns, opt.Classes = d.Columns, d.Classes
	e, err := ReadCSV(strings.NewReader(second), "t", opt)
	require.NoError(t, err)
	assert.Equal(t, d.Features, e.Features)
	assert.Equal(t, [][]float64{{0, 0, 1, 0, 40, 1}, {1, 0, 0, 1, 1, 2}}, denseRows(e))

	bare := "id\tcity\tsex\tage\tspent\nb1\tRome\tf\t\t1\n"
	u, err := ReadCSV(strings.NewReader(bare), "t",
		ReadOptions{Columns: d.Columns, Impute: "mean", Drop: []string{"id"}, Unlabelled: true})
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{0, 0, 1, 0, 40, 1}}, denseRows(u))
	assert.Equal(t, []float64{0}, u.Label)

	unseen := "id,city,sex,age,spent,bought\nb1,Bonn,,,3,no\n,Lima,x,7,NA,no\n"
	v, err := ReadCSV(strings.NewReader(unseen), "t",
		ReadOptions{Columns: d.Columns, Impute: "mean", ID: "id", Classes: d.Classes})
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{0, 1, 0, 1, 40, 3}, {1, 0, 0, 1, 7, 2}}, denseRows(v), "city, sex, age; sex, spent")
	assert.Equal(t, 5, v.Filled)
	assert.Equal(t, []string{"b1", ""}, v.IDs)
	assert.Equal(t, []string{"", "b1", ""}, Join(v, v).Subset([]int{1, 2, 3}).IDs)
	for _, blank := range []string{"b1,Bonn,f,1,3,no", "b1,Rome,,1,3,no", "b1,Rome,f,,3,no"} {
		_, err = ReadCSV(strings.NewReader("id,city,sex,age,spent,bought\n"+blank), "t", ReadOptions{Columns: d.Columns, ID: "id"})
		assert.ErrorIs(t, err, ErrCell, blank)
	}

	mean, err := ReadCSV(strings.NewReader("a,y\n1,0\n,1\n2,1\n6,0\n"), "t", ReadOptions{Impute: "mean"})
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{1}, {3}, {2}, {6}}, denseRows(mean))
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

func TestReadCSVColumnsRefuse(t *testing.T) {
	d, err := ReadCSV(strings.NewReader(shop), "t", ReadOptions{Categorical: true, Impute: "mean"})
	require.NoError(t, err)
	for _, c := range []struct {
		text string
		opt  ReadOptions
		line int
		want string
	}{
		{shop, ReadOptions{}, 2, `column "id", "a1": not a number`},
		{shop, ReadOptions{Categorical: true}, 5, `column "sex", "": missing value`},
		{shop, ReadOptions{Impute: "median", Drop: []string{"id"}}, 2, `column "city", "Oslo": not a number`},
		{shop, ReadOptions{Drop: []string{"ID"}}, 1, `no column is named "ID", to be dropped; there`},
		{shop, ReadOptions{Drop: []string{"Sex", "ID", "city"}}, 1, `no column is named "ID", "Sex", to be dropped; there`},
		{shop, ReadOptions{Drop: []string{"bought"}}, 1, `column "bought" is the label`},
		{"a,y\n,0\n,1\n", ReadOptions{Impute: "mean"}, 0, `column "a" has no value`},
		{"id;city;sex;age;spent;bought\nx;Oslo;f;1;1;yes\n",
			ReadOptions{Columns: d.Columns}, 2, `column "id", "x": not among the 4 texts`},
		{"id,y\n1,0\n2,1\n", ReadOptions{Columns: d.Columns}, 1, `no column is named "city"; there are "id", "y"`},
		{"id,town,sex,age,spent,y\na1,Oslo,f,1,1,0\n",
			ReadOptions{Columns: d.Columns}, 1, `no column is named "city"`},
	} {
		_, err := ReadCSV(strings.NewReader(c.text), "some.csv", c.opt)
		requireSyntax(t, err, "some.csv", c.line, c.want)
	}
	var names strings.Builder
	names.WriteString("id,y\n")
	for i := range 101 {
		names.WriteString("n" + strings.Repeat("x", i) + ",0\n")
	}
	_, err = ReadCSV(strings.NewReader(names.String()), "t", ReadOptions{Categorical: true})
	assert.ErrorContains(t, err, `column "id" holds 101 different texts in 101 rows`)
	_, err = ReadCSV(strings.NewReader(shop), "t", ReadOptions{Impute: "zero"})
	assert.ErrorContains(t, err, `ReadOptions.Impute: "zero"`)
}

func TestSyntaxErrorsAre(t *testing.T) {
	all := []error{ErrNoLabel, ErrNoHeader, ErrNoPair, ErrCell, ErrLabel, ErrThirdLabel, ErrMissing, ErrNaN, ErrNumber}
	for text, want := range map[string][]error{
		"a,y\n1,0\nx,1\n":      {ErrCell, ErrNumber},
		"a,y\n,0\n1,1\n":       {ErrCell, ErrMissing},
		"a,y\nnan,0\n1,1\n":    {ErrCell, ErrNaN},
		"1.5,0\n2,1\n":         {ErrNoHeader},
		"a,y\n1,0\n2,1\n3,2\n": {ErrLabel, ErrThirdLabel},
		"a,y\n1,0\n2,\n":       {ErrLabel, ErrMissing},
		"a,y\n1,0\n2,b\n":      {ErrLabel},
		"1 1:2\nx 1:3\n":       {ErrLabel, ErrNumber},
		"1 1:2\n0 1:x\n":       {ErrNumber},
		"1 1:2\n0 2;3\n":       {ErrNoPair},
		"1 1:2\n0 1:3\n2 1:3":  {ErrLabel, ErrThirdLabel},
		"1 1:2\n0 0:3\n":       nil,
	} {
		read := ReadLIBSVM
		if strings.Contains(text, ",") {
			read = ReadCSV
		}
		_, err := read(strings.NewReader(text), "t", ReadOptions{})
		var is []error
		for _, e := range all {
			if errors.Is(err, e) {
				is = append(is, e)
			}
		}
		assert.Equal(t, want, is, "%q: %v", text, err)
	}
	_, err := ReadCSV(strings.NewReader("a,y\n1,0\nx,1\n"), "t", ReadOptions{Impute: "mean"})
	require.ErrorIs(t, err, ErrNumber, "where columns are read in whole")
}
