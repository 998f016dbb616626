package data

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

type text interface{ string | []byte }

var (
	errInf   = errors.New("value is infinite")
	errRange = errors.New("value is too large for a float64")

	missing = map[string]bool{"": true, "?": true, "NA": true, "na": true, "N/A": true, "n/a": true, "NULL": true,
		"null": true}
)

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
	if len(t) <= 4 && missing[string(t)] {
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
