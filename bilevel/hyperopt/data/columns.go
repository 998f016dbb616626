package data

import (
	"fmt"
	"maps"
	"slices"
)

// Column says how a column of a CSV file becomes features.
type Column struct {
	Name string `json:"name"`

	// Levels are a column's sorted texts; each is an indicator NAME=LEVEL, of two only the second.
	// nil: a column of numbers.
	Levels []string `json:"levels,omitempty"`

	// With ReadOptions.Impute, Fill and FillLevel stand for missing cells and unknown texts.
	Fill      *float64 `json:"fill,omitempty"`
	FillLevel string   `json:"fill_level,omitempty"`
}

func (o *ReadOptions) wide() bool {
	return o.Categorical || o.Impute != "" || len(o.Drop) > 0 || o.Columns != nil
}

func (rd *records) finish(d *Data, opt *ReadOptions) (err error) {
	if d.Columns = opt.Columns; d.Columns == nil {
		for k, name := range d.Features {
			c, err := rd.measure(k, name, opt)
			if err != nil {
				return err
			}
			d.Columns = append(d.Columns, c)
		}
	}
	return rd.encode(d, opt)
}

const mostLevels = 100

func (rd *records) measure(k int, name string, opt *ReadOptions) (Column, error) {
	c := Column{Name: name}
	var numbers []float64
	texts, filled := map[string]int{}, 0
	for i, row := range rd.cells {
		v, err := parseCell(row[k])
		switch {
		case err == nil:
			numbers = append(numbers, v)
		case isMissing(err) && opt.Impute != "":
			continue
		case err != ErrNumber || !opt.Categorical:
			rd.line = rd.lines[i]
			return c, cellError(c.Name, row[k], err)
		}
		texts[row[k]]++
		filled++
	}
	switch {
	case filled == 0:
		return c, marked{fmt.Errorf("column %s has no value", quote(c.Name)), ErrCell}
	case len(numbers) == filled:
		fill := middle(numbers, opt.Impute)
		c.Fill = &fill
	case len(texts) > mostLevels:
		return c, marked{fmt.Errorf("column %s holds %d different texts in %d rows, %d of them numbers, want at most %d",
			quote(c.Name), len(texts), len(rd.cells), len(numbers), mostLevels), ErrCell}
	default:
		c.Levels = slices.Sorted(maps.Keys(texts))
		c.FillLevel = slices.MaxFunc(c.Levels, func(a, b string) int { return texts[a] - texts[b] })
	}
	return c, nil
}

func isMissing(err error) bool { return err == ErrMissing || err == ErrNaN }

func middle(numbers []float64, how string) float64 {
	slices.Sort(numbers)
	mean, n := 0.0, len(numbers)
	for _, v := range numbers {
		mean += v / float64(n)
	}
	if how == "mean" {
		return mean
	}
	return numbers[(n-1)/2]/2 + numbers[n/2]/2
}

func (rd *records) encode(d *Data, opt *ReadOptions) error {
	d.Features = []string{}
	first := make([]int, len(d.Columns)) // feature of each column
	for k, c := range d.Columns {
		first[k] = len(d.Features)
		d.Features = append(d.Features, c.features()...)
	}
	if d.Dim = len(d.Features); d.Dim > MaxIndex {
		return fmt.Errorf("%d features, more than the %d that are supported", d.Dim, MaxIndex)
	}
	for i, row := range rd.cells {
		for k, c := range d.Columns {
			j, v, err := c.value(row[k])
			if err != nil && opt.Impute != "" && (c.Levels != nil || c.Fill != nil && isMissing(err)) {
				d.Filled++
				if j, v, err = c.value(c.FillLevel); c.Levels == nil {
					j, v, err = 0, *c.Fill, nil
				}
			}
			if err != nil {
				rd.line = rd.lines[i]
				return cellError(c.Name, row[k], err)
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
	for _, level := range c.Levels {
		names = append(names, c.Name+"="+level)
	}
	if names == nil {
		return []string{c.Name}
	}
	if len(names) == 2 {
		return names[1:]
	}
	return names
}

// value returns which feature of its column a cell sets, and to what.
func (c *Column) value(cell string) (feature int, v float64, err error) {
	v, err = parseCell(cell)
	if c.Levels == nil {
		return 0, v, err
	}
	at, found := slices.BinarySearch(c.Levels, cell)
	switch {
	case !found && isMissing(err):
		return 0, 0, err
	case !found:
		return 0, 0, fmt.Errorf("not among the %d texts of this column %w", len(c.Levels), ErrLevel)
	case len(c.Levels) == 2:
		return 0, float64(at), nil
	}
	return at, 1, nil
}
