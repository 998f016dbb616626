package data

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/mat"
)

// Scaler maps each feature to (v_j − Shift[j])·Factor[j].
type Scaler struct {
	Shift  []float64 // nil: none, so that zeros stay zeros
	Factor []float64
	sparse int // features that FitScaler does not standardise
}

// FitScaler returns the identity where each feature's largest absolute value is from ½ to 1, and
// none lies ten deviations or more from 0, as an intercept would; else the map that standardises the
// features of which a tenth of the entries is stored, and scales the others as MaxAbs does.
func FitScaler(d *Data) *Scaler {
	m, s, as := MaxAbs(d), Standardise(d), true
	_, _, stored := spans(d)
	for j, f := range m.Factor {
		as = as && f >= 1 && f <= 2 && math.Abs(s.Shift[j]*s.Factor[j]) < 10
		if 10*stored[j] < float64(d.Rows()) {
			s.Shift[j], s.Factor[j] = 0, f
			s.sparse++
		}
	}
	switch {
	case as:
		return &Scaler{Factor: slices.Repeat([]float64{1}, d.Dim)}
	case s.sparse == d.Dim:
		return m
	}
	return s
}

// IsIdentity says whether the map leaves all features as they are.
func (s *Scaler) IsIdentity() bool {
	return s.Shift == nil && !slices.ContainsFunc(s.Factor, func(f float64) bool { return f != 1 })
}

// String says what the map does to features.
func (s *Scaler) String() string {
	switch {
	case s.IsIdentity():
		return "left as they are"
	case s.Shift == nil:
		return "scaled to largest absolute value 1"
	case s.sparse > 0:
		return fmt.Sprintf("scaled to mean 0 and deviation 1, but %d with many zeros to largest absolute value 1", s.sparse)
	}
	return "scaled to mean 0 and deviation 1"
}

// least is the smallest difference of values: a factor 1/least leaves coefficients little room.
const least = 1e-303

// Constant returns the features that have one value in all rows, up to 1e-303.
func Constant(d *Data) (features []int) {
	lo, hi, _ := spans(d)
	for j := range lo {
		if hi[j]/2-lo[j]/2 < least {
			features = append(features, j)
		}
	}
	return features
}

func spans(d *Data) (lo, hi, stored []float64) {
	lo, hi = slices.Repeat([]float64{math.Inf(1)}, d.Dim), slices.Repeat([]float64{math.Inf(-1)}, d.Dim)
	stored = make([]float64, d.Dim)
	for k, c := range d.Col {
		lo[c], hi[c] = min(lo[c], d.Val[k]), max(hi[c], d.Val[k])
		stored[c]++
	}
	for j, n := range stored {
		if n < float64(d.Rows()) {
			lo[j], hi[j] = min(lo[j], 0), max(hi[j], 0)
		}
	}
	return lo, hi, stored
}

// Standardise returns the map to mean 0 and standard deviation 1 (divisor: number of rows). A
// constant column is only shifted. Zeros are filled: see Apply.
func Standardise(d *Data) *Scaler {
	n := float64(d.Rows())
	lo, hi, stored := spans(d)
	mean, square := make([]float64, d.Dim), make([]float64, d.Dim)
	unit := make([]float64, d.Dim) // a power of two above half of each deviation
	for k, c := range d.Col {
		mean[c] += d.Val[k] / n
	}
	for j := range mean {
		if lo[j] == hi[j] {
			mean[j] = lo[j] // exactly, so that a constant column becomes zero
		}
		_, exp := math.Frexp(max(hi[j]/2-mean[j]/2, mean[j]/2-lo[j]/2))
		unit[j] = math.Ldexp(1, exp-1)
		r := mean[j] / 2 / unit[j]
		square[j] = (n - stored[j]) / n * r * r
	}
	for k, c := range d.Col {
		r := (d.Val[k]/2 - mean[c]/2) / unit[c]
		square[c] += r * r / n
	}
	s := &Scaler{Shift: mean, Factor: square}
	for j, v := range square {
		s.Factor[j] = 1
		if hi[j]/2-lo[j]/2 >= least {
			s.Factor[j] = 1 / math.Sqrt(v) / unit[j] / 2
		}
	}
	return s
}

// MaxAbs returns the map to largest absolute value 1. It keeps zeros and empty columns.
func MaxAbs(d *Data) *Scaler {
	lo, hi, _ := spans(d)
	f := slices.Repeat([]float64{1}, d.Dim)
	for j := range f {
		if most := max(-lo[j], hi[j]); most >= least {
			f[j] = 1 / most
		}
	}
	return &Scaler{Factor: f}
}

// Apply returns the mapped copy of d, sharing labels and names. Features with a Shift are stored in
// every row. Errors: more than sixteen times the memory of d, another number of features, overflow.
func (s *Scaler) Apply(d *Data) (*Data, error) {
	if len(s.Factor) != d.Dim {
		return nil, fmt.Errorf("data: Scaler.Apply: %d features, want %d", d.Dim, len(s.Factor))
	}
	z := *d
	if s.Shift == nil {
		z.Val = make([]float64, len(d.Val))
		for k, c := range d.Col {
			z.Val[k] = d.Val[k] * s.Factor[c]
		}
	} else if err := s.fill(&z, d); err != nil {
		return nil, err
	}
	if k := mat.NotFinite(z.Val); k >= 0 {
		c, name := int(z.Col[k]), ""
		if d.Features != nil {
			name = fmt.Sprintf(" (%q)", d.Features[c])
		}
		return nil, fmt.Errorf("data: Scaler.Apply: feature %d%s: a value overflows", c+1, name)
	}
	return &z, nil
}

func (s *Scaler) fill(z, d *Data) error {
	const most = 16
	rows, filled := d.Rows(), []int32{}
	for j, v := range s.Shift {
		if v != 0 {
			filled = append(filled, int32(j))
		}
	}
	if float64(rows)*float64(len(filled)) > most*float64(len(d.Val)+rows) {
		return fmt.Errorf("data: Scaler.Apply: a shift would fill %d × %d entries, of which %d are not "+
			"zero: use MaxAbs", rows, len(filled), len(d.Val))
	}
	z.RowPtr, z.Col, z.Val = []int{0}, nil, nil
	filled = append(filled, math.MaxInt32)
	for i := range rows {
		col, val := d.Row(i)
		for k, f := 0, 0; k < len(col) || f < len(filled)-1; {
			c, v := filled[f], 0.0
			if k < len(col) && col[k] <= c {
				c, v, k = col[k], val[k], k+1
			}
			if c == filled[f] {
				f++
			}
			v = (v/2 - s.Shift[c]/2) * s.Factor[c] * 2 // the difference itself may overflow
			z.Col, z.Val = append(z.Col, c), append(z.Val, v)
		}
		z.RowPtr = append(z.RowPtr, len(z.Col))
	}
	return nil
}

// Split deals the rows of d at random into parts in proportion to the fractions. Errors: a fraction
// that is not positive; an empty part. Memory: a copy of d.
func (d *Data) Split(seed uint64, fractions ...float64) ([]*Data, error) {
	return d.split([][]int{shuffled(d.Rows(), seed)}, fractions)
}

// SplitStratified is Split class by class: each part has the classes in d's proportion up to a row, ordered by class.
func (d *Data) SplitStratified(seed uint64, fractions ...float64) ([]*Data, error) {
	classes := make([][]int, max(2, len(d.Classes)))
	for _, i := range shuffled(d.Rows(), seed) {
		k := d.Label[i]
		if len(classes) == 2 {
			k = (k + 1) / 2
		}
		if !(k >= 0 && k < float64(len(classes))) || k != math.Trunc(k) {
			return nil, fmt.Errorf("data: SplitStratified: row %d has label %v: not a classification problem", i, d.Label[i])
		}
		classes[int(k)] = append(classes[int(k)], i)
	}
	return d.split(classes, fractions)
}

func shuffled(n int, seed uint64) []int { return rand.New(rand.NewPCG(seed, 0x73706c6974)).Perm(n) }

func (d *Data) split(lists [][]int, fractions []float64) ([]*Data, error) {
	total := 0.0
	for k, f := range fractions {
		if total += f; !(f > 0) || !mat.IsFinite(f) {
			return nil, fmt.Errorf("data: Split: fraction %d is %v, want a positive number", k, f)
		}
	}
	if len(fractions) == 0 || !mat.IsFinite(total) {
		return nil, errors.New("data: Split: no fractions, or their sum overflows")
	}
	parts, sum := make([]*Data, len(fractions)), 0.0
	for k, f := range fractions {
		var rows []int
		for _, list := range lists {
			n := float64(len(list))
			lo, hi := int(sum/total*n+0.5), int((sum+f)/total*n+0.5)
			rows = append(rows, list[lo:hi]...)
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("data: Split: %d rows are too few for %d parts: part %d would be empty",
				d.Rows(), len(fractions), k)
		}
		parts[k] = d.Subset(rows)
		sum += f
	}
	return parts, nil
}
