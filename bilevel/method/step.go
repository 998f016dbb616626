package method

import (
	"errors"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

var anyStep = math.Inf(1)

func checkSteps(name string, alpha, beta bilevel.Schedule) error {
	return errors.Join(option.Schedule(name+".Alpha", alpha, anyStep), option.Schedule(name+".Beta", beta, anyStep))
}

// schedule fills in a default, and refuses values outside of [0, most]; a missing default, under its own name.
func schedule(name string, s *bilevel.Schedule, value bilevel.Schedule, most float64) error {
	if *s == nil {
		if *s = value; value == nil {
			return nil
		}
	}
	return option.Schedule(name, *s, most)
}

const maxCount = 1 << 30

// count is schedule for a number from 1 to maxCount.
func count(name string, n *int, value int) error {
	option.Default(n, value)
	if *n < 1 || *n > maxCount {
		return option.Bad("%s is %d, want 1 … 2³⁰", name, *n)
	}
	return nil
}

// positive is schedule for a finite number > 0.
func positive(name string, v *float64, value float64) error {
	option.Default(v, value)
	return option.Finite(name, *v)
}

// memory holds the vectors of a running method under their names, in the order of computation.
type memory struct {
	dx, dy  int
	names   []string
	vectors [][]float64
	step    step
}

func newMemory(it *bilevel.Iteration) *memory {
	dx, dy := it.Dims()
	return &memory{dx: dx, dy: dy}
}

// x and y make the next vector, of length dx or dy. What no step computes has the name "".
func (m *memory) x(name string) []float64 { return m.add(name, make([]float64, m.dx)) }
func (m *memory) y(name string) []float64 { return m.add(name, make([]float64, m.dy)) }

func (m *memory) add(name string, v []float64) []float64 {
	if name != "" {
		m.names, m.vectors = append(m.names, name), append(m.vectors, v)
	}
	return v
}

func (m *memory) Vectors(visit func(name string, v []float64)) {
	for i, name := range m.names {
		visit(name, m.vectors[i])
	}
}

func (m *memory) begin(it *bilevel.Iteration) *step {
	m.step = step{Iteration: it}
	return &m.step
}

// step is an Iteration with its Oracle. After its first error, kept in err, it draws, evaluates and moves nothing.
type step struct {
	*bilevel.Iteration
	err error
}

func (s *step) do(f func() error) {
	if s.err == nil {
		s.err = f()
	}
}

func (s *step) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().GradF(fx, fy, x, y, xi) })
}

func (s *step) GradG(gy, x, y []float64, phi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().GradG(gy, x, y, phi) })
}

func (s *step) GradXG(gx, x, y []float64, phi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().GradXG(gx, x, y, phi) })
}

func (s *step) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().CrossG(gxy, x, y, phi) })
}

func (s *step) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().HessVecG(dst, x, y, v, phi) })
}

func (s *step) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) {
	s.do(func() error { return s.Oracle().CrossVecG(dst, x, y, v, phi) })
}

func (s *step) DrawXi(n int) (xi []bilevel.Sample) {
	s.do(func() error { xi = s.Iteration.DrawXi(n); return nil })
	return xi
}

func (s *step) DrawPhi(n int) (phi []bilevel.Sample) {
	s.do(func() error { phi = s.Iteration.DrawPhi(n); return nil })
	return phi
}

func (s *step) UseSteps(alpha, beta, tau float64) {
	s.do(func() error { return s.Iteration.UseSteps(alpha, beta, tau) })
}

func (s *step) Finite(vectors ...[]float64) {
	s.do(func() error { return s.Iteration.Finite(vectors...) })
}

func (s *step) MoveX(alpha float64, d []float64) {
	s.do(func() error { s.Iteration.MoveX(alpha, d); return nil })
}

func (s *step) InnerStep(beta float64, d []float64) {
	s.do(func() error { return s.Iteration.InnerStep(beta, d) })
}

func (s *step) At(name string, schedule bilevel.Schedule, most float64) (v float64) {
	if s.err == nil {
		v, s.err = s.Iteration.At(name, schedule, most)
	}
	return v
}

func (s *step) moveV(v []float64, gamma float64, hv []float64, sign float64, fy []float64) {
	square := 0.0
	hv, fy = hv[:len(v)], fy[:len(v)]
	for j := range v {
		d := hv[j] + sign*fy[j]
		v[j] -= gamma * d
		square += d * d
	}
	s.Watch(math.Sqrt(square))
}
