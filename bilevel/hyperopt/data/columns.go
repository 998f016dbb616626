package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Column says how a column of a CSV file becomes features.
type Column struct {
	Name string `json:"name"`

	// Levels are the sorted texts of a column of text; each becomes a feature NAME=LEVEL, 1 where
	// the cell is that text, else 0; of two, only the second. nil: a column of numbers.
	Levels []string `json:"levels,omitempty"`

	// Fill and FillLevel stand for missing numbers and texts. nil, or empty: a missing cell is an
	// error.
	Fill      *float64 `json:"fill,omitempty"`
	FillLevel string   `json:"fill_level,omitempty"`
}

// table is a CSV file as text, without the label and the dropped columns.
type table struct {
	names []string
	cells [][]string
	lines []int // of the rows, in the file
}

func (o *ReadOptions) wide() bool {
	return o.Categorical || o.Impute != "" || len(o.Drop) > 0 || o.Columns != nil
}

func (t *table) add(fields []string, keep []int, line int) {
	row := make([]string, len(keep))
	for k, j := range keep {
		row[k] = strings.Clone(toUTF8(strings.TrimSpace(fields[j])))
	}
	t.cells, t.lines = append(t.cells, row), append(t.lines, line)
}

func (t *table) measure(opt *ReadOptions) ([]Column, error) {
	columns := make([]Column, len(t.names))
	for k, name := range t.names {
		c := Column{Name: name}
		var numbers []float64
		texts := map[string]int{}
		missing := 0
		for i, row := range t.cells {
			v, err := parseFloat(row[k])
			switch {
			case err == nil:
				numbers = append(numbers, v)
			case (err == ErrMissing || err == ErrNaN) && opt.Impute != "":
				missing++
				continue
			case err != ErrNumber || !opt.Categorical:
				return nil, &lineError{t.lines[i], cellError(name, row[k], err)}
			}
			texts[row[k]]++
		}
		switch {
		case len(texts) == 0:
			return nil, fmt.Errorf("column %s has no value", quote(name))
		case len(numbers) < len(t.cells)-missing:
			if c.Levels = slices.Sorted(maps.Keys(texts)); len(texts) > mostLevels {
				return nil, fmt.Errorf("column %s holds %d different texts in %d rows, want at most %d",
					quote(name), len(texts), len(t.cells), mostLevels)
			}
			if missing > 0 {
				c.FillLevel = slices.MaxFunc(c.Levels, func(a, b string) int { return texts[a] - texts[b] })
			}
		case missing > 0:
			fill := middle(numbers, opt.Impute)
			c.Fill = &fill
		}
		columns[k] = c
	}
	return columns, nil
}

// mostLevels caps the different texts of a column; one with more is taken to hold names.
const mostLevels = 100

func middle(numbers []float64, how string) float64 {
	if how == "mean" {
		mean := 0.0
		for _, v := range numbers {
			mean += v / float64(len(numbers))
		}
		return mean
	}
	slices.Sort(numbers)
	n := len(numbers)
	return numbers[(n-1)/2]/2 + numbers[n/2]/2
}

type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

func cellError(column, cell string, err error) error {
	return marked{fmt.Errorf("column %s, %s: %w", quote(column), quote(cell), err), ErrCell}
}

func (t *table) encode(d *Data, columns []Column) error {
	d.Features = []string{}
	first := make([]int, len(columns)) // feature of each column
	for k, c := range columns {
		first[k] = len(d.Features)
		d.Features = append(d.Features, c.features()...)
	}
	if d.Dim = len(d.Features); d.Dim > MaxIndex {
		return fmt.Errorf("%d features, more than the %d that are supported", d.Dim, MaxIndex)
	}
	for i, row := range t.cells {
		for k := range columns {
			j, v, err := columns[k].value(row[k])
			if err != nil {
				return &lineError{t.lines[i], cellError(columns[k].Name, row[k], err)}
			}
			if v != 0 {
				d.Col, d.Val = append(d.Col, int32(first[k]+j)), append(d.Val, v)
			}
		}
		d.RowPtr = append(d.RowPtr, len(d.Col))
	}
	return nil
}

func (c *Column) features() (names []string) {
	switch len(c.Levels) {
	case 0:
		return []string{c.Name}
	case 2:
		return []string{c.Name + "=" + c.Levels[1]}
	}
	for _, level := range c.Levels {
		names = append(names, c.Name+"="+level)
	}
	return names
}

// value returns which feature of its column a cell sets, and to what.
func (c *Column) value(cell string) (feature int, v float64, err error) {
	_, err = parseFloat(cell)
	missing := err == ErrMissing || err == ErrNaN
	if c.Levels == nil {
		if missing && c.Fill != nil {
			return 0, *c.Fill, nil
		}
		v, err = parseFloat(cell)
		return 0, v, err
	}
	at, found := slices.BinarySearch(c.Levels, cell)
	if !found && missing {
		at, found = slices.BinarySearch(c.Levels, c.FillLevel)
		if !found {
			return 0, 0, ErrMissing
		}
	}
	switch {
	case !found:
		return 0, 0, fmt.Errorf("not among the %d texts of this column in the training data", len(c.Levels))
	case len(c.Levels) == 2:
		return 0, float64(at), nil
	}
	return at, 1, nil
}
