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

// ReadCSV reads comma-separated rows of numbers under a header line that names the columns (RFC
// 4180 quoting; a byte order mark and blanks around fields are accepted; blank lines are skipped).
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
	rd.TrimLeadingSpace = true

	d := &Data{Name: name, RowPtr: []int{0}}
	header, err := rd.Read()
	if err == io.EOF {
		return nil, &SyntaxError{File: name, Line: 1, Msg: "no header: the file is empty"}
	}
	target := 0
	if err == nil {
		target, err = d.header(header, &opt)
	}
	if err != nil {
		return nil, syntaxError(name, 1, err)
	}
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
			err = d.record(record, target, &lab)
		case errors.Is(err, csv.ErrFieldCount):
			line, _ = rd.FieldPos(0)
			err = fmt.Errorf("wrong number of fields: %d, and the header has %d", len(record), d.Dim+1)
		}
		if err != nil {
			return nil, syntaxError(name, line, err)
		}
	}
	if d.Rows() == 0 {
		return nil, &SyntaxError{File: name, Line: line, Msg: "no rows"}
	}
	d.Classes = lab.finish(d.Label)
	return d, nil
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
	clean := make([]string, len(names)) // copies: the reader uses the memory of names again
	for j, s := range names {
		clean[j] = strings.Clone(toUTF8(strings.TrimSpace(s)))
		if s := clean[j]; s != "" && seen[s] {
			return 0, fmt.Errorf("two columns are named %s", quote(s))
		}
		seen[clean[j]] = true
	}
	target = len(clean) - 1
	if opt.LabelColumn != "" {
		if target = slices.Index(clean, toUTF8(opt.LabelColumn)); target < 0 {
			return 0, fmt.Errorf("no column is named %s", quote(opt.LabelColumn))
		}
	}
	d.Dim = len(clean) - 1
	if opt.Dim != 0 && opt.Dim != d.Dim {
		return 0, fmt.Errorf("%d columns of features, want %d", d.Dim, opt.Dim)
	}
	d.Features = slices.Delete(clean, target, target+1)
	return target, nil
}

// record appends one row.
func (d *Data) record(fields []string, target int, lab *labels) error {
	var label float64
	for j, s := range fields {
		s = strings.TrimSpace(s)
		v, err := parseFloat(s)
		col := j
		switch {
		case j == target:
			if err == nil {
				label, err = lab.number(v)
			} else if err == errNumber && !lab.regression {
				label, err = lab.word(toUTF8(s))
			}
			if err != nil {
				return fmt.Errorf("label: %w", err)
			}
			continue
		case err != nil:
			return fmt.Errorf("field %d, %s: %w", j+1, quote(s), err)
		case j > target:
			col--
		}
		if v != 0 {
			d.Col = append(d.Col, int32(col))
			d.Val = append(d.Val, v)
		}
	}
	d.Label = append(d.Label, label)
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
		return 0, &readError{fmt.Errorf("a record of more than %d bytes", maxRecord)}
	}
	n, err := r.r.Read(p)
	r.n += n
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}
