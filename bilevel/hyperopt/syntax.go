package hyperopt

import (
	"encoding/csv"
	"errors"
	"fmt"
)

// SyntaxError says what is wrong with a data file, and where.
type SyntaxError struct {
	File string
	Line int    // 1-based; 0 where the error belongs to no line
	Msg  string // what is wrong
	Err  error  // the cause, if another package reported it: io.ErrUnexpectedEOF, gzip.ErrChecksum, …
}

// Error returns "file:line: message: cause".
func (e *SyntaxError) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	s += ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// syntaxError adds file and line to err. What a reader or package gzip reported stays the cause;
// the line is then the last one begun.
func syntaxError(name string, line int, err error) error {
	var p *csv.ParseError
	var r *readError
	switch {
	case errors.As(err, &p):
		return &SyntaxError{File: name, Line: p.Line, Msg: p.Err.Error()}
	case errors.As(err, &r):
		return &SyntaxError{File: name, Line: line, Msg: "cannot read on", Err: r.err}
	case errors.Is(err, ErrNoLabel):
		return &SyntaxError{File: name, Line: line, Msg: "the columns are the features alone", Err: ErrNoLabel}
	}
	return &SyntaxError{File: name, Line: line, Msg: err.Error()}
}

// readError marks an error of the reader below a parser.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

// quote shows the start of a token in a message.
func quote[T text](t T) string {
	const most = 40
	if len(t) > most {
		return fmt.Sprintf("%q…", string(t[:most]))
	}
	return fmt.Sprintf("%q", string(t))
}
