package quadratic

import (
	"fmt"
	"math"

	"stable/bilevel"
	"stable/mat"
	"stable/mat/kernel"
)

func (p *Problem) Dims() (dx, dy int)             { return p.o.Dx, p.o.Dy }
func (p *Problem) Streams() (upper, lower uint64) { return p.o.Terms, p.o.Terms }

// GradF writes f_x = P(x−a) + σ_fx e, or w·2u_i/(1+u_i²)² + σ_fx e, and f_y = ±(y − b) + σ_fy e′.
func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if err := p.asked("quadratic: GradF: dimension mismatch", x, y, len(fx) == p.o.Dx && len(fy) == p.o.Dy, xi); err != nil {
		return err
	}
	p.meanGradF(fx, fy, x, y)
	p.addVec(fx, p.o.SigmaFx, kindFx, xi)
	p.addVec(fy, p.o.SigmaFy, kindFy, xi)
	p.offsets(x, y)
	p.addRankOneVec(fy, kindFyy, p.delta, 1, xi)
	return nil
}

// GradG writes g_y = A y − Bᵀx − c + σ_gy e + σ_gxy Nᵀη + σ_gyy S δ.
func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: GradG: dimension mismatch", x, y, len(gy) == p.o.Dy, phi); err != nil {
		return err
	}
	p.slope(gy, x)
	mat.MulVecSym(p.v, p.a, y)
	subtract(gy, p.v, gy)
	p.addSlope(gy, x, y, 1, phi)
	return nil
}

// CrossG writes g_xy = −B + σ_gxy N.
func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: CrossG: dimension mismatch", x, y, gxy.Rows == p.o.Dx && gxy.Cols == p.o.Dy, phi); err != nil {
		return err
	}
	mat.Scale(gxy, -1, p.b)
	p.drawCross(phi, func(i int, z float64, e []float64) { mat.Axpy(gxy.Row(i), z, e) })
	return nil
}

// HessG writes g_yy = A + σ_gyy S.
func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: HessG: dimension mismatch", x, y, gyy.N == p.o.Dy, phi); err != nil {
		return err
	}
	mat.CopySym(gyy, p.a)
	p.drawHess(p.o.SigmaGyy, phi, func(i int, z float64, e []float64) {
		row := gyy.Row(i)
		mat.Axpy(row[:i], z, e[:i])
		row[i] += math.Sqrt2 * z * e[i]
	})
	for _, s := range phi {
		if p.o.RankOneG {
			z := 1 / float64(len(phi))
			mat.RankOne(gyy, z, p.direction(kindGyy, s))
			mat.AddScaledSym(gyy, gyy, -z, p.a)
		}
	}
	return nil
}

// HessVecG writes A v + σ_gyy S v.
func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: HessVecG: dimension mismatch", x, y, len(dst) == p.o.Dy && len(v) == p.o.Dy, phi); err != nil {
		return err
	}
	mat.MulVecSym(dst, p.a, v)
	p.addHessVec(dst, p.o.SigmaGyy, v, phi)
	p.addRankOneVec(dst, kindGyy, v, 1, phi)
	return nil
}

// ConvexityAt returns MuG where g_yy is A for every sample, and −Inf, no promise, with SigmaGyy or
// RankOneG, for which rounding can make A + (a aᵀ − A) indefinite. x is not read.
func (p *Problem) ConvexityAt([]float64) float64 {
	if p.o.SigmaGyy > 0 || p.o.RankOneG {
		return math.Inf(-1)
	}
	return p.o.MuG
}

// CrossVecG writes −B v + σ_gxy N v.
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: CrossVecG: dimension mismatch", x, y, len(dst) == p.o.Dx && len(v) == p.o.Dy, phi); err != nil {
		return err
	}
	p.minusB(dst, v)
	p.addCrossVec(dst, v, phi)
	return nil
}

// GradXG writes g_x = −B y + σ_gxy N δ.
func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	if err := p.asked("quadratic: GradXG: dimension mismatch", x, y, len(gx) == p.o.Dx, phi); err != nil {
		return err
	}
	p.minusB(gx, y)
	p.offsets(x, y)
	p.addCrossVec(gx, p.delta, phi)
	return nil
}

func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	if err := p.asked("quadratic: ValueF: dimension mismatch", x, y, true, xi); err != nil {
		return 0, err
	}
	f := p.meanF(x, y)
	p.offsets(x, y)
	ex := p.noise(p.o.Dx)
	p.addVec(ex, p.o.SigmaFx, kindFx, xi)
	f += mat.Dot(ex, p.eta)
	ey := p.noise(p.o.Dy)
	p.addVec(ey, p.o.SigmaFy, kindFy, xi)
	p.addRankOneVec(ey, kindFyy, p.delta, 0.5, xi)
	return f + mat.Dot(ey, p.delta), nil
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	if err := p.asked("quadratic: ValueG: dimension mismatch", x, y, true, phi); err != nil {
		return 0, err
	}
	mat.MulVecSym(p.v, p.a, y)
	g := mat.Dot(y, p.v) / 2
	p.slope(p.v, x)
	g -= mat.Dot(p.v, y)
	w := p.noise(p.o.Dy)
	p.addSlope(w, x, y, 0.5, phi)
	return g + mat.Dot(w, p.delta), nil
}

// addSlope adds w = σ_gy e + σ_gxy Nᵀη + weight·σ_gyy S δ: the noise of g is wᵀδ for the weight ½.
func (p *Problem) addSlope(w, x, y []float64, weight float64, phi []bilevel.Sample) {
	p.offsets(x, y)
	p.addVec(w, p.o.SigmaGy, kindGy, phi)
	p.drawCross(phi, func(i int, z float64, e []float64) { mat.Axpy(w, z*p.eta[i], e) })
	p.addHessVec(w, weight*p.o.SigmaGyy, p.delta, phi)
	p.addRankOneVec(w, kindGyy, p.delta, weight, phi)
}

func (p *Problem) meanF(x, y []float64) float64 {
	f := 0.0
	subtract(p.u, x, p.xc)
	if p.p != nil {
		mat.MulVecSym(p.eta, p.p, p.u)
		f = mat.Dot(p.u, p.eta) / 2
	} else {
		for _, u := range p.u {
			f += p.o.Nonconvex * (u * u / (1 + u*u))
		}
	}
	for j := range y {
		d := y[j] - p.yc[j]
		f += p.bowl() * d * d / 2
	}
	return f
}

// bowl is the second derivative of f by every entry of y.
func (p *Problem) bowl() float64 {
	if p.o.Saddle {
		return -1
	}
	return 1
}

func (p *Problem) meanGradF(fx, fy, x, y []float64) {
	subtract(p.u, x, p.xc)
	if p.p != nil {
		mat.MulVecSym(fx, p.p, p.u)
	} else {
		for i, u := range p.u {
			q := 1 + u*u
			fx[i] = p.o.Nonconvex * (2 * u / (q * q))
		}
	}
	for j := range fy {
		fy[j] = p.bowl() * (y[j] - p.yc[j])
	}
}

func (p *Problem) slope(dst, x []float64) {
	mat.MulVecTrans(dst, p.b, x)
	mat.Axpy(dst, 1, p.c)
}

func (p *Problem) offsets(x, y []float64) {
	subtract(p.eta, x, p.xs)
	subtract(p.delta, y, p.ys)
}

func subtract(dst, a, b []float64) {
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

func (p *Problem) noise(n int) []float64 {
	w := p.perturb[:n]
	clear(w)
	return w
}

func (p *Problem) minusB(dst, v []float64) {
	mat.MulVec(dst, p.b, v)
	kernel.Scale(dst, -1, dst)
}

func (p *Problem) fits(msg string, x, y []float64, rest bool) {
	if len(x) != p.o.Dx || len(y) != p.o.Dy || !rest {
		panic(msg)
	}
}

func (p *Problem) asked(msg string, x, y []float64, rest bool, batch []bilevel.Sample) error {
	p.fits(msg, x, y, rest)
	for _, s := range batch {
		if p.o.Terms > 0 && uint64(s) >= p.o.Terms {
			return fmt.Errorf("quadratic: sample %d is outside of the finite sum of %d terms", s, p.o.Terms)
		}
	}
	return nil
}
