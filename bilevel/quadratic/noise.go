package quadratic

import (
	"cmp"
	"math"

	"stable/bilevel"
	"stable/bilevel/theorem"
	"stable/mat"
)

// kind tells the streams of one name apart, so that an oracle draws no more than it needs.
type kind uint64

const (
	kindProblem kind = iota
	kindFx
	kindFy
	kindGy
	kindGxy
	kindGyy
	kindFyy
)

// seed starts the generator of a kind at a sample and returns the factor of the noise: its sign,
// antithetic in terms 2i and 2i+1, and what makes its tail heavy.
func (p *Problem) seed(k kind, s bilevel.Sample) float64 {
	name, sign := uint64(s), 1.0
	if p.o.Terms > 0 {
		if name%2 == 1 {
			sign = -1
		}
		name /= 2
	}
	p.pcg.Seed(mix(p.o.Seed)+uint64(k), mix(name^mix(uint64(k))))
	if p.o.Tail > 0 {
		return sign * math.Pow(1-p.rng.Float64(), -1/p.o.Tail)
	}
	return sign
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// draw calls add with rows of normal numbers for each sample, and with z, their factor in the mean
// over the batch. There are n rows of m entries, or of 1, 2, …, n where m is 0.
func (p *Problem) draw(k kind, deviation float64, batch []bilevel.Sample, n, m int, add func(i int, z float64, e []float64)) {
	if deviation == 0 {
		return
	}
	size := deviation / float64(len(batch))
	for _, s := range batch {
		z := size * p.seed(k, s)
		for i := range n {
			e := p.normal[:cmp.Or(m, i+1)]
			gaussian(p.rng, e)
			add(i, z, e)
		}
	}
}

func (p *Problem) addVec(dst []float64, sigma float64, k kind, batch []bilevel.Sample) {
	p.draw(k, sigma/math.Sqrt(float64(len(dst))), batch, 1, len(dst), func(_ int, z float64, e []float64) {
		mat.Axpy(dst, z, e)
	})
}

// drawCross draws σ_gxy·N: E‖N‖_F² = 1.
func (p *Problem) drawCross(batch []bilevel.Sample, add func(i int, z float64, e []float64)) {
	rows := p.o.Dx - p.o.Blind
	p.draw(kindGxy, p.o.SigmaGxy/math.Sqrt(float64(rows)*float64(p.o.Dy)), batch, rows, p.o.Dy, add)
}

func (p *Problem) addCrossVec(dst, v []float64, batch []bilevel.Sample) {
	p.drawCross(batch, func(i int, z float64, e []float64) {
		sum := 0.0
		for j, vj := range v {
			sum += e[j] * vj
		}
		dst[i] += z * sum
	})
}

// drawHess draws sigma·S below the diagonal; on it, entries are √2 as large (the Gaussian orthogonal
// ensemble): E‖S‖_F² = n(n−1)·d² + n·2d² = 1 for the deviation d, d² = 1/(n(n+1)).
func (p *Problem) drawHess(sigma float64, batch []bilevel.Sample, add func(i int, z float64, e []float64)) {
	n := float64(p.o.Dy)
	p.draw(kindGyy, sigma/math.Sqrt(n*(n+1)), batch, p.o.Dy, 0, add)
}

func (p *Problem) addHessVec(dst []float64, sigma float64, v []float64, batch []bilevel.Sample) {
	p.drawHess(sigma, batch, func(i int, z float64, e []float64) {
		sum := 0.0
		for j, vj := range v[:i] {
			sum += e[j] * vj
			dst[j] += z * e[j] * v[i]
		}
		dst[i] += z * (sum + math.Sqrt2*e[i]*v[i])
	})
}

// direction draws n, Gaussian with unit covariance, or a = L n where the kind is g_yy.
func (p *Problem) direction(k kind, s bilevel.Sample) []float64 {
	p.seed(k, s)
	gaussian(p.rng, p.dir)
	if k == kindGyy {
		for i := len(p.dir) - 1; i >= 0; i-- {
			p.dir[i] = mat.Dot(p.root.Row(i)[:i+1], p.dir[:i+1])
		}
	}
	return p.dir
}

// addRankOneVec adds weight·(a aᵀ − M)v where g_yy, or f_yy, has rank one; M = E a aᵀ is A, or I.
func (p *Problem) addRankOneVec(dst []float64, k kind, v []float64, weight float64, batch []bilevel.Sample) {
	if k == kindGyy && !p.o.RankOneG || k == kindFyy && !p.o.RankOneF {
		return
	}
	for _, s := range batch {
		a, z := p.direction(k, s), weight/float64(len(batch))
		mat.Axpy(dst, z*mat.Dot(a, v), a)
		if k == kindFyy {
			mat.Axpy(dst, -z, v)
			continue
		}
		mat.MulVecSym(p.normal[:p.o.Dy], p.a, v)
		mat.Axpy(dst, -z, p.normal[:p.o.Dy])
	}
}

// Constants returns the constants of the paper's Assumptions 1 to 5 that hold for all x with ‖x −
// x*‖ ≤ r and all y with ‖y − y*(x*)‖ ≤ r·max(1, CrossNorm/MuG), which include y*(x). Matrix norms
// are Frobenius norms in Cgxy, SigmaGxy and SigmaGyy. MuF and Mu hold everywhere, and leave out J Jᵀ
// ⪰ 0. In a finite sum, moments are averages over draws of the terms. It panics if r is negative or
// not finite, and with Tail, RankOneF and RankOneG, which meet no such assumptions. 2Dx² flops.
//
// # How it works
//
// For a mean of norm M and Gaussian noise σe in dimension d, E‖m + σe‖² = M² + σ² and E‖m + σe‖⁴ =
// M⁴ + 2(1 + 2/d)·M²σ² + (1 + 2/d)·σ⁴. The noise of g_y has the mean square σ_gy² + σ_gxy²‖η‖²/Dx +
// σ_gyy²‖δ‖²/Dy.
func (p *Problem) Constants(r float64) theorem.Constants {
	o, dx, dy := p.o, float64(p.o.Dx-p.o.Blind), float64(p.o.Dy)
	if !valid(r) {
		panic("quadratic: Constants: radius is not a finite number ≥ 0")
	}
	if o.Tail > 0 || o.RankOneF || o.RankOneG {
		panic("quadratic: Constants: there are none with Tail, RankOneF or RankOneG")
	}
	ry := r * max(1, o.CrossNorm/o.MuG)
	p.meanGradF(p.eta, p.delta, p.xs, p.ys)
	fx, fy := mat.Norm(p.eta), mat.Norm(p.delta)+ry
	c := theorem.Constants{
		Lfy:      1,
		Lg:       o.LG,
		MuG:      o.MuG,
		Cfy:      moment(fy, o.SigmaFy, dy),
		Cgxy:     math.Hypot(o.CrossNorm, o.SigmaGxy),
		SigmaGy:  math.Hypot(o.SigmaGy, math.Hypot(o.SigmaGxy*r/math.Sqrt(dx), o.SigmaGyy*ry/math.Sqrt(dy))),
		SigmaGxy: o.SigmaGxy,
		SigmaGyy: o.SigmaGyy,
	}
	dx = float64(o.Dx)
	if p.p != nil {
		c.LfxBar = o.LP
		c.Cfx = moment(fx+o.LP*r, o.SigmaFx, dx)
		c.MuF, c.Mu = o.MuP, o.MuP
		if o.Saddle {
			c.MuF -= math.Pow(o.CrossNorm/o.MuG, 2)
			c.Mu = max(c.MuF, 0)
		}
		return c
	}
	// h(u) = u²/(1+u²): |h′| ≤ 3√3/8 (u² = 1/3), −1/2 ≤ h″ ≤ 2 (at |u| = 1 and 0), and h′(0) = 0.
	w := o.Nonconvex
	c.LfxBar = 2 * w
	c.Cfx = moment(w*min(2*r, 3*math.Sqrt(3)/8*math.Sqrt(dx)), o.SigmaFx, dx)
	c.MuF = -w / 2
	return c
}

// moment is the fourth root of E‖m + σe‖⁴ for ‖m‖ = mean, e ~ N(0, I/d).
func moment(mean, sigma, d float64) float64 {
	m, s, k := mean*mean, sigma*sigma, 1+2/d
	return math.Sqrt(math.Sqrt(m*m + 2*k*m*s + k*s*s))
}
