package eig

import (
	"stable/mat"
	"stable/mat/kernel"
)

// back replaces the rows of z, k × n, which hold vectors in the basis of T, by the same vectors in
// the basis of A: each row x becomes Q·x.
//
// Four rows at a time stay in the first-level cache while the reflections stream past. The loop
// that applies one reflection also computes the products with the next. 2kn² flops.
func (r *reduction) back(z *mat.Dense) {
	n, k := r.n, z.Rows
	if n < 2 {
		return
	}
	for ; k >= 4; k -= 4 {
		r.back4(z.Row(k-1), z.Row(k-2), z.Row(k-3), z.Row(k-4))
	}
	if k == 0 {
		return
	}
	// Up to three rows are left; unused rows complete the group of two or four.
	clear(r.spare)
	if k <= 2 && r.plain() {
		x1 := r.spare[:n]
		if k == 2 {
			x1 = z.Row(1)
		}
		r.back2(z.Row(0), x1)
		return
	}
	var x [4][]float64
	for i := range x {
		if i < k {
			x[i] = z.Row(i)
		} else {
			x[i] = r.spare[(i-k)*n : (i-k)*n+n]
		}
	}
	r.back4(x[0], x[1], x[2], x[3])
}

// back4 is back for four rows.
func (r *reduction) back4(x0, x1, x2, x3 []float64) {
	n, ld := r.n, r.ld
	reflect := kernel.Reflect
	if r.plain() {
		reflect = kernel.ReflectGo
	}
	var s0, s1, s2, s3 float64 // products with v_h
	for h := 1; h < n; h++ {
		v := r.a[h*ld : h*ld+h]
		t := -r.tau[h]
		s0, s1, s2, s3 = t*s0, t*s1, t*s2, t*s3
		if h+1 == n {
			axpy4(x0, x1, x2, x3, v, s0, s1, s2, s3)
			return
		}
		u := r.a[h*ld+ld : h*ld+ld+h+1]
		s0, s1, s2, s3 = reflect(x0, x1, x2, x3, v, u, s0, s1, s2, s3)
		// the last entry of u, which is beyond the end of v
		s0 += x0[h] * u[h]
		s1 += x1[h] * u[h]
		s2 += x2[h] * u[h]
		s3 += x3[h] * u[h]
	}
}

// back2 is back for two rows.
func (r *reduction) back2(x0, x1 []float64) {
	n, ld := r.n, r.ld
	var s0, s1 float64 // products with v_h
	for h := 1; h < n; h++ {
		v := r.a[h*ld : h*ld+h]
		t := -r.tau[h]
		s0, s1 = t*s0, t*s1
		if h+1 == n {
			unused := r.spare[n:]
			axpy4(x0, x1, unused, unused, v, s0, s1, 0, 0) // it rounds as back4 does
			return
		}
		u := r.a[h*ld+ld : h*ld+ld+h+1]
		s0, s1 = reflect2(x0, x1, v, u, s0, s1)
		s0 += x0[h] * u[h]
		s1 += x1[h] * u[h]
	}
}

// plain reports whether all rows are too short for vectors.
func (r *reduction) plain() bool { return !kernel.Reflects(r.n - 1) }

// reflect2 is kernel.ReflectGo for two rows.
func reflect2(x0, x1, v, u []float64, f0, f1 float64) (s0, s1 float64) {
	n := len(v)
	x0, x1, u = x0[:n], x1[:n], u[:n]
	for j, vj := range v {
		uj := u[j]
		p0 := x0[j] + f0*vj
		p1 := x1[j] + f1*vj
		x0[j], x1[j] = p0, p1
		s0 += p0 * uj
		s1 += p1 * uj
	}
	return
}

// axpy4 sets x_i = x_i + f_i·v, over the length of v.
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
