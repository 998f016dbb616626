package quadratic

import (
	"math"

	"stable/bilevel"
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
func (p *Problem) draw(k kind, deviation float64, batch []bilevel.Sample, n, m int,
	add func(i int, z float64, e []float64)) {
	if deviation == 0 {
		return
	}
	size := deviation / float64(len(batch))
	for _, s := range batch {
		z := size * p.seed(k, s)
		for i := range n {
			e := p.normal[:m]
			if m == 0 {
				e = p.normal[:i+1]
			}
			gaussian(p.rng, e)
			add(i, z, e)
		}
	}
}

// addVec adds sigma·e: E‖e‖² = 1.
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

// addRankOneVec adds weight·(a aᵀ − M)v where g_yy, or f_yy, has rank one; M = E a aᵀ is A for g_yy,
// I for f_yy.
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
