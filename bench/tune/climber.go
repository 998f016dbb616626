package tune

import (
	"math"
	"slices"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/chol"
	"stable/mat"
)

const dropped = 1e6

// climber trains the models of some rows rung by rung, from one weight λ for all features towards one
// each: the inverse of a coefficient's mean square on the rung before,
//
//	w_i = λ·r_i,  r_i ∝ 1/(y_i² + Σ_ii),  Σ = σ²·g_yy⁻¹/n,  mean of 1/r_i: 1,
//
// a step of automatic relevance determination (Tipping, J. Mach. Learn. Res. 1, 2001, section 2.3.1).
// A feature whose weight exceeds heaviest is dropped, on higher rungs, too.
type climber struct {
	rows     *data.Data
	outputs  int // predictors of a row: several classes, else 1
	options  hyperopt.Options
	heaviest float64
	relative []float64 // r, +Inf where dropped for good
	active   []int     // the other features
	weights  []float64 // of the last model, which is y
	y        []float64

	// The problem that is solved: of the active features, or where these are not fewer than the rows,
	// of the rows' coordinates L in B = LQ, b_ij = a_ij/√r_j, where all weights are λ.
	f     *implicit.Function
	p     *hyperopt.Problem
	x, u  []float64
	q     *mat.Dense // nil: of the features
	sigma *mat.Sym   // g_yy⁻¹
	chol  chol.Cholesky
}

func (t *search) newClimber(rows *data.Data) (*climber, error) {
	c := &climber{rows: rows, heaviest: t.Hi, outputs: 1,
		options: hyperopt.Options{Loss: t.loss(), PenaliseIntercept: t.Intercept == penalised}}
	if c.options.Loss == hyperopt.Softmax {
		c.outputs = len(t.classes)
	}
	c.y = make([]float64, c.outputs*rows.Dim)
	features := rows.Dim
	if !c.options.PenaliseIntercept {
		features--
	}
	c.relative, c.weights = slices.Repeat([]float64{1}, features), make([]float64, features)
	return c, c.prepare()
}

func (c *climber) prepare() (err error) {
	c.active = c.active[:0]
	for i, r := range c.relative {
		if !math.IsInf(r, 1) {
			c.active = append(c.active, i)
		}
	}
	var rows *data.Data
	if c.q = nil; len(c.active) < c.rows.Rows() {
		rows = narrow(c.rows, slices.Concat(c.active, c.rest()))
	} else if rows, err = c.rotate(); err != nil {
		return err
	}
	if c.p, err = hyperopt.New(rows, rows, c.options); err != nil {
		return err
	}
	c.x, c.u = vectors(c.p)
	c.f, c.sigma = implicit.New(c.p), mat.NewSym(len(c.u))
	return nil
}

// rest is the column of a free intercept.
func (c *climber) rest() []int {
	if c.options.PenaliseIntercept {
		return nil
	}
	return []int{c.rows.Dim - 1}
}

func (c *climber) rotate() (*data.Data, error) {
	n, rest := c.rows.Rows(), len(c.rest())
	b, k, l := mat.NewDense(n, c.rows.Dim), mat.NewSym(n), mat.NewDense(n, n)
	trace := 0.0
	for i := range n {
		col, val := c.rows.Row(i)
		for j, v := range val {
			if at := int(col[j]); at < len(c.relative) {
				b.Row(i)[at] = v / math.Sqrt(c.relative[at])
			}
		}
		trace += mat.Dot(b.Row(i), b.Row(i))
	}
	mat.RankK(k, 1, b)
	if err := c.chol.FactorShifted(k, -1e-10*trace/float64(n)); err != nil {
		return nil, err
	}
	c.chol.LTo(l)
	c.chol.Solve(b, b)
	c.q = mat.NewDense(n, c.rows.Dim)
	mat.MulTransA(c.q, l, b)
	rows := &data.Data{Name: c.rows.Name, Dim: n + rest, RowPtr: []int{0}, Label: c.rows.Label, Classes: c.rows.Classes}
	for i := range n {
		for j, v := range l.Row(i)[:i+1] {
			rows.Col, rows.Val = append(rows.Col, int32(j)), append(rows.Val, v)
		}
		if rest > 0 {
			rows.Col, rows.Val = append(rows.Col, int32(n)), append(rows.Val, 1)
		}
		rows.RowPtr = append(rows.RowPtr, len(rows.Col))
	}
	return rows, nil
}

func (c *climber) fit(lambda float64) error {
	for i, r := range c.relative {
		if c.weights[i] = lambda * r; c.weights[i] > c.heaviest && lambda != c.heaviest {
			c.weights[i] = dropped
		}
	}
	for k := range c.x {
		if c.x[k] = lambda; c.q == nil {
			c.x[k] = c.weights[c.active[k]]
		}
	}
	err := minimise(c.p, c.f, c.u, c.x)
	c.expand()
	return err
}

// minimise takes y to the minimum of g(x, ·), and begins at 0 where it does not come there.
func minimise(p *hyperopt.Problem, f *implicit.Function, y, x []float64) error {
	if f.Solve(y, x, 1e-6) == nil {
		return nil
	}
	return p.Solution(y, x)
}

func (c *climber) expand() {
	clear(c.y)
	for k := range c.outputs {
		y, u := c.y[k*c.rows.Dim:(k+1)*c.rows.Dim], c.u[k*c.width():(k+1)*c.width()]
		if c.q != nil {
			mat.MulVecTrans(y, c.q, u[:c.q.Rows])
		}
		for k, i := range c.active {
			switch {
			case c.weights[i] == dropped:
				y[i] = 0
			case c.q == nil:
				y[i] = u[k]
			default:
				y[i] /= math.Sqrt(c.relative[i])
			}
		}
		for _, i := range c.rest() {
			y[i] = u[len(u)-1]
		}
	}
}

func (c *climber) width() int { return len(c.u) / c.outputs }

func (c *climber) reweigh() error {
	if err := kit.FirstOf(c.p.HessG(c.sigma, c.x, c.u, nil), c.chol.Factor(c.sigma)); err != nil {
		return err
	}
	c.chol.Inverse(c.sigma)
	variance, mean, largest := 1/float64(c.rows.Rows()), 0.0, 0
	if c.options.Loss == hyperopt.Squared {
		variance *= 2 * c.options.Loss.Mean(c.rows, c.y)
	}
	squares := make([]float64, len(c.relative))
	for k, i := range c.active {
		if c.weights[i] != dropped {
			for j, d := 0, c.rows.Dim; j < c.outputs; j++ {
				squares[i] += c.y[j*d+i]*c.y[j*d+i] + variance*c.spread(j*c.width(), k, i)
			}
		}
		mean += squares[i] / float64(len(c.active))
		if squares[i] > squares[largest] {
			largest = i
		}
	}
	if mean == 0 { // all are dropped, and a problem needs a feature
		mean, squares[largest] = 1, 1
	}
	for i, s := range squares {
		c.relative[i] = mean / s // +Inf where dropped
	}
	return c.prepare()
}

// spread returns the entry of g_yy⁻¹ of feature i, which is active[k], for the class at so many unknowns.
func (c *climber) spread(at, k, i int) float64 {
	if c.q == nil {
		return c.sigma.At(at+k, at+k)
	}
	// with z_i = √r_i·y_i: (I − QᵀQ)/(2λ) + QᵀSQ, S the block of the coordinates
	var length, inside float64
	for a := range c.q.Rows {
		qa := c.q.At(a, i)
		length += qa * qa
		for b, s := range c.sigma.Row(at + a)[at : at+a] {
			inside += 2 * s * qa * c.q.At(b, i)
		}
		inside += c.sigma.At(at+a, at+a) * qa * qa
	}
	return (max(1-length, 0)/(2*c.x[0]) + inside) / c.relative[i]
}
