package auto

import "stable/mat/kernel"

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
