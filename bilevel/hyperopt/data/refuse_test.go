package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat/mattest"
)

var kinds = map[string]error{"cell": ErrCell, "header": ErrNoHeader, "label": ErrLabel, "level": ErrLevel,
	"missing": ErrMissing, "nan": ErrNaN, "number": ErrNumber, "pair": ErrNoPair, "third": ErrThirdLabel,
	"unlabelled": ErrNoLabel}

type refusal struct {
	text string
	opt  ReadOptions
	line int
	want string // in the message
	is   string // which kinds of errors it is, in order
}

func refused(t *testing.T, read func(io.Reader, string, ReadOptions) (*Data, error), torn string, list []refusal) {
	for _, c := range list {
		_, err := read(strings.NewReader(c.text), "some.file", c.opt)
		requireSyntax(t, err, "some.file", c.line, c.want)
		is := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(k string) bool { return !errors.Is(err, kinds[k]) })
		assert.Equal(t, c.is, strings.Join(is, " "), "%q: %v", c.text, err)
	}
	fail := errors.New("disk on fire")
	_, err := read(io.MultiReader(strings.NewReader(torn), iotest.ErrReader(fail)), "f", ReadOptions{})
	requireSyntax(t, err, "f", 2, "disk on fire")
	require.ErrorIs(t, err, fail)
	_, err = read(strings.NewReader("1 1:1\n"), "f", ReadOptions{Dim: -1})
	require.ErrorContains(t, err, "ReadOptions.Dim")
	_, err = read(strings.NewReader("1 1:1\n"), "f", ReadOptions{Dim: MaxIndex + 1})
	require.ErrorContains(t, err, "ReadOptions.Dim")
}

func requireSyntax(t *testing.T, err error, file string, line int, want string) {
	t.Helper()
	var se *SyntaxError
	require.ErrorAs(t, err, &se, "want %q", want)
	require.Equal(t, file, se.File)
	require.Equal(t, line, se.Line, err.Error())
	require.ErrorContains(t, err, want)
	if line > 0 {
		require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("%s:%d: ", file, line)), err.Error())
	}
}

func TestReadCSVRefuses(t *testing.T) {
	d := mustCSV(t, shop, ReadOptions{Categorical: true, Impute: "mean"})
	var none ReadOptions
	columns, filled, ab := ReadOptions{Columns: d.Columns}, ReadOptions{Columns: d.Columns, Impute: "mean"}, ReadOptions{Features: []string{"a", "b"}, Regression: true}
	named, dropped, classes := ab, ab, ReadOptions{Classes: []string{"a", "b"}}
	named.LabelColumn, dropped.LabelColumn, dropped.Drop = "y", "y", []string{"z", "absent"}
	refused(t, ReadCSV, "a,b\n1,1\n1,", []refusal{
		{"", none, 1, "empty", ""},
		{"", ReadOptions{Headerless: true}, 1, "empty", ""},
		{"a,b\n", none, 1, "no rows", ""},
		{"1,2\n3,1\n", none, 1, "header", "header"},
		{"17.99,10,malignant\n1,2,benign\n", none, 1, "header", "header"},
		{"a,b\n1,1\n", ReadOptions{LabelColumn: "c"}, 1, "no column", ""},
		{"a,b\n1,1\n", ReadOptions{Dim: 3}, 1, "want 3", ""},
		{"a,b,a,y\n1,1,1,0\n", none, 1, `two columns are named "a"`, ""},
		{"\xff\xfea\x00,\x00y\x00\n\x00", none, 1, "UTF-16", ""},
		{"a,b\n1,1\n1,1,1\n", none, 3, "wrong number of fields: 3, and the header has 2", ""},
		{"a,b\n1,1\n1", none, 3, "wrong number of fields: 1, and the header has 2", ""},
		{"a,b\n1,1\n\n?,1\n", none, 4, "missing", "cell missing"},
		{"a,b\n#N/A,1\n", none, 2, "missing", "cell missing"},
		{"a,b\nNaN,1\n", none, 2, "NaN", "cell nan"},
		{"a,b\n1,1\n-Inf,1\n", none, 3, "infinite", "cell"},
		{"a,b\n1e400,1\n", none, 2, "too large", "cell"},
		{"a,b\nx,1\n", none, 2, "not a number", "cell number"},
		{"a,b\n\"1,234.50\",1\n", none, 2, "separators of thousands", "cell"},
		{"a\tb\n612\t1\n6,337\t2\n", none, 3, `column "a" holds "6,337", but elsewhere "612": a mark`, "cell"},
		{"a\tb\n1,436\t1\n425.7\t2\n", none, 2, `column "a" holds "1,436", but elsewhere "425.7"`, "cell"},
		{"a;b;c\n612;0,5;1\n6.337;1,2;2\n", none, 3, `column "a" holds "6.337", but elsewhere "1,2": a mark`, "cell"},
		{"a;b\n1.234,50;1\n", none, 2, "separators of thousands", "cell"},
		{"a,b\n$5,1\n", none, 2, "a unit", "cell"},
		{"a,b\n−5,1\n", none, 2, "a minus that is no hyphen", "cell"},
		{"a,b\n12.05.2020,1\n", none, 2, `"12.05.2020": a date, and not a number`, "cell number"},
		{"a,b\n2020-05-12 12:30,1\n", none, 2, "a date, and", "cell number"},
		{"a,b\n10.20.30.40,1\n", none, 2, "separators", "cell"},
		{"# by hand, twice\n#\na,b\n1,1\nx,1\n", none, 5, "not a number", "cell number"},
		{"sep=;\na;b;a\n1;1;1\n", none, 2, `two columns are named "a"`, ""},
		{"# by hand\nx,1\n", ReadOptions{Headerless: true}, 2, "not a number", "cell number"},
		{"a,b\n1,\"1,234\"\n", ReadOptions{Regression: true}, 2, "separators of thousands", "label"},
		{"a,b\n1\"2,1\n", none, 2, "quoted-field, at byte 2 of line 2", ""},
		{"a,b\n\"1,1\n2,2\n3,3\n", none, 2, "quote", ""},

		{"a,b\n1,\n", none, 2, "missing", "label missing"},
		{"a,b\n1,x\n", ReadOptions{Regression: true}, 2, "not a number", "label number"},
		{"a,b\n1,a\n2,b\n3,c\n", none, 4, "third", "label third"},
		{"a,b\n1,4\n2,5\n3,6\n", none, 4, `a third label "6", after "4" and "5"`, "label third"},
		{"a,b\n1,c\n", ReadOptions{Classes: []string{"a", "b", "d"}}, 2, "none of the 3 classes", "label"},
		{"a,b\n1,a\n2,1\n", none, 3, "mixed", "label"},
		{"a,b\n1,a\n2,NA\n", none, 3, "missing", "label missing"},
		{"a,b\n1,a\n2,nan\n", none, 3, "NaN", "label nan"},
		{"a,b\n1,1\n2,2\n", ReadOptions{Classes: []string{"-1", "1"}}, 3, "neither", "label"},
		{"a,b\n1,a\n2,c\n", classes, 3, "neither", "label"},

		{shop, none, 2, `column "id", "a1": not a number`, "cell number"},
		{shop, ReadOptions{Categorical: true}, 5, `column "sex", "": missing value`, "cell missing"},
		{shop, ReadOptions{Impute: "median", Drop: []string{"id"}}, 2, `column "city", "Oslo": not a number`, "cell number"},
		{shop, ReadOptions{Drop: []string{"Sex", "ID", "city"}}, 1, `no column is named "ID", "Sex", to be dropped; there`, ""},
		{shop, ReadOptions{LabelColumn: "age", ID: "age"}, 1, `column "age" is the label`, ""},
		{"a,b,a,y\n1,1,1,0\n", ReadOptions{Drop: []string{"a", "z"}}, 1, `no column is named "z"`, ""},
		{"a,y\n,0\n,1\n", ReadOptions{Impute: "mean"}, 0, `column "a" has no value`, "cell"},
		{"id;city;sex;age;spent;bought\nx;Oslo;f;1;1;yes\n", columns, 2, `column "id", "x": not among the 4 texts`, "cell level"},
		{"id;city;sex;age;spent;bought\na1;;f;1;1;yes\n", columns, 2, `column "city", "": missing value`, "cell missing"},
		{"id;city;sex;age;spent;bought\na1;Oslo;f;1;1;yes\na1;Oslo;f;;1;no\n", columns, 3, `column "age", "": missing value`, "cell missing"},
		{"id;city;sex;age;spent;bought\na1;Oslo;f;x;1;yes\n", filled, 2, `column "age", "x": not a number`, "cell number"},
		{"id,y\n1,0\n2,1\n", columns, 1, `no column is named "city"; there are "id", "y"`, ""},
		{"id,town,sex,age,spent,y\na1,Oslo,f,1,1,0\n", columns, 1, `no column is named "city"`, ""},

		{"a,c,y\n1,2,3\n", ab, 1, `no column is named "b"; there are "a", "c", "y"`, ""},
		{"a,b,id,y\n1,2,3,4\n", ab, 1, `column "id" is neither the label nor one of the 2 features, which begin "a", "b"`, ""},
		{"a,b\n1,2\n", ab, 1, "the columns are the features alone", "unlabelled"},
		{"a,b,z\n1,2,3\n", named, 1, `column "z" is neither the label`, ""},
		{"1,2,3\n", ReadOptions{Headerless: true, Features: []string{"2", "3"}, Drop: []string{"4"}}, 1, "all, or the 2", ""},
		{"a,b,z\n1,2,3\n", dropped, 1, "the columns are the features alone", "unlabelled"},
	})
	mustCSV(t, "a;b;c\n612;1.234;1\n6,337;0.5;2\n0,5;0;1\n", none)
	assert.Equal(t, []float64{6.337, 1.436}, mustCSV(t, "a;b\n6,337;1\n1,436;2\n", none).Val, "nothing speaks for thousands")
	assert.Equal(t, []string{"1"}, mustCSV(t, "a,b,y\n1,2,3\n", ReadOptions{Features: []string{"a", "b"}, ID: "a"}).IDs)
	_, err := ReadCSV(io.MultiReader(strings.NewReader("a,b\n1,1\n\""), zeros{}), "endless", none)
	requireSyntax(t, err, "endless", 2, "record is longer than")
	var names strings.Builder
	for i := range 102 {
		names.WriteString("n" + strings.Repeat("x", i) + ",0\n")
	}
	_, err = ReadCSV(strings.NewReader(names.String()), "t", ReadOptions{Categorical: true})
	assert.ErrorContains(t, err, `column "n" holds 101 different texts in 101 rows`)
	for want, opt := range map[string]ReadOptions{
		`ReadOptions.Impute: "zero"`:      {Impute: "zero"},
		`Classes: ["a" "a"]: want names`:  {Classes: []string{"a", "a"}},
		`Classes: ["1" "+1"]: want names`: {Classes: []string{"1", "+1"}},
		"and Regression false":            {Classes: []string{"a", "b"}, Regression: true},
		"ReadOptions.Class: want":         {Class: "a", Regression: true},
	} {
		_, err := ReadCSV(strings.NewReader(shop), "t", opt)
		require.ErrorContains(t, err, want)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestReadLIBSVMRefuses(t *testing.T) {
	var none ReadOptions
	refused(t, ReadLIBSVM, "1 1:1\n1 1:1", []refusal{
		{"", none, 1, "no rows", ""},
		{"\n\n# only a comment\n", none, 3, "no rows", ""},
		{"1 1:1\n-1 0:1\n", none, 2, "index 0", ""},
		{"1 3:1 2:1\n", none, 1, "ascend", ""},
		{"\n1 3:1 3:1\n", none, 2, "repeated", ""},
		{"1 16777217:1\n", none, 1, "above 16777216", ""},
		{"1 99999999999999999999999999:1\n", none, 1, "above 16777216", ""},
		{"1 -1:1\n", none, 1, "not index:value", "pair"},
		{"1 1:nan\n", none, 1, "NaN", "nan"},
		{"1 1:\n", none, 1, "missing", "missing"},
		{"1 1:1\n1 1:1 2", none, 2, "not index:value", "pair"},
		{"1 a:1\n", none, 1, "not index:value", "pair"},
		{"1 1:1x\n", none, 1, "not a number", "number"},
		{"1 qid:3 1:1\n", none, 1, "qid", ""},
		{"1:1 2:1\n", none, 1, `label before "1:1": missing value`, "label missing"},
		{"\xff\xfe\x00\x001\x00\x00\x00", none, 1, "UTF-32", ""},
		{"x 1:1\n", none, 1, "label", "label number"},
		{"nan 1:1\n", none, 1, "NaN", "label nan"},
		{"1 1:1\n2 1:1\n-2 1:1\n", none, 3, "third label", "label third"},
		{"1 1:1\x00\n", none, 1, `"1:1\x00": not a number`, "number"},
		{"1 9:1\n", ReadOptions{Dim: 8}, 1, "above the dimension 8", ""},
	})
	_, err := ReadLIBSVM(io.MultiReader(strings.NewReader("1 1:1\n"), zeros{}), "endless", none)
	requireSyntax(t, err, "endless", 2, "line is longer than")
}

func FuzzReadLIBSVM(f *testing.F) {
	fuzz(f, ReadLIBSVM, "1 1:.5 3:-2\n2 5:0\n1 2:3\n", "+1.0 1:5e-1 # c\n\n-1 22:1e-300", "1 1:1\r\n0 2:nan\n",
		"1 1000000000:1\n", "1 2:1 1:1\n", "1 qid:1 1:1", "1 1:", "1 1", "\x00", "1 1:0x1p-2", "-1 16777216:1\n", "3 1:1\n")
}

func FuzzReadCSV(f *testing.F) {
	fuzz(f, ReadCSV, "a,b,c\n1,2,1\n0,-3.5e2,-1\n", "a,\"b\"\n\"1\",malignant\n2,benign\n", "\xef\xbb\xbfa,b\r\n1,1\r\n",
		"a\n1\n2\n", "a,b\n1\n", "a,b\n\"1,1\n", "1,2\n", "a,b\nNA,1\n", "a,b\ninf,1\n", "a b \"c d\"\n 1\t2  1\r\n", "a,b,\n1,1,\n1,1\n")
}

// fuzz: what is read is well formed and no larger than its text; else a *SyntaxError names a line.
func fuzz(f *testing.F, read func(io.Reader, string, ReadOptions) (*Data, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, mode uint8) {
		opt := ReadOptions{Regression: mode&1 != 0, Dim: int(mode >> 1)}
		d, err := read(bytes.NewReader(text), "fuzz", opt)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.File != "fuzz" || se.Line < 1 || se.Line > bytes.Count(text, []byte("\n"))+1 || d != nil {
				t.Fatalf("error without its place: %v", err)
			}
			return
		}
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		if d.Rows() == 0 || d.Rows() > len(text) || len(d.Col) > len(text) || cap(d.Val) > 2*len(text)+64 ||
			opt.Dim != 0 && d.Dim != opt.Dim {
			t.Fatalf("%d × %d with %d entries (capacity %d) from %d bytes", d.Rows(), d.Dim, len(d.Col), cap(d.Val), len(text))
		}
		for _, v := range d.Val {
			if v == 0 {
				t.Fatal("a stored zero")
			}
		}
		for _, b := range d.Label {
			if !opt.Regression && b != 1 && b != -1 {
				t.Fatalf("label %v", b)
			}
		}
	})
}

func denseData(values ...[]float64) *Data {
	d := &Data{Dim: len(values[0]), RowPtr: []int{0}}
	for i, row := range values {
		for j, v := range row {
			if v != 0 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, float64(2*(i%3%2)-1))
	}
	return d
}

func random(seed uint64, n, dim int) *Data {
	rng := rand.New(rand.NewPCG(1, seed))
	values := make([][]float64, n)
	for i := range values {
		values[i] = []float64{float64(i + 1)}
		for len(values[i]) < dim {
			values[i] = append(values[i], rng.NormFloat64()*float64(rng.IntN(2)))
		}
	}
	return denseData(values...)
}

func apply(t *testing.T, s *Scaler, d *Data) *Data {
	z := must(s.Apply(d))
	require.NoError(t, z.Check())
	return z
}

func TestSplitUsesEveryRowOnce(t *testing.T) {
	d := random(1, 101, 12)
	for name, split := range map[string]func(uint64, ...float64) ([]*Data, error){
		"plain": d.Split, "stratified": d.SplitStratified} {
		parts := must(split(7, 3, 1, 1))
		var seen []int
		for _, p := range parts {
			require.NoError(t, p.Check())
			for i := range p.Label {
				_, val := p.Row(i)
				seen = append(seen, int(val[0])-1)
			}
		}
		assert.Equal(t, d.Subset(seen), Join(parts...), name)
		slices.Sort(seen)
		require.Len(t, seen, 101, name)
		require.Len(t, slices.Compact(seen), 101, name)
		assert.InDelta(t, 60.6, parts[0].Rows(), 1.5)
		for seed, same := range map[uint64]bool{7: true, 8: false} {
			again := must(split(seed, 3, 1, 1))
			assert.Equal(t, same, assert.ObjectsAreEqual(parts, again), name)
		}
		for _, bad := range [][]float64{{}, {1, 0}, {1, -1}, {1, math.NaN()}, {math.Inf(1)}, {1, 1e-9},
			{math.MaxFloat64, math.MaxFloat64}} {
			_, err := split(7, bad...)
			assert.Error(t, err, "%v", bad)
		}
	}
	assert.Panics(t, func() { Join(d, &Data{Dim: d.Dim + 1, RowPtr: []int{0}}) })
	parts := must(d.SplitStratified(7, 1, 1))
	_, first := countClasses(parts[0])
	_, second := countClasses(parts[1])
	assert.InDelta(t, first, second, 1)
	d.Label[5] = 0.5
	_, err := d.SplitStratified(1, 1, 1)
	assert.ErrorContains(t, err, "not a classification problem")
}

func TestStandardise(t *testing.T) {
	d := random(2, 50, 4)
	for k, c := range d.Col {
		if c == 2 {
			d.Val[k] += 1e4
		}
	}
	s := Standardise(d)
	mean, sq := make([]float64, 4), make([]float64, 4)
	for _, row := range denseRows(apply(t, s, d)) {
		for c, v := range row {
			mean[c] += v / 50
			sq[c] += v * v / 50
		}
	}
	assert.InDeltaSlice(t, make([]float64, 4), mean, 1e-13)
	assert.InDeltaSlice(t, []float64{1, 1, 1, 1}, sq, 1e-12)
	other := denseData([]float64{0, 2, 0, 0})
	assert.Equal(t, []float64{-s.Shift[0] * s.Factor[0], (2 - s.Shift[1]) * s.Factor[1], -s.Shift[2] * s.Factor[2],
		-s.Shift[3] * s.Factor[3]}, apply(t, s, other).Val)
	assert.Equal(t, 2.0, other.Val[0])

	constant := denseData([]float64{0.1, 0}, []float64{0.1, 0}, []float64{0.1, 0})
	assert.Equal(t, make([]float64, 3), apply(t, Standardise(constant), constant).Val)
	assert.Equal(t, "scaled to mean 0 and deviation 1", Standardise(constant).String())
	refuses := func(s *Scaler, d *Data, want string) {
		_, err := s.Apply(d)
		require.ErrorContains(t, err, want)
	}
	refuses(s, constant, "2 features, want 4")
	one := denseData([]float64{1})
	for _, one.Dim = range []int{32, 33, MaxIndex} { // at most 16·(1 entry + 1 row)
		fill := &Scaler{Shift: slices.Repeat([]float64{1}, one.Dim), Factor: make([]float64, one.Dim)}
		if one.Dim == 32 {
			apply(t, fill, one)
		} else {
			refuses(fill, one, "use MaxAbs")
		}
	}
	huge, twice := denseData([]float64{math.MaxFloat64}, []float64{-math.MaxFloat64}), &Scaler{Factor: []float64{2}}
	refuses(twice, huge, "feature 1: a value overflows")
	huge.Features = []string{"size"}
	refuses(twice, huge, `feature 1 ("size"): a value overflows`)
}

func TestStandardiseFarScales(t *testing.T) {
	plain := denseData([]float64{1}, []float64{-2}, []float64{0}, []float64{4.5}, []float64{3})
	want := apply(t, Standardise(plain), plain)
	far := *plain
	for _, exp := range []int{-1000, -700, 700, 1000} {
		far.Val = mattest.List(len(plain.Val), func(k int) float64 { return math.Ldexp(plain.Val[k], exp) })
		assert.Equal(t, want.Val, apply(t, Standardise(&far), &far).Val, exp)
	}
	for _, unit := range []float64{math.MaxFloat64, 1e-320} { // no float64 is the difference of two, or the inverse of one
		far := denseData([]float64{unit}, []float64{unit}, []float64{unit}, []float64{-unit}, []float64{unit})
		got := apply(t, Standardise(far), far)
		assert.Equal(t, unit < 1, slices.Equal(Constant(far), []int{0}))
		if unit > 1 {
			assert.InDeltaSlice(t, []float64{0.5, 0.5, 0.5, -2, 0.5}, got.Val, 1e-12)
		}
		assert.InDelta(t, min(1, unit), apply(t, MaxAbs(far), far).Val[0], 1e-15)
	}
}

func TestMaxAbs(t *testing.T) {
	assert.Equal(t, []int{1}, Constant(denseData([]float64{5, 7}, []float64{0, 7})))
	d := denseData([]float64{1, 0, 5}, []float64{-4, 0, 0})
	assert.Equal(t, [][]float64{{0.25, 0, 1}, {-1, 0, 0}}, denseRows(apply(t, MaxAbs(d), d)))
	assert.Equal(t, []float64{1, 5, -4}, d.Val)
}

func TestWithBias(t *testing.T) {
	d := &Data{Dim: 2, RowPtr: []int{0, 1, 1}, Col: []int32{0}, Val: []float64{5}, Label: []float64{1, -1},
		Features: []string{"a", "b"}}
	b := WithBias(d)
	require.NoError(t, b.Check())
	assert.Equal(t, &Data{Dim: 3, RowPtr: []int{0, 2, 3}, Col: []int32{0, 2, 2}, Val: []float64{5, 1, 1},
		Label: d.Label, Features: []string{"a", "b", "bias"}}, b)
	assert.Equal(t, []string{"a", "b"}, d.Features)
	d.Features = nil
	assert.Nil(t, WithBias(d).Features)
}

func TestFitScaler(t *testing.T) {
	among := func(row []float64, rows ...[]float64) *Data {
		return denseData(append(slices.Repeat([][]float64{row}, 20), rows...)...)
	}
	for _, c := range []struct {
		d    *Data
		want string
	}{
		{denseData([]float64{-1, 0.25}, []float64{0.5, 0.5}), "left as they are"},
		{denseData([]float64{1, 0, 0}, []float64{0, 0, 0.7}), "left as they are"}, // no entries in the second
		{denseData([]float64{-1, 0.25}, []float64{0.5, 0.49}), "scaled to mean 0 and deviation 1"},
		{denseData([]float64{-1, 0.25}, []float64{0.5, 1.01}), "scaled to mean 0 and deviation 1"},
		{among([]float64{0, 0, 0}, []float64{3, 0, 0}, []float64{0, 0, 0.7}), "scaled to largest absolute value 1"},
		{denseData([]float64{0.95, 0.5}, []float64{0.93, -1}), "scaled to mean 0 and deviation 1"},
		{denseData([]float64{2001, 0}, []float64{2024, 1}), "scaled to mean 0 and deviation 1"},
		{among([]float64{2001, 0}, []float64{2024, 1}), "scaled to mean 0 and deviation 1, but 1 with many zeros to largest absolute value 1"},
	} {
		s := FitScaler(c.d)
		assert.Equal(t, c.want, s.String())
		assert.Equal(t, c.want == "left as they are", slices.Equal(c.d.Val, apply(t, s, c.d).Val))
	}
}
