package bilevel

import (
	"cmp"
	"math"
	"slices"

	"stable/bilevel/option"
	"stable/mat"
)

// Set is a closed convex set X. Those of this package project to within 8·d·eps·(‖x‖ + s), eps =
// 2⁻⁵², where s is the norm of the numbers that define the set, |B|/‖A‖ for a HalfSpace; Space, Box
// and NonNegative are exact.
type Set interface {
	// Project writes into dst the point of X that is nearest to x in the Euclidean norm; dst may be
	// x. It must not allocate, and must be safe for concurrent use.
	Project(dst, x []float64)

	// Validate returns an error unless the set is a non-empty subset of R^d.
	Validate(d int) error
}

// WidthSet is a Set that knows its extent in each direction.
type WidthSet interface {
	Set

	// Width returns max x_i − min x_i, or +Inf or 0 for no such extent.
	Width(i int) float64
}

// BoundedSet consists of bounds for each entry.
type BoundedSet interface {
	Set

	// Bounds returns the bounds of entry i, ±Inf for none.
	Bounds(i int) (lo, hi float64)
}

// Width returns the width of set in direction i, 1 where it has none.
func Width(set Set, i int) float64 {
	if s, ok := set.(WidthSet); ok {
		if w := s.Width(i); w > 0 && !math.IsInf(w, 1) {
			return w
		}
	}
	return 1
}

// Space is all of R^d.
type Space struct{}

func (Space) Project(dst, x []float64)    { copy(dst, x) }
func (Space) Validate(int) error          { return nil }
func (Space) Bounds(int) (lo, hi float64) { return math.Inf(-1), math.Inf(1) }

// Box is {x : Lo_i ≤ x_i ≤ Hi_i}. Bounds may be infinite.
type Box struct {
	Lo, Hi []float64
}

// UniformBox returns the box [lo, hi]^d.
func UniformBox(d int, lo, hi float64) Box {
	return Box{Lo: slices.Repeat([]float64{lo}, d), Hi: slices.Repeat([]float64{hi}, d)}
}

func (b Box) Project(dst, x []float64) {
	dst, lo, hi := dst[:len(x)], b.Lo[:len(x)], b.Hi[:len(x)]
	for i, v := range x { // min and max take twice as long
		if v < lo[i] {
			v = lo[i]
		} else if v > hi[i] {
			v = hi[i]
		}
		dst[i] = v
	}
}

func (b Box) Validate(d int) error {
	if len(b.Lo) != d || len(b.Hi) != d {
		return option.Bad("Box has %d lower and %d upper bounds for dimension %d", len(b.Lo), len(b.Hi), d)
	}
	for i := range d {
		if !(b.Lo[i] <= b.Hi[i]) || math.IsInf(b.Lo[i], 1) || math.IsInf(b.Hi[i], -1) {
			return option.Bad("Box is empty at index %d: [%v, %v]", i, b.Lo[i], b.Hi[i])
		}
	}
	return nil
}

func (b Box) Width(i int) float64           { return b.Hi[i] - b.Lo[i] }
func (b Box) Bounds(i int) (lo, hi float64) { return b.Lo[i], b.Hi[i] }

// NonNegative is {x : x ≥ 0}.
type NonNegative struct{}

func (NonNegative) Project(dst, x []float64) {
	for i, v := range x {
		dst[i] = max(v, 0)
	}
}

func (NonNegative) Validate(int) error          { return nil }
func (NonNegative) Bounds(int) (lo, hi float64) { return 0, math.Inf(1) }

// Ball is {x : ‖x − Center‖₂ ≤ Radius}, Radius ≥ 0. A nil Center is the origin.
type Ball struct {
	Center []float64
	Radius float64
}

// Project writes c + (x − c)·Radius/‖x − c‖ if x is outside.
func (b Ball) Project(dst, x []float64) {
	n := b.distance(x)
	if n <= b.Radius {
		copy(dst, x)
		return
	}
	s := b.Radius / n
	for i, v := range x {
		c := b.center(i)
		dst[i] = c + s*(v-c)
	}
}

// distance is ‖x − c‖, without overflow in the squares.
func (b Ball) distance(x []float64) float64 {
	big, sum := 0.0, 0.0
	for i, v := range x {
		big = max(big, math.Abs(v-b.center(i)))
	}
	if big == 0 || math.IsInf(big, 1) {
		return big
	}
	for i, v := range x {
		r := (v - b.center(i)) / big
		sum += r * r
	}
	return big * math.Sqrt(sum)
}

func (b Ball) center(i int) float64 {
	if b.Center == nil {
		return 0
	}
	return b.Center[i]
}

func (b Ball) Validate(d int) error {
	if b.Center != nil && len(b.Center) != d {
		return option.Bad("Ball.Center has length %d for dimension %d", len(b.Center), d)
	}
	if i := mat.NotFinite(b.Center); i >= 0 {
		return option.Bad("Ball.Center is %v at index %d", b.Center[i], i)
	}
	if !(b.Radius >= 0) || math.IsInf(b.Radius, 1) {
		return option.Bad("Ball.Radius is %v, want a finite radius ≥ 0", b.Radius)
	}
	return nil
}

func (b Ball) Width(int) float64 { return 2 * b.Radius }

// Simplex is {x : x ≥ 0, Σ x_i = Sum}, Sum > 0.
type Simplex struct {
	Sum float64 // default 1
}

// Project writes max(x − θ, 0) with the θ that makes the entries add up to Sum, by Michelot's
// iteration (J. Optim. Theory Appl. 50, 1986): the mean excess of the entries above θ, until none
// drops out, in at most d rounds of O(d), measured from the largest entry.
func (s Simplex) Project(dst, x []float64) {
	if len(x) == 0 {
		return
	}
	top := slices.Max(x)
	theta := -s.sum() // or more
	for active := len(x) + 1; ; {
		sum, n := 0.0, 0
		for _, v := range x {
			if v-top > theta {
				sum += v - top
				n++
			}
		}
		if n == 0 || n >= active {
			break
		}
		theta, active = (sum-s.sum())/float64(n), n
	}
	for i, v := range x {
		dst[i] = max(v-top-theta, 0)
	}
}

func (s Simplex) sum() float64 { return cmp.Or(s.Sum, 1) }

func (s Simplex) Width(int) float64 { return s.sum() }

func (s Simplex) Validate(d int) error {
	if v := s.sum(); !(v > 0) || math.IsInf(v, 1) {
		return option.Bad("Simplex.Sum is %v, want a finite sum > 0", v)
	}
	if d < 1 {
		return option.Bad("Simplex is empty in dimension %d", d)
	}
	return nil
}

// HalfSpace is {x : Aᵀx ≤ B}, with an ‖A‖² that neither underflows nor overflows.
type HalfSpace struct {
	A []float64
	B float64
}

// Project writes x − A·max(Aᵀx − B, 0)/‖A‖². Where that underflows, within 2⁻¹⁰⁷⁰/‖A‖, x stays.
func (h HalfSpace) Project(dst, x []float64) {
	excess, unit := h.excess(x)
	if !(excess > 0) {
		copy(dst, x)
		return
	}
	s := excess / mat.Dot(h.A, h.A)
	for i, a := range h.A {
		dst[i] = x[i] - s*a*unit
	}
}

// excess returns Aᵀx − B in the given unit, 1 unless a product overflows.
func (h HalfSpace) excess(x []float64) (e, unit float64) {
	if e = mat.Dot(h.A, x) - h.B; e-e == 0 {
		return e, 1
	}
	const shift = 0x1p600 // |A_i| ≤ 2⁵¹², by Validate
	e = -h.B / shift
	for i, a := range h.A {
		e += a / shift * x[i]
	}
	return e, shift
}

func (h HalfSpace) Validate(d int) error {
	if len(h.A) != d {
		return option.Bad("HalfSpace.A has length %d for dimension %d", len(h.A), d)
	}
	if n := mat.Dot(h.A, h.A); !(n >= 0x1p-960) || math.IsInf(n, 1) || math.IsNaN(h.B) || math.IsInf(h.B, 0) {
		return option.Bad("HalfSpace has ‖A‖² = %v and B = %v, want a finite A ≠ 0 and a finite B", n, h.B)
	}
	return nil
}
