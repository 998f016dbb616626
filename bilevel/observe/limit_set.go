package observe

import (
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// near is how close to a Ball or a HalfSpace's boundary, in units of its size, x counts as on it.
const near = 1e-9

// tangent returns in the rows of t a basis of the directions along the boundary of set that holds
// x, and λ, what the boundary's curvature adds to ∇²F; grad is ∇F at x.
func tangent(set bilevel.Set, x, grad []float64) (t *mat.Dense, lambda float64, err error) {
	held := func(int) bool { return false }
	switch s := set.(type) {
	case bilevel.Space:
	case bilevel.NonNegative:
		held = func(i int) bool { return x[i] <= 0 }
	case bilevel.Box:
		held = func(i int) bool { return x[i] <= s.Lo[i] || x[i] >= s.Hi[i] }
	case bilevel.Simplex:
		return onSimplex(x), 0, nil
	case bilevel.HalfSpace:
		if n := mat.Norm(s.A); mat.Dot(s.A, x)-s.B > -near*n*(mat.Norm(x)+math.Abs(s.B)/n) {
			return orthogonal(s.A), 0, nil
		}
	case bilevel.Ball:
		n := append([]float64(nil), x...)
		if s.Center != nil {
			mat.Axpy(n, -1, s.Center)
		}
		if mat.Norm(n) > (1-near)*s.Radius {
			return orthogonal(n), mat.Norm(grad) / s.Radius, nil
		}
	default:
		return nil, 0, option.Bad("observe: LimitOptions.Set is a %T, want a set of package bilevel", set)
	}
	return axes(x, func(i int) bool { return !held(i) }), 0, nil
}

func axes(x []float64, free func(i int) bool) *mat.Dense {
	var rows []float64
	for i := range x {
		if free(i) {
			rows = append(rows, make([]float64, len(x))...)
			rows[len(rows)-len(x)+i] = 1
		}
	}
	return mat.DenseOf(len(rows)/len(x), len(x), rows)
}

// flat are the largest elements of a scaled ∇²F, over its largest diagonal element, with which F
// counts as flat: rounding leaves as much of 0.
var flat = struct{ on, beside float64 }{1e-20, 1e-8}

// varied returns the rows of t that change an entry with which F varies.
func varied(t *mat.Dense, hess *mat.Sym, scale []float64) *mat.Dense {
	var most float64
	for i, s := range scale {
		most = max(most, s*s*math.Abs(hess.At(i, i)))
	}
	varies := func(i int) bool {
		for j, s := range scale {
			bound := flat.beside
			if i == j {
				bound = flat.on
			}
			if s*scale[i]*math.Abs(hess.At(i, j)) > bound*most {
				return true
			}
		}
		return false
	}
	var kept []float64
	for k := range t.Rows {
		for i, v := range t.Row(k) {
			if v != 0 && varies(i) {
				kept = append(kept, t.Row(k)...)
				break
			}
		}
	}
	return mat.DenseOf(len(kept)/t.Cols, t.Cols, kept)
}

// onSimplex spans e_i − e_j over entries that are not 0, for one j: the sum is kept.
func onSimplex(x []float64) *mat.Dense {
	all := axes(x, func(i int) bool { return x[i] > 0 })
	t := all.View(min(1, all.Rows), 0, max(all.Rows-1, 0), all.Cols)
	for k := range t.Rows {
		mat.Axpy(t.Row(k), -1, all.Row(0))
	}
	return &t
}

// orthogonal spans what is orthogonal to n ≠ 0: rows of the reflection I − 2uuᵀ/‖u‖² that takes n
// to an axis (Householder, J. ACM 5, 1958).
func orthogonal(n []float64) *mat.Dense {
	pivot := 0
	for i, v := range n {
		if math.Abs(v) > math.Abs(n[pivot]) {
			pivot = i
		}
	}
	u := append([]float64(nil), n...)
	u[pivot] += math.Copysign(mat.Norm(n), n[pivot])
	c := 2 / mat.Dot(u, u)
	t := mat.NewDense(len(n)-1, len(n))
	for k := range t.Rows {
		i := k
		if i >= pivot {
			i++
		}
		t.Set(k, i, 1)
		mat.Axpy(t.Row(k), -c*u[i], u)
	}
	return t
}
