package eig

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

// orthonormalize makes the rows of e.vt orthonormal to rounding, by V ← V + ½(I − V·Vᵀ)·V, which
// squares the defect ‖I − V·Vᵀ‖. It returns false where the defect is too large for that.
func (e *Jacobi) orthonormalize() bool {
	n := e.n
	e.buf = grow(e.buf, n*e.ld)
	defect := mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: e.a}
	step := mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: e.buf}
	for range 8 { // four or five reach rounding from 1/2
		defect.Zero()
		for i := range n {
			e.a[i*e.ld+i] = 1
		}
		mat.AddMulTransB(&defect, -1, &e.vt, &e.vt)
		size := mat.NormFrob(&defect)
		if !(size < 0.5) {
			return false
		}
		mat.Mul(&step, &defect, &e.vt)
		mat.AddScaled(&e.vt, &e.vt, 0.5, &step)
		if size < 0x1p-28 { // ¾·size², the next defect, is rounding
			return true
		}
	}
	return false
}

// congruence sets e.a = Vᵀ·(scale·A)·V for the Vᵀ in e.vt.
func (e *Jacobi) congruence(a *mat.Sym, scale float64) {
	n := e.n
	t := mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: e.a}
	w := mat.Dense{Rows: n, Cols: n, Stride: e.ld, Data: e.buf}
	for i := range n {
		for j, v := range a.Row(i) {
			t.Data[i*e.ld+j] = v * scale
			t.Data[j*e.ld+i] = v * scale
		}
	}
	mat.Mul(&w, &e.vt, &t)
	mat.MulTransB(&t, &w, &e.vt)
	for i := range n {
		e.d[i] = e.a[i*e.ld+i]
	}
}

// run sweeps until no pair is left to rotate, then sorts.
//
// A pair is negligible if |a_pq| ≤ eps·√|a_pp·a_qq|, or, where relative accuracy is impossible, if
// |a_pq| ≤ eps·‖A‖_F/n. While the off-diagonal part is large, the first three sweeps skip entries
// that are small compared with the mean: later rotations would undo those (Rutishauser).
func (e *Jacobi) run(scale float64, posDef bool) (JacobiReport, error) {
	off, norm := e.norms()
	floor := eps * norm / float64(max(e.n, 1))
	tol := floor
	if posDef {
		tol = 0
	}
	var rep JacobiReport
	e.rotate = 0
	for i, v := range e.d {
		e.root[i] = math.Sqrt(math.Abs(v))
	}
	for done := e.n < 2; !done; {
		if rep.Sweeps == maxSweeps {
			e.n, e.d = 0, e.d[:0]
			return rep, &NoConvergenceError{Sweeps: rep.Sweeps, OffNorm: off / scale}
		}
		if rep.Sweeps == maxSweeps/2 {
			tol = floor // positive definite by a hair: rounding never lets the relative rule hold
		}
		skip := tol
		if rep.Sweeps < 3 && off > 0.1*norm {
			skip = max(tol, 0.2*off/float64(e.n))
		}
		before := e.rotate
		e.sweep(skip)
		rep.Sweeps++
		off, _ = e.norms()
		done = e.rotate == before && skip == tol
	}
	rep.Rotations, rep.OffNorm = e.rotate, off/scale
	if e.want {
		e.sort.ascend(e.d, &e.vt)
	} else {
		slices.Sort(e.d)
	}
	for i := range e.d {
		e.d[i] /= scale
	}
	e.known = e.want
	return rep, nil
}

// sweep rotates once at each pair p < q whose entry is above both thresholds. w holds row and
// column p while q runs. Of the four pieces of rows and columns that a rotation touches, only
// column q below the diagonal is then not contiguous.
func (e *Jacobi) sweep(skip float64) {
	n, ld, a, d, w := e.n, e.ld, e.a, e.d, e.w
	for p := range n - 1 {
		copy(w[:p], a[p*ld:p*ld+p])
		w[p] = 0
		for j := p + 1; j < n; j++ {
			w[j] = a[j*ld+p]
		}
		for q := p + 1; q < n; q++ {
			apq := w[q]
			if abs := math.Abs(apq); abs <= skip || abs <= eps*e.root[p]*e.root[q] {
				continue
			}
			e.rotate++
			// t = tan φ is the smaller root of t² + 2θt = 1, θ = (a_qq − a_pp)/(2a_pq).
			theta := (d[q] - d[p]) / (2 * apq)
			t := math.Copysign(1/(math.Abs(theta)+math.Sqrt(1+theta*theta)), theta)
			if math.Abs(theta) > 0x1p500 {
				t = 0.5 / theta
			}
			c := 1 / math.Sqrt(1+t*t)
			s := t * c
			tau := s / (1 + c) // tan φ/2
			d[p] -= t * apq
			d[q] += t * apq
			e.root[p] = math.Sqrt(math.Abs(d[p]))
			e.root[q] = math.Sqrt(math.Abs(d[q]))

			kernel.Rotate(w[:q], a[q*ld:q*ld+q], s, tau) // entry p of both is 0 or stale
			for j := q + 1; j < n; j++ {
				g, h := w[j], a[j*ld+q]
				w[j] = g - s*(h+tau*g)
				a[j*ld+q] = h + s*(g-tau*h)
			}
			w[p], w[q] = 0, 0
			if e.want {
				kernel.Rotate(e.vt.Row(p), e.vt.Row(q), s, tau)
			}
		}
		copy(a[p*ld:p*ld+p], w[:p])
		for j := p + 1; j < n; j++ {
			a[j*ld+p] = w[j]
		}
	}
}

// norms returns the Frobenius norms of the off-diagonal part and of the whole of e.a.
func (e *Jacobi) norms() (off, norm float64) {
	unit := power(e.size) // so that squares stay in the range
	for i := range e.n {
		for _, v := range e.a[i*e.ld : i*e.ld+i] {
			v *= unit
			off += 2 * v * v
		}
	}
	norm = off
	for _, v := range e.d {
		v *= unit
		norm += v * v
	}
	return math.Sqrt(off) / unit, math.Sqrt(norm) / unit
}
