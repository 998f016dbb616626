package hyperopt

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadCSV reads rows of numbers under a header line that names the columns (RFC 4180 quoting; a byte
// order mark and blanks around fields are accepted; blank lines are skipped). Fields are separated
// by commas, semicolons, tabs or bars, whichever the header holds most of. Where they are semicolons, a
// number may have a decimal comma. Text and missing cells are errors unless ReadOptions says what to
// make of them.
// The column ReadOptions.LabelColumn, by default the last, is the label, all others are features,
// in the order of the header; their names are returned in Data.Features. Zeros are dropped.
//
// Labels are as in ReadLIBSVM, or any two names (malignant, benign), of which the one that sorts
// first becomes −1. In a file with one named class only, that is −1. Data.Classes reports the map.
//
// The text is UTF-8. A name of a column or of a class that is not valid UTF-8 is read as ISO 8859-1,
// byte by byte, so that every name of Data is valid UTF-8 and survives JSON.
//
// name stands in messages. Anything wrong is a *SyntaxError with the line: a header that is all
// numbers; two columns of one name, unless it is empty; a label column that is absent; a row with
// another number of fields than the header; a field that is missing (empty, NA, N/A, null or ?),
// NaN, infinite or no number; a third label; a bare quote; text in UTF-16; a record above 16 MiB; a
// file without rows; an error of r.
//
// Memory: as ReadLIBSVM, and the text of one record.
func ReadCSV(r io.Reader, name string, opt ReadOptions) (*Data, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	lab, err := newLabels(&opt)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReader(r)
	switch bom, _ := b.Peek(3); {
	case bytes.HasPrefix(bom, []byte("\xef\xbb\xbf")):
		b.Discard(3)
	case bytes.HasPrefix(bom, []byte("\xff\xfe")), bytes.HasPrefix(bom, []byte("\xfe\xff")):
		return nil, &SyntaxError{File: name, Line: 1, Msg: "the text is UTF-16: save the file as UTF-8"}
	}
	limited := recordReader{r: b}
	rd := csv.NewReader(&limited)
	rd.ReuseRecord = true
	rd.Comma = separator(b)
	rd.TrimLeadingSpace = rd.Comma != '\t'

	d := &Data{Name: name, RowPtr: []int{0}}
	var wide table
	var keep []int
	header, err := rd.Read()
	if err == io.EOF {
		return nil, &SyntaxError{File: name, Line: 1, Msg: "no header: the file is empty"}
	}
	target := 0
	if err == nil {
		target, err = d.header(header, &opt)
	}
	if opt.Unlabelled {
		target = -1
	} else if err == nil {
		lab.column = strings.Clone(toUTF8(strings.TrimSpace(header[target])))
	}
	if err == nil && opt.wide() {
		keep, err = wide.header(header, target, &opt)
	}
	decimalComma := rd.Comma == ';'
	if err != nil {
		return nil, syntaxError(name, 1, err)
	}
	columns, headline := len(header), listed(cleaned(header))
	line := 1
	for {
		limited.n = 0
		record, err := rd.Read()
		if err == io.EOF {
			break
		}
		switch {
		case err == nil:
			line, _ = rd.FieldPos(0)
			if decimalComma {
				decimalPoints(record)
			}
			if !opt.wide() {
				err = d.record(record, target, &lab)
				break
			}
			if target < 0 {
				d.Label = append(d.Label, 0)
			} else if err = d.label(record[target], &lab); err != nil {
				break
			}
			wide.add(record, keep, line)
		case errors.Is(err, csv.ErrFieldCount):
			line, _ = rd.FieldPos(0)
			err = fmt.Errorf("wrong number of fields: %d, and the header has %d: %s", len(record), columns, headline)
		}
		if err != nil {
			return nil, syntaxError(name, line, err)
		}
	}
	if d.Rows() == 0 {
		return nil, &SyntaxError{File: name, Line: line, Msg: "no rows"}
	}
	if opt.wide() {
		if err := wide.finish(d, &opt); err != nil {
			at := 0
			if l := (*lineError)(nil); errors.As(err, &l) {
				at = l.line
			}
			return nil, syntaxError(name, at, err)
		}
	}
	if !opt.Unlabelled {
		d.Classes = lab.finish(d.Label)
	}
	return d, nil
}

// cleaned returns copies of names, trimmed and in UTF-8.
func cleaned(names []string) []string {
	clean := make([]string, len(names)) // copies: the reader uses the memory of names again
	for j, s := range names {
		clean[j] = strings.Clone(toUTF8(strings.TrimSpace(s)))
	}
	return clean
}

// listed shows the first of some names.
func listed(names []string) string {
	const most = 10
	var words []string
	for _, s := range names[:min(most, len(names))] {
		words = append(words, quote(s))
	}
	if len(names) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// header takes the names of the features and returns the position of the label.
func (d *Data) header(names []string, opt *ReadOptions) (target int, err error) {
	numbers := 0 // whole numbers may be names, as some programs write them
	for _, s := range names {
		v, err := parseFloat(strings.TrimSpace(s))
		if err == nil {
			numbers++
		}
		if numbers == len(names) || err == nil && v != math.Trunc(v) {
			return 0, errors.New("the first line holds numbers: a header with the names of the columns is missing")
		}
	}
	seen := map[string]bool{}
	clean := cleaned(names)
	for _, s := range clean {
		if s != "" && seen[s] {
			return 0, fmt.Errorf("two columns are named %s", quote(s))
		}
		seen[s] = true
	}
	target = len(clean) - 1
	if opt.LabelColumn != "" {
		if target = slices.Index(clean, toUTF8(opt.LabelColumn)); target < 0 {
			return 0, fmt.Errorf("no column is named %s; there are %s", quote(opt.LabelColumn), listed(clean))
		}
	}
	d.Dim = len(clean) - 1
	if opt.Dim != 0 && opt.Dim != d.Dim && !opt.wide() {
		return 0, fmt.Errorf("%d columns of features, want %d", d.Dim, opt.Dim)
	}
	d.Features = slices.Delete(clean, target, target+1)
	return target, nil
}

// separator finds what separates the fields of the first line.
func separator(b *bufio.Reader) rune {
	head, _ := b.Peek(1 << 12)
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range []rune{';', '\t', '|'} {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// decimalPoints replaces the decimal commas of numbers by points.
func decimalPoints(fields []string) {
	for j, s := range fields {
		if strings.Count(s, ",") != 1 || strings.Contains(s, ".") {
			continue
		}
		if t := strings.Replace(s, ",", ".", 1); isNumber(strings.TrimSpace(t)) {
			fields[j] = t
		}
	}
}

func isNumber(s string) bool {
	_, err := parseFloat(s)
	return err == nil
}

// header returns the positions of the columns that are kept, and names them.
func (t *table) header(names []string, target int, opt *ReadOptions) (keep []int, err error) {
	drop := map[string]bool{}
	for _, name := range opt.Drop {
		drop[toUTF8(name)] = true
	}
	for j, s := range names {
		name := strings.Clone(toUTF8(strings.TrimSpace(s)))
		switch {
		case drop[name] && j == target:
			return nil, fmt.Errorf("column %s is the label, and cannot be dropped", quote(name))
		case j == target:
		case drop[name]:
			delete(drop, name)
		default:
			keep, t.names = append(keep, j), append(t.names, name)
		}
	}
	for name := range drop {
		return nil, fmt.Errorf("no column is named %s: it cannot be dropped; there are %s",
			quote(name), listed(t.names))
	}
	return keep, nil
}

// finish turns the table into the rows of d.
func (t *table) finish(d *Data, opt *ReadOptions) (err error) {
	d.Columns = opt.Columns
	if d.Columns == nil {
		if d.Columns, err = t.measure(opt); err != nil {
			return err
		}
	} else if len(d.Columns) != len(t.names) {
		return fmt.Errorf("%d columns of features, want %d", len(t.names), len(d.Columns))
	}
	for k, c := range d.Columns {
		if c.Name != t.names[k] {
			return fmt.Errorf("column %d is %s, want %s", k+1, quote(t.names[k]), quote(c.Name))
		}
	}
	return t.encode(d, d.Columns)
}

// label appends the label of a row.
func (d *Data) label(cell string, lab *labels) error {
	v, err := lab.cell(strings.TrimSpace(cell))
	if err != nil {
		return fmt.Errorf("label column %s: %w", quote(lab.column), err)
	}
	d.Label = append(d.Label, v)
	return nil
}

// cell returns the code of a label as it stands in a file.
func (l *labels) cell(s string) (label float64, err error) {
	v, err := parseFloat(s)
	if err == nil {
		label, err = l.number(v)
	} else if err == errNumber && !l.regression {
		label, err = l.word(toUTF8(s))
	}
	switch err {
	case errMissing, errNaN, errInf, errRange, errNumber:
		err = fmt.Errorf("%s: %w", quote(s), err)
	}
	return label, err
}

// record appends one row.
func (d *Data) record(fields []string, target int, lab *labels) error {
	if err := d.label(fields[target], lab); err != nil {
		return err
	}
	for j, s := range fields {
		if j == target {
			continue
		}
		col := j
		if j > target {
			col--
		}
		s = strings.TrimSpace(s)
		v, err := parseFloat(s)
		if err != nil {
			return cellError(d.Features[col], s, err)
		}
		if v != 0 {
			d.Col = append(d.Col, int32(col))
			d.Val = append(d.Val, v)
		}
	}
	d.RowPtr = append(d.RowPtr, len(d.Col))
	return nil
}

// toUTF8 returns s if it is valid UTF-8, and else reads each byte as the character of ISO 8859-1.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i := range runes {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

const maxRecord = 16 << 20

// recordReader fails when more than maxRecord bytes are read for one record, so that a quote that
// never closes, or a file without a newline, cannot fill the memory. It marks its errors as those
// of the reader.
type recordReader struct {
	r io.Reader
	n int // bytes since the last record
}

func (r *recordReader) Read(p []byte) (int, error) {
	if r.n > maxRecord {
		return 0, &readError{fmt.Errorf("a record is longer than %d bytes", maxRecord)}
	}
	n, err := r.r.Read(p)
	r.n += n
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}
