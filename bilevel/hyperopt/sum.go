package hyperopt

import (
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

	k, l  int     // of Softmax: which block of the Hessian
	flips float64 // of Softmax: see Options
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
		rankOne(acc, stride, s.factor(i, col, val), col, val)
		return
	}
	if s.loss == Softmax {
		s.classesRow(acc, i)
		return
	}
	t, b, w := dot(col, val, s.y), s.data.Label[i], s.weight(i)
	switch s.kind {
	case value:
		v, _ := s.loss.valueFirst(t, b)
		acc[0] += w * v
	case gradient:
		axpy(acc, w*s.loss.first(t, b), col, val)
	case hessVec:
		axpy(acc, w*s.loss.second(t)*dot(col, val, s.v), col, val)
	}
}

func (s *sum) factor(i int, col []int32, val []float64) float64 {
	if s.loss == Softmax {
		return s.weight(i) * s.second2(i)
	}
	return s.weight(i) * s.loss.second(dot(col, val, s.y))
}

func (s *sum) rows(acc []float64, stride, lo, hi int, b *block) {
	if b != nil {
		b.add(&mat.Sym{N: s.data.Dim, Stride: stride, Data: acc}, s, lo, hi)
		return
	}
	for i := lo; i < hi; i++ {
		s.row(acc, stride, i)
	}
}

// chunkRows is the number of rows of a partial sum: fixed, so that rounding does not depend on the
// workers, and the error of a long sum stays near that of a short one.
const chunkRows = 4096

type adder struct {
	workers int
	parts   [][]float64 // one partial sum a worker
	blocks  []block     // one a worker, for dense rows
}

func (a *adder) add(acc []float64, stride, n int, s sum) {
	total := s.data.Rows()
	if total <= chunkRows {
		s.rows(acc, stride, 0, total, a.block(0, stride, &s))
		return
	}
	size, partStride := n, 0
	if stride > 0 {
		size, partStride = n*n, n
	}
	workers := min(a.workers, (total+chunkRows-1)/chunkRows)
	a.reserve(workers, size)
	for lo := 0; lo < total; lo += workers * chunkRows {
		if workers == 1 {
			s.chunk(a.parts[0][:size], partStride, lo, a.block(0, stride, &s))
		} else {
			a.round(workers, size, partStride, lo, s)
		}
		for w := 0; w < workers && lo+w*chunkRows < total; w++ {
			part := a.parts[w]
			if stride == 0 {
				addTo(acc, part[:n])
				continue
			}
			for i := range n {
				addTo(acc[i*stride:i*stride+i+1], part[i*n:i*n+i+1])
			}
		}
	}
}

// round sums one chunk in each worker, from row lo. A method of its own, so that the serial sum
// allocates nothing.
func (a *adder) round(workers, size, stride, lo int, s sum) {
	var wg sync.WaitGroup
	for w := 0; w < workers && lo+w*chunkRows < s.data.Rows(); w++ {
		b := a.block(w, stride, &s)
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.chunk(a.parts[w][:size], stride, lo+w*chunkRows, b)
		}()
	}
	wg.Wait()
}

func (s *sum) chunk(part []float64, stride, lo int, b *block) {
	clear(part)
	s.rows(part, stride, lo, min(lo+chunkRows, s.data.Rows()), b)
}

// block returns worker w's block for a sum of matrices over dense rows, else nil.
func (a *adder) block(w, stride int, s *sum) *block {
	if stride == 0 || !blocky(s.data) {
		return nil
	}
	if len(a.blocks) == 0 {
		a.blocks = make([]block, max(a.workers, 1))
	}
	a.blocks[w].resize(s.data.Dim)
	return &a.blocks[w]
}

func (a *adder) reserve(workers, size int) {
	for len(a.parts) < workers {
		a.parts = append(a.parts, nil)
	}
	for w := range workers {
		if len(a.parts[w]) < size {
			a.parts[w] = make([]float64, size)
		}
	}
}

func addTo(dst, src []float64) {
	for i, v := range src {
		dst[i] += v
	}
}

func dot(col []int32, val, y []float64) float64 {
	val = val[:len(col)]
	t := 0.0
	for k, c := range col {
		t += val[k] * y[c]
	}
	return t
}

func axpy(y []float64, alpha float64, col []int32, val []float64) {
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
