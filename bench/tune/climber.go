package tune

import (
	"cmp"
	"math"
	"slices"

	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
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
	newton
	descent
	x, u []float64
	q    *mat.Dense // nil: of the features
}

type newton struct {
	p        *hyperopt.Problem
	hess     *mat.Sym
	chol     chol.Cholesky
	gy, step []float64
}

func newNewton(p *hyperopt.Problem) newton {
	_, n := p.Dims()
	return newton{p: p, hess: mat.NewSym(n), gy: make([]float64, n), step: make([]float64, n)}
}

// minimise takes y to the minimum of g(x, ·) by Newton's method, with one Hessian as long as each step
// is at most a third of the last (Kelley, Iterative Methods for Linear and Nonlinear Equations, section
// 5.4). After too many Hessians Problem.Solution goes on.
func (m *newton) minimise(y, x []float64) error {
	last, fresh := 0.0, true
	for left := 8; left > 0; {
		_ = m.p.GradG(m.gy, x, y, nil) // sums of all rows do not fail
		if fresh && cmp.Or(m.p.HessG(m.hess, x, y, nil), m.chol.Factor(m.hess)) != nil {
			break
		}
		m.chol.SolveVec(m.step, m.gy)
		length := mat.Norm(m.step)
		if !fresh && !(length <= last/3) {
			fresh = true
			left--
			continue
		}
		mat.Axpy(y, -1, m.step)
		if length <= 1e-9*mat.Norm(y) {
			return nil
		}
		last, fresh = length, false
	}
	return m.p.Solution(y, x)
}

func (t *search) newClimber(rows *data.Data) (*climber, error) {
	loss, outputs := t.kind(t.classes)
	c := &climber{rows: rows, heaviest: t.Hi, outputs: outputs,
		options: hyperopt.Options{Loss: loss, PenaliseIntercept: t.Intercept == penalised}}
	c.y = make([]float64, c.outputs*rows.Dim)
	features := rows.Dim - len(c.rest())
	if c.outputs > 1 && features < rows.Dim {
		for k, n := range countClasses(rows) { // as hyperopt's: the gradient is 0 where it is the same for all classes
			c.y[(k+1)*rows.Dim-1] = math.Log(float64(n) / float64(rows.Rows()))
		}
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
	p, err := hyperopt.New(rows, rows, c.options)
	if err != nil {
		return err
	}
	c.x, c.u = vectors(p)
	c.newton = newNewton(p)
	if c.outputs > 1 {
		return c.look()
	}
	return nil
}

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
	mat.SolveLower(b, l, b)
	c.q = b
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
	defer c.expand()
	if c.outputs > 1 {
		return c.descend(lambda)
	}
	return c.minimise(c.u, c.x)
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
	blocks := c.near // of several classes: their full inverse takes classes² as long
	if c.outputs == 1 {
		if err := cmp.Or(c.p.HessG(c.hess, c.x, c.u, nil), c.chol.Factor(c.hess)); err != nil {
			return err
		}
		blocks = []chol.Cholesky{c.chol}
	} else if err := c.mix(); err != nil {
		return err
	}
	variance, mean, largest := 1/float64(c.rows.Rows()), 0.0, 0
	if c.options.Loss == hyperopt.Squared {
		variance *= 2 * c.options.Loss.Mean(c.rows, c.y)
	}
	squares := make([]float64, len(c.relative))
	for j, d := 0, c.rows.Dim; j < c.outputs; j++ {
		spread := c.spread(&blocks[j])
		for k, i := range c.active {
			if c.weights[i] != dropped {
				squares[i] += c.y[j*d+i]*c.y[j*d+i] + variance*spread[k]
			}
		}
	}
	for _, i := range c.active {
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

// spread returns the diagonal of a block of g_yy⁻¹, of active features.
func (c *climber) spread(block *chol.Cholesky) []float64 {
	list, inverse := make([]float64, len(c.active)), mat.NewSym(c.width())
	block.Inverse(inverse)
	if c.q == nil {
		for k := range list {
			list[k] = inverse.At(k, k)
		}
		return list
	}
	// with z_i = √r_i·y_i: (I − QᵀQ)/(2λ) + QᵀSQ, S the block of the coordinates
	s := &mat.Sym{N: c.q.Rows, Stride: inverse.Stride, Data: inverse.Data}
	sq, length, inside := mat.NewDense(s.N, c.q.Cols), make([]float64, c.q.Cols), make([]float64, c.q.Cols)
	mat.MulSym(sq, s, c.q)
	for a := range s.N {
		row := sq.Row(a)
		for i, q := range c.q.Row(a) {
			length[i] += q * q
			inside[i] += q * row[i]
		}
	}
	for k, i := range c.active {
		list[k] = (max(1-length[i], 0)/(2*c.x[0]) + inside[i]) / c.relative[i]
	}
	return list
}
