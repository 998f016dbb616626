package eig

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// operator is a symmetric X by its products: apply sets dst = X·x.
type operator interface{ apply(dst, x []float64) }

type product struct{ a *mat.Sym }

func (p product) apply(dst, x []float64) { mat.MulVecSym(dst, p.a, x) }

type full struct{ mat.Dense }

func (f *full) apply(dst, x []float64) { mat.MulVecTrans(dst, &f.Dense, x) }

// lanczos finds the few eigenvalues of X below a bound from the Krylov space of one vector:
//
//	X·q_m = beta_{m−1}·q_{m−1} + alpha_m·q_m + beta_m·q_{m+1},  T = Q·X·Qᵀ tridiagonal
//
// An eigenpair (theta, s) of T, of order m, gives (theta, Qᵀ·s) with residual beta_m·|s_m|. Of a
// repeated eigenvalue it finds one vector. Parlett, The Symmetric Eigenvalue Problem, chapter 13,
// with full orthogonalisation.
type lanczos struct {
	q           mat.Dense // q_1, q_2, … in rows
	alpha, beta []float64
	c           []float64
	tri         spectral // of T
	theta       []float64
	s           mat.Dense // eigenvectors of T in rows
}

// reserve grows the workspace for any length that run allows.
func (l *lanczos) reserve(n, most, limit int) {
	limit = steps(most, limit)
	l.q.Data = grow(l.q.Data, (limit+1)*n)
	l.alpha, l.beta, l.c = grow(l.alpha, limit), grow(l.beta, limit), grow(l.c, limit)
	l.theta = grow(l.theta, most)
	l.s.Data = grow(l.s.Data, most*limit)
	l.tri.reserve(limit)
}

func steps(most, limit int) int { return min(limit, 4*most+28) }

// run takes at most limit and 4k + 28 steps, until the k Ritz vectors of T below bound have
// residuals at rounding. It gives up on more than most eigenvalues, on none in four steps, and
// where residuals shrink too slowly.
func (l *lanczos) run(x operator, n int, bound float64, most, limit int) (k int, ok bool) {
	l.reserve(n, most, limit)
	limit = steps(most, limit)
	resize(&l.q, limit+1, n)
	l.start()
	l.theta = l.theta[:0]
	pivot, due := 0.0, 10
	for m := 1; m <= limit; m++ {
		l.step(x, m)
		// T has as many eigenvalues below bound as T − bound·I has negative pivots.
		alpha, beta := l.alpha[m-1], l.beta[m-1]
		if m == 1 {
			pivot = alpha - bound
		} else {
			pivot = alpha - bound - l.beta[m-2]*l.beta[m-2]/pivot
		}
		if pivot < 0 {
			k++
		}
		if k > most || k == 0 && m == 4 {
			return k, false
		}
		if m < min(due, limit) && beta > 0 {
			continue
		}
		left := never
		if k > 0 {
			left = l.left(m, k, bound)
		}
		switch {
		case left == 0:
			return k, true
		case beta == 0 || m+left > min(limit, 4*k+28):
			return k, false
		}
		due = m + left - left*min(n, 256)/1024 // a long step is worth an early look
		if left > 3 {
			due++ // as a rule it takes one more
		}
	}
	return k, false
}

func (l *lanczos) start() {
	q := l.q.Row(0)
	v := 0.0
	for j := range q {
		if v += 0.6180339887498949; v >= 1 { // equidistributed
			v--
		}
		q[j] = v - 0.5
	}
	normalize(q)
}

// step computes alpha_m, beta_m and q_{m+1}; beta_m = 0 in an invariant space.
func (l *lanczos) step(x operator, m int) {
	q, w := l.q.Row(m-1), l.q.Row(m)
	x.apply(w, q)
	alpha, last := mat.Dot(q, w), 0.0
	if m == 1 {
		mat.Axpy(w, -alpha, q)
	} else {
		last = l.beta[m-2]
		kernel.SubRows(w, []float64{last, alpha}, l.q.Data[(m-2)*l.q.Stride:], l.q.Stride)
	}
	// A second pass removes what rounding left along the earlier vectors.
	all := l.q.View(0, 0, m, l.q.Cols)
	c := l.c[:m]
	mat.MulVec(c, &all, w)
	kernel.SubRows(w, c, l.q.Data, l.q.Stride)
	l.alpha[m-1] = alpha
	beta := normalize(w)
	if !(beta > eps*(math.Abs(alpha)+last)) {
		beta = 0
	}
	l.beta[m-1] = beta
}

const never = math.MaxInt / 2

// left estimates the steps still needed for the k Ritz vectors to converge, 0 if they have. It
// takes residuals to shrink by one factor a step, from the first step that can have found all k.
func (l *lanczos) left(m, k int, bound float64) int {
	if !l.ritz(m, k, bound) {
		return never
	}
	n, floor := float64(l.q.Cols), l.norm()
	worst := 0.0 // residual over tolerance
	for i, theta := range l.theta {
		r := l.beta[m-1] * math.Abs(l.s.Row(i)[m-1])
		worst = max(worst, r/(eps*n*max(math.Abs(theta), floor)))
	}
	if worst <= 1 {
		return 0
	}
	rate := math.Log(1/(n*eps)/worst) / float64(max(1, m-2*k))
	if left := math.Log(worst) / rate; left >= 0 && left <= n {
		return int(math.Ceil(left))
	}
	return never
}

// ritz computes the k eigenpairs of T below bound, by improving the last ones or else from scratch.
func (l *lanczos) ritz(m, k int, bound float64) bool {
	l.tri.load(l.alpha[:m], l.beta[:m-1])
	resize(&l.s, k, m)
	if len(l.theta) == k && l.tri.improve(&l.s, l.theta, bound) {
		return true
	}
	if !l.tri.eigenvalues(bound) {
		return false
	}
	l.theta = l.tri.below(l.theta[:0], bound)
	return len(l.theta) == k && l.tri.vectors(&l.s, l.theta, bound, true, nil)
}

// norm returns a norm of the last T, ≥ ‖T‖₂.
func (l *lanczos) norm() float64 { return l.tri.norm / l.tri.scale }
