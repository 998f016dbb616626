package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func denseData(values ...[]float64) *Data {
	d := &Data{Dim: len(values[0]), RowPtr: []int{0}}
	for i, row := range values {
		for j, v := range row {
			if v != 0 {
				d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
			}
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, float64(2*(i%3%2)-1))
	}
	return d
}

func random(seed uint64, n, dim int) *Data {
	rng := rand.New(rand.NewPCG(1, seed))
	values := make([][]float64, n)
	for i := range values {
		values[i] = []float64{float64(i + 1)}
		for len(values[i]) < dim {
			values[i] = append(values[i], rng.NormFloat64()*float64(rng.IntN(2)))
		}
	}
	return denseData(values...)
}

func apply(t *testing.T, s *Scaler, d *Data) *Data {
	t.Helper()
	z, err := s.Apply(d)
	require.NoError(t, err)
	require.NoError(t, z.Check())
	return z
}

func TestSplitUsesEveryRowOnce(t *testing.T) {
	d := random(1, 101, 12)
	for name, split := range map[string]func(uint64, ...float64) ([]*Data, error){
		"plain": d.Split, "stratified": d.SplitStratified} {
		parts, err := split(7, 3, 1, 1)
		require.NoError(t, err)
		var seen []int
		for _, p := range parts {
			require.NoError(t, p.Check())
			for i := range p.Label {
				_, val := p.Row(i)
				seen = append(seen, int(val[0])-1)
			}
		}
		assert.Equal(t, d.Subset(seen), Join(parts...), name)
		slices.Sort(seen)
		require.Len(t, seen, 101, name)
		require.Len(t, slices.Compact(seen), 101, name)
		assert.InDelta(t, 60.6, parts[0].Rows(), 1.5)
		for seed, same := range map[uint64]bool{7: true, 8: false} {
			again, err := split(seed, 3, 1, 1)
			require.NoError(t, err)
			assert.Equal(t, same, assert.ObjectsAreEqual(parts, again), name)
		}
		for _, bad := range [][]float64{{}, {1, 0}, {1, -1}, {1, math.NaN()}, {math.Inf(1)}, {1, 1e-9},
			{math.MaxFloat64, math.MaxFloat64}} {
			_, err := split(7, bad...)
			assert.Error(t, err, "%v", bad)
		}
	}
	assert.Panics(t, func() { Join(d, &Data{Dim: d.Dim + 1, RowPtr: []int{0}}) })
	parts, err := d.SplitStratified(7, 1, 1)
	require.NoError(t, err)
	_, first := countClasses(parts[0])
	_, second := countClasses(parts[1])
	assert.InDelta(t, first, second, 1)
	d.Label[5] = 0.5
	_, err = d.SplitStratified(1, 1, 1)
	assert.ErrorContains(t, err, "not a classification problem")
}

func TestStandardise(t *testing.T) {
	d := random(2, 50, 4)
	for k, c := range d.Col {
		if c == 2 {
			d.Val[k] += 1e4
		}
	}
	s := Standardise(d)
	mean, sq := make([]float64, 4), make([]float64, 4)
	for _, row := range denseRows(apply(t, s, d)) {
		for c, v := range row {
			mean[c] += v / 50
			sq[c] += v * v / 50
		}
	}
	assert.InDeltaSlice(t, make([]float64, 4), mean, 1e-13)
	assert.InDeltaSlice(t, []float64{1, 1, 1, 1}, sq, 1e-12)
	other := denseData([]float64{0, 2, 0, 0})
	assert.Equal(t, []float64{-s.Shift[0] * s.Factor[0], (2 - s.Shift[1]) * s.Factor[1], -s.Shift[2] * s.Factor[2],
		-s.Shift[3] * s.Factor[3]}, apply(t, s, other).Val)
	assert.Equal(t, 2.0, other.Val[0])

	constant := denseData([]float64{0.1, 0}, []float64{0.1, 0}, []float64{0.1, 0})
	assert.Equal(t, make([]float64, 6), apply(t, Standardise(constant), constant).Val)
	assert.False(t, Standardise(constant).IsIdentity())
	refuses := func(s *Scaler, d *Data, want string) {
		_, err := s.Apply(d)
		require.ErrorContains(t, err, want)
	}
	refuses(s, constant, "2 features, want 4")
	one := denseData([]float64{1})
	for _, one.Dim = range []int{32, 33, MaxIndex} { // at most 16·(1 entry + 1 row)
		fill := &Scaler{Shift: make([]float64, one.Dim), Factor: make([]float64, one.Dim)}
		if one.Dim == 32 {
			apply(t, fill, one)
		} else {
			refuses(fill, one, "use MaxAbs")
		}
	}
	huge, twice := denseData([]float64{math.MaxFloat64}, []float64{-math.MaxFloat64}), &Scaler{Factor: []float64{2}}
	refuses(twice, huge, "feature 1: a value overflows")
	huge.Features = []string{"size"}
	refuses(twice, huge, `feature 1 ("size"): a value overflows`)
}

func TestStandardiseFarScales(t *testing.T) {
	plain := denseData([]float64{1}, []float64{-2}, []float64{0}, []float64{4.5}, []float64{3})
	want := apply(t, Standardise(plain), plain)
	far := *plain
	for _, exp := range []int{-1000, -700, 700, 1000} {
		far.Val = make([]float64, len(plain.Val))
		for k, v := range plain.Val {
			far.Val[k] = math.Ldexp(v, exp)
		}
		assert.Equal(t, want.Val, apply(t, Standardise(&far), &far).Val, exp)
	}
	for _, unit := range []float64{math.MaxFloat64, 1e-320} { // no float64 is the difference of two, or the inverse of one
		far := denseData([]float64{unit}, []float64{unit}, []float64{unit}, []float64{-unit}, []float64{unit})
		got := apply(t, Standardise(far), far)
		assert.Equal(t, unit < 1, slices.Equal(Constant(far), []int{0}))
		if unit > 1 {
			assert.InDeltaSlice(t, []float64{0.5, 0.5, 0.5, -2, 0.5}, got.Val, 1e-12)
		}
		assert.InDelta(t, min(1, unit), apply(t, MaxAbs(far), far).Val[0], 1e-15)
	}
}

func TestMaxAbs(t *testing.T) {
	assert.Equal(t, []int{1}, Constant(denseData([]float64{5, 7}, []float64{0, 7})))
	d := denseData([]float64{1, 0, 5}, []float64{-4, 0, 0})
	assert.Equal(t, [][]float64{{0.25, 0, 1}, {-1, 0, 0}}, denseRows(apply(t, MaxAbs(d), d)))
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
		assert.Equal(t, c.identity, slices.Equal(c.d.Val, apply(t, s, c.d).Val))
	}
}
