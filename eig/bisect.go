package eig

import "math"

// lowest writes the eigenvalues below mu to the front of values, ascending, to about eps·norm, and
// +Inf to the rest. Each pass cuts an interval into five.
func lowest(values, d, e2 []float64, mu, norm float64) {
	k := sturm(d, e2, mu)
	bound := norm * (1 + 8*eps)
	lo := -bound
	for j := range values {
		if j >= k {
			values[j] = math.Inf(1)
			continue
		}
		hi := min(mu, bound)
		for pass := 0; pass < 64 && hi-lo > 8*eps*norm; pass++ {
			h := (hi - lo) / 5
			x0, x1, x2, x3 := lo+h, lo+2*h, lo+3*h, lo+4*h
			k0, k1, k2, k3 := sturm4(d, e2, x0, x1, x2, x3)
			switch {
			case k0 > j:
				hi = x0
			case k1 > j:
				lo, hi = x0, x1
			case k2 > j:
				lo, hi = x1, x2
			case k3 > j:
				lo, hi = x2, x3
			default:
				lo = x3
			}
		}
		values[j] = lo + (hi-lo)/2
	}
}

// sturm counts the eigenvalues below x of an unreduced tridiagonal matrix with squared off-diagonal
// e2: the negative pivots of T − x·I. After a pivot 0 the count stays correct (Demmel, Dhillon, Ren,
// Electron. Trans. Numer. Anal. 3 (1995)).
func sturm(d, e2 []float64, x float64) int {
	k, _, _, _ := sturm4(d, e2, x, x, x, x)
	return k
}

// sturm4 is sturm at four points side by side, to overlap divisions.
func sturm4(d, e2 []float64, x0, x1, x2, x3 float64) (k0, k1, k2, k3 int) {
	b := 0.0
	q0, q1, q2, q3 := 1.0, 1.0, 1.0, 1.0
	e2 = e2[:len(d)]
	for i, v := range d {
		q0 = v - x0 - b/q0
		q1 = v - x1 - b/q1
		q2 = v - x2 - b/q2
		q3 = v - x3 - b/q3
		b = e2[i]
		k0 += int(math.Float64bits(q0) >> 63)
		k1 += int(math.Float64bits(q1) >> 63)
		k2 += int(math.Float64bits(q2) >> 63)
		k3 += int(math.Float64bits(q3) >> 63)
	}
	return
}
