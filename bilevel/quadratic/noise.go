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

// addVec adds sigma·e, the mean over the batch: E‖e‖² = 1.
func (p *Problem) addVec(dst []float64, sigma float64, k kind, batch []bilevel.Sample) {
	if sigma == 0 {
		return
	}
	size := sigma / math.Sqrt(float64(len(dst))) / float64(len(batch))
	for _, s := range batch {
		z := size * p.seed(k, s)
		for i := range dst {
			dst[i] += z * p.rng.NormFloat64()
		}
	}
}

// crossSize is the deviation of an entry of σ_gxy·N that is not 0, over the batch size: E‖N‖_F² =
// 1.
func (p *Problem) crossSize(batch []bilevel.Sample) float64 {
	return p.o.SigmaGxy / math.Sqrt(float64(p.o.Dx-p.o.Blind)*float64(p.o.Dy)) / float64(len(batch))
}

func (p *Problem) addCross(dst *mat.Dense, batch []bilevel.Sample) {
	if p.o.SigmaGxy == 0 {
		return
	}
	size := p.crossSize(batch)
	for _, s := range batch {
		z := size * p.seed(kindGxy, s)
		for i := range dst.Rows - p.o.Blind {
			row := dst.Row(i)
			for j := range row {
				row[j] += z * p.rng.NormFloat64()
			}
		}
	}
}

func (p *Problem) addCrossVec(dst, v []float64, batch []bilevel.Sample) {
	if p.o.SigmaGxy == 0 {
		return
	}
	size := p.crossSize(batch)
	for _, s := range batch {
		z := size * p.seed(kindGxy, s)
		for i := range len(dst) - p.o.Blind {
			sum := 0.0
			for _, vj := range v {
				sum += p.rng.NormFloat64() * vj
			}
			dst[i] += z * sum
		}
	}
}

func (p *Problem) addCrossTransVec(dst, v []float64, batch []bilevel.Sample) {
	if p.o.SigmaGxy == 0 {
		return
	}
	size := p.crossSize(batch)
	for _, s := range batch {
		z := size * p.seed(kindGxy, s)
		for _, vi := range v[:len(v)-p.o.Blind] {
			zi := z * vi
			for j := range dst {
				dst[j] += zi * p.rng.NormFloat64()
			}
		}
	}
}

// hessSize is the deviation of an entry of sigma·S below the diagonal, over the batch size; on it
// √2 as large (the Gaussian orthogonal ensemble): E‖S‖_F² = n(n−1)·d² + n·2d² = 1 for d² =
// 1/(n(n+1)).
func (p *Problem) hessSize(sigma float64, batch []bilevel.Sample) float64 {
	n := float64(p.o.Dy)
	return sigma / math.Sqrt(n*(n+1)) / float64(len(batch))
}

func (p *Problem) addHess(dst *mat.Sym, batch []bilevel.Sample) {
	if p.o.SigmaGyy == 0 {
		return
	}
	size := p.hessSize(p.o.SigmaGyy, batch)
	for _, s := range batch {
		z := size * p.seed(kindGyy, s)
		for i := range dst.N {
			row := dst.Row(i)
			for j := range i {
				row[j] += z * p.rng.NormFloat64()
			}
			row[i] += math.Sqrt2 * z * p.rng.NormFloat64()
		}
	}
}

func (p *Problem) addHessVec(dst []float64, sigma float64, v []float64, batch []bilevel.Sample) {
	if sigma == 0 {
		return
	}
	size := p.hessSize(sigma, batch)
	for _, s := range batch {
		z := size * p.seed(kindGyy, s)
		for i, vi := range v {
			sum := 0.0
			for j, vj := range v[:i] {
				e := p.rng.NormFloat64()
				sum += e * vj
				dst[j] += z * e * vi
			}
			sum += math.Sqrt2 * p.rng.NormFloat64() * vi
			dst[i] += z * sum
		}
	}
}
