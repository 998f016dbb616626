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

// term is one sample at a point: ω(x)·ψ(u) with u_k = a_kᵀy + b_kᵀx + c_k.
type term struct {
	a, b  []row // a_0 may depend on x
	c, u  []float64
	val   float64   // ψ
	g, h  []float64 // ψ's gradient, and Hessian row by row
	w, dw float64   // ω, ω′
	at    int       // the entry of x that ω depends on
	jac   []entry   // of ∂a_0j/∂x_i, those that are not 0
	label int       // a class
	bend  float64   // κ, the factor of the sample in the quadratic part
	buf   [3]vector // scratch of the reader
	bx    vector    // ∂u_0/∂x where a_0 depends on x
	push  []float64 // a_kᵀv
	pcg   rand.PCG
	rng   *rand.Rand
}

type vector = []float64

func newTerm(k, dx int) *term {
	t := &term{a: make([]row, k), b: make([]row, k), c: make(vector, k), u: make(vector, k), g: make(vector, k),
		h: make(vector, k*k), push: make(vector, k), bx: make(vector, dx)}
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

// sum is a bilevel.Problem of two such losses, with Products, Values, GradXG and Truth.
type sum struct {
	dx, dy     int
	f, g       loss
	tmpX, tmpY []float64
	solver
}

func withQuads(dx, dy int, f, g loss) *sum {
	f.quad, g.quad = newQuad(dx, dy), newQuad(dx, dy)
	return &sum{dx: dx, dy: dy, f: f, g: g}
}

func (s *sum) fresh() *sum {
	n := &sum{dx: s.dx, dy: s.dy, f: s.f, g: s.g, tmpX: make(vector, s.dx), tmpY: make(vector, s.dy),
		solver: newSolver(s.dx, s.dy)}
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
		t.w, t.dw, t.at, t.jac, t.bend = 1, 0, -1, t.jac[:0], 1
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

// value returns the mean, and writes gradients that are not nil.
func (s *sum) value(l *loss, gx, gy, x, y []float64, batch []bilevel.Sample) float64 {
	clear(gx)
	clear(gy)
	val := 0.0
	bend := l.each(x, y, batch, func(t *term, w float64) {
		val += w * t.w * t.val
		for k, g := range t.g {
			if gy != nil {
				t.a[k].add(gy, w*t.w*g)
			}
			if gx != nil {
				t.b[k].add(gx, w*t.w*g)
			}
		}
		if gx != nil && t.at >= 0 {
			gx[t.at] += w * t.dw * t.val
		}
	})
	if q := l.quad; q != nil {
		mat.MulVecSym(s.tmpX, q.xx, x)
		val += bend*mat.Dot(s.tmpX, x)/2 + mat.Dot(q.x, x)
		plus(gx, bend, s.tmpX)
		plus(gx, 1, q.x)
		mat.MulVec(s.tmpX, q.xy, y)
		val += bend * mat.Dot(s.tmpX, x)
		plus(gx, bend, s.tmpX)
		mat.MulVecSym(s.tmpY, q.yy, y)
		val += bend*mat.Dot(s.tmpY, y)/2 + mat.Dot(q.y, y)
		plus(gy, bend, s.tmpY)
		plus(gy, 1, q.y)
		mat.MulVecTrans(s.tmpY, q.xy, x)
		plus(gy, bend, s.tmpY)
	}
	for i, v := range l.weighted(x) {
		w, dw := l.decay(v)
		val += w * y[i] * y[i] / 2
		if gy != nil {
			gy[i] += w * y[i]
		}
		if gx != nil {
			gx[i] += dw * y[i] * y[i] / 2
		}
	}
	return val
}

func plus(dst []float64, c float64, v []float64) {
	if dst != nil {
		mat.Axpy(dst, c, v)
	}
}

// weighted is x where the loss has weights of y_i².
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
	s.value(&s.g, nil, gy, x, y, phi)
	return nil
}

func (s *sum) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	s.value(&s.g, gx, nil, x, y, phi)
	return nil
}

func (s *sum) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return s.value(&s.f, nil, nil, x, y, xi), nil
}

func (s *sum) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return s.value(&s.g, nil, nil, x, y, phi), nil
}

func (s *sum) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	gyy.Zero()
	bend := s.g.each(x, y, phi, func(t *term, w float64) { t.outer(w, t.a, gyy) })
	if q := s.g.quad; q != nil {
		mat.AddScaledSym(gyy, gyy, bend, q.yy)
	}
	for i, v := range s.g.weighted(x) {
		w, _ := s.g.decay(v)
		gyy.Row(i)[i] += w
	}
	return nil
}

func (s *sum) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	gxy.Zero()
	bend := s.g.each(x, y, phi, func(t *term, w float64) {
		t.outer(w, t.b, gxy)
		for k, a := range t.a {
			if t.at >= 0 {
				a.add(gxy.Row(t.at), w*t.dw*t.g[k])
			}
		}
		for _, c := range t.jac {
			gxy.Row(c.i)[c.j] += w * t.w * t.g[0] * c.v
		}
	})
	if q := s.g.quad; q != nil {
		mat.AddScaled(gxy, gxy, bend, q.xy)
	}
	for i, v := range s.g.weighted(x) {
		_, dw := s.g.decay(v)
		gxy.Row(i)[i] += dw * y[i]
	}
	return nil
}

func (s *sum) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	bend := s.g.each(x, y, phi, func(t *term, w float64) { t.along(v, w, t.a, dst) })
	if q := s.g.quad; q != nil {
		mat.MulVecSym(s.tmpY, q.yy, v)
		mat.Axpy(dst, bend, s.tmpY)
	}
	for i, xi := range s.g.weighted(x) {
		w, _ := s.g.decay(xi)
		dst[i] += w * v[i]
	}
	return nil
}

func (s *sum) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	bend := s.g.each(x, y, phi, func(t *term, w float64) {
		for k, a := range t.a {
			if t.at >= 0 {
				dst[t.at] += w * t.dw * t.g[k] * a.dot(v)
			}
		}
		t.along(v, w, t.b, dst)
		for _, c := range t.jac {
			dst[c.i] += w * t.w * t.g[0] * c.v * v[c.j]
		}
	})
	if q := s.g.quad; q != nil {
		mat.MulVec(s.tmpX, q.xy, v)
		mat.Axpy(dst, bend, s.tmpX)
	}
	for i, xi := range s.g.weighted(x) {
		_, dw := s.g.decay(xi)
		dst[i] += dw * y[i] * v[i]
	}
	return nil
}

// outer adds w·ω·Σ ψ_kl left_k a_lᵀ.
func (t *term) outer(w float64, left []row, to interface{ Row(i int) []float64 }) {
	for k, r := range left {
		for l, a := range t.a {
			if c := w * t.w * t.h[k*len(t.a)+l]; c != 0 {
				for i, v := range r.v {
					a.add(to.Row(r.off+i), c*v)
				}
			}
		}
	}
}

// along adds w·ω·Σ ψ_kl (a_lᵀv)·to_k.
func (t *term) along(v []float64, w float64, to []row, dst []float64) {
	for k, a := range t.a {
		t.push[k] = a.dot(v)
	}
	for k := range to {
		to[k].add(dst, w*t.w*mat.Dot(t.h[k*len(t.a):(k+1)*len(t.a)], t.push))
	}
}
