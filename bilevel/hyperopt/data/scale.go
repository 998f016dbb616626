package data

import (
	"fmt"
	"math"
	"slices"

	"stable/mat"
)

// Scaler maps each feature to (v_j − Shift[j])·Factor[j], measured on training rows, applied to
// all.
type Scaler struct {
	Shift  []float64 // nil: none, so that zeros stay zeros
	Factor []float64
}

// dense is the share of stored entries from which FitScaler shifts.
const dense = 0.9

// FitScaler returns the map that suits d: the identity where each feature's largest absolute value
// is from ½ to 1; else Standardise where at least nine tenths of the entries are stored, and
// MaxAbs, which keeps zeros, elsewhere.
func FitScaler(d *Data) *Scaler {
	m := MaxAbs(d)
	if even(m) {
		return none(d.Dim)
	}
	if float64(len(d.Val)) >= dense*float64(d.Rows())*float64(d.Dim) {
		return Standardise(d)
	}
	return m
}

func even(m *Scaler) bool {
	for _, f := range m.Factor {
		if f < 1 || f > 2 {
			return false
		}
	}
	return true
}

func none(dim int) *Scaler {
	s := &Scaler{Factor: make([]float64, dim)}
	for j := range s.Factor {
		s.Factor[j] = 1
	}
	return s
}

// IsIdentity says whether the map leaves all features as they are.
func (s *Scaler) IsIdentity() bool {
	return s.Shift == nil && !slices.ContainsFunc(s.Factor, func(f float64) bool { return f != 1 })
}

// String says "scaled to mean 0 and deviation 1", "scaled to largest absolute value 1" or "left as
// they are".
func (s *Scaler) String() string {
	switch {
	case s.IsIdentity():
		return "left as they are"
	case s.Shift == nil:
		return "scaled to largest absolute value 1"
	}
	return "scaled to mean 0 and deviation 1"
}

// Standardise returns the map to mean 0 and standard deviation 1 (divisor: number of rows). A
// constant column is only shifted. Zeros are filled: see Apply.
func Standardise(d *Data) *Scaler {
	n := float64(d.Rows())
	mean, sd := make([]float64, d.Dim), make([]float64, d.Dim)
	lo, hi := make([]float64, d.Dim), make([]float64, d.Dim)
	unit := make([]float64, d.Dim) // of the deviations, a power of two, so that no square overflows
	count := make([]int, d.Dim)
	for k, c := range d.Col {
		v := d.Val[k]
		mean[c] += v / n
		if count[c] == 0 {
			lo[c], hi[c] = v, v
		}
		lo[c], hi[c] = min(lo[c], v), max(hi[c], v)
		count[c]++
	}
	for j := range mean {
		if count[j] < d.Rows() {
			lo[j], hi[j] = min(lo[j], 0), max(hi[j], 0)
		}
		if lo[j] == hi[j] {
			mean[j] = lo[j] // exactly, so that a constant column becomes zero
		}
		_, exp := math.Frexp(max(hi[j]-mean[j], mean[j]-lo[j]))
		unit[j] = math.Ldexp(1, exp)
		r := mean[j] / unit[j]
		sd[j] = float64(d.Rows()-count[j]) / n * r * r
	}
	for k, c := range d.Col {
		r := (d.Val[k] - mean[c]) / unit[c]
		sd[c] += r * r / n
	}
	for j, v := range sd {
		sd[j] = 1
		if lo[j] < hi[j] {
			sd[j] = 1 / math.Sqrt(v) / unit[j]
		}
	}
	return &Scaler{Shift: mean, Factor: sd}
}

// MaxAbs returns the map to largest absolute value 1. It keeps zeros and empty columns.
func MaxAbs(d *Data) *Scaler {
	f := make([]float64, d.Dim)
	for k, c := range d.Col {
		f[c] = max(f[c], math.Abs(d.Val[k]))
	}
	for j, v := range f {
		f[j] = 1
		if v > 0 {
			f[j] = 1 / v
		}
	}
	return &Scaler{Factor: f}
}

// Apply returns the mapped copy of d, sharing labels and names. Entries that become zero stay
// stored; a map with a Shift stores every entry. Errors: more than sixteen times the memory of d,
// another number of features, overflow.
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
	for k, v := range z.Val {
		if !mat.IsFinite(v) {
			c, name := int(z.Col[k]), ""
			if d.Features != nil {
				name = fmt.Sprintf(" (%q)", d.Features[c])
			}
			return nil, fmt.Errorf("data: Scaler.Apply: feature %d%s: a value overflows", c+1, name)
		}
	}
	return &z, nil
}

func (s *Scaler) fill(z, d *Data) error {
	const most = 16
	if d.Dim > 0 && float64(d.Rows())*float64(d.Dim) > most*float64(len(d.Val)+d.Rows()) {
		return fmt.Errorf("data: Scaler.Apply: a shift would fill %d × %d entries, of which %d are not "+
			"zero: use MaxAbs", d.Rows(), d.Dim, len(d.Val))
	}
	z.RowPtr = make([]int, d.Rows()+1)
	z.Col = make([]int32, d.Rows()*d.Dim)
	z.Val = make([]float64, d.Rows()*d.Dim)
	for i := range d.Rows() {
		lo := i * d.Dim
		row := z.Val[lo : lo+d.Dim]
		for j := range row {
			z.Col[lo+j] = int32(j)
			row[j] = -s.Shift[j] * s.Factor[j]
		}
		col, val := d.Row(i)
		for k, c := range col {
			row[c] = (val[k] - s.Shift[c]) * s.Factor[c]
		}
		z.RowPtr[i+1] = lo + d.Dim
	}
	return nil
}
