package check

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// watched is a problem that counts what it is asked for, and of which one call can go wrong.
type watched struct {
	bilevel.Problem
	sizes  [2]uint64                      // of the streams
	calls  map[string]int                 // of each oracle
	counts bilevel.Counts                 // of samples evaluated
	seen   [2]map[bilevel.Sample]struct{} // the names asked for, of each stream
	exact  [2]bool                        // an exact value was asked for
	fault  *fault                         // nil: none
	stray  string                         // says at which point that is not finite it was asked
}

// The kinds of faults.
const (
	fails = iota // the oracle returns errFault
	isNaN        // its last number is NaN
	isInf        // its first number is +Inf
)

var errFault = errors.New("an oracle was made to fail")

type fault struct {
	oracle     string
	call, kind int
	done       bool
}

func (f *fault) String() string {
	what := [...]string{fails: "fails", isNaN: "gives NaN", isInf: "gives +Inf"}[f.kind]
	return fmt.Sprintf("%s %s at its call %d", f.oracle, what, f.call)
}

func watch(p bilevel.Problem) *watched {
	w := &watched{Problem: p, calls: map[string]int{}}
	w.sizes[upper], w.sizes[lower] = p.Streams()
	for i := range w.seen {
		w.seen[i] = map[bilevel.Sample]struct{}{}
	}
	return w
}

func (w *watched) problem() bilevel.Problem {
	type withProducts struct {
		*watched
		watchedProducts
	}
	p, ok := w.Problem.(bilevel.Products)
	products := withProducts{w, watchedProducts{w, p}}
	u, ok2 := w.Problem.(bilevel.UpperGradient)
	upper := watchedUpper{w, u}
	switch {
	case ok && ok2:
		return struct {
			withProducts
			watchedUpper
		}{products, upper}
	case ok:
		return products
	case ok2:
		return struct {
			*watched
			watchedUpper
		}{w, upper}
	}
	return w
}

func (w *watched) oracles() []string { return slices.Sorted(maps.Keys(w.calls)) }

// names returns how many samples of a stream must have been drawn: of different names, or the whole
// sum.
func (w *watched) names(stream int) uint64 {
	n := uint64(len(w.seen[stream]))
	if w.exact[stream] {
		n = max(n, w.sizes[stream], 1)
	}
	return n
}

// note notes a call that has returned err, and spoils what it wrote to dst if it is its turn.
func (w *watched) note(oracle string, stream int, count *uint64, x, y []float64, batch []bilevel.Sample, err error,
	dst ...[]float64) error {
	call := w.calls[oracle]
	w.calls[oracle]++
	if len(batch) == 0 {
		w.exact[stream] = true
		*count += max(w.sizes[stream], 1)
	}
	*count += uint64(len(batch))
	for _, s := range batch {
		w.seen[stream][s] = struct{}{}
	}
	for i, v := range [2][]float64{x, y} {
		if at := mat.NotFinite(v); at >= 0 && w.stray == "" {
			w.stray = fmt.Sprintf("%s is then asked where %c[%d] is %v: call Iteration.Finite first",
				oracle, "xy"[i], at, v[at])
		}
	}
	if f := w.fault; err == nil && f != nil && f.oracle == oracle && f.call == call {
		f.done = true
		switch f.kind {
		case fails:
			return errFault
		case isNaN:
			last := dst[len(dst)-1]
			last[len(last)-1] = math.NaN()
		case isInf:
			dst[0][0] = math.Inf(1)
		}
	}
	return err
}

func (w *watched) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := w.Problem.GradF(fx, fy, x, y, xi)
	return w.note("GradF", upper, &w.counts.GradF, x, y, xi, err, fx, fy)
}

func (w *watched) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := w.Problem.GradG(gy, x, y, phi)
	return w.note("GradG", lower, &w.counts.GradG, x, y, phi, err, gy)
}

func (w *watched) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	err := w.Problem.CrossG(gxy, x, y, phi)
	return w.note("CrossG", lower, &w.counts.CrossG, x, y, phi, err, gxy.Row(0), gxy.Row(len(x)-1))
}

func (w *watched) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	err := w.Problem.HessG(gyy, x, y, phi)
	return w.note("HessG", lower, &w.counts.HessG, x, y, phi, err, gyy.Row(0), gyy.Row(len(y)-1))
}

func (w *watched) ConvexityAt(x []float64) float64 {
	if p, ok := w.Problem.(bilevel.StronglyConvex); ok {
		return p.ConvexityAt(x)
	}
	return math.Inf(-1)
}

type watchedProducts struct {
	w *watched
	p bilevel.Products
}

func (a watchedProducts) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	err := a.p.HessVecG(dst, x, y, v, phi)
	return a.w.note("HessVecG", lower, &a.w.counts.HessVecG, x, y, phi, err, dst)
}

func (a watchedProducts) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	err := a.p.CrossVecG(dst, x, y, v, phi)
	return a.w.note("CrossVecG", lower, &a.w.counts.CrossVecG, x, y, phi, err, dst)
}

type watchedUpper struct {
	w *watched
	p bilevel.UpperGradient
}

func (a watchedUpper) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	err := a.p.GradXG(gx, x, y, phi)
	return a.w.note("GradXG", lower, &a.w.counts.GradXG, x, y, phi, err, gx)
}
