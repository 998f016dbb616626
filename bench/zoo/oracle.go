package zoo

import (
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

// row holds the entries from off on of a vector; the others are 0.
type row struct {
	off int
	v   []float64
}

func (r row) dot(x []float64) float64 {
	s := 0.0
	for i, a := range r.v {
		s += a * x[r.off+i]
	}
	return s
}

// x may end before the row.
func (r row) add(x []float64, c float64) {
	for i := range min(len(r.v), len(x)-r.off) {
		x[r.off+i] += c * r.v[i]
	}
}

type entry struct {
	i, j int
	v    float64
}

// term is one sample at a point: ψ(u) with u_k = a_kᵀy + b_kᵀx + c_k.
type term struct {
	a, b  []row // a_0 may depend on x
	c, u  []float64
	val   float64   // ψ
	g, h  []float64 // ψ's gradient, and Hessian row by row
	jac   []entry   // of ∂a_0j/∂x_i, those that are not 0
	label int       // a class
	bend  float64   // κ, the factor of the sample in the quadratic part
	buf   [3]vector // scratch of the reader
	bx    vector    // ∂u_0/∂x where a_0 depends on x
	pcg   rand.PCG
	rng   *rand.Rand
}

type vector = []float64

func newTerm(k, dx int) *term {
	t := &term{a: make([]row, k), b: make([]row, k), c: make(vector, k), u: make(vector, k), g: make(vector, k),
		h: make(vector, k*k), bx: make(vector, dx)}
	t.rng = rand.New(&t.pcg)
	return t
}

func (t *term) scratch(i, n int) []float64 {
	if t.buf[i] == nil {
		t.buf[i] = make(vector, n)
	}
	return t.buf[i]
}

// quad is ½zᵀMz + mᵀz, z = (x, y); a sample has κ times M.
type quad struct {
	xx, yy *mat.Sym
	xy     *mat.Dense
	x, y   []float64
}

func newQuad(dx, dy int) *quad {
	return &quad{mat.NewSym(dx), mat.NewSym(dy), mat.NewDense(dx, dy), make(vector, dx), make(vector, dy)}
}

type loss struct {
	terms uint64 // of the sum; 0: a simulator, whose mean is its quadratic part
	width int    // of u
	read  func(t *term, x []float64, i bilevel.Sample)
	psi   func(t *term)
	quad  *quad
	decay func(x float64) (w, dw float64) // the part ½Σ w(x_i)y_i², i < dx = dy; nil: none
	t     *term
}

// sum is a bilevel.Problem of two such losses, with Products, Values and GradXG.
type sum struct {
	dx, dy         int
	f, g           loss
	gx, mx, xy, gy []float64 // scratch
	my, yx         []float64
}

func withQuads(dx, dy int, f, g loss) *sum {
	f.quad, g.quad = newQuad(dx, dy), newQuad(dx, dy)
	return &sum{dx: dx, dy: dy, f: f, g: g}
}

func (s *sum) fresh() *sum {
	n := &sum{dx: s.dx, dy: s.dy, f: s.f, g: s.g, gx: make(vector, s.dx), mx: make(vector, s.dx), xy: make(vector, s.dx),
		gy: make(vector, s.dy), my: make(vector, s.dy), yx: make(vector, s.dy)}
	n.f.t, n.g.t = newTerm(s.f.width, s.dx), newTerm(s.g.width, s.dx)
	return n
}

func (s *sum) Dims() (dx, dy int)             { return s.dx, s.dy }
func (s *sum) Streams() (upper, lower uint64) { return s.f.terms, s.g.terms }

// each visits a batch's terms with their weights, and returns the mean of κ.
func (l *loss) each(x, y []float64, batch []bilevel.Sample, visit func(t *term, w float64)) float64 {
	if l.terms == 0 && len(batch) == 0 {
		return 1
	}
	t, bend := l.t, 0.0
	for i, w := range bilevel.Each(batch, int(l.terms)) {
		clear(t.a)
		clear(t.b)
		clear(t.c)
		clear(t.h)
		t.jac, t.bend = t.jac[:0], 1
		l.read(t, x, i)
		for k := range t.u {
			t.u[k] = t.c[k] + t.a[k].dot(y) + t.b[k].dot(x)
		}
		l.psi(t)
		if len(t.jac) > 0 {
			clear(t.bx)
			t.b[0].add(t.bx, 1)
			for _, c := range t.jac {
				t.bx[c.i] += c.v * y[c.j]
			}
			t.b[0] = row{0, t.bx}
		}
		visit(t, w)
		bend += w * t.bend
	}
	return bend
}

func (s *sum) value(l *loss, gx, gy, x, y []float64, batch []bilevel.Sample) (val float64) {
	clear(gx)
	clear(gy)
	bend := l.each(x, y, batch, func(t *term, w float64) {
		val += w * t.val
		for k, g := range t.g {
			t.a[k].add(gy, w*g)
			t.b[k].add(gx, w*g)
		}
	})
	if q := l.quad; q != nil {
		mat.MulVecSym(s.mx, q.xx, x)
		mat.MulVec(s.xy, q.xy, y)
		mat.Axpy(s.mx, 1, s.xy)
		mat.MulVecSym(s.my, q.yy, y)
		mat.MulVecTrans(s.yx, q.xy, x)
		mat.Axpy(s.my, 1, s.yx)
		val += bend*(mat.Dot(s.mx, x)+mat.Dot(s.my, y))/2 + mat.Dot(q.x, x) + mat.Dot(q.y, y)
		mat.Axpy(gx, bend, s.mx)
		mat.Axpy(gx, 1, q.x)
		mat.Axpy(gy, bend, s.my)
		mat.Axpy(gy, 1, q.y)
	}
	for i, v := range l.weighted(x) {
		w, dw := l.decay(v)
		val += w * y[i] * y[i] / 2
		gy[i] += w * y[i]
		gx[i] += dw * y[i] * y[i] / 2
	}
	return val
}

func (l *loss) weighted(x []float64) []float64 {
	if l.decay == nil {
		return nil
	}
	return x
}

func (s *sum) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	s.value(&s.f, fx, fy, x, y, xi)
	return nil
}

func (s *sum) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	s.value(&s.g, s.gx, gy, x, y, phi)
	return nil
}

func (s *sum) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	s.value(&s.g, gx, s.gy, x, y, phi)
	return nil
}

func (s *sum) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return s.value(&s.f, s.gx, s.gy, x, y, xi), nil
}

func (s *sum) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return s.value(&s.g, s.gx, s.gy, x, y, phi), nil
}

func (s *sum) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	gyy.Zero()
	s.second(x, y, phi, false, outer(gyy), func(q *quad, bend float64) { mat.AddScaledSym(gyy, gyy, bend, q.yy) })
	return nil
}

func (s *sum) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	gxy.Zero()
	s.second(x, y, phi, true, outer(gxy), func(q *quad, bend float64) { mat.AddScaled(gxy, gxy, bend, q.xy) })
	return nil
}

func (s *sum) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	s.second(x, y, phi, false, along(dst, v), func(q *quad, bend float64) {
		mat.MulVecSym(s.my, q.yy, v)
		mat.Axpy(dst, bend, s.my)
	})
	return nil
}

func (s *sum) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	s.second(x, y, phi, true, along(dst, v), func(q *quad, bend float64) {
		mat.MulVec(s.mx, q.xy, v)
		mat.Axpy(dst, bend, s.mx)
	})
	return nil
}

// second adds the parts c·left·rightᵀ of g_yy, or of g_xy, and the quadratic one with the mean of κ.
func (s *sum) second(x, y []float64, phi []bilevel.Sample, cross bool, add func(c float64, left, right row),
	addQuad func(q *quad, bend float64)) {
	bend := s.g.each(x, y, phi, func(t *term, w float64) {
		lefts := t.a
		if cross {
			lefts = t.b
			for _, c := range t.jac {
				add(w*t.g[0]*c.v, row{c.i, one}, row{c.j, one})
			}
		}
		for k, left := range lefts {
			for l, a := range t.a {
				if h := t.h[k*len(t.a)+l]; h != 0 {
					add(w*h, left, a)
				}
			}
		}
	})
	for i, v := range s.g.weighted(x) {
		w, dw := s.g.decay(v)
		if cross {
			w = dw * y[i]
		}
		add(w, row{i, one}, row{i, one})
	}
	if s.g.quad != nil {
		addQuad(s.g.quad, bend)
	}
}

var one = []float64{1}

func outer(to interface{ Row(i int) []float64 }) func(c float64, left, right row) {
	return func(c float64, left, right row) {
		for i, v := range left.v {
			right.add(to.Row(left.off+i), c*v)
		}
	}
}

func along(dst, v []float64) func(c float64, left, right row) {
	return func(c float64, left, right row) { left.add(dst, c*right.dot(v)) }
}
