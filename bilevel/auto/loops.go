package auto

import (
	"stable/mat"
	"stable/mat/kernel"
)

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

func affine(y []float64, s float64, x []float64, c float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] = s*x[i] + c
	}
}

// weighted returns Σ w_i u_i².
func weighted(w, u []float64) float64 {
	s := 0.0
	w = w[:len(u)]
	for i, v := range u {
		s += w[i] * v * v
	}
	return s
}

func combine(code opcode, r, u, v []float64, p float64) {
	u, v = u[:len(r)], v[:len(r)]
	if code == opVecMul {
		for i := range r {
			r[i] = u[i] * v[i]
		}
		return
	}
	for i := range r {
		r[i] = u[i] + p*v[i]
	}
}

// finite tells whether all entries are. A sum that is finite says so, in less time.
func finite(v []float64) bool {
	var s, t float64
	for i := 1; i < len(v); i += 2 {
		s += v[i-1]
		t += v[i]
	}
	if s += t; len(v)%2 == 1 {
		s += v[len(v)-1]
	}
	return s-s == 0 || mat.NotFinite(v) < 0
}
