package eig

import (
	"math"

	"stable/mat"
	"stable/mat/kernel"
)

// reduction holds A = Q·T·Qᵀ, T tridiagonal, Q = H_{n−1}⋯H_1, H_i = I − tau_i·v_i·v_iᵀ.
type reduction struct {
	n    int
	ld   int
	a    []float64 // row i holds v_i
	d    []float64 // diagonal of T
	e    []float64 // off-diagonal of T: e[i] between i and i+1; e[n−1] is 0
	tau  []float64
	w, y []float64
	zero []float64
}

func (r *reduction) reserve(n int) {
	r.n, r.ld = n, stride(n)
	r.a = grow(r.a, n*r.ld)
	r.d, r.e, r.tau = grow(r.d, n), grow(r.e, n), grow(r.tau, n)
	r.w, r.y, r.zero = grow(r.w, n), grow(r.y, n), grow(r.zero, n)
}

// tiny is the squared norm below which a row counts as 0, beside entries of size 1.
const tiny = 0x1p-400

// reduce computes T and the reflections of scale·a, entries of size at most 1, from the last row
// up, so that rows to annihilate are contiguous (EISPACK tred2; LAPACK dsytd2, 'U'). 4n³/3 flops.
func (r *reduction) reduce(a *mat.Sym, scale float64) {
	n, ld := r.n, r.ld
	for i := range n {
		kernel.Scale(r.a[i*ld:i*ld+i+1], scale, a.Row(i))
	}
	v, w := r.zero, r.w // the pending update
	clear(w)
	for i := n - 1; i > 0; i-- {
		// row i of A − v·wᵀ − w·vᵀ
		x := r.a[i*ld : i*ld+i+1]
		rank2(x, v[i], w, w[i], v)
		r.d[i] = x[i]
		x = x[:i]
		r.e[i-1], r.tau[i] = reflector(x)

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
		r.e[n-1], r.tau[0] = 0, 0
	}
}

// reflector overwrites x with the v, last entry 1, of the reflection to (0, …, 0, beta) (dlarfg).
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

func rank2(x []float64, f float64, w []float64, g float64, v []float64) {
	w, v = w[:len(x)], v[:len(x)]
	for j, a := range x {
		x[j] = a - f*w[j] - g*v[j]
	}
}

// pass sets A = A − v·wᵀ − w·vᵀ on the leading triangle of order m, and y = A·x, by two rows.
func (r *reduction) pass(m int, v, w, x, y []float64) {
	ld, two := r.ld, kernel.Rank2Mul
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
		p := a0[i] - 2*v[i]*w[i]
		q := a1[i] - v[i+1]*w[i] - w[i+1]*v[i]
		t := a1[i+1] - 2*v[i+1]*w[i+1]
		a0[i], a1[i], a1[i+1] = p, q, t
		y[i] = s0 + p*x[i] + q*x[i+1]
		y[i+1] = s1 + q*x[i] + t*x[i+1]
	}
}

// back replaces the rows x of z, k × n, by Q·x. 2kn² flops.
func (r *reduction) back(z *mat.Dense) {
	reflect := kernel.Reflect
	if !kernel.Reflects(r.n - 1) {
		reflect = kernel.ReflectGo
	}
	k := z.Rows
	for ; k >= 4; k -= 4 {
		r.back4(z.Row(k-1), z.Row(k-2), z.Row(k-3), z.Row(k-4), reflect)
	}
	if k > 0 {
		x := [4][]float64{r.zero, r.zero, r.zero, r.zero}
		for i := range k {
			x[i] = z.Row(i)
		}
		r.back4(x[0], x[1], x[2], x[3], reflect)
	}
}

type reflection func(x0, x1, x2, x3, v, u []float64, f0, f1, f2, f3 float64) (s0, s1, s2, s3 float64)

// back4 is back for four rows; a loop applies a reflection and multiplies with the next.
func (r *reduction) back4(x0, x1, x2, x3 []float64, reflect reflection) {
	n, ld := r.n, r.ld
	var s0, s1, s2, s3 float64 // products with v_h
	for h := 1; h < n; h++ {
		v, t := r.a[h*ld:h*ld+h], -r.tau[h]
		s0, s1, s2, s3 = t*s0, t*s1, t*s2, t*s3
		if h+1 == n {
			axpy4(x0, x1, x2, x3, v, s0, s1, s2, s3)
			return
		}
		u := r.a[h*ld+ld : h*ld+ld+h+1]
		s0, s1, s2, s3 = reflect(x0, x1, x2, x3, v, u, s0, s1, s2, s3)
		s0 += x0[h] * u[h]
		s1 += x1[h] * u[h]
		s2 += x2[h] * u[h]
		s3 += x3[h] * u[h]
	}
}

func axpy4(x0, x1, x2, x3, v []float64, f0, f1, f2, f3 float64) {
	n := len(v)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for j, vj := range v {
		x0[j] += f0 * vj
		x1[j] += f1 * vj
		x2[j] += f2 * vj
		x3[j] += f3 * vj
	}
}
