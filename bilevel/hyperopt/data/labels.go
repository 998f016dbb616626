package data

import (
	"fmt"
	"strconv"
)

type class struct {
	name   string
	number bool
	value  float64
}

func newClass[T text](s T) class {
	v, err := parseFloat(s)
	return class{toUTF8(string(s)), err == nil, v}
}

// labels gives labels codes: 0 and 1 of one class against the rest, else in order of appearance.
type labels struct {
	regression bool
	rest       bool   // classes[0] stands against the rest
	forced     bool   // there are no other classes
	column     string // the name of their column, for messages
	classes    []class
}

func newLabels(opt *ReadOptions) (l *labels, err error) {
	l = &labels{regression: opt.Regression}
	a, b := opt.Classes[0], opt.Classes[1]
	switch {
	case l.regression && opt.Class != "":
		err = fmt.Errorf("data: ReadOptions.Class: want Regression false")
	case opt.Class != "":
		l.rest, l.classes = true, []class{newClass(opt.Class)}
	case a != "" || b != "":
		l.forced, l.classes = true, []class{newClass(a), newClass(b)}
		if l.regression || a == b {
			err = fmt.Errorf("data: ReadOptions.Classes: want two different names, and Regression false")
		} else if c := l.classes; c[0].number && c[1].number && c[0].value == c[1].value {
			err = fmt.Errorf("data: ReadOptions.Classes: %q and %q are the same number", a, b)
		}
	}
	return l, err
}

func labelOf[T text](l *labels, s T) (label float64, err error) {
	v, err := parseFloat(s)
	switch {
	case err == nil && l.regression:
		return v, nil
	case err != nil && (err != ErrNumber || l.regression):
		return 0, fmt.Errorf("%s: %w", quote(s), err)
	}
	number := err == nil
	for k, c := range l.classes {
		if number && c.number && c.value == v || !number && !c.number && c.name == toUTF8(string(s)) {
			return float64(max(k, boolInt(l.rest))), nil
		}
	}
	if l.rest {
		return 0, nil
	}
	return float64(len(l.classes)), l.add(class{toUTF8(string(s)), number, v})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *labels) add(c class) error {
	if c.number {
		c.name = strconv.FormatFloat(c.value, 'g', -1, 64)
	}
	switch name := quote(c.name); {
	case l.forced:
		return fmt.Errorf("label %s is neither %s nor %s", name, quote(l.classes[0].name), quote(l.classes[1].name))
	case len(l.classes) > 0 && l.classes[0].number != c.number:
		return fmt.Errorf("label %s, but %s before: numbers and names mixed", name, quote(l.classes[0].name))
	case len(l.classes) == 2:
		return fmt.Errorf("%w %s, after %s and %s", ErrThirdLabel, name, quote(l.classes[0].name), quote(l.classes[1].name))
	}
	l.classes = append(l.classes, c)
	return nil
}

// finish turns codes into ±1 and returns their spellings: the smaller number, or the first name in
// order, is −1; a single 1 or 2 is +1, any other single class −1.
func (l *labels) finish(label []float64) (classes [2]string) {
	if l.regression || len(l.classes) == 0 {
		return classes
	}
	a, b := l.classes[0], class{}
	plus := 1 // the code that is +1
	if l.rest {
		a, b = class{name: "not " + a.name}, a
	} else if len(l.classes) == 2 {
		b = l.classes[1]
		if !l.forced && (a.number && b.value < a.value || !a.number && b.name < a.name) {
			plus = 0
		}
	} else if a.number && (a.value == 1 || a.value == 2) {
		plus = 0
	}
	for i, c := range label {
		label[i] = -1
		if int(c) == plus {
			label[i] = 1
		}
	}
	if plus == 0 {
		a, b = b, a
	}
	return [2]string{a.name, b.name}
}
