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
	enough   float64
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
	p              *hyperopt.Problem
	hess           *mat.Sym
	chol           chol.Cholesky
	gy, step, back []float64
	in             []float64 // weights that are in hess; nil: not known
}

func newNewton(p *hyperopt.Problem) newton {
	_, n := p.Dims()
	return newton{p: p, hess: mat.NewSym(n), gy: make([]float64, n), step: make([]float64, n), back: make([]float64, n)}
}

// minimise takes y to the minimum of g(x, ·) by Newton's method, with one Hessian, also of an earlier call, as long as
// the steps left, at the rate of the last, take less work than another (Kelley, Iterative Methods for Linear and
// Nonlinear Equations, section 5.4). After too many Hessians Problem.Solution goes on.
func (m *newton) minimise(y, x []float64) error {
	last, fresh, stale, worth := 0.0, !m.chol.Valid(), false, 2+float64(len(y))/8 // gradients in a Hessian
	for left := 8; left > 0; {
		_ = m.p.GradG(m.gy, x, y, nil) // sums of all rows do not fail
		if fresh && cmp.Or(m.p.HessG(m.hess, x, y, nil), m.chol.Factor(m.hess)) != nil {
			break
		}
		m.chol.SolveVec(m.step, m.gy)
		length, end := mat.Norm(m.step), 1e-9*mat.Norm(y)
		rate := length / last
		if !fresh && last > 0 && !(rate < 1 && math.Log(end/length)/math.Log(rate) < worth) {
			if stale && rate >= 1 {
				mat.Axpy(y, 1, m.back)
			}
			fresh = true
			left--
			continue
		}
		mat.Axpy(y, -1, m.step)
		if length <= end {
			return nil
		}
		m.step, m.back = m.back, m.step
		last, fresh, stale = length, false, !fresh
	}
	return m.p.Solution(y, x)
}

func (t *search) newClimber(rows *data.Data) (*climber, error) {
	loss, outputs := t.kind(t.classes)
	c := &climber{rows: rows, heaviest: t.Hi, enough: closeEnough, outputs: outputs,
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
	was := c.active
	c.active = nil
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
	old, u := c.newton, c.u
	c.x, c.u = vectors(p)
	if c.outputs > 1 {
		c.newton = newton{p: p, gy: make([]float64, len(c.u)), step: make([]float64, len(c.u))}
		return c.look()
	}
	c.newton = newNewton(p)
	if c.q == nil && slices.Equal(was, c.active) && old.in != nil {
		c.hess, c.chol, c.in, c.u = old.hess, old.chol, old.in, u
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
	if c.in != nil { // the penalty alone is another
		change := make([]float64, len(c.u))
		mat.Axpy(change[:len(c.x)], 2, c.x)
		mat.Axpy(change[:len(c.x)], -2, c.in)
		mat.AddDiag(c.hess, change)
		_ = c.chol.Factor(c.hess) // else it is asked
	}
	c.in = append(c.in[:0], c.x...)
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
	} else if err := c.mix(0); err != nil {
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

const (
	// Gradients on 1,257 rows of 10 classes, and on 630 of 4, where they are 5,039 and 1,885.
	closeEnough, ofFolds = 1e-6, 3e-5 // ε² of descend; ofFolds half: 5,290 and 1,963; twice: 4,753 and 1,830
	memory               = 80         // pairs of L-BFGS; half: 6,420 and 1,885; twice: 4,299 and 1,885
	mostSteps            = 300
	alike                = 2.0 // of mix; half: 1.4 of the CPU; twice: 0.9
)

// descent is what a climber of several classes knows of g_yy.
type descent struct {
	square *mat.Sym        // the mean of a·aᵀ
	like   []int           // whose near a class has
	near   []chol.Cholesky // for each class, of square times the mean of p(1 − p), plus the penalty

	pairs []pair    // of L-BFGS
	at    []float64 // x of these

	lambdas []float64   // of this rung
	found   [][]float64 // their u
}

type pair struct {
	step, turn []float64
	share      float64
}

// look begins a rung: at y, or at a constant.
func (c *climber) look() error {
	rows, width := c.p.Train(), c.width()
	c.descent = descent{square: mat.NewSym(width), near: make([]chol.Cholesky, c.outputs), like: make([]int, c.outputs)}
	zero := make([]float64, width)
	p, err := hyperopt.New(rows, rows, hyperopt.Options{Loss: hyperopt.Squared, PenaliseIntercept: true})
	if err != nil {
		return err
	}
	_ = p.HessG(c.square, zero, zero, nil) // sums of all rows do not fail
	for k := range c.outputs {
		u, y := c.u[k*width:(k+1)*width], c.y[k*c.rows.Dim:(k+1)*c.rows.Dim]
		for j, i := range c.active {
			if c.q == nil {
				u[j] = y[i]
			}
		}
		for _, i := range c.rest() {
			u[width-1] = y[i]
		}
	}
	return nil
}

// mix makes near, one for classes whose means of p(1 − p) are within span.
func (c *climber) mix(span float64) error {
	rows, p, share := c.p.Train(), make([]float64, c.outputs), slices.Repeat([]float64{1e-9}, c.outputs)
	for i := range rows.Rows() {
		hyperopt.Probabilities(p, rows, c.u, i)
		for k, v := range p {
			share[k] += v * (1 - v) / float64(rows.Rows())
		}
	}
	s, x := mat.NewSym(c.width()), make([]float64, c.width())
	mat.Axpy(x[:len(c.x)], 2, c.x)
	for k, v := range share {
		c.like[k] = k
		if l := slices.IndexFunc(share[:k], func(w float64) bool { return max(v, w) <= span*min(v, w) }); l >= 0 {
			c.like[k], share[k] = l, share[l]
			continue
		}
		mat.ScaleSym(s, v, c.square)
		mat.AddDiag(s, x)
		if err := c.near[k].Factor(s); err != nil {
			return err
		}
	}
	return nil
}

// solve divides z, a gradient, by near. What is the same for all classes changes no probability.
func (c *climber) solve(z []float64) {
	width := c.width()
	mean := make([]float64, width)
	for k := range c.near {
		z := z[k*width:][:width]
		c.near[c.like[k]].SolveVec(z, z)
		mat.Axpy(mean, 1/float64(c.outputs), z)
	}
	for k := range c.near {
		mat.Axpy(z[k*width:][:width], -1, mean)
	}
}

// descend takes u to the minimum of g(x, ·) by L-BFGS (Nocedal, Wright, Numerical Optimization, algorithm
// 7.5) from near, but for what no coefficient's standard error shows: with n·g_yᵀ(g_yy)⁻¹g_y ≤ ε², the
// errors of y are ε of its standard errors, in all directions (and another step is made).
func (c *climber) descend(lambda float64) error {
	n, g, z := float64(c.rows.Rows()), c.gy, c.step
	trial, change := make([]float64, len(g)), make([]float64, len(g))
	c.begin(lambda)
	span := either(c.width()*c.width() > 12*c.rows.Rows(), alike, 0) // saves more than a gradient
	if err := cmp.Or(c.mix(span), c.p.GradG(g, c.x, c.u, nil)); err != nil {
		return err
	}
	for range mostSteps {
		copy(z, g)
		c.pairs = c.pairs[max(0, len(c.pairs)-memory):]
		for k, p := range slices.Backward(c.pairs) {
			c.pairs[k].share = mat.Dot(p.step, z) / mat.Dot(p.step, p.turn)
			mat.Axpy(z, -c.pairs[k].share, p.turn)
		}
		c.solve(z)
		for _, p := range c.pairs {
			mat.Axpy(z, p.share-mat.Dot(p.turn, z)/mat.Dot(p.step, p.turn), p.step)
		}
		promise := mat.Dot(g, z)
		if n*promise <= c.enough && promise >= 0 {
			mat.Axpy(c.u, -1, z)
			c.lambdas, c.found = append(c.lambdas, lambda), append(c.found, slices.Clone(c.u))
			return nil
		}
		// Of a convex g, a slope tells where a step is too long.
		for length := 1.0; ; length /= 2 {
			copy(trial, c.u)
			mat.Axpy(trial, -length, z)
			_ = c.p.GradG(change, c.x, trial, nil)
			if slope := mat.Dot(change, z); slope >= -0.9*promise || !(length > 1e-6) {
				break
			}
		}
		p := pair{step: slices.Clone(trial), turn: slices.Clone(change)}
		mat.Axpy(p.step, -1, c.u)
		mat.Axpy(p.turn, -1, g)
		if !(mat.Dot(p.step, p.turn) > 0) {
			break
		}
		c.pairs = append(c.pairs, p)
		copy(c.u, trial)
		copy(g, change)
	}
	c.pairs = nil
	return c.p.Solution(c.u, c.x)
}

// begin makes the pairs those of the weights x, as long as these drop the same features, and u the model
// found at λ, or what the last two foresee on a line in log λ.
func (c *climber) begin(lambda float64) {
	if !slices.EqualFunc(c.x, c.at, func(a, b float64) bool { return (a == dropped) == (b == dropped) }) {
		c.pairs = nil
	}
	for _, p := range c.pairs {
		for i, s := range p.step {
			if j := i % c.width(); j < len(c.x) {
				p.turn[i] += 2 * (c.x[j] - c.at[j]) * s
			}
		}
	}
	c.at = slices.Clone(c.x)
	if k := slices.Index(c.lambdas, lambda); k >= 0 {
		copy(c.u, c.found[k])
	} else if k = len(c.found) - 2; k >= 0 && math.Abs(c.lambdas[k+1]/lambda*c.lambdas[k+1]/c.lambdas[k]-1) < 1e-9 {
		for i, v := range c.found[k+1] {
			c.u[i] = 2*v - c.found[k][i]
		}
	}
}
