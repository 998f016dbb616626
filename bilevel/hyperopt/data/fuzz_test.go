package data

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func FuzzReadLIBSVM(f *testing.F) {
	fuzz(f, ReadLIBSVM, "1 1:.5 3:-2\n2 5:0\n1 2:3\n", "+1.0 1:5e-1 # c\n\n-1 22:1e-300", "1 1:1\r\n0 2:nan\n",
		"1 1000000000:1\n", "1 2:1 1:1\n", "1 qid:1 1:1", "1 1:", "1 1", "\x00", "1 1:0x1p-2", "-1 16777216:1\n", "3 1:1\n")
}

func FuzzReadCSV(f *testing.F) {
	fuzz(f, ReadCSV, "a,b,c\n1,2,1\n0,-3.5e2,-1\n", "a,\"b\"\n\"1\",malignant\n2,benign\n", "\xef\xbb\xbfa,b\r\n1,1\r\n",
		"a\n1\n2\n", "a,b\n1\n", "a,b\n\"1,1\n", "1,2\n", "a,b\nNA,1\n", "a,b\ninf,1\n", "a b \"c d\"\n 1\t2  1\r\n", "a,b,\n1,1,\n1,1\n")
}

// fuzz: what is read is well formed and no larger than its text; else a *SyntaxError names a line.
func fuzz(f *testing.F, read func(io.Reader, string, ReadOptions) (*Data, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, mode uint8) {
		opt := ReadOptions{Regression: mode&1 != 0, Dim: int(mode >> 1)}
		d, err := read(bytes.NewReader(text), "fuzz", opt)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.File != "fuzz" || se.Line < 1 || se.Line > bytes.Count(text, []byte("\n"))+1 ||
				d != nil {
				t.Fatalf("error without its place: %v", err)
			}
			return
		}
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		if d.Rows() == 0 || d.Rows() > len(text) || len(d.Col) > len(text) || cap(d.Val) > 2*len(text)+64 ||
			opt.Dim != 0 && d.Dim != opt.Dim {
			t.Fatalf("%d × %d with %d entries (capacity %d) from %d bytes", d.Rows(), d.Dim, len(d.Col), cap(d.Val), len(text))
		}
		for _, v := range d.Val {
			if v == 0 {
				t.Fatal("a stored zero")
			}
		}
		for _, b := range d.Label {
			if !opt.Regression && b != 1 && b != -1 {
				t.Fatalf("label %v", b)
			}
		}
	})
}
