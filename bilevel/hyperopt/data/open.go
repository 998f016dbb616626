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
// CSV; in .svm, .libsvm or .svmlight, LIBSVM; any other is CSV if its first line holds a comma,
// semicolon or bar, or several words and no colon. Errors: those of ReadLIBSVM and ReadCSV; a
// *SyntaxError for another kind of file.
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
	{"PAR1", "a Parquet file: save the table as CSV text"},
	{"{", "JSON, but this wants CSV or LIBSVM text"},
	{"[", "JSON, but this wants CSV or LIBSVM text"},
}

func foreign(head []byte) string {
	text := bytes.TrimLeft(head, " \t\r\n")
	for _, f := range foreigners {
		if bytes.HasPrefix(text, []byte(f[0])) {
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
		return nil, nil, syntaxError(name, 1, errors.New("the text is UTF-16: save the file as UTF-8"))
	}
	return b, lab, nil
}

func isCSV(name string, head []byte) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".bz2")
	switch filepath.Ext(name) {
	case ".csv", ".tsv":
		return true
	case ".svm", ".libsvm", ".svmlight":
		return false
	}
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	line, _, _ = bytes.Cut(line, []byte("#"))
	return bytes.ContainsAny(line, ",;|") || len(bytes.Fields(line)) > 1 && !bytes.Contains(line, []byte(":"))
}
