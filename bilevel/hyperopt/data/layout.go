package data

import (
	"fmt"
	"maps"
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

func newLayout(first []string, opt *ReadOptions) (*layout, error) {
	l := &layout{names: first, target: -1, id: -1}
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
		fixed = []string{}
		for _, c := range opt.Columns {
			fixed = append(fixed, c.Name)
		}
	}
	if opt.ID != "" {
		var err error
		if l.id, err = l.index(opt.ID); err != nil {
			return nil, err
		}
	}
	if fixed == nil {
		return l, l.find(opt)
	}
	return l, l.match(fixed, opt)
}

func (l *layout) index(name string) (int, error) {
	j := slices.Index(l.names, toUTF8(name))
	if j < 0 {
		return j, fmt.Errorf("no column is named %s; there are %s", quote(toUTF8(name)), listed(l.names))
	}
	return j, nil
}

// check returns an error unless the first line can be a header.
func (l *layout) check() error {
	numbers := 0 // whole numbers may be names, as some programs write them
	seen := map[string]bool{}
	for _, s := range l.names {
		v, err := parseFloat(s)
		if err == nil {
			numbers++
		}
		if numbers == len(l.names) || err == nil && v != math.Trunc(v) {
			return fmt.Errorf("the first line holds numbers: %w", ErrNoHeader)
		}
	}
	for _, s := range l.names {
		if s != "" && seen[s] {
			return fmt.Errorf("two columns are named %s", quote(s))
		}
		seen[s] = true
	}
	return nil
}

// find makes all columns features but the label, the names of rows and those that are dropped.
func (l *layout) find(opt *ReadOptions) (err error) {
	switch {
	case opt.Unlabelled:
	case opt.LabelColumn != "":
		if l.target, err = l.index(opt.LabelColumn); err != nil {
			return err
		}
	case opt.Dim != 0 && opt.Dim == len(l.names) && !opt.wide():
		return ErrNoLabel
	default:
		l.target = len(l.names) - 1
	}
	drop := dropped(opt)
	for j, name := range l.names {
		out := drop[name] || j == l.id
		switch {
		case out && j == l.target:
			return fmt.Errorf("column %s is the label, and cannot be dropped", quote(name))
		case out:
			delete(drop, name)
		case j != l.target:
			l.keep = append(l.keep, j)
		}
	}
	if len(drop) > 0 {
		return fmt.Errorf("no column is named %s, to be dropped; there are %s",
			listed(slices.Sorted(maps.Keys(drop))), listed(l.pick(l.keep)))
	}
	if opt.Dim != 0 && opt.Dim != len(l.keep) && !opt.wide() {
		return fmt.Errorf("%d columns of features, want %d", len(l.keep), opt.Dim)
	}
	return nil
}

// match makes the columns of these names features. What is left is the label; more may be left in a
// file read without labels.
func (l *layout) match(fixed []string, opt *ReadOptions) error {
	taken := make([]bool, len(l.names))
	if opt.Headerless && opt.ID == "" && len(l.names) == len(fixed) {
		fixed = l.names // rows of features alone, whatever their numbers were
	}
	for _, name := range fixed {
		j := 0
		for j < len(l.names) && (taken[j] || l.names[j] != name) {
			j++
		}
		if j == len(l.names) {
			return fmt.Errorf("no column is named %s; there are %s", quote(name), listed(l.names))
		}
		taken[j] = true
		l.keep = append(l.keep, j)
	}
	if opt.Unlabelled {
		return nil
	}
	drop, label := dropped(opt), toUTF8(opt.LabelColumn)
	var rest []int
	for j, name := range l.names {
		switch {
		case taken[j] || j == l.id:
		case label != "" && name == label:
			l.target = j
		case !drop[name]:
			rest = append(rest, j)
		}
	}
	if n := len(rest) - 1; n >= 0 && label == "" && (n == 0 || rest[n] == len(l.names)-1) {
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

func dropped(opt *ReadOptions) map[string]bool {
	drop := map[string]bool{}
	for _, name := range opt.Drop {
		drop[toUTF8(name)] = true
	}
	return drop
}

func (l *layout) pick(columns []int) []string {
	names := make([]string, len(columns))
	for k, j := range columns {
		names[k] = l.names[j]
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
