package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func random(rng *rand.Rand, n, dim int, regression bool) *Data {
	d := &Data{Name: "random", Dim: dim, RowPtr: []int{0}}
	for i := range n {
		for j := range dim {
			if rng.Float64() < 0.6 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, rng.NormFloat64())
			}
		}
		label := float64(2*(i%3%2) - 1)
		if regression {
			label = rng.NormFloat64()
		}
		d.Label, d.RowPtr = append(d.Label, label), append(d.RowPtr, len(d.Col))
	}
	return d
}

func TestSplitUsesEveryRowOnce(t *testing.T) {
	d := random(rand.New(rand.NewPCG(1, 1)), 101, 12, false)
	for i := range d.Label { // a column that names the row
		d.Val[d.RowPtr[i]] = float64(i + 1)
	}
	for i := range d.Label {
		require.Less(t, d.RowPtr[i], d.RowPtr[i+1], "the seed must give every row an entry")
	}
	for name, split := range map[string]func(seed uint64, fractions ...float64) ([]*Data, error){"plain": d.Split, "stratified": d.SplitStratified} {
		parts, err := split(7, 3, 1, 1)
		require.NoError(t, err)
		var seen []int
		for _, p := range parts {
			require.NoError(t, p.Check())
			assert.Equal(t, d.Dim, p.Dim)
			for i := range p.Label {
				col, val := p.Row(i)
				row := int(val[0]) - 1
				wantCol, wantVal := d.Row(row)
				assert.Equal(t, wantCol, col)
				assert.Equal(t, wantVal, val)
				assert.Equal(t, d.Label[row], p.Label[i])
				seen = append(seen, row)
			}
		}
		slices.Sort(seen)
		require.Len(t, seen, 101, name)
		for i, row := range seen {
			require.Equal(t, i, row, name)
		}
		assert.InDelta(t, 60.6, parts[0].Rows(), 1.5)
		again, err := split(7, 3, 1, 1)
		require.NoError(t, err)
		assert.Equal(t, parts, again, name)
		other, err := split(8, 3, 1, 1)
		require.NoError(t, err)
		assert.NotEqual(t, parts[0].Val, other[0].Val, name)
		for _, bad := range [][]float64{{}, {1, 0}, {1, -1}, {1, math.NaN()}, {math.Inf(1)}, {1, 1e-9},
			{math.MaxFloat64, math.MaxFloat64}} {
			_, err := split(7, bad...)
			assert.Error(t, err, "%v", bad)
		}
	}
	parts, err := d.SplitStratified(7, 1, 1)
	require.NoError(t, err)
	_, first := countClasses(parts[0])
	_, second := countClasses(parts[1])
	assert.InDelta(t, first, second, 1)
	_, err = random(rand.New(rand.NewPCG(1, 1)), 9, 2, true).SplitStratified(1, 1, 1)
	assert.ErrorContains(t, err, "not a classification problem")
}

func TestStandardise(t *testing.T) {
	d := random(rand.New(rand.NewPCG(1, 2)), 50, 4, false)
	for k, c := range d.Col {
		if c == 2 {
			d.Val[k] += 1e4
		}
	}
	s := Standardise(d)
	z, err := s.Apply(d)
	require.NoError(t, err)
	require.NoError(t, z.Check())
	mean, sq := make([]float64, 4), make([]float64, 4)
	for i := range z.Label {
		col, val := z.Row(i)
		require.Len(t, col, 4)
		for k, c := range col {
			mean[c] += val[k] / 50
			sq[c] += val[k] * val[k] / 50
		}
	}
	for j := range mean {
		assert.InDelta(t, 0, mean[j], 1e-13)
		assert.InDelta(t, 1, sq[j], 1e-12)
	}
	other := denseData([]float64{0, 2, 0, 0})
	z, err = s.Apply(other)
	require.NoError(t, err)
	_, val := z.Row(0)
	assert.Equal(t, []float64{-s.Shift[0] * s.Factor[0], (2 - s.Shift[1]) * s.Factor[1], -s.Shift[2] * s.Factor[2],
		-s.Shift[3] * s.Factor[3]}, val)
	assert.Equal(t, 2.0, other.Val[0])

	constant := denseData([]float64{0.1, 0}, []float64{0.1, 0}, []float64{0.1, 0})
	z, err = Standardise(constant).Apply(constant)
	require.NoError(t, err)
	assert.Equal(t, make([]float64, 6), z.Val)

	_, err = s.Apply(constant)
	assert.ErrorContains(t, err, "2 features, want 4")
	for dim, ok := range map[int]bool{32: true, 33: false} { // 16·(1 entry + 1 row)
		one := denseData(append([]float64{1}, make([]float64, dim-1)...))
		_, err = (&Scaler{Shift: make([]float64, dim), Factor: make([]float64, dim)}).Apply(one)
		assert.Equal(t, ok, err == nil, "%d: %v", dim, err)
	}
	wide := &Data{Dim: MaxIndex, RowPtr: []int{0, 1, 2}, Col: []int32{0, 5}, Val: []float64{1, 2},
		Label: []float64{1, -1}}
	_, err = (&Scaler{Shift: make([]float64, MaxIndex), Factor: make([]float64, MaxIndex)}).Apply(wide)
	assert.ErrorContains(t, err, "use MaxAbs")
	huge := denseData([]float64{math.MaxFloat64}, []float64{-math.MaxFloat64})
	_, err = (&Scaler{Factor: []float64{2}}).Apply(huge)
	assert.ErrorContains(t, err, "overflows")
}

func TestMaxAbs(t *testing.T) {
	assert.Equal(t, []int{1}, Constant(denseData([]float64{5, 7}, []float64{0, 7})))
	d := &Data{Dim: 3, RowPtr: []int{0, 2, 3}, Col: []int32{0, 2, 0}, Val: []float64{1, 5, -4}, Label: []float64{1, -1}}
	z, err := MaxAbs(d).Apply(d)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.25, 1, -1}, z.Val)
	assert.Equal(t, d.Col, z.Col)
	assert.Equal(t, []float64{1, 5, -4}, d.Val)
}

func TestWithBias(t *testing.T) {
	d := &Data{Dim: 2, RowPtr: []int{0, 1, 1}, Col: []int32{0}, Val: []float64{5}, Label: []float64{1, -1},
		Features: []string{"a", "b"}}
	b := WithBias(d)
	require.NoError(t, b.Check())
	assert.Equal(t, &Data{Dim: 3, RowPtr: []int{0, 2, 3}, Col: []int32{0, 2, 2}, Val: []float64{5, 1, 1},
		Label: d.Label, Features: []string{"a", "b", "bias"}}, b)
	assert.Equal(t, []string{"a", "b"}, d.Features)
	d.Features = nil
	assert.Nil(t, WithBias(d).Features)
}

// denseData has rows of the values, all labelled 1, and stores no zero.
func denseData(values ...[]float64) *Data {
	d := &Data{Dim: len(values[0]), RowPtr: []int{0}}
	for _, row := range values {
		for j, v := range row {
			if v != 0 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, 1)
	}
	return d
}

func TestFitScaler(t *testing.T) {
	for _, c := range []struct {
		d        *Data
		want     string
		identity bool
	}{
		{denseData([]float64{-1, 0.25}, []float64{0.5, 0.5}), "left as they are", true},
		{denseData([]float64{1, 0, 0}, []float64{0, 0, 0.7}), "left as they are", true}, // no entries in the second
		{denseData([]float64{-1, 0.25}, []float64{0.5, 0.49}), "scaled to mean 0 and deviation 1", false},
		{denseData([]float64{-1, 0.25}, []float64{0.5, 1.01}), "scaled to mean 0 and deviation 1", false},
		{denseData([]float64{3, 0, 0}, []float64{0, 0, 0.7}), "scaled to largest absolute value 1", false},
	} {
		s := FitScaler(c.d)
		assert.Equal(t, c.want, s.String())
		require.Equal(t, c.identity, s.IsIdentity())
		z, err := s.Apply(c.d)
		require.NoError(t, err)
		if c.identity {
			assert.Equal(t, c.d.Val, z.Val)
		} else {
			assert.NotEqual(t, c.d.Val, z.Val)
		}
	}
}

func TestStandardiseFarScales(t *testing.T) {
	values := []float64{1, -2, 0, 4.5, 3}
	plain := &Data{Dim: 1, RowPtr: []int{0, 1, 2, 3, 4, 5}, Col: make([]int32, 5), Val: values, Label: make([]float64, 5)}
	want, err := Standardise(plain).Apply(plain)
	require.NoError(t, err)
	for _, exp := range []int{-1000, -700, 700, 1000} {
		far := *plain
		far.Val = make([]float64, len(values))
		for k, v := range values {
			far.Val[k] = math.Ldexp(v, exp)
		}
		got, err := Standardise(&far).Apply(&far)
		require.NoError(t, err, exp)
		assert.Equal(t, want.Val, got.Val, exp)
	}
	far := *plain // the difference of two values is no float64, or no float64 has the inverse of one
	for _, unit := range []float64{math.MaxFloat64, 1e-320} {
		far.Val = []float64{unit, unit, unit, -unit, unit}
		got, err := Standardise(&far).Apply(&far)
		require.NoError(t, err)
		require.NoError(t, got.Check())
		assert.Equal(t, unit < 1, slices.Equal(Constant(&far), []int{0}))
		if unit > 1 {
			assert.InDeltaSlice(t, []float64{0.5, 0.5, 0.5, -2, 0.5}, got.Val, 1e-12)
		}
		got, err = MaxAbs(&far).Apply(&far)
		require.NoError(t, err)
		assert.InDelta(t, min(1, unit), got.Val[0], 1e-15)
	}
	named := *plain
	named.Features = []string{"size"}
	_, err = (&Scaler{Factor: []float64{math.MaxFloat64}}).Apply(&named)
	assert.ErrorContains(t, err, `feature 1 ("size"): a value overflows`)
}

func TestJoin(t *testing.T) {
	d := breastCancer(t)
	assert.Equal(t, d, Join(d))
	rows := func(lo, hi int) (list []int) {
		for i := lo; i < hi; i++ {
			list = append(list, i)
		}
		return list
	}
	assert.Equal(t, d, Join(d.Subset(rows(0, 7)), d.Subset(rows(7, 8)), d.Subset(rows(8, d.Rows()))))
	wide := &Data{Dim: d.Dim + 1, RowPtr: []int{0}}
	assert.Panics(t, func() { Join(d, wide) })
}
