package auto

import (
	"math"

	"stable/mat/kernel"
)

// function returns φ(a), φ′(a) and φ″(a); r is the exponent of pow.
type function func(a, r float64) (v, p, q float64)

// constant is φ(a) for a number, or entry i of a vector, that is constant and must have a value.
func constant(name string, i int, f function, a, r float64) float64 {
	v, _, _ := f(a, r)
	if v-v != 0 {
		(*tape)(nil).badMap(name, i, a, v, 0, 0)
	}
	return v
}

func exp(a, _ float64) (v, p, q float64) {
	v = math.Exp(a)
	return v, v, v
}

func log(a, _ float64) (v, p, q float64) {
	p = 1 / a
	return math.Log(a), p, -p * p
}

func sqrt(a, _ float64) (v, p, q float64) {
	v = math.Sqrt(a)
	p = 0.5 / v
	return v, p, -0.5 * p / a
}

func inv(a, _ float64) (v, p, q float64) {
	v = 1 / a
	p = -v * v
	return v, p, -2 * p * v
}

func square(a, _ float64) (v, p, q float64) { return a * a, 2 * a, 2 }

// tanh has φ′ = 1 − v² from e = exp(−2|a|), without the cancellation, where v is close to ±1.
func tanh(a, _ float64) (v, p, q float64) {
	if math.Abs(a) < 0.625 {
		v = math.Tanh(a)
		p = 1 - v*v
		return v, p, -2 * v * p
	}
	e := math.Exp(-2 * math.Abs(a))
	v = math.Copysign((1-e)/(1+e), a)
	p = 4 * e / ((1 + e) * (1 + e))
	return v, p, -2 * v * p
}

// sigmoid is 1/(1 + exp(−a)), with φ′ = e/(1+e)² and φ″ = φ′·(1 − 2φ), by e = exp(−|a|).
func sigmoid(a, _ float64) (v, p, q float64) {
	e := math.Exp(-math.Abs(a))
	d := 1 / (1 + e)
	v, p = d, e*d*d
	if a < 0 {
		v = e * d
	}
	return v, p, -math.Copysign(p*(1-e)*d, a)
}

func softplus(a, _ float64) (v, p, q float64) {
	e := math.Exp(-math.Abs(a))
	d := 1 / (1 + e)
	v, p = log1p(e), e*d
	if a > 0 {
		v, p = v+a, d
	}
	return v, p, e * d * d
}

// log1p is log(1 + e) for 0 ≤ e ≤ 1, in a third of the time of math.Log1p: the error of u = 1 + e
// cancels in log(u)/(u − 1) (Goldberg, ACM Computing Surveys 23, 1991, theorem 4).
func log1p(e float64) float64 {
	u := 1 + e
	if u == 1 {
		return e
	}
	return math.Log(u) * (e / (u - 1))
}

func sin(a, _ float64) (v, p, q float64) {
	s, c := math.Sincos(a)
	return s, c, -s
}

func cos(a, _ float64) (v, p, q float64) {
	s, c := math.Sincos(a)
	return c, -s, -c
}

// pow is a^r. A factor 0 of a derivative stays 0 where the power beside it is infinite.
func pow(a, r float64) (v, p, q float64) {
	v = math.Pow(a, r)
	if r != 0 {
		p = r * math.Pow(a, r-1)
		if r != 1 {
			q = r * (r - 1) * math.Pow(a, r-2)
		}
	}
	return v, p, q
}

// A nil destination is one that nobody wants, a nil operand a zero.

func axpy(y []float64, s float64, x []float64) {
	if s != 0 && y != nil && x != nil {
		kernel.Axpy(y, s, x)
	}
}

func axpyProduct(y []float64, s float64, u, v []float64) {
	if y == nil || s == 0 || u == nil || v == nil {
		return
	}
	u, v = u[:len(y)], v[:len(y)]
	for i := range y {
		y[i] += s * u[i] * v[i]
	}
}

func dot(x, y []float64) float64 {
	if x == nil || y == nil {
		return 0
	}
	return kernel.Dot(x, y)
}

func axpySparse(y []float64, s float64, a sparse) {
	if y == nil || s == 0 {
		return
	}
	val := a.val[:len(a.col)]
	for k, c := range a.col {
		y[c] += s * val[k]
	}
}

func affine(y []float64, s float64, x []float64, c float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] = s*x[i] + c
	}
}

func added(r, u []float64, s float64, v []float64) {
	u, v = u[:len(r)], v[:len(r)]
	for i := range r {
		r[i] = u[i] + s*v[i]
	}
}

func multiplied(r, u, v []float64) {
	u, v = u[:len(r)], v[:len(r)]
	for i := range r {
		r[i] = u[i] * v[i]
	}
}

func weighted(w, u []float64) float64 {
	s := 0.0
	w = w[:len(u)]
	for i, v := range u {
		s += w[i] * v * v
	}
	return s
}
