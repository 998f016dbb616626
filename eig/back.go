package eig

import "stable/mat"

// back replaces the rows of z, k × n, which hold vectors in the basis of T, by the same vectors in that of A: each row x becomes Q·x.
//
// Four rows at a time stay in the first-level cache while the reflections stream past; the loop that applies one reflection takes the
// products with the next. 2kn² flops.
func (r *reduction) back(z *mat.Dense) {
	n, k := r.n, z.Rows
	if n < 2 {
		return
	}
	i := 0
	for ; i+4 <= k; i += 4 {
		r.back4(z.Row(i), z.Row(i+1), z.Row(i+2), z.Row(i+3))
	}
	for ; i < k; i++ {
		x := z.Row(i)
		for h := 2; h < n; h++ {
			v := r.a[h*n : h*n+h]
			mat.Axpy(x[:h], -r.tau[h]*mat.Dot(x[:h], v), v)
		}
	}
}

func (r *reduction) back4(x0, x1, x2, x3 []float64) {
	n := r.n
	var s0, s1, s2, s3 float64 // products with v_h
	for h := 1; h < n; h++ {
		v := r.a[h*n : h*n+h]
		t := -r.tau[h]
		s0, s1, s2, s3 = t*s0, t*s1, t*s2, t*s3
		if h+1 == n {
			axpy4(x0, x1, x2, x3, v, s0, s1, s2, s3)
			return
		}
		u := r.a[h*n+n : h*n+n+h+1]
		s0, s1, s2, s3 = reflect4(x0, x1, x2, x3, v, u, s0, s1, s2, s3)
		// the last entry of u, to which v does not reach
		s0 += x0[h] * u[h]
		s1 += x1[h] * u[h]
		s2 += x2[h] * u[h]
		s3 += x3[h] * u[h]
	}
}
