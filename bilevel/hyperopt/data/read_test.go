package data

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseFloat(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "+1", "1.0", "-1.0", ".5", "5.", "0.0716594", "1e5", "1E-5", "-2.5e+3", "1e22", "1e23", "1e-400",
		"4.9e-324", "1.7976931348623157e308", "0.00000000000000000000012345", "9007199254740991", "9007199254740993",
		"0.1000000000000000055511151231257827021181583404541015625", "123456789012345678901234567890",
		"18446744073709551616", "99999999999999999999",
	} {
		want := must(strconv.ParseFloat(s, 64))
		got := must(parseFloat([]byte(s)))
		assert.Equal(t, math.Float64bits(want), math.Float64bits(got), s)
	}
	for s, want := range map[string]error{
		"": ErrMissing, "?": ErrMissing, "NA": ErrMissing, "nan": ErrNaN, "-NaN": ErrNumber, "inf": errInf,
		"-Infinity": errInf, "1e999": errRange, "0x10": ErrNumber, "1_000": ErrNumber, "1.2.3": ErrNumber, "-": ErrNumber,
		".": ErrNumber, "1e": ErrNumber, "abc": ErrNumber, "1 2": ErrNumber, "１": ErrNumber,
	} {
		_, err := parseFloat(s)
		assert.Equal(t, want, err, "%q", s)
	}
	for _, s := range [][]byte{[]byte("-0.749474"), []byte("1e-300"), []byte("0.30000000000000004")} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = parseFloat(s) }))
	}
}

func TestReadLIBSVM(t *testing.T) {
	want := &Data{
		Name: "t", Dim: 5, RowPtr: []int{0, 2, 2, 3}, Col: []int32{0, 2, 1}, Val: []float64{.5, -2, 3},
		Label: []float64{-1, 1, -1}, Classes: []string{"1", "2"},
	}
	for name, text := range map[string]string{
		"plain":               "1 1:.5 3:-2\n2 5:0\n1 2:3\n",
		"no newline at end":   "1 1:.5 3:-2\n2 5:0\n1 2:3",
		"blanks and tabs":     "  1\t1:.5  3:-2 \t\n2 5:0 \n1 2:3 ",
		"carriage returns":    "1 1:.5 3:-2\r\n2 5:0\r\n1 2:3\r\n",
		"byte order mark":     "\xef\xbb\xbf1 1:.5 3:-2\n2 5:0\n1 2:3\n",
		"comments and blanks": "# a comment\n\n1 1:.5 3:-2 # 4:nan\n   \n2 5:0 #\n1 2:3 #end",
		"spellings":           "+1.0 1:5e-1 3:-2.0\n2.00 3:-0 5:0e5\n1e0 02:3\n",
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
			iotest.DataErrReader(strings.NewReader(text))} {
			got := must(ReadLIBSVM(r, "t", ReadOptions{}))
			require.Equal(t, want, got, name)
			require.NoError(t, got.Check())
		}
	}
	d := must(ReadLIBSVM(strings.NewReader("3.5 1:1\n-2 2:1\n0 3:1\n"), "t", ReadOptions{Regression: true, Dim: 7}))
	assert.Equal(t, []float64{3.5, -2, 0}, d.Label)
	assert.Equal(t, 7, d.Dim)
	assert.Nil(t, d.Classes)

	wide := []byte("1") // one line longer than the buffer
	var values []float64
	for j := 1; j <= 20_000; j++ {
		wide = fmt.Appendf(wide, " %d:%d", j, j)
		values = append(values, float64(j))
	}
	d = must(ReadLIBSVM(bytes.NewReader(wide), "t", ReadOptions{}))
	require.Equal(t, values, d.Val)
}

func TestOpen(t *testing.T) {
	const svm, csv = "1 1:2\n-1 2:3\n", "a,b,c\n2,0,1\n0,3,-1\n"
	for name, text := range map[string]string{"a": svm, "a.svm": svm, "b.gz": svm, "b.libsvm.gz": svm, "c": csv,
		"c.csv": csv, "d.gz": csv, "d.CSV.gz": csv, "e": "\xef\xbb\xbf# a, b\n\n" + csv, "f": "# a, b\n" + svm} {
		raw := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			raw = compress(raw)
		}
		d := must(Read(bytes.NewReader(raw), name, ReadOptions{}))
		assert.Equal(t, []int32{0, 1}, d.Col)
		assert.Equal(t, []float64{2, 3}, d.Val)
		assert.Equal(t, []float64{1, -1}, d.Label)
	}
	const packed = "BZh91AY&SY\xc3\xff\x1c\x1b\x00\x00\x05\x59\x80\x00\x10\x00\x04\x70\x00\x20\x00\x00\x20\x20\x00" +
		"\x21\xa1\xa6\xd0\x86\x00\x7e\xa0\x23\x36\x8b\xb9\x22\x9c\x28\x48\x61\xff\x8e\x0d\x80"
	d := must(Read(strings.NewReader(packed), "e.csv.bz2", ReadOptions{}))
	assert.Equal(t, []float64{1, 2}, d.Val)
	many := compress([]byte(strings.Repeat("1 1:0.123 7:9\n-1 3:4\n", 5000)))
	_, err := Read(bytes.NewReader(many[:len(many)/2]), "torn", ReadOptions{})
	var se *SyntaxError
	require.ErrorAs(t, err, &se)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, "torn", se.File)
	assert.Positive(t, se.Line)
	many[len(many)-6] ^= 1 // the checksum
	_, err = Read(bytes.NewReader(many), "altered", ReadOptions{})
	require.ErrorIs(t, err, gzip.ErrChecksum)
	_, err = Read(strings.NewReader("\x1f\x8b\x09"), "header", ReadOptions{})
	requireSyntax(t, err, "header", 0, "gzip header")
	_, err = Open(filepath.Join(t.TempDir(), "absent"), ReadOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = Open(path, ReadOptions{})
	requireSyntax(t, err, path, 1, "no rows")
}

func TestReadMemory(t *testing.T) {
	const rows = 50_000
	var svm, csv bytes.Buffer
	csv.WriteString("a,b,c,d,e,class\n")
	for i := range rows {
		fmt.Fprintf(&svm, "%d 3:0.5 50:%d 16000000:1 16000001:0.25\n", i%2, i+1)
		fmt.Fprintf(&csv, "0,0,0,%d,0.25,%d\n", i+1, i%2)
	}
	for name, read := range map[string]func() (*Data, error){
		"LIBSVM": func() (*Data, error) { return ReadLIBSVM(bytes.NewReader(svm.Bytes()), "t", ReadOptions{}) },
		"CSV":    func() (*Data, error) { return ReadCSV(bytes.NewReader(csv.Bytes()), "t", ReadOptions{}) },
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := must(read())
		runtime.GC()
		runtime.ReadMemStats(&after)
		stored := float64(12*len(d.Col) + 16*d.Rows())
		assert.Less(t, float64(after.HeapAlloc)-float64(before.HeapAlloc), 1.5*stored, "%s: kept", name)
		assert.Less(t, float64(after.TotalAlloc)-float64(before.TotalAlloc), 10*stored+float64(1<<20), "%s: allocated in all", name)
		assert.Less(t, after.Mallocs-before.Mallocs, uint64(rows+2000), "%s: allocations", name)
		runtime.KeepAlive(d)
	}
}

// must is bileveltest.Must, which imports this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func compress(raw []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must(w.Write(raw))
	must(0, w.Close())
	return b.Bytes()
}

func TestRealData(t *testing.T) {
	shipped := must(Open(filepath.Join("..", "..", "..", "testdata", "breast_cancer.csv"), ReadOptions{LabelColumn: "diagnosis"}))
	minus, plus := countClasses(shipped)
	assert.Equal(t, []int{569, 30, 357, 212}, []int{shipped.Rows(), shipped.Dim, minus, plus})
	assert.Equal(t, []string{"benign", "malignant"}, shipped.Classes)
	assert.Equal(t, []any{"mean radius", 17.99}, []any{shipped.Features[0], shipped.Val[0]})
	dir := os.Getenv("STABLE_DATA")
	if dir == "" {
		t.Skip("STABLE_DATA, the folder of the LIBSVM data sets, is not set")
	}
	for _, c := range []struct {
		file                   string
		rows, dim, minus, plus int
		classes                []string
	}{
		{"australian/australian_scale.gz", 690, 14, 383, 307, []string{"-1", "1"}},
		{"australian/australian.gz", 690, 14, 383, 307, []string{"-1", "1"}},
		{"ijcnn1/ijcnn1.tst.gz", 91_701, 22, 82_989, 8_712, []string{"-1", "1"}},
		{"covtype/covtype.libsvm.binary.scale.gz", 581_012, 54, 297_711, 283_301, []string{"1", "2"}},
	} {
		if testing.Short() && c.rows > 1000 {
			continue
		}
		d := must(Open(filepath.Join(dir, filepath.FromSlash(c.file)), ReadOptions{}))
		require.NoError(t, d.Check())
		minus, plus := countClasses(d)
		assert.Equal(t, []int{c.rows, c.dim, c.minus, c.plus}, []int{d.Rows(), d.Dim, minus, plus}, c.file)
		assert.Equal(t, c.classes, d.Classes, c.file)
	}
}

func countClasses(d *Data) (minus, plus int) {
	plus = len(slices.DeleteFunc(slices.Clone(d.Label), func(b float64) bool { return b != 1 }))
	return d.Rows() - plus, plus
}

func mustCSV(t *testing.T, text string, opt ReadOptions) *Data {
	d := must(ReadCSV(strings.NewReader(text), "t", opt))
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

	assert.NotContains(t, d.Val, 0.0)
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
	assert.Equal(t, []string{`t:4: column "a", -2e+06`}, mustCSV(t, "k,a,b\nx,1,9\n\nz,-2e6,8\ny,1,8\n", ReadOptions{Drop: []string{"k"}, Impute: "mean"}).Lone)
	assert.Equal(t, []string{"b1", ""}, v.IDs)
	assert.Equal(t, []string{"", "b1", ""}, Join(v, v).Subset([]int{1, 2, 3}).IDs)
	assert.Nil(t, Join(u, v).IDs)
	w := mustCSV(t, "id\ta\tb\n1,234\t1,5\t0\n1.234\t2.5\t1\n", ReadOptions{ID: "id"})
	assert.Equal(t, []string{"1,234", "1.234"}, w.IDs)
	assert.Equal(t, [][]float64{{1.5}, {2.5}}, denseRows(w)[:2])
	mustCSV(t, "id\ta\tc\tb\n6,337\t1\t6,337\t0\n612\t2\t612\t1\n",
		ReadOptions{ID: "id", Drop: []string{"c"}}) // whose commas are nobody's
	w.IDs = w.IDs[:1]
	assert.ErrorContains(t, w.Check(), "1 names for 2 rows")

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
			got := must(ReadCSV(r, "t", ReadOptions{LabelColumn: "diagnosis", Dim: 2}))
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
	assert.Equal(t, []string{"1", "2", "3"}, append([]string{d.LabelName}, d.Features...))
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
