package bilevel

import (
	"math"

	"stable/eig"
	"stable/mat"
)

// clippings is what an Estimator sees of g_yy in the steps in which P̲ raises eigenvalues:
// vᵀg_yy(φ)v, whose mean is not below the least eigenvalue of E[g_yy], with v the least eigenvector
// of a mean of all g_yy(φ) before. H_yy itself was raised to just below μ_g the step before.
type clippings struct {
	share float64 // of the late steps
	n     int     // steps
	next  int     // the step with the next v
	mean  *mat.Sym
	v     []float64

	m              int // steps since v was chosen
	value, squares float64
	least, err     float64 // of the v before, and its standard error

	eig   eig.Symmetric
	off   *mat.Sym // scratch: g_yy(φ) − mean
	image []float64
}

func newClippings(dy int) clippings {
	return clippings{mean: mat.NewSym(dy), off: mat.NewSym(dy), v: make([]float64, dy), image: make([]float64, dy)}
}

// add takes step k, and g_yy of its batch: 4dy² flops, and now and then an eigen-decomposition.
func (c *clippings) add(k int, clipped bool, yy *mat.Sym) error {
	if k == 0 {
		c.share, c.n, c.next, c.m, c.least, c.err = 0, 0, 16, 0, math.NaN(), math.NaN()
		clear(c.v)
		c.mean.Zero()
	}
	weight := cubicWeight(k)
	c.share -= weight * c.share
	if !clipped {
		return nil
	}
	c.share += weight
	mat.MulVecSym(c.image, yy, c.v)
	c.m++
	off := mat.Dot(c.v, c.image) - c.value
	c.value += off / float64(c.m)
	c.squares += off * off * float64(c.m-1) / float64(c.m)
	mat.AddScaledSym(c.off, yy, -1, c.mean)
	mat.AddScaledSym(c.mean, c.mean, cubicWeight(c.n), c.off)
	if c.n++; c.n < c.next {
		return nil
	}
	return c.choose()
}

// choose ends the trial of v, and chooses the next one.
func (c *clippings) choose() error {
	if c.n > 16 {
		n := float64(c.m)
		c.least, c.err = c.value, math.Sqrt(c.squares/(n*(n-1)))
	}
	if err := c.eig.Factor(c.mean); err != nil {
		return err
	}
	copy(c.v, c.eig.VectorsT().Row(0))
	c.next, c.m, c.value, c.squares = c.n+16+c.n/4, 0, 0, 0
	return nil
}

func (c *clippings) State(t *State) {
	for _, v := range []*float64{&c.share, &c.value, &c.squares, &c.least, &c.err} {
		t.Float(v)
	}
	for _, v := range []*int{&c.n, &c.next, &c.m} {
		t.Count(v)
	}
	t.Floats(c.v)
	t.Sym(c.mean)
}
