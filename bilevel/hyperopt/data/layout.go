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
	keep   []int    // the columns that are features, in their order
}

func newLayout(first []string, opt *ReadOptions) (*layout, error) {
	l := &layout{names: cleaned(first)}
	if opt.Headerless {
		for j := range l.names {
			l.names[j] = strconv.Itoa(j + 1)
		}
	} else if err := l.check(); err != nil {
		return nil, err
	}
	if fixed := opt.fixed(); fixed != nil {
		return l, l.match(fixed, opt)
	}
	return l, l.find(opt)
}

// fixed returns the columns that must be features; nil where the file decides.
func (o *ReadOptions) fixed() []string {
	if o.Columns == nil {
		return o.Features
	}
	names := make([]string, len(o.Columns))
	for k, c := range o.Columns {
		names[k] = c.Name
	}
	return names
}

// check returns an error unless the first line can be a header.
func (l *layout) check() error {
	numbers := 0 // whole numbers may be names, as some programs write them
	for _, s := range l.names {
		v, err := parseFloat(s)
		if err == nil {
			numbers++
		}
		if numbers == len(l.names) || err == nil && v != math.Trunc(v) {
			return fmt.Errorf("the first line holds numbers: %w", ErrNoHeader)
		}
	}
	seen := map[string]bool{}
	for _, s := range l.names {
		if s != "" && seen[s] {
			return fmt.Errorf("two columns are named %s", quote(s))
		}
		seen[s] = true
	}
	return nil
}

// find makes all columns features but the label and those that are dropped.
func (l *layout) find(opt *ReadOptions) error {
	l.target = len(l.names) - 1
	switch {
	case opt.Unlabelled:
		l.target = -1
	case opt.LabelColumn != "":
		if l.target = slices.Index(l.names, toUTF8(opt.LabelColumn)); l.target < 0 {
			return fmt.Errorf("no column is named %s; there are %s", quote(opt.LabelColumn), listed(l.names))
		}
	case opt.Dim != 0 && opt.Dim == len(l.names) && !opt.wide():
		return ErrNoLabel
	}
	drop := dropped(opt)
	for j, name := range l.names {
		switch {
		case drop[name] && j == l.target:
			return fmt.Errorf("column %s is the label, and cannot be dropped", quote(name))
		case j == l.target:
		case drop[name]:
			delete(drop, name)
		default:
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
	if opt.Headerless && len(l.names) == len(fixed) { // rows of features alone, whatever their numbers were
		for j := range l.names {
			l.keep = append(l.keep, j)
		}
		l.target = -1
		return l.needLabel(opt)
	}
	taken := make([]bool, len(l.names))
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
	drop := dropped(opt)
	label := toUTF8(opt.LabelColumn)
	var rest []int
	for j, name := range l.names {
		if !taken[j] && (name == label && label != "" || !drop[name]) {
			rest = append(rest, j)
		}
	}
	l.target = -1
	for i, j := range rest {
		if label != "" && l.names[j] == label || label == "" && i == len(rest)-1 && (i == 0 || j == len(l.names)-1) {
			l.target = j
		}
	}
	switch {
	case opt.Unlabelled:
		l.target = -1
	case len(rest) > 1 || len(rest) == 1 && l.target < 0:
		rest = slices.DeleteFunc(rest, func(j int) bool { return j == l.target })
		return fmt.Errorf("column %s is neither the label nor one of the %d features, which begin %s",
			quote(l.names[rest[0]]), len(fixed), listed(fixed[:min(3, len(fixed))]))
	}
	return l.needLabel(opt)
}

func (l *layout) needLabel(opt *ReadOptions) error {
	if l.target < 0 && !opt.Unlabelled {
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

func cleaned(names []string) []string {
	clean := make([]string, len(names)) // copies: the reader uses the memory of names again
	for j, s := range names {
		clean[j] = strings.Clone(toUTF8(strings.TrimSpace(s)))
	}
	return clean
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
