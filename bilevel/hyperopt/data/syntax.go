package data

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
)

// What is wrong with a file, for errors.Is on a *SyntaxError.
var (
	ErrNoLabel    = errors.New("no column of labels")
	ErrNoHeader   = errors.New("a header with the names of the columns is missing")
	ErrNoPair     = errors.New("is not index:value")
	ErrCell       = errors.New("a cell is wrong") // in a column of features
	ErrLabel      = errors.New("a label is wrong")
	ErrThirdLabel = errors.New("a third label") // an ErrLabel, too

	// Why a cell, a label or a value is no finite number, or no text of its column.
	ErrMissing = errors.New("missing value")
	ErrNaN     = errors.New("value is NaN")
	ErrNumber  = errors.New("not a number")
	ErrLevel   = errors.New("in the training data")
)

// SyntaxError says what is wrong with a data file, and where.
type SyntaxError struct {
	File string
	Line int    // 1-based; 0 where the error belongs to no line
	Msg  string // what is wrong
	Err  error  // the cause, if another package reported it

	what error // what Msg is the text of
}

// Error returns "file:line: message: cause".
func (e *SyntaxError) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if s += ": " + e.Msg; e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause, or for errors.Is what is wrong.
func (e *SyntaxError) Unwrap() error { return cmp.Or(e.Err, e.what) }

type marked struct {
	error
	is error
}

func (m marked) Unwrap() []error { return []error{m.error, m.is} }

type lineError struct {
	line int
	error
}

func (e *lineError) Unwrap() error { return e.error }

type readError struct{ error }

func cellError(column, cell string, err error) error {
	return marked{fmt.Errorf("column %s, %s: %w", quote(column), quote(cell), err), ErrCell}
}

func syntaxError(name string, line int, err error) error {
	var p *csv.ParseError
	var r *readError
	if l := (*lineError)(nil); errors.As(err, &l) {
		line = l.line
	}
	switch {
	case errors.As(err, &p):
		return &SyntaxError{File: name, Line: p.Line, Msg: p.Err.Error()}
	case errors.As(err, &r):
		return &SyntaxError{File: name, Line: line, Msg: "cannot read on", Err: r.error}
	case errors.Is(err, ErrNoLabel):
		return &SyntaxError{File: name, Line: line, Msg: "the columns are the features alone", Err: ErrNoLabel}
	}
	return &SyntaxError{File: name, Line: line, Msg: err.Error(), what: err}
}

func quote[T text](t T) string {
	const most = 40
	if len(t) > most {
		return fmt.Sprintf("%q…", string(t[:most]))
	}
	return fmt.Sprintf("%q", string(t))
}
