package data

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadCSV reads rows of numbers under a header of names (RFC 4180 quoting), separated by commas,
// semicolons, tabs or bars, whichever the header holds most of, or by blanks; name stands in messages.
// Labels are as in ReadLIBSVM, or names, in order. Blank lines, blanks around fields, an empty last
// field and, above the header, "sep=" and lines that begin with # are skipped; a single one with as
// many fields as the next, which has numbers, is the header. A feature may be true or false, a number
// have a decimal comma where none separates. What is not UTF-8 is ISO 8859-1.
//
// Errors: a *SyntaxError with the line for a header of numbers; a repeated name; an absent column
// (ErrNoLabel for the label's); a row of another length; a field that is missing (empty, NA, N/A, null
// or ?), NaN, infinite or no number, unless ReadOptions provides for it; a third label; a bare quote;
// UTF-16; a record above 16 MiB; no rows; an error of r. Memory: as ReadLIBSVM.
func ReadCSV(r io.Reader, name string, opt ReadOptions) (*Data, error) {
	b, lab, err := begin(r, name, &opt)
	if err != nil {
		return nil, err
	}
	d := &Data{Name: name, RowPtr: []int{0}}
	rd := newRecords(b)
	if err := d.readRecords(rd, lab, &opt); err != nil {
		return nil, syntaxError(name, rd.line, err)
	}
	d.Classes, d.Lone = lab.finish(d.Label, opt.Unlabelled), d.lone(rd.lines)
	return d, nil
}

func (d *Data) readRecords(rd *records, lab *labels, opt *ReadOptions) error {
	head, err := rd.next()
	switch {
	case err == io.EOF:
		return errors.New("no header: the file is empty")
	case err != nil:
		return err
	}
	head = cleaned(head)
	top := rd.line
	record, next := rd.next() // an error comes after those of the header
	if n := len(head) - 1; n > 0 && head[n] == "" && (len(record) <= n || strings.TrimSpace(record[n]) == "") {
		head = head[:n]
	}
	line := rd.line
	rd.line = top
	names, commas := slices.Clone(head), rd.csv.Comma != ','
	if commas {
		decimalPoints(names)
	}
	l, err := newLayout(names, opt)
	if err != nil {
		return err
	}
	rd.layout, l.commas = l, commas
	for _, j := range l.keep {
		l.numerals = append(l.numerals, numerals{column: j})
	}
	if l.target >= 0 {
		d.LabelName, l.numerals = l.names[l.target], append(l.numerals, numerals{column: l.target})
	}
	d.Features, d.Dim = pick(l.names, l.keep), len(l.keep)
	if opt.Headerless {
		if err := d.record(head, rd, lab, opt); err != nil {
			return err
		}
	}
	for rd.line = line; next != io.EOF; record, next = rd.next() {
		if err = next; err == nil {
			err = d.record(record, rd, lab, opt)
		}
		if err != nil {
			return err
		}
	}
	if len(d.Label) == 0 {
		return errors.New("no rows")
	}
	for _, c := range l.numerals {
		k := strings.Count(c.group, ".")
		other := cmp.Or([]string{c.whole, ""}[k], l.marked[1-k])
		if c.group != "" && !c.decimal[k] && other != "" {
			rd.line = c.line
			return marked{fmt.Errorf("column %s holds %q, but elsewhere %q: a mark before decimals, or between thousands? "+
				"want digits alone, with a point before decimals", quote(l.names[c.column]), c.group, other), ErrCell}
		}
	}
	if opt.wide() {
		rd.line = 0 // an error that is not of a cell has none
		return rd.finish(d, opt)
	}
	return nil
}

// lone returns the cells that are a million times as large as all others of their columns.
func (d *Data) lone(lines []int) (cells []string) {
	top, at := make([][2]float64, d.Dim), make([]int, d.Dim)
	for e, j := range d.Col {
		if v := math.Abs(d.Val[e]); v > top[j][0] {
			top[j], at[j] = [2]float64{v, top[j][0]}, e
		} else {
			top[j][1] = max(top[j][1], v)
		}
	}
	for j, t := range top {
		if i, _ := slices.BinarySearch(d.RowPtr, at[j]+1); t[0]/1e6 > t[1] && t[1] > 0 {
			cells = append(cells, fmt.Sprintf("%s:%d: column %s, %g", d.Name, lines[i-1], quote(d.Features[j]), d.Val[at[j]]))
		}
	}
	return cells
}

const maxRecord = 16 << 20

type records struct {
	csv    *csv.Reader
	limit  io.LimitedReader // of the bytes of a record: a quote that never closes cannot fill the memory
	line   int              // of the last record, or of an error
	layout *layout
	lines  []int      // of the rows
	cells  [][]string // of a table whose columns are to be measured
}

func newRecords(b *bufio.Reader) *records {
	rd, text := &records{line: 1}, io.Reader(b)
	above, sep := skipRemarks(b), separator(b)
	if sep == ' ' {
		text = &tabsToBlanks{r: b}
	}
	rd.limit.R = io.MultiReader(strings.NewReader(above), text)
	rd.csv = csv.NewReader(&rd.limit)
	rd.csv.ReuseRecord, rd.csv.FieldsPerRecord = true, -1
	rd.csv.Comma, rd.csv.TrimLeadingSpace = sep, sep != '\t'
	return rd
}

func (rd *records) next() ([]string, error) {
	rd.limit.N = maxRecord
	record, err := rd.csv.Read()
	if rd.limit.N <= 0 {
		err = fmt.Errorf("a record is longer than %d bytes", maxRecord)
	}
	if err != nil {
		var syntax *csv.ParseError
		if err != io.EOF && !errors.As(err, &syntax) {
			err = &readError{err}
		}
		return nil, err
	}
	rd.line, _ = rd.csv.FieldPos(0)
	if n := len(record) - 1; n > 0 && rd.csv.Comma == ' ' && record[n] == "" { // a blank at the end of the line
		record = record[:n]
	}
	return record, nil
}

// skipRemarks discards the lines above the header, and returns their ends, which count.
func skipRemarks(b *bufio.Reader) (ends string) {
	for {
		head, _ := b.Peek(1 << 12)
		first, rest, more := bytes.Cut(head, []byte("\n"))
		second, _, _ := bytes.Cut(rest, []byte("\n"))
		isSep := bytes.HasPrefix(first, []byte("sep=")) && len(bytes.TrimSpace(first)) == len("sep=;")
		if !more || !isSep && (!bytes.HasPrefix(first, []byte("#")) || ends == "" && heads(first, second)) {
			return ends
		}
		b.Discard(len(first) + 1)
		ends += "\n"
	}
}

// heads says that a second line has as many fields as a first one, and a number among them.
func heads(first, second []byte) bool {
	sep := separator(bufio.NewReader(bytes.NewReader(first)))
	fields := strings.Split(unquoted(second), string(sep))
	decimalPoints(fields)
	return len(fields) == len(strings.Split(unquoted(first), string(sep))) && slices.ContainsFunc(fields, func(s string) bool {
		_, err := parseFloat(strings.TrimSpace(s))
		return err == nil
	})
}

// separator is what the first line holds most of; a blank if none, and the second has as many words.
func separator(b *bufio.Reader) rune {
	head, _ := b.Peek(1 << 12)
	first, rest, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	line := unquoted(first)
	most := slices.MaxFunc([]rune(",;\t|"), func(a, b rune) int {
		return strings.Count(line, string(a)) - strings.Count(line, string(b))
	})
	n := len(strings.Fields(line))
	if !strings.ContainsRune(line, most) && n > 1 && n == len(strings.Fields(unquoted(second))) {
		return ' '
	}
	return most
}

func unquoted(line []byte) (s string) {
	for i, part := range strings.Split(string(line), `"`) {
		if i%2 == 1 {
			part = "q"
		}
		s += part
	}
	return s
}

// tabsToBlanks turns tabs outside of quotes into blanks.
type tabsToBlanks struct {
	r      io.Reader
	quoted bool
}

func (b *tabsToBlanks) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for i, c := range p[:n] {
		if b.quoted = b.quoted != (c == '"'); c == '\t' && !b.quoted {
			p[i] = ' '
		}
	}
	return n, err
}

func decimalPoints(fields []string) {
	for j, s := range fields {
		t := strings.Replace(s, ",", ".", 1)
		if _, err := parseFloat(strings.TrimSpace(t)); err == nil {
			fields[j] = t
		}
	}
}

// numerals tell a column's decimal marks from those between thousands.
type numerals struct {
	column       int
	group, whole string  // as 6,337 or 6.337, and 612
	line         int     // of group
	decimal      [2]bool // as 0,5 and 0.5
}

var grouped = regexp.MustCompile(`^[+-]?[1-9]\d?\d?[,.]\d{3}$`)

func (l *layout) note(fields []string, line int) {
	for j := range l.numerals {
		c := &l.numerals[j]
		s := strings.TrimSpace(fields[c.column])
		mark := strings.Trim(s, "+-0123456789")
		k := strings.Index(",.", mark)
		switch {
		case k < 0:
		case mark == "" && strings.Trim(s, "+-0") != "":
			c.whole = s
		case mark == "":
		case grouped.MatchString(s):
			c.group, c.line, l.marked[k] = s, line, s
		default:
			c.decimal[k], l.marked[k] = true, s
		}
	}
}

func (d *Data) record(fields []string, rd *records, lab *labels, opt *ReadOptions) error {
	l, n := rd.layout, len(rd.layout.names)
	if n > 1 && len(fields) == 1 && strings.TrimSpace(fields[0]) == "" {
		return nil
	}
	if len(fields) != n && !(len(fields) == n+1 && strings.TrimSpace(fields[n]) == "") {
		return fmt.Errorf("wrong number of fields: %d, and the header has %d: %s", len(fields), n, listed(l.names))
	}
	if l.id >= 0 {
		d.IDs = append(d.IDs, cleaned(fields[l.id:l.id+1])...)
	}
	if l.commas {
		l.note(fields, rd.line)
		decimalPoints(fields)
	}
	label, err := 0.0, error(nil)
	if l.target >= 0 {
		if label, err = labelOf(lab, strings.TrimSpace(fields[l.target])); err != nil {
			return marked{fmt.Errorf("label column %s: %w", quote(d.LabelName), err), ErrLabel}
		}
	}
	d.Label, rd.lines = append(d.Label, label), append(rd.lines, rd.line)
	if opt.wide() {
		rd.cells = append(rd.cells, cleaned(pick(fields, l.keep)))
		return nil
	}
	for k, j := range l.keep {
		s := strings.TrimSpace(fields[j])
		v, err := parseCell(s)
		if err != nil {
			return cellError(l.names[j], s, err)
		}
		if v != 0 {
			d.Col, d.Val = append(d.Col, int32(k)), append(d.Val, v)
		}
	}
	d.RowPtr = append(d.RowPtr, len(d.Col))
	return nil
}

func cleaned(fields []string) []string {
	clean := make([]string, len(fields))
	for j, s := range fields {
		clean[j] = strings.Clone(toUTF8(strings.TrimSpace(s)))
	}
	return clean
}

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
