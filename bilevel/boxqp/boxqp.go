// Package boxqp, which makes no promise to others, minimises quadratic functions over bounds.
package boxqp

import (
	"math"
	"slices"

	"stable/chol"
	"stable/mat"
)

// QP minimises q(s) = gᵀs + ½sᵀAs over lo ≤ s ≤ hi, for A positive definite and lo ≤ 0 ≤ hi.
type QP struct {
	A            mat.Sym
	G, Lo, Hi, S []float64
	R, To        []float64     // gradient, step; the callers use To as scratch
	Chol         chol.Cholesky // of the last Newton step; the callers use it as scratch
	free         []int
	sub          mat.Sym
}

// Resize makes room for n variables; content is lost. It allocates only at a size not seen before.
func (q *QP) Resize(n int) {
	for _, v := range []*[]float64{&q.G, &q.Lo, &q.Hi, &q.S, &q.R, &q.To} {
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
// then Newton steps over the variables that no bound holds (an active set; Nocedal, Wright, Numerical
// Optimization, 16.5), n³/3 flops a bound. It ends when q no longer falls, or after 100 iterations.
func (q *QP) Solve() (value float64) {
	clear(q.S)
	for range 100 {
		before := value
		q.sweep()
		q.gradient()
		q.newton()
		value = q.At(q.S)
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
		if step := v - si; step != 0 {
			q.S[i] = v
			for j := i + 1; j < len(q.S); j++ {
				q.R[j] += step * q.A.Row(j)[i]
			}
		}
	}
}

// newton minimises over the variables that no bound holds: steps end at the first bound, which then does.
func (q *QP) newton() {
	q.free = q.free[:0]
	for i, r := range q.R {
		if !(q.S[i] <= q.Lo[i] && r > 0 || q.S[i] >= q.Hi[i] && r < 0) {
			q.free = append(q.free, i)
		}
	}
	for n := len(q.free); n > 0; n = len(q.free) {
		sub := q.sub.View(0, n)
		for k, i := range q.free {
			q.To[k] = -q.R[i]
			for l, j := range q.free[:k+1] {
				sub.Row(k)[l] = q.A.Row(i)[j]
			}
		}
		if q.Chol.Factor(&sub) != nil {
			return
		}
		q.Chol.SolveVec(q.To[:n], q.To[:n])
		t, first := 1.0, -1
		for k, i := range q.free {
			if u := max((q.Lo[i]-q.S[i])/q.To[k], (q.Hi[i]-q.S[i])/q.To[k]); u < t {
				t, first = u, k
			}
		}
		for k, i := range q.free {
			v := q.S[i] + t*q.To[k]
			if k == first { // clamped below
				v = math.Copysign(math.Inf(1), q.To[k])
			}
			q.S[i] = min(max(v, q.Lo[i]), q.Hi[i])
		}
		q.gradient()
		if first < 0 {
			return
		}
		q.free = slices.Delete(q.free, first, first+1)
	}
}

// At returns q(z).
func (q *QP) At(z []float64) (value float64) {
	for i, zi := range z {
		row := q.A.Row(i)
		value += zi * (q.G[i] + mat.Dot(row[:i], z[:i]) + 0.5*row[i]*zi)
	}
	return value
}
