package data

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

const mostClasses = 64

type class struct {
	name   string
	number bool
	value  float64
}

func newClass[T text](s T) class {
	v, err := parseFloat(s)
	return class{toUTF8(string(s)), err == nil, v}
}

type labels struct {
	regression bool
	rest       bool   // classes[0] stands against the rest
	forced     bool   // there are no other classes
	most       int    // number of classes
	column     string // the name of their column, for messages
	classes    []class
}

func newLabels(opt *ReadOptions) (l *labels, err error) {
	l = &labels{regression: opt.Regression, most: 2}
	if opt.Several {
		l.most = mostClasses
	}
	if opt.Class != "" {
		l.rest, l.classes = true, []class{newClass(opt.Class)}
		if l.regression {
			err = fmt.Errorf("data: ReadOptions.Class: want Regression false")
		}
		return l, err
	}
	for k, name := range opt.Classes {
		c := newClass(name)
		for j, other := range l.classes {
			if l.regression || other.name == c.name {
				err = fmt.Errorf("data: ReadOptions.Classes: want two different names, and Regression false")
			} else if c.number && other.number && c.value == other.value {
				err = fmt.Errorf("data: ReadOptions.Classes: %q and %q are the same number", opt.Classes[j], opt.Classes[k])
			}
		}
		l.forced, l.classes = true, append(l.classes, c)
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
	case l.forced && len(l.classes) == 2:
		return fmt.Errorf("label %s is neither %s nor %s", name, quote(l.classes[0].name), quote(l.classes[1].name))
	case l.forced:
		return fmt.Errorf("label %s is none of the %d classes", name, len(l.classes))
	case len(l.classes) > 0 && l.classes[0].number != c.number:
		return fmt.Errorf("label %s, but %s before: numbers and names mixed", name, quote(l.classes[0].name))
	case len(l.classes) == l.most && l.most == 2:
		return fmt.Errorf("%w %s, after %s and %s", ErrThirdLabel, name, quote(l.classes[0].name), quote(l.classes[1].name))
	case len(l.classes) == l.most:
		return marked{fmt.Errorf("more than %d classes", l.most), ErrThirdLabel}
	}
	l.classes = append(l.classes, c)
	return nil
}

func (l *labels) finish(label []float64) (names []string) {
	if l.regression || len(l.classes) == 0 {
		return nil
	}
	classes := slices.Clone(l.classes)
	switch first := classes[0]; {
	case l.rest:
		classes = []class{{name: "not " + first.name}, first}
	case l.forced:
	case len(classes) == 1 && first.number && (first.value == 1 || first.value == 2):
		classes = []class{{}, first}
	case len(classes) == 1:
		classes = []class{first, {}}
	default:
		slices.SortFunc(classes, func(a, b class) int {
			return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.name, b.name))
		})
	}
	for i, code := range label {
		if !l.rest {
			code = float64(slices.Index(classes, l.classes[int(code)]))
		}
		if label[i] = code; len(classes) == 2 {
			label[i] = 2*code - 1
		}
	}
	for _, c := range classes {
		names = append(names, c.name)
	}
	return names
}
