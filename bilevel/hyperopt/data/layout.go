package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

type layout struct {
	names  []string // of all columns, trimmed and in UTF-8
	target int      // the column of labels, −1 for none
	id     int      // the column of names of rows, −1 for none
	keep   []int    // the columns that are features, in their order
}

func newLayout(first []string, opt *ReadOptions) (l *layout, err error) {
	l = &layout{names: first, target: -1, id: -1}
	if opt.Headerless {
		l.names = make([]string, len(first))
		for j := range l.names {
			l.names[j] = strconv.Itoa(j + 1)
		}
	} else if err := l.check(); err != nil {
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
		free[l.id] = false
	} else if opt.Headerless && len(fixed) == len(l.names) {
		fixed = l.names // rows of features alone, whatever their numbers were
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
		if free[j] && s == name {
			return j, nil
		}
	}
	return -1, fmt.Errorf("no column is named %s; there are %s", quote(name), listed(l.names))
}

// check returns an error unless the first line can be a header: whole numbers may be names.
func (l *layout) check() error {
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
			return fmt.Errorf("two columns are named %s", quote(s))
		}
		seen[s] = s != ""
	}
	return nil
}

func (l *layout) find(free []bool, opt *ReadOptions) (err error) {
	known := opt.Dim != 0 && !opt.wide()
	switch {
	case opt.Unlabelled:
	case opt.LabelColumn != "":
		if l.target, err = l.index(opt.LabelColumn, free); err != nil {
			return err
		}
	case known && opt.Dim == len(l.names):
		return ErrNoLabel
	default:
		l.target = len(l.names) - 1
	}
	l.drop(free, opt)
	if l.target >= 0 && !free[l.target] {
		return fmt.Errorf("column %s is the label, and cannot be dropped", quote(l.names[l.target]))
	}
	for j := range l.names {
		if free[j] && j != l.target {
			l.keep = append(l.keep, j)
		}
	}
	absent := slices.Sorted(slices.Values(opt.Drop))
	absent = slices.DeleteFunc(absent, func(name string) bool { return slices.Contains(l.names, name) })
	if len(absent) > 0 {
		return fmt.Errorf("no column is named %s, to be dropped; there are %s", listed(absent), listed(l.pick(l.keep)))
	}
	if known && opt.Dim != len(l.keep) {
		return fmt.Errorf("%d columns of features, want %d", len(l.keep), opt.Dim)
	}
	return nil
}

func (l *layout) drop(free []bool, opt *ReadOptions) {
	for j, name := range l.names {
		free[j] = free[j] && !slices.Contains(opt.Drop, name)
	}
}

func (l *layout) match(free []bool, fixed []string, opt *ReadOptions) error {
	if opt.Unlabelled {
		return nil
	}
	if opt.LabelColumn != "" {
		if j, err := l.index(opt.LabelColumn, free); err == nil {
			l.target, free[j] = j, false
		}
	}
	l.drop(free, opt)
	var rest []int
	for j, is := range free {
		if is {
			rest = append(rest, j)
		}
	}
	if n := len(rest) - 1; n >= 0 && opt.LabelColumn == "" && (n == 0 || rest[n] == len(free)-1) {
		l.target, rest = rest[n], rest[:n]
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("column %s is neither the label nor one of the %d features, which begin %s",
			quote(l.names[rest[0]]), len(fixed), listed(fixed[:min(3, len(fixed))]))
	case l.target < 0:
		return ErrNoLabel
	}
	return nil
}

func (l *layout) pick(columns []int) []string {
	names := []string{}
	for _, j := range columns {
		names = append(names, l.names[j])
	}
	return names
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
