package data

import (
	"fmt"
	"strconv"
)

// labels maps the labels of one file: codes 0 and 1 in order of appearance, until finish says which
// is −1.
type labels struct {
	regression bool
	column     string // the name of its column, for messages
	class      string // of one against the rest; its code is 1
	forced     bool
	named      bool // the classes are words, not numbers
	n          int
	name       [2]string
	value      [2]float64
}

func newLabels(opt *ReadOptions) (labels, error) {
	l := labels{regression: opt.Regression, class: toUTF8(opt.Class)}
	if l.class != "" {
		if l.regression {
			return l, fmt.Errorf("data: ReadOptions.Class: want Regression false")
		}
		l.value[1], _ = parseFloat(l.class)
		return l, nil
	}
	if opt.Classes == [2]string{} {
		return l, nil
	}
	if opt.Regression || opt.Classes[0] == opt.Classes[1] {
		return l, fmt.Errorf("data: ReadOptions.Classes: want two different names, and Regression false")
	}
	l.forced, l.n, l.name = true, 2, [2]string{toUTF8(opt.Classes[0]), toUTF8(opt.Classes[1])}
	for k, s := range l.name {
		v, err := parseFloat(s)
		if err != nil {
			l.named = true
		}
		l.value[k] = v
	}
	if !l.named && l.value[0] == l.value[1] {
		return l, fmt.Errorf("data: ReadOptions.Classes: %q and %q are the same number", l.name[0], l.name[1])
	}
	return l, nil
}

func (l *labels) cell(s string) (label float64, err error) {
	v, err := parseFloat(s)
	if err == nil {
		label, err = l.number(v)
	} else if err == ErrNumber && !l.regression {
		label, err = l.word(toUTF8(s))
	}
	switch err {
	case ErrMissing, ErrNaN, errInf, errRange, ErrNumber:
		err = fmt.Errorf("%s: %w", quote(s), err)
	}
	return label, err
}

func (l *labels) number(v float64) (float64, error) {
	if l.regression {
		return v, nil
	}
	if l.class != "" {
		return code(v == l.value[1] && isNumber(l.class)), nil
	}
	if !l.named {
		for k := range l.n {
			if l.value[k] == v {
				return float64(k), nil
			}
		}
	}
	name := strconv.FormatFloat(v, 'g', -1, 64)
	if l.n > 0 && l.named {
		return l.word(name)
	}
	if err := l.add(name); err != nil {
		return 0, err
	}
	l.value[l.n-1] = v
	return float64(l.n - 1), nil
}

func (l *labels) word(s string) (float64, error) {
	if l.class != "" {
		return code(s == l.class), nil
	}
	if l.n == 0 || l.named {
		for k := range l.n {
			if l.name[k] == s {
				return float64(k), nil
			}
		}
		if _, err := parseFloat(s); err != nil {
			l.named = true
			err := l.add(s)
			return float64(l.n - 1), err
		}
	}
	if l.forced {
		return 0, l.unknown(s)
	}
	return 0, fmt.Errorf("label %s, but %s before: numbers and names mixed", quote(s), quote(l.name[0]))
}

func code(class bool) float64 {
	if class {
		return 1
	}
	return 0
}

func (l *labels) add(s string) error {
	if l.forced {
		return l.unknown(s)
	}
	if l.n == 2 {
		return fmt.Errorf("%w %s, after %s and %s", ErrThirdLabel, quote(s), quote(l.name[0]), quote(l.name[1]))
	}
	l.name[l.n] = string(append([]byte(nil), s...)) // a record's memory must not be kept for a label's sake
	l.n++
	return nil
}

func (l *labels) unknown(s string) error {
	return fmt.Errorf("label %s is neither %s nor %s", quote(s), quote(l.name[0]), quote(l.name[1]))
}

// finish turns codes into ±1 and returns their spellings: the smaller number, or the first name in
// order, is −1; a single 1 or 2 is +1, any other single class −1.
func (l *labels) finish(label []float64) (classes [2]string) {
	if l.class != "" {
		for i, c := range label {
			label[i] = 2*c - 1
		}
		return [2]string{"not " + l.class, l.class}
	}
	if l.regression || l.n == 0 {
		return classes
	}
	minus := 0 // the code that is −1
	switch {
	case l.forced:
	case l.n == 1 && !l.named && (l.value[0] == 1 || l.value[0] == 2):
		minus = 1
	case l.n == 2 && l.named && l.name[1] < l.name[0], l.n == 2 && !l.named && l.value[1] < l.value[0]:
		minus = 1
	}
	for i, c := range label {
		label[i] = 1
		if int(c) == minus {
			label[i] = -1
		}
	}
	return [2]string{l.name[minus], l.name[1-minus]}
}
