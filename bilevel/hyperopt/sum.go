package hyperopt

import (
	"slices"
	"sync"

	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

// kind names the sums over rows a with label b that make up the oracles; t = aᵀy.
type kind int

const (
	value    kind = iota // Σ ℓ(t)
	gradient             // Σ ℓ′(t)·a
	hessVec              // Σ ℓ″(t)·(aᵀv)·a
	hessian              // Σ ℓ″(t)·a·aᵀ, lower triangle
)

type sum struct {
	kind kind
	loss Loss
	data *data.Data
	y, v []float64
	x    []float64 // weights of the rows; nil: they weigh 1
}

func (s *sum) weight(i int) float64 {
	if s.x == nil {
		return 1
	}
	return s.x[i]
}

// row adds the term of row i to acc; stride is that of a matrix, 0 for a vector.
func (s *sum) row(acc []float64, stride, i int) {
	col, val := s.data.Row(i)
	if s.kind == hessian {
		var buffer [mostClasses]float64
		d := s.data.Dim
		p := buffer[:len(s.y)/d]
		s.curve(p, i)
		for k := range p {
			for l := range k + 1 {
				rankOne(acc[k*d*stride+l*d:], stride, s.curvature(p, k, l, i), col, val)
			}
		}
		return
	}
	if s.loss == Softmax {
		s.classesRow(acc, i)
		return
	}
	t, u := dot(col, val, s.y), 0.0
	if s.kind == hessVec {
		u = dot(col, val, s.v)
	}
	if f := s.term(i, t, u); s.kind == value {
		acc[0] += f
	} else {
		axpy(acc, f, col, val)
	}
}

// term returns ℓ(t) of row i, or its factor of a, where t = aᵀy and u = aᵀv.
func (s *sum) term(i int, t, u float64) float64 {
	switch s.kind {
	case value:
		v, _ := s.loss.valueFirst(t, s.data.Label[i])
		return s.weight(i) * v
	case gradient:
		return s.weight(i) * s.loss.first(t, s.data.Label[i])
	}
	return s.weight(i) * s.loss.second(t) * u
}

// full tells whether four serves: rows without gaps, and one predictor.
func (s *sum) full() bool {
	return s.kind != hessian && s.loss != Softmax && len(s.data.Val) == s.data.Rows()*s.data.Dim
}

// four is row for four rows without gaps, which the processor fetches side by side.
func (s *sum) four(acc []float64, i0, i1, i2, i3 int) {
	d, val := s.data.Dim, s.data.Val
	a0, a1, a2, a3 := val[i0*d:][:d], val[i1*d:][:d], val[i2*d:][:d], val[i3*d:][:d]
	t0, t1, t2, t3 := dots4(s.y, a0, a1, a2, a3)
	var u0, u1, u2, u3 float64
	if s.kind == hessVec {
		u0, u1, u2, u3 = dots4(s.v, a0, a1, a2, a3)
	}
	f0, f1, f2, f3 := s.term(i0, t0, u0), s.term(i1, t1, u1), s.term(i2, t2, u2), s.term(i3, t3, u3)
	if s.kind == value {
		acc[0] = acc[0] + f0 + f1 + f2 + f3
		return
	}
	a0, a1, a2, a3 = a0[:len(acc)], a1[:len(acc)], a2[:len(acc)], a3[:len(acc)]
	for j, v := range acc {
		acc[j] = v + f0*a0[j] + f1*a1[j] + f2*a2[j] + f3*a3[j]
	}
}

func dots4(y, a0, a1, a2, a3 []float64) (s0, s1, s2, s3 float64) {
	a0, a1, a2, a3 = a0[:len(y)], a1[:len(y)], a2[:len(y)], a3[:len(y)]
	for j, v := range y {
		s0 += v * a0[j]
		s1 += v * a1[j]
		s2 += v * a2[j]
		s3 += v * a3[j]
	}
	return
}

// curve writes what curvature takes of row i: ℓ″(t), of Softmax the probabilities.
func (s *sum) curve(p []float64, i int) {
	if s.loss == Softmax {
		Probabilities(p, s.data, s.y, i)
		return
	}
	col, val := s.data.Row(i)
	p[0] = s.loss.second(dot(col, val, s.y))
}

// curvature is ∂²ℓ/∂t_k∂t_l of row i, of Softmax p_k([k = l] − p_l).
func (s *sum) curvature(p []float64, k, l, i int) float64 {
	switch {
	case s.loss != Softmax:
		return s.weight(i) * p[0]
	case k == l:
		return s.weight(i) * (p[k] * others(p, k)) // 1 − p_k, without cancellation
	}
	return s.weight(i) * (-p[k] * p[l])
}

// chunkRows is the number of rows of a partial sum: fixed, so that rounding does not depend on the
// workers, and the error of a long sum stays near that of a short one.
const chunkRows = 4096

type worker struct {
	part  []float64
	block block
}

func (w *worker) rows(acc []float64, stride, lo, hi int, s *sum) {
	if (stride > 0 || s.loss == Softmax) && blocky(s.data) {
		w.block.add(acc, stride, s, lo, hi)
		return
	}
	for ; lo+3 < hi && s.full(); lo += 4 {
		s.four(acc, lo, lo+1, lo+2, lo+3)
	}
	for ; lo < hi; lo++ {
		s.row(acc, stride, lo)
	}
}

// chunk sums the chunk from row lo: a vector of length n, or a triangle of that order.
func (w *worker) chunk(n, stride, lo int, s *sum) {
	size := n
	if stride > 0 {
		size, stride = n*n, n
	}
	w.part = slices.Grow(w.part[:0], size)[:size]
	clear(w.part)
	w.rows(w.part, stride, lo, min(lo+chunkRows, s.data.Rows()), s)
}

func addAll(workers []worker, acc []float64, stride, n int, s *sum) {
	total := s.data.Rows()
	if total <= chunkRows {
		workers[0].rows(acc, stride, 0, total, s)
		return
	}
	for lo := 0; lo < total; {
		busy := workers[:min(len(workers), (total-lo+chunkRows-1)/chunkRows)]
		if len(busy) == 1 {
			busy[0].chunk(n, stride, lo, s)
		} else {
			together(busy, n, stride, lo, *s)
		}
		for _, w := range busy {
			lo += chunkRows
			if stride == 0 {
				mat.Axpy(acc, 1, w.part)
				continue
			}
			for i := range n {
				mat.Axpy(acc[i*stride:][:i+1], 1, w.part[i*n:][:i+1])
			}
		}
	}
}

// together sums a chunk in each worker; a function of its own, as the serial sum allocates nothing.
func together(workers []worker, n, stride, lo int, s sum) {
	var wg sync.WaitGroup
	for k := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			workers[k].chunk(n, stride, lo+k*chunkRows, &s)
		}()
	}
	wg.Wait()
}

func dot(col []int32, val, y []float64) float64 {
	if len(val) == len(y) {
		return mat.Dot(val, y)
	}
	val = val[:len(col)]
	t := 0.0
	for k, c := range col {
		t += val[k] * y[c]
	}
	return t
}

func axpy(y []float64, alpha float64, col []int32, val []float64) {
	if len(val) == len(y) {
		mat.Axpy(y, alpha, val)
		return
	}
	val = val[:len(col)]
	for k, c := range col {
		y[c] += alpha * val[k]
	}
}

// rankOne adds alpha·a·aᵀ to a lower triangle for a sparse row a with ascending columns.
func rankOne(acc []float64, stride int, alpha float64, col []int32, val []float64) {
	val = val[:len(col)]
	for k, c := range col {
		r := acc[int(c)*stride : int(c)*stride+int(c)+1]
		axpy(r, alpha*val[k], col[:k+1], val[:k+1])
	}
}
