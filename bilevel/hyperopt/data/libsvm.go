package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ReadLIBSVM reads rows of LIBSVM (SVMlight) text,
//
//	label index:value index:value …
//
// with one-based, ascending indices and comments after #; a row may be a label alone. name stands
// in messages. Of two numeric labels the smaller becomes −1, the larger +1; of a single one, 1 or 2
// becomes +1, any other −1. Zeros are dropped, their index counts for Dim.
//
// Errors: a *SyntaxError with the line for an index 0, not ascending, above MaxIndex or
// ReadOptions.Dim; a value that is missing, NaN, infinite or no number; a torn pair; a third label;
// qid: pairs (ranking data); a token above 4096 bytes; UTF-16; no rows; an error of r.
//
// Memory: 12 bytes an entry and 16 a row, at most 2.5 times that while slices grow, and 68 KiB.
func ReadLIBSVM(r io.Reader, name string, opt ReadOptions) (*Data, error) {
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
	d := &Data{Name: name, Dim: opt.Dim, RowPtr: []int{0}}
	s := scanner{r: b, buf: make([]byte, 1<<16), line: 1}
	for err == nil {
		err = s.row(d, &lab, &opt)
		if err == nil {
			err = s.nextLine()
		}
	}
	if err == io.EOF {
		err = nil
		if d.Rows() == 0 {
			err = errors.New("no rows")
		}
	}
	if err != nil {
		return nil, syntaxError(name, s.line, err)
	}
	if !opt.Unlabelled {
		d.Classes = lab.finish(d.Label)
	}
	return d, nil
}

// row appends the current line to d, nothing if it is blank.
func (s *scanner) row(d *Data, lab *labels, opt *ReadOptions) error {
	t, err := s.token()
	if t == nil {
		return err
	}
	label, limit := 0.0, opt.Dim
	if !opt.Unlabelled {
		if bytes.IndexByte(t, ':') >= 0 {
			return marked{fmt.Errorf("label before %s: %w", quote(t), ErrMissing), ErrLabel}
		}
		if label, err = parseFloat(t); err != nil {
			return marked{fmt.Errorf("label %s: %w", quote(t), err), ErrLabel}
		}
		if label, err = lab.number(label); err != nil {
			return marked{err, ErrLabel}
		}
	}
	if !opt.Unlabelled || bytes.IndexByte(t, ':') < 0 {
		t, err = s.token()
	}
	last := 0
	for ; t != nil; t, err = s.token() {
		index, value, err := pair(t)
		switch {
		case err != nil:
			return err
		case index == last:
			return fmt.Errorf("index %d is repeated", index)
		case index < last:
			return fmt.Errorf("index %d after %d: indices must ascend", index, last)
		case limit > 0 && index > limit:
			return fmt.Errorf("index %d is above the dimension %d", index, limit)
		}
		last = index
		if value != 0 {
			d.Col = append(d.Col, int32(index-1))
			d.Val = append(d.Val, value)
		}
	}
	if err != nil {
		return err
	}
	d.Dim = max(d.Dim, last)
	d.Label = append(d.Label, label)
	d.RowPtr = append(d.RowPtr, len(d.Col))
	return nil
}

func pair(t []byte) (index int, value float64, err error) {
	i := 0
	for ; i < len(t) && t[i]-'0' <= 9; i++ {
		index = index*10 + int(t[i]-'0')
		if index > MaxIndex {
			return 0, 0, fmt.Errorf("index in %s is above %d", quote(t), MaxIndex)
		}
	}
	switch {
	case i == len(t):
		return 0, 0, fmt.Errorf("%s %w", quote(t), ErrNoPair)
	case t[i] != ':' || i == 0:
		if len(t) >= 4 && string(t[:4]) == "qid:" {
			return 0, 0, errors.New("qid: pairs of ranking data are not supported")
		}
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

type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int // buf[pos:end] is not yet consumed
	line     int
	failed   error // why the reader ended: io.EOF or a *readError
}

const maxToken = 4096

// token returns the line's next token, valid until the next call; nil at its end.
func (s *scanner) token() ([]byte, error) {
	for {
		for s.pos < s.end && isBlank(s.buf[s.pos]) {
			s.pos++
		}
		if s.pos < s.end {
			break
		}
		if err := s.fill(); err != nil {
			return nil, ignoreEOF(err)
		}
	}
	if c := s.buf[s.pos]; c == '\n' || c == '#' {
		return nil, nil
	}
	n := 0
	for {
		rest := s.buf[s.pos:s.end]
		for n < len(rest) && rest[n] > ' ' {
			n++
		}
		if n > maxToken {
			return nil, fmt.Errorf("%s is longer than %d bytes", quote(rest[:n]), maxToken)
		}
		if n < len(rest) {
			break
		}
		if err := s.fill(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	t := s.buf[s.pos : s.pos+n]
	s.pos += n
	if n == 0 {
		return nil, fmt.Errorf("control character %#02x", s.buf[s.pos])
	}
	return t, nil
}

func (s *scanner) nextLine() error {
	for {
		for s.pos < s.end {
			s.pos++
			if s.buf[s.pos-1] == '\n' {
				s.line++
				return nil
			}
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

func (s *scanner) fill() error {
	s.end = copy(s.buf, s.buf[s.pos:s.end])
	s.pos = 0
	for tries := 0; s.failed == nil; tries++ {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		switch {
		case err == io.EOF:
			s.failed = err
		case err != nil:
			s.failed = &readError{err}
		case n == 0 && tries == 100:
			s.failed = &readError{io.ErrNoProgress}
		}
		if n > 0 {
			return nil
		}
	}
	return s.failed
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
