package tune

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

func table(sep string, labels ...string) string {
	if labels == nil {
		labels = []string{"no", "yes"}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	text := "age,income,bought\n"
	for i := range 40 {
		a := rng.NormFloat64()
		label := labels[0]
		if a+rng.NormFloat64()/2 > 0 {
			label = labels[1+i%(len(labels)-1)]
		}
		text += fmt.Sprintf("%.3f,%.3f,%s\n", a, rng.NormFloat64(), label)
	}
	return strings.ReplaceAll(text, ",", sep)
}

func line(text string, n int, by string) string {
	lines := strings.Split(text, "\n")
	lines[n-1] = by
	return strings.Join(lines, "\n")
}

func labelFirst(text, name string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		at := strings.LastIndex(line, ",")
		lines[i] = line[at+1:] + "," + line[:at]
	}
	lines[0] = name + lines[0][strings.Index(lines[0], ","):]
	return strings.Join(lines, "\n")
}

func replaceColumn(text string, a, b string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines[1:] {
		f := strings.Split(line, ",")
		f[1] = []string{a, b}[i%2]
		lines[i+1] = strings.Join(f, ",")
	}
	return strings.Join(lines, "\n")
}

func numbered(n int) (rows string) {
	for i := range n {
		rows += fmt.Sprintf("1,%d\n", i)
	}
	return rows
}

func TestAwkwardFiles(t *testing.T) {
	good := table(",")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(good))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var wide []byte
	for _, u := range utf16.Encode([]rune(good)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	for _, c := range []struct {
		name, text, want string // want: of the error; empty: it is read
		args             []string
	}{
		{"tabs.txt", table("\t"), "", nil},
		{"bars.csv", table("|"), "", nil},
		{"semicolons.csv", strings.ReplaceAll(table(";"), ".", ","), "", nil},
		{"bom.csv", "\ufeff" + strings.ReplaceAll(good, "\n", "\r\n"), "", nil},
		{"packed.csv.gz", zipped.String(), "", nil},
		{"torn.csv.gz", zipped.String()[:zipped.Len()-20], "torn.csv.gz:", nil},
		{"marked.csv", "\xff\xfe" + string(wide), "marked.csv:1: the text is UTF-16", nil},
		{"unmarked.csv", string(wide), "unmarked.csv: the first line holds a byte 0", nil},
		{"table.xlsx", "PK\x03\x04\x14\x00\x06", "table.xlsx: a spreadsheet", nil},
		{"list.json", `[{"age": 1}]`, "list.json: JSON, but", nil},
		{"unquoted.csv", line(good, 7, `1"2,3,no`), `unquoted.csv:7: bare " in non-quoted`, nil},
		{"headless.csv", good[strings.Index(good, "\n")+1:], "headless.csv:1: the first line holds numbers", nil},
		{"headless.csv", good[strings.Index(good, "\n")+1:], "", []string{"-headerless", "-label", "3", "-drop", "2"}},
		{"mac.csv", strings.ReplaceAll(good, "\n", "\r"), "mac.csv: its lines end in a carriage return alone", nil},
		{"nan.csv", line(good, 9, "NaN,2,no"), `nan.csv:9: column "age", "NaN": value is NaN (-impute`, nil},
		{"remark.csv", "# by hand\n" + good,
			`remark.csv:2: wrong number of fields: 3, and the header has 1: "# by hand"`, nil},
		{"ragged.csv", line(good, 5, "1,2,no,7"),
			`ragged.csv:5: wrong number of fields: 4, and the header has 3: "age", "income", "bought"`, nil},
		{"question.csv", line(good, 9, "?,2,no"), `question.csv:9: column "age", "?": missing value (-impute`, nil},
		{"question.csv", line(good, 9, "?,2,no"), "", []string{"-impute", "median"}},
		{"day.csv", line(good, 9, "2024-01-31,2,no"),
			`day.csv:9: column "age", "2024-01-31": not a number (-categorical`, nil},
		{"percent.csv", line(good, 9, "5,50%,no"), `percent.csv:9: column "income", "50%": not a number`, nil},
		{"infinite.csv", line(good, 9, "5,-Inf,no"), `infinite.csv:9: column "income", "-Inf": value is infinite`, nil},
		{"large.csv", line(good, 9, "98765432109876543210,1,no"), "", nil},
		{"nolabel.csv", line(good, 4, "1,2,"),
			`nolabel.csv:4: label column "bought": "": missing value (leave the rows without a label out`, nil},
		{"regress.csv", good, `regress.csv:2: label column "bought": "`, []string{"-loss", "squared"}},
		{"typo.csv", good, `no column is named "bougth"; there are "age", "income", "bought"`,
			[]string{"-label", "bougth"}},
		{"typo.csv", good, `no column is named "incme", to be dropped; there are "age", "income"`,
			[]string{"-drop", "incme"}},
		{"three.csv", table(",", "a", "b", "c"), "", nil},
		{"many.csv", "a,y\n" + numbered(70), `many.csv:66: label column "y": more than 64 classes (`, nil},
		{"three.csv", table(",", "a", "b", "c"), `no row has the label "d", which -class names`,
			[]string{"-class", "d"}},
		{"numbers.csv", table(",", "0", "1", "2"), "", []string{"-class", "0.0"}},
		{"one.csv", table(",", "yes", "yes"), "one.csv: all rows (40) are of one class", nil},
		{"few.csv", "a,b\n1,x\n2,y\n3,x\n", `few.csv: 1 rows of class "y", one of 2, are too few`, nil},
		{"empty.csv", "", "empty.csv:1: no header: the file is empty", nil},
		{"head.csv", "a,b\n", "head.csv:1: no rows", nil},
		{"rows.svm", "1 1:1\n-1 1:2\n", "rows.svm is LIBSVM text; -label", []string{"-label", "y"}},
		{"gap.svm", strings.Repeat("1 2:1 40:3\n-1 7:2\n", 20), "", nil},
		{"zero.svm", "1 0:1 1:2\n-1 0:2\n", "zero.svm:1: index 0: indices start at 1", nil},
		{"blanks.txt", "1 2.5 3\n0 1.5 2\n", `blanks.txt:1: the first line holds numbers`, nil},
		{"pair.svm", "1 2.5 3\n0 1.5 2\n", `pair.svm:1: "2.5" is not index:value (read as LIBSVM; a table`, nil},
		{"blanks.txt", strings.ReplaceAll(good, ",", "   "), "", nil},
		{"blanks.dat", strings.ReplaceAll(good[strings.Index(good, "\n")+1:], ",", " "), "", []string{"-headerless"}},
		{"trailing.csv", strings.ReplaceAll(good, "\n", ",\n"), "", nil},
		{"first.csv", labelFirst(good, "class"), `-label names the column of the label, where it is not the last)`, nil},
		{"first.csv", labelFirst(good, "class"), "", []string{"-label", "class"}},
		{"packed.zst", "\x28\xb5\x2f\xfd\x04\x58", "packed.zst: a zstd file", nil},
		{"packed.xz", "\xfd7zXZ\x00\x00", "packed.xz: an xz file", nil},
		{"weka.arff", "% remark\n@RELATION shop\n@attribute age numeric\n@data\n1,yes\n", "weka.arff: ARFF", nil},
		{"apart.csv", "a,b,class\n" + strings.Repeat("1,2,x\n2,1,y\n3,5,z\n", 4), "", nil},
		{"rank.svm", "1 qid:3 1:0.5\n", "rank.svm:1: qid: pairs of ranking data", nil},
	} {
		dir := t.TempDir()
		status, stdout, stderr := bench(context.Background(),
			append([]string{"tune", writeText(t, c.name, c.text), "-out", dir}, c.args...)...)
		if c.want == "" {
			assert.Zero(t, status, "%s: %s", c.name, stderr)
			assert.FileExists(t, filepath.Join(dir, "model.json"), c.name)
			continue
		}
		assert.NotZero(t, status, "%s: %s", c.name, stdout)
		assert.Contains(t, stderr, c.want)
	}
}

func TestTuneOneClass(t *testing.T) {
	path := writeText(t, "three.csv", table(",", "a", "b", "c"))
	m, model, stdout := tuneWith(t, path, "-class", "b")
	assert.Contains(t, stdout, `classes  "not b" and "b"`)
	assert.Equal(t, []string{"not b", "b"}, m.Classes)
	predicted, stderr := ok(t, "tune", "-apply", model, path)
	assert.Contains(t, stderr+predicted, "accuracy")
}

func TestTuneRowNames(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(table(",")), "\n")
	lines[0] = `"",` + lines[0]
	for i := range lines[1:] {
		lines[i+1] = fmt.Sprintf(`"%d",%s`, i+1, lines[i+1])
	}
	path := writeText(t, "named.csv", strings.Join(lines, "\n"))
	_, _, stdout := tuneWith(t, path)
	assert.Contains(t, stdout, `the first column has no name`)
	_, _, stdout = tuneWith(t, path, "-drop", "")
	assert.NotContains(t, stdout, `the first column has no name`)
	assert.Contains(t, stdout, "features 2,")
}

func TestTuneColumnsAreTold(t *testing.T) {
	good := strings.TrimSpace(table(","))
	const label, other = `label    "bought", the last column`, "warning  the first column is named"
	_, _, stdout := tuneWith(t, writeText(t, "plain.csv", good))
	assert.Contains(t, stdout, label)
	assert.NotContains(t, stdout, other)
	assert.NotContains(t, stdout, "constant ")
	_, _, stdout = tuneWith(t, writeText(t, "first.csv", strings.Replace(good, "age", "Class", 1)))
	assert.Contains(t, stdout, other+` "Class": -label "Class" if that is`)
	_, _, stdout = tuneWith(t, writeText(t, "named.csv", good), "-label", "bought")
	assert.NotContains(t, stdout, label)
	for text, name := range map[string]string{replaceColumn(good, "7", "7"): `"income"`, strings.Repeat("1 1:7 2:1\n0 1:7 2:2\n", 20): "1"} {
		path := writeText(t, "constant", text)
		_, _, stdout = tuneWith(t, path)
		assert.Contains(t, stdout, "constant 1 with one value in all these rows, which cannot help: "+name+"\n")
		stdout, _ := ok(t, "main", "-data", path, "-out", t.TempDir(), "-steps", "20")
		assert.Contains(t, stdout, "constant 1 with one value in all these rows, which cannot help: "+name+"\n")
	}
}

func TestTuneFarScales(t *testing.T) {
	for _, values := range [][2]string{{"1e-310", "0"}, {"1.7e308", "-1.7e308"}} {
		path := writeText(t, "far.csv", replaceColumn(table(","), values[0], values[1]))
		_, model, _ := tuneWith(t, path)
		_, stderr := ok(t, "tune", "-apply", model, path)
		var loss, accuracy float64
		_, err := fmt.Sscanf(stderr, "40 rows, loss %g, accuracy %g", &loss, &accuracy)
		require.NoError(t, err, stderr)
		assert.Less(t, loss, 0.5)
	}
}

func TestCheckpointSize(t *testing.T) {
	path := worth(t, 500, 5, 1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s := searchOn(t, options{Seed: 1, Solver: solverSAA, Lo: 1e-5, Hi: 10, Loss: "logistic"}, path)
	require.NoError(t, s.begin(1))
	_, err = s.engine.solver.Run(context.Background(), bilevel.Run{Steps: 1000})
	require.NoError(t, err)
	var saved bytes.Buffer
	require.NoError(t, s.engine.solver.Save(&saved))
	assert.Less(t, saved.Len(), len(text)*3/4)
}

func TestTuneSameFile(t *testing.T) {
	path := writeText(t, "twice.csv", table(","))
	_, _, stdout := tuneWith(t, path, path)
	assert.Contains(t, stdout, "warning  "+path+" is "+path+" once more")
	_, _, stdout = tuneWith(t, path, writeText(t, "other.csv", table(",")+"1,2,no\n"))
	assert.NotContains(t, stdout, "once more")
}
