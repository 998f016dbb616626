package zoo

import (
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

// row holds the entries off … off+len(v)−1 of a vector; the others are 0.
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

func (r row) add(x []float64, c float64) {
	for i, a := range r.v {
		x[r.off+i] += c * a
	}
}

type cell struct {
	i, j int
	v    float64
}

// term is one sample at a point: ω(x)·ψ(u) with u_k = a_kᵀy + b_kᵀx + c_k.
type term struct {
	a, b  []row       // a_0 may depend on x
	c, u  []float64   // c_k, u_k
	val   float64     // ψ
	g, h  []float64   // ψ_k, and ψ_kl row by row
	w     float64     // ω
	dw    float64     // ω′
	at    int         // the entry of x that ω depends on
	jac   []cell      // of ∂a_0j/∂x_i, those that are not 0
	label int         // what else the reader tells ψ
	bend  float64     // κ, the factor of the sample in the quadratic part
	buf   [][]float64 // scratch of the reader
	bx    []float64   // ∂u_0/∂x where a_0 depends on x
	push  []float64   // a_kᵀv, then Σ_l ψ_kl a_lᵀv
	pcg   rand.PCG
	rng   *rand.Rand
}

func (t *term) size(k int) {
	for len(t.a) < k {
		t.a, t.b = append(t.a, row{}), append(t.b, row{})
	}
	t.a, t.b = t.a[:k], t.b[:k]
	for i := range k {
		t.a[i], t.b[i] = row{}, row{}
	}
	if cap(t.c) < k {
		t.c, t.u, t.g, t.push = make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
		t.h = make([]float64, k*k)
	}
	t.c, t.u, t.g, t.push, t.h = t.c[:k], t.u[:k], t.g[:k], t.push[:k], t.h[:k*k]
	clear(t.c)
	clear(t.h)
}

// scratch returns the ith buffer, of length n.
func (t *term) scratch(i, n int) []float64 {
	for len(t.buf) <= i {
		t.buf = append(t.buf, nil)
	}
	if cap(t.buf[i]) < n {
		t.buf[i] = make([]float64, n)
	}
	return t.buf[i][:n]
}

// quad is ½zᵀMz + mᵀz, z = (x, y); a sample has κ times M.
type quad struct {
	xx, yy *mat.Sym
	xy     *mat.Dense
	x, y   []float64
}

func newQuad(dx, dy int) *quad {
	return &quad{xx: mat.NewSym(dx), yy: mat.NewSym(dy), xy: mat.NewDense(dx, dy),
		x: make([]float64, dx), y: make([]float64, dy)}
}

type loss struct {
	terms uint64 // of the sum; 0: a simulator, whose mean is its quadratic part
	read  func(t *term, x []float64, i bilevel.Sample)
	psi   func(t *term) // ψ and its derivatives at u
	quad  *quad
	decay func(x float64) (w, dw float64) // the part ½Σ w(x_i)y_i², i < dx = dy; nil: none
}

// sum is a bilevel.Problem of two such losses, with Products, Values, GradXG and Truth.
type sum struct {
	dx, dy int
	f, g   loss
	t      term
	tmpX   []float64
	tmpY   []float64
	solver
}

func (s *sum) fresh() *sum {
	n := &sum{dx: s.dx, dy: s.dy, f: s.f, g: s.g}
	n.t.rng = rand.New(&n.t.pcg)
	n.t.bx = make([]float64, s.dx)
	n.tmpX, n.tmpY = make([]float64, s.dx), make([]float64, s.dy)
	n.solver = newSolver(s.dx, s.dy)
	return n
}

func (s *sum) Dims() (dx, dy int)             { return s.dx, s.dy }
func (s *sum) Streams() (upper, lower uint64) { return s.f.terms, s.g.terms }

// each visits a batch's terms with their weights, and returns the mean of κ.
func (s *sum) each(l *loss, x, y []float64, batch []bilevel.Sample, visit func(t *term, w float64)) float64 {
	if l.terms == 0 && len(batch) == 0 {
		return 1
	}
	t, bend := &s.t, 0.0
	for i, w := range bilevel.Each(batch, int(l.terms)) {
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

// value returns the mean of a loss, and writes gradients that are not nil.
func (s *sum) value(l *loss, gx, gy, x, y []float64, batch []bilevel.Sample) float64 {
	clear(gx)
	clear(gy)
	val := 0.0
	bend := s.each(l, x, y, batch, func(t *term, w float64) {
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
	if l.decay != nil {
		for i, v := range x {
			w, dw := l.decay(v)
			val += w * y[i] * y[i] / 2
			if gy != nil {
				gy[i] += w * y[i]
			}
			if gx != nil {
				gx[i] += dw * y[i] * y[i] / 2
			}
		}
	}
	return val
}

func plus(dst []float64, c float64, v []float64) {
	if dst != nil {
		mat.Axpy(dst, c, v)
	}
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
	mat.ScaleSym(gyy, 0, gyy)
	for i := range s.dy {
		clear(gyy.Data[i*gyy.Stride : i*gyy.Stride+i+1]) // NaN·0
	}
	bend := s.each(&s.g, x, y, phi, func(t *term, w float64) {
		for k, ak := range t.a {
			for l, al := range t.a {
				c := w * t.w * t.h[k*len(t.a)+l]
				if c == 0 {
					continue
				}
				for i, v := range ak.v {
					r := gyy.Data[(ak.off+i)*gyy.Stride:]
					for j := range min(len(al.v), ak.off+i-al.off+1) {
						r[al.off+j] += c * v * al.v[j]
					}
				}
			}
		}
	})
	if q := s.g.quad; q != nil {
		mat.AddScaledSym(gyy, gyy, bend, q.yy)
	}
	if s.g.decay != nil {
		for i, v := range x {
			w, _ := s.g.decay(v)
			gyy.Data[i*gyy.Stride+i] += w
		}
	}
	return nil
}

func (s *sum) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	for i := range s.dx {
		clear(gxy.Data[i*gxy.Stride : i*gxy.Stride+s.dy])
	}
	at := func(i int) []float64 { return gxy.Data[i*gxy.Stride : i*gxy.Stride+s.dy] }
	bend := s.each(&s.g, x, y, phi, func(t *term, w float64) {
		for k, bk := range t.b {
			for l, al := range t.a {
				if c := w * t.w * t.h[k*len(t.a)+l]; c != 0 {
					for i, v := range bk.v {
						al.add(at(bk.off+i), c*v)
					}
				}
			}
			if t.at >= 0 {
				t.a[k].add(at(t.at), w*t.dw*t.g[k])
			}
		}
		for _, c := range t.jac {
			at(c.i)[c.j] += w * t.w * t.g[0] * c.v
		}
	})
	if q := s.g.quad; q != nil {
		mat.AddScaled(gxy, gxy, bend, q.xy)
	}
	if s.g.decay != nil {
		for i, v := range x {
			_, dw := s.g.decay(v)
			at(i)[i] += dw * y[i]
		}
	}
	return nil
}

// product writes g_yy·v into hv or g_xy·v into cv, whichever is not nil.
func (s *sum) product(hv, cv, x, y, v []float64, phi []bilevel.Sample) error {
	clear(hv)
	clear(cv)
	bend := s.each(&s.g, x, y, phi, func(t *term, w float64) {
		for k, a := range t.a {
			t.push[k] = a.dot(v)
			if cv != nil && t.at >= 0 {
				cv[t.at] += w * t.dw * t.g[k] * t.push[k]
			}
		}
		for k := range t.a {
			c := w * t.w * mat.Dot(t.h[k*len(t.a):(k+1)*len(t.a)], t.push)
			if hv != nil {
				t.a[k].add(hv, c)
			} else {
				t.b[k].add(cv, c)
			}
		}
		for _, c := range t.jac {
			if cv != nil {
				cv[c.i] += w * t.w * t.g[0] * c.v * v[c.j]
			}
		}
	})
	if q := s.g.quad; q != nil && hv != nil {
		mat.MulVecSym(s.tmpY, q.yy, v)
		mat.Axpy(hv, bend, s.tmpY)
	} else if q != nil {
		mat.MulVec(s.tmpX, q.xy, v)
		mat.Axpy(cv, bend, s.tmpX)
	}
	if s.g.decay != nil {
		for i, xi := range x {
			w, dw := s.g.decay(xi)
			if hv != nil {
				hv[i] += w * v[i]
			} else {
				cv[i] += dw * y[i] * v[i]
			}
		}
	}
	return nil
}

func (s *sum) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.product(dst, nil, x, y, v, phi)
}

func (s *sum) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return s.product(nil, dst, x, y, v, phi)
}
