package bilevel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// someSet makes a set of any kind in R^d, valid or not.
func someSet(b *mattest.Bytes, d int) MetricSet {
	switch b.Int(6) {
	case 0:
		return Box{b.Vec(d), b.Vec(d)}
	case 1:
		return NonNegative{}
	case 2:
		if b.Int(2) == 0 {
			return Ball{Radius: b.Float()}
		}
		return Ball{b.Vec(d), b.Float()}
	case 3:
		return Simplex{b.Float()}
	case 4:
		return HalfSpace{b.Vec(d), b.Float()}
	}
	return Space{}
}

func FuzzSets(f *testing.F) {
	for kind := range byte(6) {
		f.Add([]byte{2, kind, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10})
		f.Add([]byte{3, kind, 1, 0, 1, 0, 2, 0, 3, 3, 4, 3, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0, 1, 0, 2, 0, 3})
		f.Add([]byte{2, kind, 6, 3, 6, 4, 6, 3, 6, 5, 6, 6, 6, 0, 0, 1})
		f.Add([]byte{1, kind, 5, 1, 40, 5, 1, 200, 5, 3, 9, 0, 4})
	}
	for _, once := range [][]byte{ // what went wrong once
		{2, 3, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 6, 5, 0, 1},                           // Simplex: a subnormal weight
		{3, 3, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 6, 5, 0, 48, 0, 1},      // its quotient with another underflows
		{3, 3, 0, 2, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 6, 5, 0, 1, 0, 1},        // θ overflows
		{3, 3, 6, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1},              // Sum is the largest number
		{3, 3, 0, 1, 6, 3, 6, 4, 6, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1},              // the sum of x overflows
		[]byte("A900%00000000000000000000%000$"),                                        // Simplex: an entry of 117 decades
		[]byte("A90 0000000000000000000000%000200"),                                     // Simplex: weights over 117 decades
		{1, 2, 1, 6, 0, 0, 0, 0, 0, 0, 0, 0, 1},                                         // Ball: its centre is NaN
		{2, 2, 0, 6, 11, 0, 48, 0, 48, 0, 48, 0, 48, 0, 48, 0, 1},                       // its radius is −0
		[]byte("XX0000&\x7f0000&$007000000Ya"),                                          // HalfSpace: a product overflows
		[]byte("XX%\xad000000000&$"),                                                    // the same, with a dot product of what is left that does
		{3, 4, 0, 48, 5, 1, 48, 0, 48, 5, 255, 181, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, // HalfSpace: the step underflows
	} {
		f.Add(once)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := mattest.Bytes(data)
		d := b.Int(6)
		set := someSet(&b, d)
		if set.Validate(d) != nil {
			return
		}
		x, _, w := b.Vec(d), b.Vec(d), b.Vec(d) // the seeds hold three
		for i, v := range w {
			if w[i] = math.Abs(v); !(w[i] > 0 && w[i] <= math.MaxFloat64) {
				w[i] = 1
			}
		}
		requireProjection(t, set, x, set.Project)
		requireProjection(t, set, x, func(dst, x []float64) { set.ProjectMetric(dst, x, w) })
	})
}

// requireProjection holds a projection at any x to what TestSetsAccuracy does not see.
func requireProjection(t *testing.T, set Set, x []float64, project func(dst, x []float64)) {
	t.Helper()
	d := len(x)
	memory := make([]float64, d+2)
	memory[d], memory[d+1] = 7, 7
	p := memory[:d]
	project(p, x)
	require.Equal(t, []float64{7, 7}, memory[d:], "stray write")
	inPlace := slices.Clone(x)
	project(inPlace, inPlace)
	for i, v := range p {
		require.Equal(t, math.Float64bits(v), math.Float64bits(inPlace[i]), "in place")
	}
	for i, v := range x {
		if math.IsNaN(v) {
			require.True(t, math.IsNaN(p[i]), "hides a NaN")
		}
	}
	if !mattest.Finite(x...) || !mattest.Finite(p...) {
		return
	}
	underflow := 1e-300
	if h, ok := set.(HalfSpace); ok {
		n := mat.Norm(h.A)
		underflow += 0x1p-1070 * (n + 1/n)
	}
	require.LessOrEqual(t, outside(set, p), 1e-13*(parameter(set)+mat.Norm(x))+underflow, "not feasible: %v", p)
}

// parameter is the size of the numbers that a set is made of, in units of x.
func parameter(set Set) float64 {
	switch s := set.(type) {
	case Box:
		size := 0.0
		for _, v := range slices.Concat(s.Lo, s.Hi) {
			if !math.IsInf(v, 0) {
				size = math.Hypot(size, v)
			}
		}
		return size
	case Ball:
		return math.Hypot(mat.Norm(s.Center), s.Radius)
	case Simplex:
		return s.sum()
	case HalfSpace:
		return math.Abs(s.B) / mat.Norm(s.A)
	}
	return 0
}

// outside is how far p is from the set.
func outside(set Set, p []float64) (off float64) {
	excess := func(a []float64, b, unit float64) float64 { // (aᵀp − b)/unit, rounded once
		s := bigOf(-b)
		for i := range a {
			s.Add(s, bigZero().Mul(bigOf(a[i]), bigOf(p[i])))
		}
		return mattest.Float(s.Quo(s, bigOf(unit)))
	}
	switch s := set.(type) {
	case BoundedSet:
		for i, v := range p {
			lo, hi := s.Bounds(i)
			off = max(off, lo-v, v-hi)
		}
	case Ball:
		off = s.distance(p) - s.Radius
	case Simplex:
		off = max(-slices.Min(p), math.Abs(excess(slices.Repeat([]float64{1}, len(p)), s.sum(), 1)))
	case HalfSpace:
		off = excess(s.A, s.B, mat.Norm(s.A))
	}
	return max(off, 0)
}
