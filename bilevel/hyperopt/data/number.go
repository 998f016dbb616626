package data

import (
	"errors"
	"math"
	"strconv"

	"stable/mat"
)

type text interface{ string | []byte }

var (
	errInf   = errors.New("value is infinite")
	errRange = errors.New("value is too large for a float64")
)

// parseFloat reads [+-]digits[.digits][e[+-]digits], correctly rounded. With digits below 2⁵³ and
// an exact power of ten, one multiplication or division does (Clinger 1990); strconv reads the
// rest.
func parseFloat[T text](t T) (float64, error) {
	var mant uint64
	digits, exp, i := 0, 0, 0
	neg := false
	if i < len(t) && (t[i] == '-' || t[i] == '+') {
		neg = t[i] == '-'
		i++
	}
	for ; i < len(t) && t[i]-'0' <= 9; i++ {
		mant = mant*10 + uint64(t[i]-'0')
		digits++
	}
	if i < len(t) && t[i] == '.' {
		for i++; i < len(t) && t[i]-'0' <= 9; i++ {
			mant = mant*10 + uint64(t[i]-'0')
			digits++
			exp--
		}
	}
	if i < len(t) || digits == 0 || digits > 19 || mant >= 1<<53 || exp < -22 {
		return parseSlow(t)
	}
	v := float64(mant) / math.Pow10(-exp)
	if neg {
		v = -v
	}
	return v, nil
}

// parseSlow reads the rest, and says what is wrong with a token. It refuses the names, hexadecimals
// and underscores of strconv.
func parseSlow[T text](t T) (float64, error) {
	if len(t) == 0 || (len(t) <= 4 && missing(string(t))) {
		return 0, ErrMissing
	}
	plain := true
	for i := range len(t) {
		switch c := t[i]; {
		case c-'0' <= 9, c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			plain = false
		}
	}
	v, err := strconv.ParseFloat(string(t), 64)
	switch {
	case v != v:
		return 0, ErrNaN
	case !mat.IsFinite(v) && err == nil:
		return 0, errInf
	case !plain:
		return 0, ErrNumber
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, ErrNumber
	}
	return v, nil
}

func missing(s string) bool {
	switch s {
	case "", "?", "NA", "na", "N/A", "n/a", "NULL", "null":
		return true
	}
	return false
}
