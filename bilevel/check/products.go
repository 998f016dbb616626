package check

import (
	"math"
	"slices"

	"stable/mat"
)

func (c *checker) products() {
	for _, p := range []struct{ vec, matrix string }{{"HessVecG", "HessG"}, {"CrossVecG", "CrossG"}} {
		vec, matrix := c.oracle(p.vec), c.oracle(p.matrix)
		if vec == nil || !c.usable(Product, vec, p.matrix) {
			continue
		}
		for _, pt := range c.places(vec, true) {
			c.product(vec, matrix, pt)
		}
	}
}

func (c *checker) product(vec, matrix *oracle, pt point) {
	a, got := c.eval(matrix, pt), c.eval(vec, pt)
	if a == nil || got == nil {
		return
	}
	want := make([]float64, len(got))
	mat.MulVec(want, mat.DenseOf(len(want), c.dy, a), c.vec)
	m := comparison{check: Product, o: vec, pt: pt, got: got, want: want, against: matrix.name + " times v",
		tol: c.level(len(got), 1e-9*maxAbs(a)*maxAbs(c.vec)*math.Sqrt(float64(c.dy)))}
	if bad, _ := m.wrong(); len(bad) > 0 {
		c.columns(vec, matrix, pt, a)
		return
	}
	c.judge(m)
}

// columns names the wrong entries, by products with unit vectors.
func (c *checker) columns(vec, matrix *oracle, pt point, a []float64) {
	old := slices.Clone(c.vec)
	defer copy(c.vec, old)
	m := comparison{check: Product, o: shown(vec, matrix.blocks[0].quantity, len(a)/c.dy, c.dy), pt: pt, got: make([]float64, len(a)), want: a,
		tol: c.level(len(a), 1e-9*maxAbs(a)), against: "the entry of " + matrix.name}
	for j := range c.dy {
		clear(c.vec)
		c.vec[j] = 1
		col := c.eval(vec, pt)
		if col == nil {
			return
		}
		for i, v := range col {
			m.got[i*c.dy+j] = v
		}
	}
	if c.judge(m) {
		c.log.find(vec.whole(Product, vec.blocks[0].quantity, pt,
			"it is not linear in v: right for unit vectors, wrong for their sums"), 0, 0, 0)
	}
}
