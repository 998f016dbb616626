package bilevel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

func TestSetsProjectExtreme(t *testing.T) {
	const r3, c = 1.7320508075688772, 4503601056915352.
	for _, row := range []struct {
		set        MetricSet
		x, w, want []float64 // without w: Project
		within     float64
	}{
		{Ball{Radius: 3}, []float64{1e200, -1e200, 1e200}, nil, []float64{r3, -r3, r3}, 1e-15},
		{UniformBox(3, -1, 1), []float64{-1 - 1e-15, 1 + 1e-15, 0.5}, nil, []float64{-1, 1, 0.5}, 0},
		{NonNegative{}, []float64{-1, 2}, []float64{1, 2}, []float64{0, 2}, 0},
		{Space{}, []float64{-1, 2}, []float64{1, 2}, []float64{-1, 2}, 0},
		{Simplex{}, []float64{1e15 + 0.5, 1e15, -1e15}, nil, []float64{0.75, 0.25, 0}, 0},
		{Simplex{}, []float64{1e300, -1e300, 1e300}, nil, []float64{0.5, 0, 0.5}, 0},
		{HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}, []float64{0x1p525, 7}, nil,
			[]float64{0x1p523, 7}, 0}, // Aᵀx is 2¹⁰²⁵

		{Simplex{}, []float64{1, 1}, []float64{1, 3}, []float64{0.25, 0.75}, 0},
		{Simplex{}, []float64{0.5, 0.1}, []float64{1e150, 1e-150}, []float64{0.5, 0.5}, 0},
		{Simplex{}, []float64{0.5, 0.1}, []float64{1e-150, 1e150}, []float64{0.9, 0.1}, 1e-16},
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{1e-300, 1e-300}, []float64{0.75, 0.25}, 0}, // a common offset
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{7, 7}, []float64{0.75, 0.25}, 0},
		{Simplex{}, []float64{1e15 + 0.5, 1e15}, []float64{1e300, 1e300}, []float64{0.75, 0.25}, 0},
		{Simplex{}, []float64{c, c, c, c, c / 4, c/4 + 0.25}, []float64{1, 1, 1, 1, 4, 4}, // the first θ is c + 1
			[]float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 24, 7. / 24}, 1e-15},
		// The heavy entry keeps what there is.
		{Simplex{}, []float64{48, 48, 48, 1 + 0x1p-52, 48}, []float64{0.78, 56, 88, 2e117, 1},
			[]float64{0, 0, 0, 1, 0}, 1e-13},
		{Simplex{32}, []float64{48, 48, 48, 48, 48}, []float64{48, 2e117, 50, 48, 1}, []float64{0, 32, 0, 0, 0}, 1e-13},

		// The light entry goes to 0 before the heavy one moves.
		{Ball{Radius: 1e-100}, []float64{5e-101, 2e-100}, []float64{1e200, 1e-100},
			[]float64{5e-101, r3 / 2 * 1e-100}, 1e-114},
		{Ball{Radius: 1}, []float64{0.5, 2}, []float64{1e200, 1e-100}, []float64{0.5, r3 / 2}, 1e-14},
		{Ball{Radius: 1e100}, []float64{5e99, 2e100}, []float64{1e200, 1e-100}, []float64{5e99, r3 / 2 * 1e100}, 1e86},
		{Ball{Radius: 3}, []float64{1e200, -1e200}, []float64{1e-250, 1e-250},
			[]float64{3 / math.Sqrt2, -3 / math.Sqrt2}, 1e-14},
		{Ball{Radius: 1}, []float64{2, 2}, []float64{1e200, 1e-200}, []float64{1, 0}, 0},
		{Ball{Center: []float64{1, 2}}, []float64{5, 7}, []float64{1, 2}, []float64{1, 2}, 0},
		{Ball{Radius: 1e-200}, []float64{1e200, 0}, []float64{1, 2}, []float64{0, 0}, 1e-200},

		{HalfSpace{[]float64{1e-100, 1}, 1}, []float64{0, 3}, []float64{1e250, 1e-200}, []float64{0, 1}, 0},
		{HalfSpace{[]float64{0x1p500, 0}, 0x1p1023}, []float64{0x1p525, 7}, []float64{4, 1}, []float64{0x1p523, 7}, 0},
	} {
		p := make([]float64, len(row.x))
		if row.w == nil {
			row.set.Project(p, row.x)
		} else {
			row.set.ProjectMetric(p, row.x, row.w)
		}
		assert.InDeltaSlice(t, row.want, p, row.within, "%#v of %v in %v", row.set, row.x, row.w)
	}
}

func TestBallIsMet(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(3, seed))
		x, w, p := make([]float64, 4), make([]float64, 4), make([]float64, 4)
		spread(rng, x, w, 1, 6)
		x[0] = 2
		Ball{Radius: 1}.ProjectMetric(p, x, w)
		require.InDelta(t, 1, mat.Norm(p), 1e-15, "seed %d", seed)
	}
}

// NaN and Inf in the point and in the weights end no later than numbers, and NaN shows.
func TestSetsProjectNotFinite(t *testing.T) {
	for _, set := range []MetricSet{Space{}, UniformBox(3, -0.5, 1), NonNegative{}, Ball{[]float64{-1, 0, 1}, 1.5},
		Simplex{2}, HalfSpace{[]float64{1, 0.5, -0.4}, -0.5}} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p, x := make([]float64, 3), []float64{100, bad, 100}
			set.Project(p, x)
			assert.True(t, math.IsNaN(p[1]) || !math.IsNaN(bad), "%T hides a NaN", set)
			set.ProjectMetric(p, x, []float64{1, 2, 3})
			assert.True(t, math.IsNaN(p[1]) || !math.IsNaN(bad), "%T hides a NaN", set)
			set.ProjectMetric(p, []float64{100, 90, 100}, []float64{1, bad, 3})
		}
	}
}

func TestSetsValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, s := range map[string]Set{
		"Box has 2 lower and 3 upper":   Box{make([]float64, 2), make([]float64, 3)},
		"Box is empty at index 1":       Box{[]float64{0, 1, 0}, []float64{0, 0.5, 0}},
		"Box is empty at index 2":       Box{[]float64{0, 0, nan}, []float64{0, 0.5, 0}},
		"Box is empty at index 0":       Box{[]float64{inf, 0, 0}, []float64{inf, 0.5, 0}},
		"Ball.Center has length 1":      Ball{[]float64{0}, 1},
		"Ball.Center is NaN at index 2": Ball{[]float64{0, 0, nan}, 1},
		"Ball.Radius is -1":             Ball{nil, -1},
		"Ball.Radius is NaN":            Ball{nil, nan},
		"Simplex.Sum is -1":             Simplex{-1},
		"HalfSpace.A has length 2":      HalfSpace{[]float64{1, 1}, 0},
		"want a finite A ≠ 0":           HalfSpace{[]float64{0, 0, 0}, 0},
		"want a finite A ≠ 0 an":        HalfSpace{[]float64{0, nan, 0}, 0},
		"want a finite A ≠ 0 a":         HalfSpace{[]float64{0, 1e-160, 0}, 0},
	} {
		err := s.Validate(3)
		require.ErrorIs(t, err, ErrOption)
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorIs(t, Simplex{}.Validate(0), ErrOption)
	assert.NotPanics(t, func() { Simplex{}.Project(nil, nil); Simplex{}.ProjectMetric(nil, nil, nil) })
}

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		set  Set
		want float64
	}{
		{Space{}, 1}, {NonNegative{}, 1}, {HalfSpace{A: []float64{1}, B: 2}, 1}, {UniformBox(2, -3, 1), 4},
		{UniformBox(2, 1, 1), 1}, {UniformBox(2, 0, math.Inf(1)), 1}, {Ball{Radius: 3}, 6}, {Ball{}, 1},
		{Simplex{}, 1}, {Simplex{Sum: 5}, 5}, {struct{ Box }{UniformBox(2, -3, 1)}, 4},
		{struct{ Set }{UniformBox(2, -3, 1)}, 1},
	} {
		assert.Equal(t, c.want, Width(c.set, 1), "%#v", c.set)
	}
}

// setConstants are the c of the documentation: ‖P(x) − P*(x)‖ ≤ c·d·eps·(‖x‖ + size of the set).
var setConstants = map[string]float64{
	"Ball": 8, "Ball, metric": 64, "Simplex": 8, "Simplex, metric": 64, "HalfSpace": 8, "HalfSpace, metric": 8,
}

// Against arithmetic of 320 bits: points from 1e-3 to 1e3 times the size of the set, weights over
// up to 12 decades, at all scales.
func TestSetsAccuracy(t *testing.T) {
	l := mattest.NewLedger(setConstants)
	for k := range mattest.Count(60, 300, 40_000) {
		rng := rand.New(rand.NewPCG(9, uint64(k)))
		d := 1 + rng.IntN(8)
		scale := []float64{1, 1e-100, 1e100}[k%3]
		x, w, a := make([]float64, d), make([]float64, d), make([]float64, d)
		spread(rng, x, w, 3, 12*rng.Float64())
		spread(rng, a, make([]float64, d), 1, 0)
		far := math.Pow(10, 6*rng.Float64()-3)
		for i := range x {
			x[i] *= far * scale
			a[i] *= scale
		}
		ones := slices.Repeat([]float64{1}, d)
		for _, c := range []struct {
			set   MetricSet
			exact func(x, w []float64) []*big.Float
		}{
			{Ball{a, scale}, func(x, w []float64) []*big.Float { return exactBall(a, scale, x, w) }},
			{Simplex{scale}, func(x, w []float64) []*big.Float { return exactSimplex(scale, x, w) }},
			{HalfSpace{a, -scale * scale}, func(x, w []float64) []*big.Float { return exactHalfSpace(a, -scale*scale, x, w) }},
		} {
			name := fmt.Sprintf("%T", c.set)[len("bilevel."):]
			require.NoError(t, c.set.Validate(d))
			unit := float64(d) * mattest.Eps * (mat.Norm(x) + parameter(c.set))
			where := fmt.Sprintf("set %d, d=%d, scale=%g", k, d, scale)
			p := make([]float64, d)
			c.set.Project(p, x)
			l.See(name, exactDistance(p, c.exact(x, ones)), unit, where)
			c.set.ProjectMetric(p, x, w)
			if h, ok := c.set.(HalfSpace); ok {
				unit *= condition(h.A, w)
			}
			l.See(name+", metric", exactDistance(p, c.exact(x, w)), unit, where)
			if k == 0 {
				assert.Zero(t, testing.AllocsPerRun(9, func() { c.set.Project(p, x); c.set.ProjectMetric(p, x, w) }))
			}
		}
	}
	l.Check(t)
}

func spread(rng *rand.Rand, x, w []float64, decadesX, decadesW float64) {
	for i := range x {
		x[i] = rng.NormFloat64() * math.Pow(10, decadesX*(rng.Float64()-0.5))
		w[i] = math.Pow(10, decadesW*(rng.Float64()-0.5))
	}
}

// condition is ‖a‖·‖W⁻¹a‖/(aᵀW⁻¹a).
func condition(a, w []float64) float64 {
	v := mattest.List(len(a), func(i int) float64 { return a[i] / w[i] })
	return mat.Norm(a) * mat.Norm(v) / mat.Dot(a, v)
}

func bigOf(v float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(v) }
func bigZero() *big.Float        { return bigOf(0) }

func exactDistance(p []float64, exact []*big.Float) float64 {
	s := 0.0
	for i, v := range p {
		s = math.Hypot(s, mattest.Float(bigZero().Sub(bigOf(v), exact[i])))
	}
	return s
}

// exactHalfSpace is x − W⁻¹a·max(aᵀx − b, 0)/(aᵀW⁻¹a).
func exactHalfSpace(a []float64, b float64, x, w []float64) []*big.Float {
	excess, size := bigOf(-b), bigZero()
	for i := range x {
		excess.Add(excess, bigZero().Mul(bigOf(a[i]), bigOf(x[i])))
		size.Add(size, bigZero().Quo(bigZero().Mul(bigOf(a[i]), bigOf(a[i])), bigOf(w[i])))
	}
	z := make([]*big.Float, len(x))
	for i := range x {
		z[i] = bigOf(x[i])
		if excess.Sign() > 0 {
			step := bigZero().Quo(bigZero().Mul(excess, bigOf(a[i])), bigOf(w[i]))
			z[i].Sub(z[i], step.Quo(step, size))
		}
	}
	return z
}

// exactSimplex is max(x_i − θ/w_i, 0): over the entries that stay, which have the largest w_i·x_i,
// θ = (Σ x_i − sum)/Σ 1/w_i is largest.
func exactSimplex(sum float64, x, w []float64) []*big.Float {
	order := mattest.List(len(x), func(i int) int { return i })
	product := func(i int) *big.Float { return bigZero().Mul(bigOf(w[i]), bigOf(x[i])) }
	slices.SortFunc(order, func(i, j int) int { return product(j).Cmp(product(i)) })
	top, bottom, theta := bigOf(-sum), bigZero(), (*big.Float)(nil)
	for _, i := range order {
		top.Add(top, bigOf(x[i]))
		bottom.Add(bottom, bigZero().Quo(bigOf(1), bigOf(w[i])))
		if q := bigZero().Quo(top, bottom); theta == nil || q.Cmp(theta) > 0 {
			theta = q
		}
	}
	z := make([]*big.Float, len(x))
	for i := range x {
		z[i] = bigZero().Sub(bigOf(x[i]), bigZero().Quo(theta, bigOf(w[i])))
		if z[i].Sign() < 0 {
			z[i] = bigZero()
		}
	}
	return z
}

// exactBall is c_i + u_i·w_i/(w_i + λ), with λ ≥ 0 by bisection of its logarithm.
func exactBall(c []float64, radius float64, x, w []float64) (z []*big.Float) {
	outside := func(lambda *big.Float) bool {
		z = nil
		norm := bigZero()
		for i := range x {
			u := bigZero().Sub(bigOf(x[i]), bigOf(c[i]))
			u.Quo(u.Mul(u, bigOf(w[i])), bigZero().Add(bigOf(w[i]), lambda))
			norm.Add(norm, bigZero().Mul(u, u))
			z = append(z, u.Add(u, bigOf(c[i])))
		}
		return norm.Sqrt(norm).Cmp(bigOf(radius)) > 0
	}
	if !outside(bigZero()) {
		return z
	}
	low, high := bigOf(0x1p-200), bigOf(0x1p200)
	for range 90 {
		mid := bigZero().Sqrt(bigZero().Mul(low, high))
		if outside(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return z
}

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
