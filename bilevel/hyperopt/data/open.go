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

// MaxIndex is the largest feature index and number of features that the readers accept: a dense
// vector of that length takes 128 MiB.
const MaxIndex = 1 << 24

// ReadOptions says how to read a file. The zero value reads a classification data set.
type ReadOptions struct {
	// Dim is the number of features, at most MaxIndex; a larger index is an error. 0, the default:
	// the largest index of a LIBSVM file; the columns of a CSV file without the label.
	Dim int

	// Regression keeps labels as numbers. By default they must be two classes.
	Regression bool

	// Classes fixes the spelling of −1 and +1: pass the first file's Data.Classes to read a second
	// one alike. By default they are found: see ReadLIBSVM and ReadCSV.
	Classes [2]string

	// Class sets one class against the rest: rows with this label are +1, all others −1.
	// Data.Classes is then "not Class" and Class. It takes precedence over Classes.
	Class string

	// Categorical turns the columns of a CSV file that hold text into indicators: see Column.
	Categorical bool

	// Impute fills missing cells of a CSV file: "median" or "mean" of the column's numbers, the most
	// frequent text of a column of text. By default a missing cell is an error.
	Impute string

	// Drop leaves columns of a CSV file out, by their names.
	Drop []string

	// Columns fixes what Categorical and Impute would measure: pass the first file's Data.Columns.
	Columns []Column

	// Features fixes by their names which columns of a CSV file are features, and in which order:
	// pass the first file's Data.Features. One more column may be there, the label, and those of
	// Drop. Columns does the same.
	Features []string

	// Headerless says that a CSV file has no header. Its columns are then called 1, 2, ….
	Headerless bool

	// Unlabelled says that there are no labels, or that they mean nothing: all are 0. Beside
	// Features or Columns, all other columns of a CSV file are ignored. In a LIBSVM file the label
	// may be anything, or absent.
	Unlabelled bool

	// LabelColumn is the header of a CSV file's column of labels. Default: the last column, or the
	// one that is left over where Features or Columns are given. LIBSVM files do not use it.
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

// Open reads a file of LIBSVM or CSV text, plain or compressed by gzip (found by its first two
// bytes), and closes it.
//
// A name that ends in .csv or .tsv (before .gz) is CSV, one that ends in .svm, .libsvm or .svmlight
// is LIBSVM. Any other file is CSV if its first line holds a comma or a semicolon, or a tab and no
// colon. Errors are those of os.Open, ReadLIBSVM and ReadCSV; a damaged gzip file gives a
// *SyntaxError.
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

// foreign says what a file is that begins as no text of numbers does; empty: nothing of the kind.
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

// unmarked returns r without the byte order mark that some programs put before UTF-8 text, and an
// error for that of UTF-16.
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
