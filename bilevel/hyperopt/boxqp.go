package hyperopt

import (
	"stable/chol"
	"stable/mat"
)

// boxQP minimises q(s) = gᵀs + ½sᵀAs over lo ≤ s ≤ hi, for A positive definite and lo ≤ 0 ≤ hi.
type boxQP struct {
	a            mat.Sym
	g, lo, hi, s []float64
	r, to, dir   []float64 // gradient, trial point, direction
	free         []int
	sub          mat.Sym
	chol         chol.Cholesky
}

func (q *boxQP) resize(n int) {
	for _, v := range []*[]float64{&q.g, &q.lo, &q.hi, &q.s, &q.r, &q.to, &q.dir} {
		if cap(*v) < n {
			*v = make([]float64, n)
		}
		*v = (*v)[:n]
	}
	if q.a.N != n {
		q.a, q.sub = *mat.NewSym(n), *mat.NewSym(n)
	}
}

// solve writes the minimiser s and returns q(s). Each iteration is a sweep of coordinate descent,
// then a projected Newton step (Bertsekas, SIAM J. Control Optim. 20, 1982) with Armijo's rule. It
// ends when q no longer falls, or after 100 iterations.
func (q *boxQP) solve() (value float64) {
	clear(q.s)
	for range 100 {
		before := value
		q.sweep()
		value = q.at(q.s)
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

func (q *boxQP) gradient() {
	mat.MulVecSym(q.r, &q.a, q.s)
	mat.Axpy(q.r, 1, q.g)
}

// sweep minimises over each variable in turn and keeps r up to date.
func (q *boxQP) sweep() {
	q.gradient()
	for i, si := range q.s {
		row := q.a.Row(i)
		if !(row[i] > 0) {
			continue
		}
		v := min(max(si-q.r[i]/row[i], q.lo[i]), q.hi[i])
		step := v - si
		if step == 0 {
			continue
		}
		q.s[i] = v
		for j := i + 1; j < len(q.s); j++ {
			q.r[j] += step * q.a.Row(j)[i]
		}
	}
}

// search halves the step along dir until q falls sufficiently; if it never does, s stays.
func (q *boxQP) search(value float64) float64 {
	for t := 1.0; t > 1e-12; t /= 2 {
		slope := 0.0
		for i, si := range q.s {
			q.to[i] = min(max(si+t*q.dir[i], q.lo[i]), q.hi[i])
			slope += q.r[i] * (q.to[i] - si)
		}
		if at := q.at(q.to); at < value && at <= value+1e-4*slope {
			copy(q.s, q.to)
			return at
		}
	}
	return value
}

func (q *boxQP) newton() bool {
	q.free = q.free[:0]
	clear(q.dir)
	for i, r := range q.r {
		if !(q.s[i] <= q.lo[i] && r > 0 || q.s[i] >= q.hi[i] && r < 0) {
			q.free = append(q.free, i)
		}
	}
	n := len(q.free)
	sub := q.sub.View(0, n)
	for k, i := range q.free {
		q.to[k] = -q.r[i]
		for l, j := range q.free[:k+1] {
			sub.Row(k)[l] = q.a.Row(i)[j]
		}
	}
	if n == 0 || q.chol.Factor(&sub) != nil {
		return false
	}
	q.chol.SolveVec(q.to[:n], q.to[:n])
	for k, i := range q.free {
		q.dir[i] = q.to[k]
	}
	return true
}

func (q *boxQP) at(z []float64) (value float64) {
	for i, zi := range z {
		row := q.a.Row(i)
		value += zi * (q.g[i] + mat.Dot(row[:i], z[:i]) + 0.5*row[i]*zi)
	}
	return value
}
