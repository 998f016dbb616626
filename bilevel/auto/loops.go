package auto

import "stable/mat/kernel"

// A nil destination is one that nobody wants, a nil vector a zero.

func axpy(y []float64, s float64, x []float64) {
	if y == nil || s == 0 {
		return
	}
	kernel.Axpy(y, s, x)
}

func axpyTangent(y []float64, s float64, x []float64) {
	if x != nil {
		axpy(y, s, x)
	}
}

// axpyProduct sets y_i += s·u_i·v_i.
func axpyProduct(y []float64, s float64, u, v []float64) {
	u, v = u[:len(y)], v[:len(y)]
	for i := range y {
		y[i] += s * u[i] * v[i]
	}
}

func axpyTangents(y []float64, u, v []float64) {
	if v != nil && y != nil {
		axpyProduct(y, 1, u, v)
	}
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

func addConst(y []float64, s float64) {
	for i := range y {
		y[i] += s
	}
}

func scaled(y []float64, s float64, x []float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] = s * x[i]
	}
}
