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
	full   *bilevel.Completed             // the same problem
	sizes  [2]uint64                      // of the streams
	calls  map[string]int                 // of each oracle
	counts bilevel.Counts                 // of samples evaluated
	seen   [2]map[bilevel.Sample]struct{} // the names asked for, of each stream
	exact  [2]bool                        // an exact value was asked for
	fault  *fault                         // nil: none
	stray  string                         // says at which point that is not finite it was asked
}

var (
	errFault   = errors.New("an oracle was made to fail")
	errOutside = fmt.Errorf("an oracle was made to fail: %w", bilevel.ErrDomain)
)

type fault struct {
	oracle string
	call   int
	err    error   // returned, or nil
	value  float64 // else the last number, or the first one if it is infinite
	done   bool
	x, y   []float64 // where it was
	again  bool      // the oracle was asked elsewhere after that
}

func (f *fault) String() string {
	what := fmt.Sprintf("gives %v", f.value)
	switch f.err {
	case errFault:
		what = "fails"
	case errOutside:
		what = "gives ErrDomain"
	}
	return fmt.Sprintf("%s %s at its call %d", f.oracle, what, f.call)
}

func (f *fault) at(x, y []float64) bool { return slices.Equal(f.x, x) && slices.Equal(f.y, y) }

func watch(p bilevel.Problem) *watched {
	w := &watched{Problem: p, full: bilevel.Complete(p), calls: map[string]int{}}
	w.sizes[upper], w.sizes[lower] = p.Streams()
	for i := range w.seen {
		w.seen[i] = map[bilevel.Sample]struct{}{}
	}
	return w
}

// problem returns w with the optional oracles that the problem has.
func (w *watched) problem() bilevel.Problem {
	_, products := w.Problem.(bilevel.Products)
	_, upper := w.Problem.(bilevel.UpperGradient)
	switch {
	case products && upper:
		return struct {
			watchedProducts
			watchedUpper
		}{watchedProducts{w}, watchedUpper{w}}
	case products:
		return watchedProducts{w}
	case upper:
		return struct {
			*watched
			watchedUpper
		}{w, watchedUpper{w}}
	}
	return w
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
	f := w.fault
	if f != nil && f.done && f.oracle == oracle && !f.at(x, y) {
		f.again = true
	}
	if err == nil && f != nil && f.oracle == oracle && f.call == call {
		f.done, f.x, f.y = true, slices.Clone(x), slices.Clone(y)
		v, i := dst[0], 0
		if math.IsNaN(f.value) {
			v = dst[len(dst)-1]
			i = len(v) - 1
		}
		if f.err == nil {
			v[i] = f.value
		}
		return f.err
	}
	return err
}

func (w *watched) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return w.note("GradF", upper, &w.counts.GradF, x, y, xi, w.full.GradF(fx, fy, x, y, xi), fx, fy)
}

func (w *watched) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return w.note("GradG", lower, &w.counts.GradG, x, y, phi, w.full.GradG(gy, x, y, phi), gy)
}

func (w *watched) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return w.note("CrossG", lower, &w.counts.CrossG, x, y, phi, w.full.CrossG(gxy, x, y, phi), gxy.Row(0), gxy.Row(len(x)-1))
}

func (w *watched) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return w.note("HessG", lower, &w.counts.HessG, x, y, phi, w.full.HessG(gyy, x, y, phi), gyy.Row(0), gyy.Row(len(y)-1))
}

func (w *watched) ConvexityAt(x []float64) float64 { return w.full.ConvexityAt(x) }

type watchedProducts struct{ *watched }

func (w watchedProducts) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return w.note("HessVecG", lower, &w.counts.HessVecG, x, y, phi, w.full.HessVecG(dst, x, y, v, phi), dst)
}

func (w watchedProducts) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return w.note("CrossVecG", lower, &w.counts.CrossVecG, x, y, phi, w.full.CrossVecG(dst, x, y, v, phi), dst)
}

type watchedUpper struct{ w *watched }

func (u watchedUpper) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	err := u.w.full.GradXG(gx, x, y, phi)
	return u.w.note("GradXG", lower, &u.w.counts.GradXG, x, y, phi, err, gx)
}

// drawer is a method that draws n samples of each stream in its first step, and takes them out of
// foreign.
type drawer struct {
	n       [2]uint64
	foreign [2]map[bilevel.Sample]struct{}
}

func (*drawer) Name() string                                        { return "drawer" }
func (d *drawer) Start(*bilevel.Iteration) (bilevel.Stepper, error) { return d, nil }
func (*drawer) Vectors(func(name string, v []float64))              {}
func (*drawer) State(*bilevel.State)                                {}
func (d *drawer) Step(it *bilevel.Iteration) error {
	for stream, draw := range [2]func(n int) []bilevel.Sample{upper: it.DrawXi, lower: it.DrawPhi} {
		if n := d.n[stream]; n > 0 {
			for _, sample := range draw(int(n)) {
				delete(d.foreign[stream], sample)
			}
		}
	}
	return nil
}

// drawn wants oracles to be asked for samples of an unbounded stream that the run drew, of up to
// 2²⁰: a seed gives the same names in the same order, whatever the batches.
func (t *trial) drawn(w *watched, s *bilevel.Solver) {
	c := s.Counts()
	d := &drawer{n: [2]uint64{upper: c.Xi, lower: c.Phi}, foreign: w.seen}
	if max(c.Xi, c.Phi) > 1<<20 {
		return
	}
	again, err := bilevel.New(w.Problem, d, t.opt)
	if err != nil || again.Step() != nil {
		return // the method's own run on this problem shows what is wrong
	}
	for stream, foreign := range d.foreign {
		if w.sizes[stream] == 0 && len(foreign) > 0 {
			t.breach("counts", "an oracle was asked for the sample %s = %d, which the run has not drawn: "+
				"samples must come from DrawXi and DrawPhi", samples[stream], slices.Min(slices.Collect(maps.Keys(foreign))))
		}
	}
}
