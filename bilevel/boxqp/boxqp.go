// Package boxqp makes no promise to others: it minimises quadratic functions over bounds, for this
// module.
package boxqp

import (
	"stable/chol"
	"stable/mat"
)

// QP minimises q(s) = gᵀs + ½sᵀAs over lo ≤ s ≤ hi, for A positive definite and lo ≤ 0 ≤ hi.
type QP struct {
	A            mat.Sym
	G, Lo, Hi, S []float64
	R, To, dir   []float64     // gradient, trial point, direction; the callers use To as scratch
	Chol         chol.Cholesky // of the last Newton step; the callers use it as scratch
	free         []int
	sub          mat.Sym
}

// Resize makes room for n variables; content is lost. It allocates only at a size not seen before.
func (q *QP) Resize(n int) {
	for _, v := range []*[]float64{&q.G, &q.Lo, &q.Hi, &q.S, &q.R, &q.To, &q.dir} {
		if cap(*v) < n {
			*v = make([]float64, n)
		}
		*v = (*v)[:n]
	}
	if q.A.N != n {
		q.A, q.sub = *mat.NewSym(n), *mat.NewSym(n)
	}
}

// Solve writes the minimiser s and returns q(s). Each iteration is a sweep of coordinate descent,
// then a projected Newton step (Bertsekas, SIAM J. Control Optim. 20, 1982) with Armijo's rule. It
// ends when q no longer falls, or after 100 iterations.
func (q *QP) Solve() (value float64) {
	clear(q.S)
	for range 100 {
		before := value
		q.sweep()
		value = q.At(q.S)
		q.gradient()
		if q.newton() {
			value = q.search(value)
		}
		if !(value < before) {
			break
		}
	}
	return value
}

func (q *QP) gradient() {
	mat.MulVecSym(q.R, &q.A, q.S)
	mat.Axpy(q.R, 1, q.G)
}

// sweep minimises over each variable in turn and keeps r up to date.
func (q *QP) sweep() {
	q.gradient()
	for i, si := range q.S {
		row := q.A.Row(i)
		if !(row[i] > 0) {
			continue
		}
		v := min(max(si-q.R[i]/row[i], q.Lo[i]), q.Hi[i])
		step := v - si
		if step == 0 {
			continue
		}
		q.S[i] = v
		for j := i + 1; j < len(q.S); j++ {
			q.R[j] += step * q.A.Row(j)[i]
		}
	}
}

// search halves the step along dir until q falls sufficiently; if it never does, s stays.
func (q *QP) search(value float64) float64 {
	for t := 1.0; t > 1e-12; t /= 2 {
		slope := 0.0
		for i, si := range q.S {
			q.To[i] = min(max(si+t*q.dir[i], q.Lo[i]), q.Hi[i])
			slope += q.R[i] * (q.To[i] - si)
		}
		if at := q.At(q.To); at < value && at <= value+1e-4*slope {
			copy(q.S, q.To)
			return at
		}
	}
	return value
}

func (q *QP) newton() bool {
	q.free = q.free[:0]
	clear(q.dir)
	for i, r := range q.R {
		if !(q.S[i] <= q.Lo[i] && r > 0 || q.S[i] >= q.Hi[i] && r < 0) {
			q.free = append(q.free, i)
		}
	}
	n := len(q.free)
	sub := q.sub.View(0, n)
	for k, i := range q.free {
		q.To[k] = -q.R[i]
		for l, j := range q.free[:k+1] {
			sub.Row(k)[l] = q.A.Row(i)[j]
		}
	}
	if n == 0 || q.Chol.Factor(&sub) != nil {
		return false
	}
	q.Chol.SolveVec(q.To[:n], q.To[:n])
	for k, i := range q.free {
		q.dir[i] = q.To[k]
	}
	return true
}

// At returns q(z).
func (q *QP) At(z []float64) (value float64) {
	for i, zi := range z {
		row := q.A.Row(i)
		value += zi * (q.G[i] + mat.Dot(row[:i], z[:i]) + 0.5*row[i]*zi)
	}
	return value
}
