package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const maxLine = 64 << 20

// ReadLIBSVM reads rows of LIBSVM (SVMlight) text,
//
//	label index:value index:value …
//
// with ascending indices from 1 and comments after #; name stands in messages. Of two labels the
// smaller becomes −1; of a single one, 1 or 2 becomes +1, any other −1. Zeros are dropped, their index
// counts for Dim.
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
		if err := d.row(words{s.Bytes()}, lab, &opt); err != nil {
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
	if !opt.Unlabelled {
		d.Classes = lab.finish(d.Label)
	}
	return d, nil
}

type words struct{ rest []byte }

func (w *words) next() ([]byte, error) {
	line := w.rest
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i]-'\t' <= '\r'-'\t') {
		i++
	}
	end := i
	for end < len(line) && line[end] > ' ' {
		end++
	}
	switch {
	case i == len(line) || line[i] == '#':
		return nil, nil
	case end == i:
		return nil, fmt.Errorf("control character %#02x", line[i])
	}
	w.rest = line[end:]
	return line[i:end], nil
}

func (d *Data) row(line words, lab *labels, opt *ReadOptions) error {
	t, err := line.next()
	if t == nil {
		return err
	}
	label, pairs := 0.0, bytes.IndexByte(t, ':') >= 0
	switch {
	case opt.Unlabelled:
	case pairs:
		return marked{fmt.Errorf("label before %s: %w", quote(t), ErrMissing), ErrLabel}
	default:
		if _, err = parseFloat(t); err != nil {
			return marked{fmt.Errorf("label %s: %w", quote(t), err), ErrLabel}
		}
		if label, err = labelOf(lab, t); err != nil {
			return marked{err, ErrLabel}
		}
	}
	if !pairs {
		t, err = line.next()
	}
	last := 0
	for ; t != nil; t, err = line.next() {
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
	if err != nil {
		return err
	}
	d.Dim = max(d.Dim, last)
	d.Label, d.RowPtr = append(d.Label, label), append(d.RowPtr, len(d.Col))
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
