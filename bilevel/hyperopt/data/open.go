package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxIndex is the largest feature index and number of features: a dense vector takes 128 MiB.
const MaxIndex = 1 << 24

// ReadOptions says how to read a file; the zero value reads a classification set.
type ReadOptions struct {
	// Dim ≤ MaxIndex is the number of features; a larger index is an error. Default 0: the largest
	// index (LIBSVM), the columns without the label (CSV).
	Dim int

	// Regression keeps labels as numbers. By default they must be two classes.
	Regression bool

	// Classes fixes the spelling of −1 and +1, as a first file's Data.Classes. Default: found in
	// the file.
	Classes [2]string

	// Class sets one label, +1, against the rest, −1; Data.Classes is then "not Class" and Class.
	// It takes precedence over Classes.
	Class string

	// Categorical turns CSV columns of text into indicators: see Column.
	Categorical bool

	// Impute fills missing CSV cells with the "median" or "mean" of the column's numbers, or the
	// most frequent text. Default: a missing cell is an error.
	Impute string

	// Drop leaves columns of a CSV file out, by their names.
	Drop []string

	// Columns fixes what Categorical and Impute would measure: pass the first file's Data.Columns.
	Columns []Column

	// Features names the CSV columns that are features, in order, as a first file's Data.Features;
	// one more may be there, the label, and those of Drop. Columns does the same.
	Features []string

	// Headerless: the CSV file has no header; its columns are called 1, 2, ….
	Headerless bool

	// Unlabelled: labels are absent or ignored, and all 0. With Features or Columns, other CSV
	// columns are ignored.
	Unlabelled bool

	// LabelColumn names a CSV file's label. Default: the last column, or what Features or Columns
	// leave over.
	LabelColumn string
}

func (o *ReadOptions) check() error {
	if o.Dim < 0 || o.Dim > MaxIndex {
		return fmt.Errorf("data: ReadOptions.Dim: %d is not in 0 … %d", o.Dim, MaxIndex)
	}
	if o.Impute != "" && o.Impute != "median" && o.Impute != "mean" {
		return fmt.Errorf("data: ReadOptions.Impute: %q, want median or mean", o.Impute)
	}
	return nil
}

// Open reads a LIBSVM or CSV file, plain or gzip (found by its first two bytes).
//
// A name in .csv or .tsv (before .gz) is CSV; in .svm, .libsvm or .svmlight, LIBSVM; any other is
// CSV if its first line holds a comma or semicolon, or a tab and no colon. Errors are those of
// os.Open, ReadLIBSVM and ReadCSV; a damaged gzip file gives a *SyntaxError.
func Open(path string, opt ReadOptions) (*Data, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, 1<<16)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, &SyntaxError{File: path, Msg: "gzip header", Err: err}
		}
		defer z.Close()
		b = bufio.NewReaderSize(z, 1<<16)
	}
	if msg := foreign(b); msg != "" {
		return nil, &SyntaxError{File: path, Msg: msg}
	}
	if isCSV(path, b) {
		return ReadCSV(b, path, opt)
	}
	return ReadLIBSVM(b, path, opt)
}

// foreign names the kind of a file whose first bytes are no text of numbers; else empty.
func foreign(b *bufio.Reader) string {
	head, _ := b.Peek(1 << 12)
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a spreadsheet or another zip file: save the table as CSV text"
	case bytes.HasPrefix(line, []byte("{")), bytes.HasPrefix(line, []byte("[")):
		return "JSON, but this wants CSV or LIBSVM text"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")): // UTF-16, with a mark
	case !bytes.Contains(head, []byte("\n")) && bytes.Contains(bytes.TrimRight(head, "\r"), []byte("\r")):
		return "its lines end in a carriage return alone, as on old Macs: save it with line feeds"
	case bytes.ContainsRune(line, 0):
		return "the first line holds a byte 0: a binary file, or UTF-16; save the table as UTF-8 text"
	}
	return ""
}

// unmarked skips a UTF-8 byte order mark, and refuses that of UTF-16.
func unmarked(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReader(r)
	switch mark, _ := b.Peek(3); { // an error comes again with the next read
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		b.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return nil, errors.New("the text is UTF-16: save the file as UTF-8")
	}
	return b, nil
}

func isCSV(path string, b *bufio.Reader) bool {
	switch filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz")) {
	case ".csv", ".tsv":
		return true
	case ".svm", ".libsvm", ".svmlight":
		return false
	}
	head, _ := b.Peek(1 << 12)
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	line, _, _ = bytes.Cut(line, []byte("#"))
	return bytes.ContainsAny(line, ",;") || bytes.Contains(line, []byte("\t")) && !bytes.Contains(line, []byte(":"))
}
