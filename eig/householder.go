package eig

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// reduction holds A = Q·T·Qᵀ with T tridiagonal and Q = H_{n−1}⋯H_1 a product of reflections H_i =
// I − tau_i·v_i·v_iᵀ.
type reduction struct {
	n    int
	ld   int       // distance of rows in a
	a    []float64 // row i holds v_i, of length i
	d    []float64 // diagonal of T
	e    []float64 // e[i] is entry (i, i−1) of T; e[0] is 0
	tau  []float64
	w    []float64 // the pending update: A − v·wᵀ − w·vᵀ
	y    []float64 // the product A·v of the next step
	zero []float64

	spare []float64 // for back
}

// reserve makes room for matrices of order n.
func (r *reduction) reserve(n int) {
	r.n, r.ld = n, stride(n)
	r.a = grow(r.a, n*r.ld)
	r.d, r.e, r.tau = grow(r.d, n), grow(r.e, n), grow(r.tau, n)
	r.w, r.y, r.zero = grow(r.w, n), grow(r.y, n), grow(r.zero, n)
	r.spare = grow(r.spare, 3*n)
}

// tiny is the squared norm, relative to entries of size 1, below which a row counts as 0.
const tiny = 0x1p-400

// reduce computes T and the reflections for scale·a, of the order that was reserved, whose entries
// must be of size 1 or less.
//
// It goes from the last row to the first, as EISPACK's tred2 and LAPACK's dsytd2 with uplo = 'U',
// so that each row to be annihilated is contiguous. Each step makes one pass over the remaining
// triangle: it applies the update of the previous step and multiplies the result by the next v.
// 4n³/3 flops.
func (r *reduction) reduce(a *mat.Sym, scale float64) {
	n, ld := r.n, r.ld
	for i := range n {
		row := r.a[i*ld : i*ld+i+1]
		for j, v := range a.Row(i) {
			row[j] = v * scale
		}
	}
	clear(r.zero)
	v, w := r.zero, r.w // no update is pending yet
	clear(w)
	for i := n - 1; i > 0; i-- {
		// row i of A − v·wᵀ − w·vᵀ
		x := r.a[i*ld : i*ld+i+1]
		rank2(x, v[i], w, w[i], v)
		r.d[i] = x[i]
		x = x[:i]
		r.e[i], r.tau[i] = reflector(x)

		// The rest of the pending update, and y = A·x.
		y := r.y[:i]
		r.pass(i, v, w, x, y)
		if r.tau[i] == 0 {
			v = r.zero
			continue
		}
		// w = tau·y − ½tau²(yᵀx)·x, so that H·A·H = A − x·wᵀ − w·xᵀ
		half := 0.5 * r.tau[i] * mat.Dot(y, x)
		for j, g := range y {
			w[j] = r.tau[i] * (g - half*x[j])
		}
		v = x
	}
	if n > 0 {
		r.d[0] = r.a[0] - 2*v[0]*w[0]
		r.e[0], r.tau[0] = 0, 0
	}
}

// reflector overwrites x with the v, last entry 1, of the reflection that takes x to (0, …, 0,
// beta), and returns beta and tau (dlarfg).
func reflector(x []float64) (beta, tau float64) {
	last := len(x) - 1
	alpha := x[last]
	ssq := mat.Dot(x[:last], x[:last])
	if ssq < tiny {
		clear(x)
		return alpha, 0
	}
	beta = -math.Copysign(math.Sqrt(alpha*alpha+ssq), alpha)
	f := 1 / (alpha - beta)
	for j := range x[:last] {
		x[j] *= f
	}
	x[last] = 1
	return beta, (beta - alpha) / beta
}

// rank2 sets x = x − f·w − g·v, over the length of x.
func rank2(x []float64, f float64, w []float64, g float64, v []float64) {
	w, v = w[:len(x)], v[:len(x)]
	for j, a := range x {
		x[j] = a - f*w[j] - g*v[j]
	}
}

// pass sets A = A − v·wᵀ − w·vᵀ on the leading triangle of order m, and y = A·x with the result,
// two rows at a time.
func (r *reduction) pass(m int, v, w, x, y []float64) {
	ld := r.ld
	two := kernel.Rank2Mul
	if !kernel.Reflects(m - 1) {
		two = kernel.Rank2MulGo
	}
	i := 0
	if m&1 == 1 {
		a := r.a[:1]
		a[0] -= 2 * v[0] * w[0]
		y[0] = a[0] * x[0]
		i = 1
	}
	for ; i < m; i += 2 {
		a0, a1 := r.a[i*ld:i*ld+i+1], r.a[i*ld+ld:i*ld+ld+i+2]
		var s0, s1 float64
		if i > 0 {
			s0, s1 = two(a0[:i], a1[:i], v, w, x, y, v[i], w[i], x[i], v[i+1], w[i+1], x[i+1])
		}
		// the 2 × 2 triangle on the diagonal
		p := a0[i] - 2*v[i]*w[i]
		q := a1[i] - v[i+1]*w[i] - w[i+1]*v[i]
		t := a1[i+1] - 2*v[i+1]*w[i+1]
		a0[i], a1[i], a1[i+1] = p, q, t
		y[i] = s0 + p*x[i] + q*x[i+1]
		y[i+1] = s1 + q*x[i] + t*x[i+1]
	}
}
