package mat

import "stable/mat/kernel"

// Dot returns xᵀy. 2n flops.
func Dot(x, y []float64) float64 {
	refuse(len(x) != len(y), "mat: Dot", mismatch)
	return kernel.Dot(x, y)
}

// Axpy sets y = y + alpha·x; x may be y. 2n flops.
func Axpy(y []float64, alpha float64, x []float64) {
	refuse(len(x) != len(y), "mat: Axpy", mismatch)
	kernel.Axpy(y, alpha, x)
}

// RecurVec sets d = now + (1−tau)·(d − old). Operands may be one vector. 4n flops.
func RecurVec(d []float64, tau float64, old, now []float64) {
	refuse(len(old) != len(d) || len(now) != len(d), "mat: RecurVec", mismatch)
	for i, v := range now {
		d[i] = v + (1-tau)*(d[i]-old[i])
	}
}

// IsFinite reports whether v is neither NaN nor infinite.
func IsFinite(v float64) bool { return v-v == 0 }

// NotFinite returns the index of the first NaN or infinity in v, or −1.
func NotFinite(v []float64) int {
	k := 0
	if len(v) > 7 {
		k = finitePart(v)
	}
	for i, a := range v[k:] {
		if !IsFinite(a) {
			return k + i
		}
	}
	return -1
}

// finitePart returns a multiple of 4 up to which all entries of v are finite, the largest one.
func finitePart(v []float64) int {
	rest := v
	for ; len(rest) > 3; rest = rest[4:] {
		a, b, c, d := rest[0], rest[1], rest[2], rest[3]
		if (a-a)+(b-b)+(c-c)+(d-d) != 0 {
			break
		}
	}
	return len(v) - len(rest)
}
