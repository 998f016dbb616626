package data

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

type readError struct{ error }

var (
	errDressed = errors.New("separators of thousands, a unit or a minus that is no hyphen: want digits alone, with a " +
		"point before decimals")
	errDate = fmt.Errorf("a date, and %w", ErrNumber)
	date    = regexp.MustCompile(`^(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2})($|[ T])`)
)

// undressed says why s is no number, where err is ErrNumber.
func undressed[T text](s T, err error) error {
	if err == ErrNumber && date.MatchString(string(s)) {
		return errDate
	}
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(",.'’_ \u00a0\u202f$€£¥%", r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(string(s), "−", "-"))
	if _, e := parseFloat(bare); err == ErrNumber && e == nil {
		return errDressed
	}
	return err
}

func cellError(column, cell string, err error) error {
	return marked{fmt.Errorf("column %s, %s: %w", quote(column), quote(cell), undressed(cell, err)), ErrCell}
}

func syntaxError(name string, line int, err error) error {
	var p *csv.ParseError
	var r *readError
	switch {
	case errors.As(err, &p):
		return &SyntaxError{File: name, Line: p.StartLine, Msg: fmt.Sprintf("%v, at byte %d of line %d", p.Err, p.Column, p.Line)}
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

type text interface{ string | []byte }

var (
	errInf   = errors.New("value is infinite")
	errRange = errors.New("value is too large for a float64")

	missing = map[string]bool{"": true, "?": true, "NA": true, "na": true, "N/A": true, "n/a": true, "NULL": true,
		"null": true, "#N/A": true, "<NA>": true, "#DIV/0!": true, "#VALUE!": true}
	booleans = []string{"false", "true", "False", "True", "FALSE", "TRUE"}
)

func parseCell(s string) (float64, error) {
	v, err := parseFloat(s)
	if k := slices.Index(booleans, s); err == ErrNumber && k >= 0 {
		return float64(k % 2), nil
	}
	return v, err
}

// parseFloat reads [+-]digits[.digits][e[+-]digits], correctly rounded. With digits below 2⁵³ and
// an exact power of ten, one division does (Clinger 1990); strconv reads the rest.
func parseFloat[T text](t T) (float64, error) {
	var mant uint64
	digits, exp, dot, i := 0, 0, 0, 0
	if len(t) > 0 && (t[0] == '-' || t[0] == '+') {
		i++
	}
	for ; i < len(t); i++ {
		if c := t[i] - '0'; c <= 9 {
			mant = mant*10 + uint64(c)
			digits++
			exp += dot
		} else if t[i] == '.' && dot == 0 {
			dot = 1
		} else {
			return parseSlow(t)
		}
	}
	if digits == 0 || digits > 19 || mant >= 1<<53 || exp > 22 {
		return parseSlow(t)
	}
	v := float64(mant) / math.Pow10(exp)
	if t[0] == '-' {
		v = -v
	}
	return v, nil
}

func parseSlow[T text](t T) (float64, error) {
	if len(t) <= 7 && missing[string(t)] {
		return 0, ErrMissing
	}
	v, err := strconv.ParseFloat(string(t), 64)
	switch {
	case v != v:
		return 0, ErrNaN
	case math.IsInf(v, 0) && err == nil:
		return 0, errInf
	case strings.ContainsAny(string(t), "xX_") || err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, ErrNumber
	case err != nil:
		return 0, errRange
	}
	return v, nil
}
