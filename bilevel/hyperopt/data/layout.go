package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

type layout struct {
	names  []string // of all columns, trimmed and in UTF-8
	target int      // −1: none
	id     int      // −1: none
	keep   []int    // the features, in their order
	commas bool     // numbers may have decimal commas

	numerals []numerals
	marked   [2]string // a number with a comma, with a point
}

func newLayout(first []string, opt *ReadOptions) (l *layout, err error) {
	l = &layout{names: first, target: -1, id: -1}
	if opt.Headerless {
		for j := range first {
			first[j] = strconv.Itoa(j + 1)
		}
	} else if err := l.check(opt.Drop); err != nil {
		return nil, err
	}
	fixed := opt.Features
	if opt.Columns != nil {
		fixed = make([]string, len(opt.Columns))
		for k, c := range opt.Columns {
			fixed[k] = c.Name
		}
	}
	free := slices.Repeat([]bool{true}, len(l.names))
	if opt.ID != "" {
		if l.id, err = l.index(opt.ID, free); err != nil {
			return nil, err
		}
		free[l.id] = slices.Contains(fixed, opt.ID)
	} else if opt.Headerless && len(fixed) == len(l.names) {
		fixed = l.names // rows of features alone, whatever their numbers were
	}
	absent := func(name string) bool { return !slices.Contains(l.names, name) }
	if opt.Headerless && fixed != nil && len(fixed) < len(l.names) && slices.ContainsFunc(opt.Drop, absent) {
		return nil, fmt.Errorf("%d columns lack one to be dropped: want all, or the %d features alone", len(l.names), len(fixed))
	}
	for _, name := range fixed {
		j, err := l.index(name, free)
		if err != nil {
			return nil, err
		}
		free[j] = false
		l.keep = append(l.keep, j)
	}
	if fixed != nil {
		return l, l.match(free, fixed, opt)
	}
	return l, l.find(free, opt)
}

func (l *layout) index(name string, free []bool) (int, error) {
	for j, s := range l.names {
		if (free == nil || free[j]) && s == name {
			return j, nil
		}
	}
	return -1, fmt.Errorf("no column is named %s; there are %s", quote(name), listed(l.names))
}

// check returns an error unless the first line can be a header: whole numbers may be names.
func (l *layout) check(drop []string) error {
	numbers, seen := 0, map[string]bool{"": false}
	for _, s := range l.names {
		if v, err := parseFloat(s); err == nil {
			if numbers++; v != math.Trunc(v) {
				numbers = len(l.names)
			}
		}
	}
	if numbers >= len(l.names) {
		return fmt.Errorf("the first line holds numbers: %w", ErrNoHeader)
	}
	for _, s := range l.names {
		if seen[s] {
			return fmt.Errorf("two columns are named %s: rename one, or drop both; or the first line is no header", quote(s))
		}
		seen[s] = s != "" && !slices.Contains(drop, s)
	}
	return nil
}

func (l *layout) find(free []bool, opt *ReadOptions) (err error) {
	known := opt.Dim != 0 && !opt.wide()
	switch {
	case opt.Unlabelled:
	case opt.LabelColumn != "":
		if l.target, err = l.index(opt.LabelColumn, nil); err != nil {
			return err
		}
	case known && opt.Dim == len(l.names):
		return ErrNoLabel
	default:
		l.target = len(l.names) - 1
	}
	l.keep = l.rest(free, opt)
	if k := slices.Index(l.keep, l.target); k >= 0 {
		l.keep = slices.Delete(l.keep, k, k+1)
	} else if l.target >= 0 {
		return fmt.Errorf("column %s is the label, and cannot be dropped, or name the rows", quote(l.names[l.target]))
	}
	absent := slices.Sorted(slices.Values(opt.Drop))
	absent = slices.DeleteFunc(absent, func(name string) bool { return slices.Contains(l.names, name) })
	if len(absent) > 0 {
		return fmt.Errorf("no column is named %s, to be dropped; there are %s", listed(absent), listed(pick(l.names, l.keep)))
	}
	if known && opt.Dim != len(l.keep) {
		return fmt.Errorf("%d columns of features, want %d", len(l.keep), opt.Dim)
	}
	return nil
}

func (l *layout) rest(free []bool, opt *ReadOptions) (columns []int) {
	for j, name := range l.names {
		if free[j] && !slices.Contains(opt.Drop, name) {
			columns = append(columns, j)
		}
	}
	return columns
}

func (l *layout) match(free []bool, fixed []string, opt *ReadOptions) error {
	if opt.Unlabelled {
		return nil
	}
	if j, err := l.index(opt.LabelColumn, free); err == nil && opt.LabelColumn != "" {
		l.target, free[j] = j, false
	}
	rest := l.rest(free, opt)
	if n := len(rest) - 1; n >= 0 && opt.LabelColumn == "" && (n == 0 || rest[n] == len(free)-1) {
		l.target, rest = rest[n], rest[:n]
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("column %s is neither the label nor one of the %d features, which begin %s, and is not dropped",
			quote(l.names[rest[0]]), len(fixed), listed(fixed[:min(3, len(fixed))]))
	case l.target < 0:
		return ErrNoLabel
	}
	return nil
}

func pick(fields []string, columns []int) []string {
	picked := make([]string, 0, len(columns))
	for _, j := range columns {
		picked = append(picked, fields[j])
	}
	return picked
}

func listed(names []string) string {
	const most = 10
	var words []string
	for _, s := range names[:min(most, len(names))] {
		words = append(words, quote(s))
	}
	if len(names) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

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
	rest       bool // classes[1] stands against the rest
	forced     bool // there are no other classes
	most       int  // number of classes
	classes    []class
}

func newLabels(opt *ReadOptions) (l *labels, err error) {
	l = &labels{regression: opt.Regression, most: 2}
	if opt.Several {
		l.most = mostClasses
	}
	if opt.Class != "" {
		c := newClass(opt.Class)
		l.rest, l.classes = true, []class{{name: "not " + c.name}, c}
		if l.regression {
			err = fmt.Errorf("data: ReadOptions.Class: want Regression false")
		}
		return l, err
	}
	for _, name := range opt.Classes {
		c := newClass(name)
		for _, other := range l.classes {
			same := c.number && other.number && c.value == other.value && math.Abs(c.value) < 1<<53
			if l.regression || same || other.name == c.name {
				err = fmt.Errorf("data: ReadOptions.Classes: %q: want names and numbers that differ, and Regression false", opt.Classes)
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
		return 0, fmt.Errorf("%s: %w", quote(s), undressed(s, err))
	}
	number := err == nil
	for k, c := range l.classes {
		if c.number == number && c.value == v && (number && math.Abs(v) < 1<<53 || c.name == toUTF8(string(s))) {
			return float64(k), nil
		}
	}
	if l.rest {
		return 0, nil
	}
	return float64(len(l.classes)), l.add(class{toUTF8(string(s)), number, v})
}

func (l *labels) add(c class) error {
	if c.number && math.Abs(c.value) < 1<<53 { // larger integers round
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

func (l *labels) finish(label []float64, unlabelled bool) (names []string) {
	if unlabelled || l.regression || len(l.classes) == 0 {
		return nil
	}
	classes := slices.Clone(l.classes)
	switch first := classes[0]; {
	case l.rest, l.forced:
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
		if label[i] = float64(slices.Index(classes, l.classes[int(code)])); len(classes) == 2 {
			label[i] = 2*label[i] - 1
		}
	}
	for _, c := range classes {
		names = append(names, c.name)
	}
	return names
}
