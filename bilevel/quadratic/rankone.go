package quadratic

import (
	"stable/bilevel"
	"stable/mat"
)

// direction draws n, Gaussian with unit covariance, or a = L n where the kind is g_yy, into dir.
func (p *Problem) direction(k kind, s bilevel.Sample) {
	p.seed(k, s)
	if k == kindFyy {
		gaussian(p.rng, p.dir)
		return
	}
	gaussian(p.rng, p.normal)
	for i := range p.dir {
		p.dir[i] = mat.Dot(p.root.Row(i)[:i+1], p.normal[:i+1])
	}
}

// addRankOneVec adds weight·(a aᵀ − M)v, the mean over the batch; M = E a aᵀ is A for g_yy, I for
// f_yy.
func (p *Problem) addRankOneVec(dst []float64, k kind, v []float64, weight float64, batch []bilevel.Sample) {
	for _, s := range batch {
		p.direction(k, s)
		z := weight / float64(len(batch))
		mat.Axpy(dst, z*mat.Dot(p.dir, v), p.dir)
		if k == kindFyy {
			mat.Axpy(dst, -z, v)
			continue
		}
		mat.MulVecSym(p.normal, p.a, v)
		mat.Axpy(dst, -z, p.normal)
	}
}

func (p *Problem) addRankOne(dst *mat.Sym, batch []bilevel.Sample) {
	for _, s := range batch {
		p.direction(kindGyy, s)
		z := 1 / float64(len(batch))
		mat.RankOne(dst, z, p.dir)
		mat.AddScaledSym(dst, dst, -z, p.a)
	}
}
