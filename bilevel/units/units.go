// Package units writes a bilevel problem in other units, for variables of very different sizes, or
// to see whether a method minds.
package units

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// Units says how the numbers of a problem are written in another: x̃ = X∘x + ShiftX and ỹ = Y∘y + ShiftY entry
// by entry, f̃(x̃, ỹ) = F·f(x, y) and g̃(x̃, ỹ) = G·g(x, y). Powers of two without a shift scale exactly.
type Units struct {
	X, Y           []float64 // factors > 0, one for each entry. Default: nil, 1
	F, G           float64   // factors > 0. Default: 0, 1
	ShiftX, ShiftY []float64 // finite. Default: nil, 0
}

// Problem is a problem in other units, for one goroutine at a time. In makes one.
type Problem struct {
	*bilevel.Completed
	u    Units
	x, y []float64 // the point in the units of the problem
	v    []float64 // of length dy
}

// In returns p, which it keeps, in other units. After the first call of each size, its oracles
// allocate only what those of p do. Where p lacks an optional interface, see bilevel.Complete. An
// error wraps bilevel.ErrOption and names the field of u.
func In(p bilevel.Problem, u Units) (*Problem, error) {
	if p == nil {
		return nil, option.Bad("units: In needs a problem, and it is nil")
	}
	dx, dy := p.Dims()
	option.Default(&u.F, 1)
	option.Default(&u.G, 1)
	u.X, u.Y = filled(u.X, dx, 1), filled(u.Y, dy, 1)
	u.ShiftX, u.ShiftY = filled(u.ShiftX, dx, 0), filled(u.ShiftY, dy, 0)
	if err := errors.Join(
		factors("X", u.X, dx),
		factors("Y", u.Y, dy),
		option.Finite("units: Units.F", u.F),
		option.Finite("units: Units.G", u.G),
		option.Vector("units: Units.ShiftX", u.ShiftX, dx),
		option.Vector("units: Units.ShiftY", u.ShiftY, dy),
	); err != nil {
		return nil, err
	}
	return &Problem{
		Completed: bilevel.Complete(p), u: u, x: make([]float64, dx), y: make([]float64, dy),
		v: make([]float64, dy),
	}, nil
}

func filled(v []float64, n int, value float64) []float64 {
	if v != nil {
		return slices.Clone(v)
	}
	return slices.Repeat([]float64{value}, n)
}

func factors(name string, v []float64, n int) error {
	err := option.Vector("units: Units."+name, v, n)
	for i, f := range v {
		err = cmp.Or(err, option.Finite(fmt.Sprintf("units: Units.%s[%d]", name, i), f))
	}
	return err
}

// X writes X∘x + ShiftX, a point of the problem in the new units. dst may be x.
func (s *Problem) X(dst, x []float64) { toUnits(dst, x, s.u.X, s.u.ShiftX) }

// Y writes Y∘y + ShiftY. dst may be y.
func (s *Problem) Y(dst, y []float64) { toUnits(dst, y, s.u.Y, s.u.ShiftY) }

// Set returns a Box, a Space or, as a Box, a NonNegative in the new units; for other sets an error
// that wraps bilevel.ErrOption.
func (s *Problem) Set(set bilevel.Set) (bilevel.Set, error) {
	switch b := set.(type) {
	case nil, bilevel.Space:
		return bilevel.Space{}, nil
	case bilevel.Box:
		if err := b.Validate(len(s.x)); err != nil {
			return nil, err
		}
		c := bilevel.Box{Lo: make([]float64, len(s.x)), Hi: make([]float64, len(s.x))}
		s.X(c.Lo, b.Lo)
		s.X(c.Hi, b.Hi)
		return c, nil
	case bilevel.NonNegative:
		return s.Set(bilevel.UniformBox(len(s.x), 0, math.Inf(1)))
	}
	return nil, option.Bad("units: a %T has no counterpart in other units", set)
}

func toUnits(dst, z, factor, shift []float64) {
	for i, v := range z {
		dst[i] = factor[i]*v + shift[i]
	}
}

func fromUnits(dst, z, factor, shift []float64) []float64 {
	for i, v := range z {
		dst[i] = (v - shift[i]) / factor[i]
	}
	return dst
}

func (s *Problem) oldX(x []float64) []float64 { return fromUnits(s.x, x, s.u.X, s.u.ShiftX) }
func (s *Problem) oldY(y []float64) []float64 { return fromUnits(s.y, y, s.u.Y, s.u.ShiftY) }

func rescale(v []float64, size float64, factor []float64) {
	for i := range v {
		v[i] = size * v[i] / factor[i]
	}
}

// GradF writes F·f_x/X and F·f_y/Y.
func (s *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := s.Completed.GradF(fx, fy, s.oldX(x), s.oldY(y), xi)
	rescale(fx, s.u.F, s.u.X)
	rescale(fy, s.u.F, s.u.Y)
	return err
}

// GradG writes G·g_y/Y.
func (s *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := s.Completed.GradG(gy, s.oldX(x), s.oldY(y), phi)
	rescale(gy, s.u.G, s.u.Y)
	return err
}

// GradXG writes G·g_x/X.
func (s *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	err := s.Completed.GradXG(gx, s.oldX(x), s.oldY(y), phi)
	rescale(gx, s.u.G, s.u.X)
	return err
}

// CrossG writes G·g_xy/(X Yᵀ).
func (s *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	err := s.Completed.CrossG(gxy, s.oldX(x), s.oldY(y), phi)
	for i, f := range s.u.X {
		rescale(gxy.Row(i), s.u.G/f, s.u.Y)
	}
	return err
}

// HessG writes G·g_yy/(Y Yᵀ).
func (s *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := s.Completed.HessG(gyy, s.oldX(x), s.oldY(y), phi)
	for i, f := range s.u.Y {
		rescale(gyy.Row(i), s.u.G/f, s.u.Y)
	}
	return err
}

// ConvexityAt returns the least G·s/Y² over the entries of y.
func (s *Problem) ConvexityAt(x []float64) float64 {
	c := s.Completed.ConvexityAt(s.oldX(x))
	y := slices.Max(s.u.Y)
	if c < 0 {
		y = slices.Min(s.u.Y)
	}
	return s.u.G * c / y / y
}

// HessVecG writes G·(g_yy (v/Y))/Y.
func (s *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	err := s.Completed.HessVecG(dst, s.oldX(x), s.oldY(y), s.along(v), phi)
	rescale(dst, s.u.G, s.u.Y)
	return err
}

// CrossVecG writes G·(g_xy (v/Y))/X.
func (s *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	err := s.Completed.CrossVecG(dst, s.oldX(x), s.oldY(y), s.along(v), phi)
	rescale(dst, s.u.G, s.u.X)
	return err
}

func (s *Problem) along(v []float64) []float64 {
	copy(s.v, v)
	rescale(s.v, 1, s.u.Y)
	return s.v
}

func (s *Problem) Solution(y, x []float64) error {
	if err := s.Completed.Solution(s.oldY(y), s.oldX(x)); err != nil {
		return err
	}
	s.Y(y, s.y)
	return nil
}

// Objective returns F·F(x) and writes F·∇F/X into grad unless it is nil.
func (s *Problem) Objective(grad, x []float64) (float64, error) {
	f, err := s.Completed.Objective(grad, s.oldX(x))
	if grad != nil {
		rescale(grad, s.u.F, s.u.X)
	}
	return s.u.F * f, err
}

func (s *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	f, err := s.Completed.ValueF(s.oldX(x), s.oldY(y), xi)
	return s.u.F * f, err
}

func (s *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	g, err := s.Completed.ValueG(s.oldX(x), s.oldY(y), phi)
	return s.u.G * g, err
}
