package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ReadCSV reads rows of numbers under a header of names (RFC 4180 quoting), separated by commas,
// semicolons, tabs or bars, whichever the header holds most of. Column ReadOptions.LabelColumn is
// the label, the others are features, in the header's order unless ReadOptions.Features says
// another. name stands in messages.
//
// Labels are as in ReadLIBSVM, or up to two names, of which the first in order becomes −1;
// Data.Classes reports them.
//
// Errors: a *SyntaxError with the line for a header all of numbers; a repeated name; an absent
// label column (ErrNoLabel where the features alone are there); a row of another length than the
// header; a field that is missing (empty, NA, N/A, null or ?), NaN, infinite or no number, unless
// ReadOptions provides for it; a third label; a bare quote; UTF-16; a record above 16 MiB; no rows;
// an error of r. Memory: as ReadLIBSVM, and one record.
//
// # How it works
//
// A byte order mark, blanks around fields and blank lines are skipped. Between semicolons a number
// may have a decimal comma. A name that is not valid UTF-8 is read as ISO 8859-1, so that it
// survives JSON. Zeros are dropped.
func ReadCSV(r io.Reader, name string, opt ReadOptions) (*Data, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	lab, err := newLabels(&opt)
	if err != nil {
		return nil, err
	}
	b, err := unmarked(r)
	if err != nil {
		return nil, syntaxError(name, 1, err)
	}
	limited := recordReader{r: b}
	rd := csv.NewReader(&limited)
	rd.ReuseRecord = true
	rd.Comma = separator(b)
	rd.TrimLeadingSpace = rd.Comma != '\t'

	d := &Data{Name: name, RowPtr: []int{0}}
	var wide table
	record, err := rd.Read()
	if err == io.EOF {
		return nil, &SyntaxError{File: name, Line: 1, Msg: "no header: the file is empty"}
	}
	var l *layout
	if err == nil {
		l, err = newLayout(record, &opt)
	}
	if err != nil {
		return nil, syntaxError(name, 1, err)
	}
	if l.target >= 0 {
		lab.column = l.names[l.target]
	}
	d.Features, wide.names = l.pick(l.keep), l.pick(l.keep)
	d.Dim = len(d.Features)
	line := 1
	for first := opt.Headerless; ; first = false {
		limited.n = 0
		if !first {
			record, err = rd.Read()
		}
		if err == io.EOF {
			break
		}
		switch {
		case err == nil:
			line, _ = rd.FieldPos(0)
			if rd.Comma == ';' {
				decimalPoints(record)
			}
			if err = d.label(record, l, &lab); err != nil {
				break
			}
			if opt.wide() {
				wide.add(record, l.keep, line)
			} else {
				err = d.record(record, l)
			}
		case errors.Is(err, csv.ErrFieldCount):
			line, _ = rd.FieldPos(0)
			err = fmt.Errorf("wrong number of fields: %d, and the header has %d: %s",
				len(record), len(l.names), listed(l.names))
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

func (t *table) finish(d *Data, opt *ReadOptions) (err error) {
	d.Columns = opt.Columns
	if d.Columns == nil {
		if d.Columns, err = t.measure(opt); err != nil {
			return err
		}
	}
	return t.encode(d, d.Columns)
}

func (d *Data) label(fields []string, l *layout, lab *labels) error {
	if l.target < 0 {
		d.Label = append(d.Label, 0)
		return nil
	}
	v, err := labelOf(lab, strings.TrimSpace(fields[l.target]))
	if err != nil {
		return marked{fmt.Errorf("label column %s: %w", quote(lab.column), err), ErrLabel}
	}
	d.Label = append(d.Label, v)
	return nil
}

func (d *Data) record(fields []string, l *layout) error {
	for k, j := range l.keep {
		s := strings.TrimSpace(fields[j])
		v, err := parseFloat(s)
		if err != nil {
			return cellError(l.names[j], s, err)
		}
		if v != 0 {
			d.Col = append(d.Col, int32(k))
			d.Val = append(d.Val, v)
		}
	}
	d.RowPtr = append(d.RowPtr, len(d.Col))
	return nil
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

const maxRecord = 16 << 20

// recordReader fails after maxRecord bytes of one record, so that a quote that never closes cannot
// fill the memory. It marks its errors as the reader's.
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
