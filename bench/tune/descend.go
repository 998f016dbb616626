package tune

import (
	"cmp"
	"math"
	"slices"

	"stable/bilevel/hyperopt"
	"stable/chol"
	"stable/mat"
)

const (
	// Gradients on 1,800 rows of 10 classes, and on 5,000 of 5, where they are 6,123 and 4,308.
	closeEnough = 1e-6 // ε² of descend; half: 6,493 and 4,450; twice: 5,786 and 4,167
	memory      = 40   // pairs of L-BFGS; half: 7,446 and 4,889; twice: 5,638 and 4,211
	mostSteps   = 300
)

// descent is what a climber of several classes knows of g_yy.
type descent struct {
	square *mat.Sym        // the mean of a·aᵀ
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
	c.descent = descent{square: mat.NewSym(width), near: make([]chol.Cholesky, c.outputs)}
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

func (c *climber) mix() error {
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
		c.near[k].SolveVec(z, z)
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
	if err := cmp.Or(c.mix(), c.p.GradG(g, c.x, c.u, nil)); err != nil {
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
		if n*promise <= closeEnough && promise >= 0 {
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
