package eig

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// krylov finds the eigenpairs of A below mu, few or far below, from the Krylov space of one vector,
//
//	A·q_m = beta_{m−1}·q_{m−1} + alpha_m·q_m + beta_m·q_{m+1},  T = Q·A·Qᵀ tridiagonal
//
// An eigenpair (theta, s) of T gives (theta, Qᵀ·s) with residual beta_m·|s_m|. Of a repeated
// eigenvalue it finds one vector. Parlett, The Symmetric Eigenvalue Problem, chapter 13.
type krylov struct {
	a           *mat.Sym
	full        mat.Dense // both triangles of a, where that pays
	q           mat.Dense // q_1, q_2, … in rows
	alpha, beta []float64
	c           []float64
	tri         spectral // of T
	theta       []float64
	s           mat.Dense // eigenvectors of T in rows
	steps       int       // that the last run took
	mean        float64   // of A's eigenvalues
	norm        float64   // of T
	r           []float64 // a residual
	probe       probe
}

const (
	krylovFrom = 48  // the least order (BenchmarkRoutes)
	fullMost   = 224 // up to here, both triangles are faster with 512 bits
)

// krylovSteps is the number of steps that cost as much as the tridiagonal form.
func krylovSteps(n int) int {
	if kernel.Vector() {
		return 7*n/16 + 12
	}
	return 3*n/8 + 12
}

// run takes steps until the k Ritz vectors below bound have residuals at rounding. It gives up
// where it expects more than limit steps and a quarter of those done, where four find none below
// bound, and where two find half of the spectrum there.
func (l *krylov) run(a *mat.Sym, bound float64, limit int) (k int, ok bool) {
	last := limit + limit/4
	l.begin(a, last)
	pivot, found, due := 0.0, 0, min(10, a.N/8+1) // found is the step that found the last of the k
	for m := 1; m <= last; m++ {
		l.step(m)
		l.steps = m
		// T has as many eigenvalues below bound as T − bound·I has negative pivots.
		alpha, beta := l.alpha[m-1], l.beta[m-1]
		if m == 1 {
			pivot = alpha - bound
		} else {
			pivot = alpha - bound - l.beta[m-2]*l.beta[m-2]/pivot
		}
		if pivot < 0 {
			k++
			found = m
		}
		if k == 0 && m == 4 || k == 1 && m == 2 && l.share2() > 0.4 {
			return k, false
		}
		if m < min(due, last) && beta > 0 {
			continue
		}
		more, most := never, 0
		if k > 0 {
			more, most = l.outlook(m, k, found, bound)
		}
		if more == 0 {
			return k, true
		}
		if beta == 0 || m+more > min(limit+m/4, most) {
			return k, false
		}
		more = min(more, settle-2)
		due = m + more - more*min(a.N, 256)/1024 // a long step is worth an early look
		if more > 3 {
			due++ // as a rule it takes one more
		}
	}
	return k, false
}

func (l *krylov) begin(a *mat.Sym, limit int) {
	n := a.N
	l.alpha, l.beta, l.c, l.theta = grow(l.alpha, limit), grow(l.beta, limit), grow(l.c, limit), grow(l.theta, limit)[:0]
	l.s.Data = grow(l.s.Data, limit*limit)
	l.tri.reserve(limit)
	l.probe.reserve(n)
	l.r = grow(l.r, n)
	l.mean = 0
	for i := range n {
		l.mean += a.Data[i*a.Stride+i] / float64(n)
	}
	l.a, l.full.Rows = a, 0
	if kernel.Lanes() == 8 && n <= fullMost {
		resize(&l.full, n, n)
		mat.CopyFull(&l.full, a)
	}
	resize(&l.q, limit+1, n)
	q, v := l.q.Row(0), 0.0
	for j := range q {
		if v += 0.6180339887498949; v >= 1 { // equidistributed
			v--
		}
		q[j] = v - 0.5
	}
	normalize(q)
}

// step computes alpha_m, beta_m and q_{m+1}; beta_m = 0 in an invariant space.
func (l *krylov) step(m int) {
	q, w := l.q.Row(m-1), l.q.Row(m)
	l.apply(w, q)
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

// share2 is the share of the spectrum at the lower eigenvalue of a T of order 2, s_1².
func (l *krylov) share2() float64 {
	half := (l.alpha[1] - l.alpha[0]) / 2
	return 0.5 + 0.5*half/math.Hypot(half, l.beta[0])
}

// settle is the least number of steps from the last eigenvalue found to convergence.
const settle = 12

const never = math.MaxInt / 2

// outlook estimates the steps that the k Ritz vectors still need, 0 if they have converged, and how
// many in all may be worth it; step last found the last of the k. Those not found yet take as many
// steps each; then residuals shrink by one factor a step.
func (l *krylov) outlook(m, k, last int, bound float64) (more, most int) {
	if !l.ritz(m, k, bound) {
		return never, 0
	}
	n, floor := float64(l.q.Cols), l.tri.norm/l.tri.scale
	worst := 0.0 // residual over tolerance
	for i, theta := range l.theta {
		r := l.beta[m-1] * math.Abs(l.s.Row(i)[m-1])
		worst = max(worst, r/(eps*n*max(math.Abs(theta), floor)))
	}
	if worst <= 1 {
		return 0, 0
	}
	found, all := float64(k), l.below()
	most = int(4*max(all, found)) + 28
	more = settle
	if since := m - last; since >= 3 {
		rate := math.Log(1/(n*eps)/worst) / float64(since)
		if left := math.Log(worst) / rate; left >= 0 && left <= n {
			more = int(math.Ceil(left))
		} else if since > settle/2 {
			more = never
		}
	} else if all > found+math.Sqrt(2*found) { // beyond its error
		more += int((all - found) * float64(m) / found)
	}
	return more, most
}

// below estimates how many eigenvalues of A are below bound, n·Σs_1² (Golub, Meurant, Matrices,
// Moments and Quadrature, chapter 7), less the part of its error that goes with that of alpha_1, an
// estimate of the known mean.
func (l *krylov) below() float64 {
	share, cov := 0.0, 0.0
	for i, theta := range l.theta {
		w := l.s.Row(i)[0] * l.s.Row(i)[0]
		share, cov = share+w, cov+w*(theta-l.alpha[0])
	}
	return float64(l.q.Cols) * (share - cov/(l.beta[0]*l.beta[0])*(l.alpha[0]-l.mean))
}

// ritz computes the k eigenpairs of T below bound, from the last ones if these will do.
func (l *krylov) ritz(m, k int, bound float64) bool {
	l.tri.load(l.alpha[:m], l.beta[:m-1])
	resize(&l.s, k, m)
	if len(l.theta) == k && l.tri.improve(&l.s, l.theta, bound) && l.probe.orthonormal(&l.s) {
		return true
	}
	if !l.tri.eigenvalues() {
		return false
	}
	l.theta = l.tri.below(l.theta[:0], bound)
	return len(l.theta) == k && l.tri.vectors(&l.s, l.theta, bound, true, nil)
}

// vectors writes the eigenpairs to z and lambda, and reports whether they are accurate.
func (l *krylov) vectors(z *mat.Dense, lambda []float64) bool {
	all := l.q.View(0, 0, l.s.Cols, z.Cols)
	mat.Mul(z, &l.s, &all)
	copy(lambda, l.theta)
	l.norm = l.tri.norm / l.tri.scale
	return l.invariant(z, lambda)
}

// invariant looks at one combination of the rows for v·vᵀ = I and A·vᵀ = vᵀ·Λ.
func (l *krylov) invariant(v *mat.Dense, lambda []float64) bool {
	if !l.probe.orthonormal(v) {
		return false
	}
	l.apply(l.r, l.probe.image)
	for i, u := range l.probe.u[:v.Rows] {
		mat.Axpy(l.r, -u*lambda[i], v.Row(i))
	}
	return mat.Norm(l.r) <= 4*eps*float64(v.Cols)*l.norm
}

func (l *krylov) apply(dst, x []float64) {
	if l.full.Rows > 0 {
		mat.MulVecTrans(dst, &l.full, x)
	} else {
		mat.MulVecSym(dst, l.a, x)
	}
}

// probe is a vector u of entries ±1, whose few products check the rows of Z together.
type probe struct {
	u     []float64
	image []float64 // Zᵀ·u
}

func (p *probe) reserve(n int) {
	p.u, p.image = grow(p.u, n), grow(p.image, n)
	for i := range p.u {
		p.u[i] = float64(1 - i*(i+1)/2%3%2*2)
	}
}

// orthonormal tests ‖Z·Zᵀ·u − u‖_∞ at the level of rounding, and leaves Zᵀ·u in image.
func (p *probe) orthonormal(z *mat.Dense) bool {
	u, image := p.u[:z.Rows], grow(p.image, z.Cols)
	mat.MulVecTrans(image, z, u)
	for i, v := range u {
		if !(math.Abs(mat.Dot(z.Row(i), image)-v) <= 64*eps*float64(z.Cols+8)) {
			return false
		}
	}
	p.image = image
	return true
}
