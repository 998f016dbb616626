package method

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/mat"
)

// plain is a method written out from its equations; it reads the samples off the real one's log.
type plain interface {
	step(r *reader, k int, x, y []float64)
}

const (
	plainAlpha, plainBeta = 0.05, 0.1
	plainInner            = 3
)

func TestMethodsFollowPublicCode(t *testing.T) {
	a, b := bilevel.Constant(plainAlpha), bilevel.Constant(plainBeta)
	for _, c := range []struct {
		m bilevel.Method
		p plain
	}{
		{MASOBA{Alpha: a, Beta: b, Theta: bilevel.Constant(0.3)}, &plainMASOBA{}},
		{SRBA{Alpha: a, Beta: b, Period: 4, Large: 5}, &plainSRBA{}},
		{FSLA{Alpha: a, Beta: b, Eta: bilevel.Constant(0.3)}, &plainFSLA{}},
		{AmIGO{Alpha: a, Beta: b, Inner: plainInner}, &plainAmIGO{}},
		{F2SA{Alpha: a, Beta: b, Lambda: bilevel.Constant(7), Inner: plainInner}, &plainF2SA{}},
		{F2SAp{Alpha: a, Beta: b, Nu: 0.2, Inner: plainInner}, &plainF2SAp{}},
		{F2SAp{Alpha: a, Beta: b, Nu: 0.2, Inner: plainInner, Normalise: true}, &plainF2SAp{normalise: true}},
		{BOME{Alpha: a, Beta: b, Inner: plainInner}, plainBOME{}},
	} {
		t.Run(c.m.Name(), func(t *testing.T) {
			w := newProducts(0.3)
			s, err := bilevel.New(w, c.m,
				bilevel.Options{Set: bilevel.UniformBox(3, -0.2, 0.4), Seed: 9, UpperBatch: 2, LowerBatch: 3})
			require.NoError(t, err)
			x, y := make([]float64, 3), make([]float64, 4)
			boxed := 0
			for k := range 40 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				r := &reader{t: t, w: newWavy(0.3), log: slices.Clone(w.Log)}
				c.p.step(r, k, x, y)
				require.Empty(t, r.log, "calls that the equations do not have, step %d", k)
				boxed += clamp(x)
				require.InDeltaSlice(t, x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, y, s.Y(), 1e-11, "y at step %d", k)
			}
			require.Positive(t, boxed)
		})
	}
}

// The derivatives at the next call's samples.
func (r *reader) f(x, y []float64) (fx, fy []float64) {
	fx, fy = make([]float64, len(x)), make([]float64, len(y))
	require.NoError(r.t, r.w.GradF(fx, fy, x, y, r.next("GradF", x, y)))
	return fx, fy
}

func (r *reader) gy(x, y []float64) []float64 { return r.gradG(x, y, r.next("GradG", x, y)) }

func (r *reader) gx(x, y []float64) []float64 {
	g := make([]float64, len(x))
	require.NoError(r.t, r.w.GradXG(g, x, y, r.next("GradXG", x, y)))
	return g
}

func (r *reader) hessVec(x, y, v []float64) []float64 {
	a, u := mat.NewSym(len(y)), make([]float64, len(y))
	require.NoError(r.t, r.w.HessG(a, x, y, r.next("HessG", x, y)))
	mat.MulVecSym(u, a, v)
	return u
}

func (r *reader) crossVec(x, y, v []float64) []float64 {
	a, u := mat.NewDense(len(x), len(y)), make([]float64, len(x))
	require.NoError(r.t, r.w.CrossG(a, x, y, r.next("CrossG", x, y)))
	mat.MulVec(u, a, v)
	return u
}

// lin returns Σ c_i·v_i, for pairs of a number and a vector.
func lin(pairs ...any) []float64 {
	var sum []float64
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1].([]float64)
		if sum == nil {
			sum = make([]float64, len(v))
		}
		mat.Axpy(sum, pairs[i].(float64), v)
	}
	return sum
}

// sobaDirections are D_y, D_v, D_x.
func sobaDirections(r *reader, x, y, v []float64) (dy, dv, dx []float64) {
	fx, fy := r.f(x, y)
	dy = r.gy(x, y)
	return dy, lin(1.0, r.hessVec(x, y, v), 1.0, fy), lin(1.0, r.crossVec(x, y, v), 1.0, fx)
}

type plainMASOBA struct{ v, h []float64 }

func (p *plainMASOBA) step(r *reader, k int, x, y []float64) {
	if k == 0 {
		p.v = make([]float64, len(y))
	}
	dy, dv, dx := sobaDirections(r, x, y, p.v)
	if k == 0 {
		p.h = dx
	} else {
		p.h = lin(0.7, p.h, 0.3, dx)
	}
	mat.Axpy(y, -plainBeta, dy)
	mat.Axpy(p.v, -plainBeta, dv)
	mat.Axpy(x, -plainAlpha, p.h)
}

type plainSRBA struct {
	v, vOld, xOld, yOld []float64
	dy, dv, dx          []float64
}

func (p *plainSRBA) step(r *reader, k int, x, y []float64) {
	if k == 0 {
		p.v = make([]float64, len(y))
	}
	dy, dv, dx := sobaDirections(r, x, y, p.v)
	if k%4 == 0 {
		p.dy, p.dv, p.dx = dy, dv, dx
	} else {
		oy, ov, ox := sobaDirections(r, p.xOld, p.yOld, p.vOld)
		p.dy, p.dv, p.dx = lin(1.0, p.dy, 1.0, dy, -1.0, oy), lin(1.0, p.dv, 1.0, dv, -1.0, ov), lin(1.0, p.dx, 1.0, dx,
			-1.0, ox)
	}
	p.xOld, p.yOld, p.vOld = slices.Clone(x), slices.Clone(y), slices.Clone(p.v)
	mat.Axpy(y, -plainBeta, p.dy)
	mat.Axpy(p.v, -plainBeta, p.dv)
	mat.Axpy(x, -plainAlpha, p.dx)
}

type plainFSLA struct{ v, m, xOld []float64 }

func (p *plainFSLA) step(r *reader, k int, x, y []float64) {
	if k == 0 {
		p.v = make([]float64, len(y))
	}
	yOld, vOld := slices.Clone(y), slices.Clone(p.v)
	mat.Axpy(y, -plainBeta, r.gy(x, y))
	hv := r.hessVec(x, y, p.v)
	_, fy := r.f(x, y)
	p.v = lin(1.0, p.v, -plainBeta, hv, plainBeta, fy)
	direction := func(x, y, v []float64) []float64 {
		fx, _ := r.f(x, y)
		return lin(1.0, fx, -1.0, r.crossVec(x, y, v))
	}
	if k == 0 {
		p.m = direction(x, y, p.v)
	} else {
		old := direction(p.xOld, yOld, vOld)
		p.m = lin(1.0, direction(x, y, p.v), 0.7, p.m, -0.7, old)
	}
	p.xOld = slices.Clone(x)
	mat.Axpy(x, -plainAlpha, p.m)
}

type plainAmIGO struct{ v []float64 }

func (p *plainAmIGO) step(r *reader, k int, x, y []float64) {
	if k == 0 {
		p.v = make([]float64, len(y))
	}
	for range plainInner {
		mat.Axpy(y, -plainBeta, r.gy(x, y))
	}
	fx, fy := r.f(x, y)
	for range plainInner {
		mat.Axpy(p.v, -plainBeta, lin(1.0, r.hessVec(x, y, p.v), 1.0, fy))
	}
	mat.Axpy(x, -plainAlpha, lin(1.0, fx, 1.0, r.crossVec(x, y, p.v)))
}

type plainF2SA struct{ z []float64 }

func (p *plainF2SA) step(r *reader, k int, x, y []float64) {
	const lambda = 7
	if k == 0 {
		p.z = make([]float64, len(y))
	}
	for range plainInner {
		_, fy := r.f(x, p.z)
		mat.Axpy(p.z, -plainBeta/lambda, lin(1.0, fy, float64(lambda), r.gy(x, p.z)))
		mat.Axpy(y, -plainBeta, r.gy(x, y))
	}
	fx, _ := r.f(x, p.z)
	mat.Axpy(x, -plainAlpha, lin(1.0, fx, float64(lambda), r.gx(x, p.z), -float64(lambda), r.gx(x, y)))
}

type plainF2SAp struct {
	up, low   []float64
	normalise bool
}

func (p *plainF2SAp) step(r *reader, k int, x, y []float64) {
	const nu = 0.2
	if k == 0 {
		p.up, p.low = make([]float64, len(y)), make([]float64, len(y))
	}
	same := func(phi, next []bilevel.Sample) { require.Equal(r.t, phi, next, "one sample for both sides") }
	for range plainInner {
		xi, phi := r.log[0].Batch, r.log[1].Batch
		_, fy := r.f(x, p.up)
		gy := r.gy(x, p.up)
		same(xi, r.log[0].Batch)
		same(phi, r.log[1].Batch)
		_, fLow := r.f(x, p.low)
		gLow := r.gy(x, p.low)
		mat.Axpy(p.up, -plainBeta, lin(1.0, gy, nu, fy))
		mat.Axpy(p.low, -plainBeta, lin(1.0, gLow, -nu, fLow))
	}
	same(r.log[0].Batch, r.log[1].Batch)
	same(r.log[2].Batch, r.log[3].Batch)
	fx, _ := r.f(x, p.up)
	fLow, _ := r.f(x, p.low)
	h := lin(0.5/nu, r.gx(x, p.up), 0.5, fx, -0.5/nu, r.gx(x, p.low), 0.5, fLow)
	length := 1.0
	if p.normalise {
		length = mat.Norm(h)
	}
	mat.Axpy(x, -plainAlpha/length, h)
	copy(y, lin(0.5, p.up, 0.5, p.low))
}

type plainBOME struct{}

func (plainBOME) step(r *reader, _ int, x, y []float64) {
	hat := slices.Clone(y)
	for range plainInner {
		mat.Axpy(hat, -plainBeta, r.gy(x, hat))
	}
	fx, fy := r.f(x, y)
	qy := r.gy(x, y)
	qx := lin(1.0, r.gx(x, y), -1.0, r.gx(x, hat))
	square := mat.Dot(qx, qx) + mat.Dot(qy, qy)
	lambda := max(0, 0.5*square-mat.Dot(fx, qx)-mat.Dot(fy, qy)) / square
	mat.Axpy(x, -plainAlpha, lin(1.0, fx, lambda, qx))
	mat.Axpy(y, -plainBeta, lin(1.0, fy, lambda, qy))
}
