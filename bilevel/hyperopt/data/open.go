package data

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// MaxIndex is the largest feature index and number of features: a dense vector takes 128 MiB.
const MaxIndex = 1 << 24

// ReadOptions says how to read a file; the zero value reads a classification set.
type ReadOptions struct {
	Dim        int      // number of features, at most MaxIndex; 0: as the file has
	Regression bool     // labels are numbers; else two classes
	Classes    []string // the spelling of the labels, as a first file's Data.Classes; default: found
	Several    bool     // there may be 64 classes; from three on their labels are 0, 1, …
	Class      string   // this label is +1, all others −1; before Classes
	Unlabelled bool     // labels are absent or ignored, and all 0

	// The others are for CSV files.
	LabelColumn string   // default: the last column, or what Features or Columns leave over
	Drop        []string // columns to leave out
	ID          string   // the column that becomes Data.IDs
	Headerless  bool     // there is no header, and columns are called 1, 2, …
	Categorical bool     // columns of text become indicators: see Column
	Impute      string   // "median" or "mean" fills missing numbers, the most frequent text missing ones

	// Features, a first file's Data.Features, are the columns that are features, in order. The label
	// and those of Drop may be there; with Unlabelled, any others.
	Features []string

	// Columns, a first file's Data.Columns, does the same, and fixes what would be measured; Impute
	// then fills cells with texts that the Levels lack, too.
	Columns []Column
}

// Open reads a file by Read; its errors are those of os.Open, too.
func Open(path string, opt ReadOptions) (*Data, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path, opt)
}

// Read reads LIBSVM or CSV text, plain, gzip or bzip2. A name in .csv or .tsv (before .gz, .bz2) is
// CSV; in .svm, .libsvm or .svmlight, LIBSVM; any other is CSV if its first line that is no comment
// holds a comma, semicolon or bar, or several words and no colon. Errors: those of ReadLIBSVM and
// ReadCSV; a *SyntaxError for another kind of file.
func Read(r io.Reader, name string, opt ReadOptions) (*Data, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, _ := b.Peek(3)
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, &SyntaxError{File: name, Msg: "gzip header", Err: err}
		}
		b = bufio.NewReaderSize(z, 1<<16)
	} else if string(magic) == "BZh" {
		b = bufio.NewReaderSize(bzip2.NewReader(b), 1<<16)
	}
	head, _ := b.Peek(1 << 12)
	if msg := foreign(head); msg != "" {
		return nil, &SyntaxError{File: name, Msg: msg}
	}
	if isCSV(name, head) {
		return ReadCSV(b, name, opt)
	}
	return ReadLIBSVM(b, name, opt)
}

var foreigners = [][2]string{
	{"PK\x03\x04", "a spreadsheet or another zip file: save the table as CSV text"},
	{"\x28\xb5\x2f\xfd", "a zstd file: unpack it first (zstd -d)"},
	{"\xfd7zXZ", "an xz file: unpack it first (xz -d)"},
	{"PAR1\x15", "a Parquet file: save the table as CSV text"},
	{"{", "JSON, but this wants CSV or LIBSVM text"},
	{"[", "JSON, but this wants CSV or LIBSVM text"},
	{"<!", "HTML or XML, but this wants CSV or LIBSVM text"},
	{"<?xml", "XML, but this wants CSV or LIBSVM text"},
}

// bracketed is a cell that begins with brackets: JSON has nothing behind them.
var bracketed = regexp.MustCompile(`^\[[^][{}\n]*\][ \t]*[^ \t\r\n]`)

func foreign(head []byte) string {
	text := bytes.TrimLeft(head, " \t\r\n")
	for _, f := range foreigners {
		if bytes.HasPrefix(text, []byte(f[0])) && !bracketed.Match(text) {
			return f[1]
		}
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")): // UTF-16, with a mark
	case bytes.Contains(append([]byte("\n"), bytes.ToLower(head)...), []byte("\n@relation")):
		return "ARFF: without the lines that begin with @ or % it is CSV text without a header"
	case !bytes.Contains(head, []byte("\n")) && bytes.Contains(bytes.TrimRight(head, "\r"), []byte("\r")):
		return "its lines end in a carriage return alone, as on old Macs: save it with line feeds"
	case bytes.ContainsRune(line, 0):
		return "the first line holds a byte 0: a binary file, or UTF-16; save the table as UTF-8 text"
	}
	return ""
}

func begin(r io.Reader, name string, opt *ReadOptions) (*bufio.Reader, *labels, error) {
	lab, err := newLabels(opt)
	switch {
	case opt.Dim < 0 || opt.Dim > MaxIndex:
		err = fmt.Errorf("data: ReadOptions.Dim: %d is not in 0 … %d", opt.Dim, MaxIndex)
	case opt.Impute != "" && opt.Impute != "median" && opt.Impute != "mean":
		err = fmt.Errorf("data: ReadOptions.Impute: %q, want median or mean", opt.Impute)
	}
	if err != nil {
		return nil, nil, err
	}
	opt.Drop, opt.ID, opt.LabelColumn = cleaned(opt.Drop), toUTF8(opt.ID), toUTF8(opt.LabelColumn)
	b := bufio.NewReader(r)
	switch mark, _ := b.Peek(3); { // an error comes again with the next read
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		b.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return nil, nil, syntaxError(name, 1, errors.New("the text is UTF-16 or UTF-32: save the file as UTF-8"))
	}
	return b, lab, nil
}

var remark = regexp.MustCompile("#.*")

func isCSV(name string, head []byte) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".bz2")
	switch filepath.Ext(name) {
	case ".csv", ".tsv":
		return true
	case ".svm", ".libsvm", ".svmlight":
		return false
	}
	line, _, _ := bytes.Cut(bytes.TrimLeft(remark.ReplaceAll(head, nil), "\ufeff \t\r\n"), []byte("\n"))
	return bytes.ContainsAny(line, ",;|") || len(bytes.Fields(line)) > 1 && !bytes.Contains(line, []byte(":"))
}

const maxLine = 64 << 20

// ReadLIBSVM reads rows of LIBSVM (SVMlight) text,
//
//	label index:value index:value …
//
// with ascending indices from 1 and comments after #; name stands in messages. Of two labels the smaller
// becomes −1; of a single one, 1 or 2 becomes +1, any other −1. Zeros are dropped, their index counts for Dim.
//
// Errors: a *SyntaxError with the line for an index out of order or range; a value that is missing,
// NaN, infinite or no number; a torn pair; a third label; qid: pairs; a line above 64 MiB; UTF-16;
// no rows; an error of r. Memory: 12 bytes an entry and 16 a row, 2.5 times that while slices grow.
func ReadLIBSVM(r io.Reader, name string, opt ReadOptions) (*Data, error) {
	b, lab, err := begin(r, name, &opt)
	if err != nil {
		return nil, err
	}
	d := &Data{Name: name, Dim: opt.Dim, RowPtr: []int{0}}
	s := bufio.NewScanner(b)
	s.Buffer(make([]byte, 1<<16), maxLine)
	line := 1
	for ; s.Scan() && s.Err() == nil; line++ { // with an error comes a torn line
		if err := d.row(s.Bytes(), lab, &opt); err != nil {
			return nil, syntaxError(name, line, err)
		}
	}
	switch err := s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, syntaxError(name, line, fmt.Errorf("a line is longer than %d bytes", maxLine))
	case err != nil:
		return nil, syntaxError(name, line, &readError{err})
	case d.Rows() == 0:
		return nil, syntaxError(name, max(1, line-1), errors.New("no rows"))
	}
	d.Classes = lab.finish(d.Label, opt.Unlabelled)
	return d, nil
}

func (d *Data) row(line []byte, lab *labels, opt *ReadOptions) (err error) {
	text, _, _ := bytes.Cut(line, []byte("#"))
	label, first, last := 0.0, true, 0
	for t := range bytes.FieldsSeq(text) {
		if first {
			first = false
			pairs := bytes.IndexByte(t, ':') >= 0
			switch {
			case pairs && !opt.Unlabelled:
				return marked{fmt.Errorf("label before %s: %w", quote(t), ErrMissing), ErrLabel}
			case !opt.Unlabelled:
				if _, err := parseFloat(t); err != nil {
					return marked{fmt.Errorf("label %s: %w", quote(t), err), ErrLabel}
				}
				if label, err = labelOf(lab, t); err != nil {
					return marked{err, ErrLabel}
				}
			}
			if !pairs {
				continue
			}
		}
		index, value, err := pair(t)
		switch {
		case err != nil:
			return err
		case index == last:
			return fmt.Errorf("index %d is repeated", index)
		case index < last:
			return fmt.Errorf("index %d after %d: indices must ascend", index, last)
		case opt.Dim > 0 && index > opt.Dim:
			return fmt.Errorf("index %d is above the dimension %d", index, opt.Dim)
		}
		last = index
		if value != 0 {
			d.Col, d.Val = append(d.Col, int32(index-1)), append(d.Val, value)
		}
	}
	if !first {
		d.Dim = max(d.Dim, last)
		d.Label, d.RowPtr = append(d.Label, label), append(d.RowPtr, len(d.Col))
	}
	return nil
}

func pair(t []byte) (index int, value float64, err error) {
	i := 0
	for ; i < len(t) && t[i]-'0' <= 9; i++ {
		if index = index*10 + int(t[i]-'0'); index > MaxIndex {
			return 0, 0, fmt.Errorf("index in %s is above %d", quote(t), MaxIndex)
		}
	}
	switch {
	case bytes.HasPrefix(t, []byte("qid:")):
		return 0, 0, errors.New("qid: pairs of ranking data are not supported")
	case i == len(t) || t[i] != ':' || i == 0:
		return 0, 0, fmt.Errorf("%s %w", quote(t), ErrNoPair)
	case index == 0:
		return 0, 0, errors.New("index 0: indices start at 1")
	}
	value, err = parseFloat(t[i+1:])
	if err != nil {
		err = fmt.Errorf("%s: %w", quote(t), err)
	}
	return index, value, err
}
