package check

import (
	"math"

	"stable/bilevel"
)

func (c *checker) products() {
	for _, p := range []struct{ vec, matrix string }{{"HessVecG", "HessG"}, {"CrossVecG", "CrossG"}} {
		vec, matrix := c.oracle(p.vec), c.oracle(p.matrix)
		if vec == nil || !c.usable(vec, Product) {
			continue
		}
		if why := c.doubt(p.matrix); why != "" {
			c.log.gap(Product, vec.name, "%s", why)
			continue
		}
		for _, pt := range c.points {
			s := pt.names[lower]
			for _, batch := range [][]bilevel.Sample{{s[0]}, {s[1]}, nil} {
				c.product(vec, matrix, pt, batch)
			}
		}
	}
}

func (c *checker) product(vec, matrix *oracle, pt point, batch []bilevel.Sample) {
	a, ok := c.eval(matrix, pt, batch)
	got, ok1 := c.eval(vec, pt, batch)
	if !ok || !ok1 {
		return
	}
	want, tol := make([]float64, len(got)), make([]float64, len(got))
	limit := 1e-9 * c.o.Tol * maxAbs(a) * maxAbs(c.vec) * math.Sqrt(float64(c.dy))
	for i := range want {
		for j, v := range c.vec {
			want[i] += a[i*c.dy+j] * v
		}
		tol[i] = limit
	}
	m := comparison{check: Product, o: vec, pt: pt, batch: batch, got: got, want: want, tol: tol, against: matrix.name +
		" times v"}
	if len(m.wrong()) == 0 {
		c.judge(m)
		return
	}
	c.columns(vec, matrix, pt, batch, a)
}

// columns finds the wrong entries of a product by multiplying unit vectors.
func (c *checker) columns(vec, matrix *oracle, pt point, batch []bilevel.Sample, a []float64) {
	old := append([]float64(nil), c.vec...)
	defer copy(c.vec, old)
	rows := len(a) / c.dy
	shown := &oracle{name: vec.name, blocks: []*block{newBlock(matrix.blocks[0].quantity, dense, rows, c.dy)}}
	m := comparison{check: Product, o: shown, pt: pt, batch: batch, got: make([]float64, len(a)), want: a,
		tol:     make([]float64, len(a)),
		against: "the entry of " + matrix.name}
	for j := range c.dy {
		clear(c.vec)
		c.vec[j] = 1
		col, ok := c.eval(vec, pt, batch)
		if !ok {
			return
		}
		for i, v := range col {
			m.got[i*c.dy+j], m.tol[i*c.dy+j] = v, 1e-9*c.o.Tol*maxAbs(a)
		}
	}
	if c.judge(m) {
		f := vec.finding(Product, pt, batch, 0)
		f.I, f.Message = -1, "it is not linear in v: right for unit vectors, wrong for their sums"
		c.log.find(f)
	}
}
