package check

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// call is a call of an oracle: what it reads, and what it writes, in dst but for GradF and matrices.
type call struct {
	oracle               string
	fx, fy, dst, x, y, v []float64
	gxy                  *mat.Dense
	gyy                  *mat.Sym
	batch                []bilevel.Sample
}

func (c call) ends() (first, last []float64) {
	switch {
	case c.fx != nil:
		return c.fx, c.fy
	case c.gxy != nil:
		return c.gxy.Row(0), c.gxy.Row(c.gxy.Rows - 1)
	case c.gyy != nil:
		return c.gyy.Row(0), c.gyy.Row(c.gyy.N - 1)
	}
	return c.dst, c.dst
}

// through is a problem of which around makes each call of an oracle, by ask.
type through struct {
	*bilevel.Completed
	around func(c call, ask func(batch []bilevel.Sample) error) error
}

func (p *through) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return p.around(call{oracle: "GradF", fx: fx, fy: fy, x: x, y: y, batch: xi},
		func(xi []bilevel.Sample) error { return p.Completed.GradF(fx, fy, x, y, xi) })
}

func (p *through) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "GradG", dst: gy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.GradG(gy, x, y, phi) })
}

func (p *through) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "CrossG", gxy: gxy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.CrossG(gxy, x, y, phi) })
}

func (p *through) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "HessG", gyy: gyy, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.HessG(gyy, x, y, phi) })
}

func (p *through) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "HessVecG", dst: dst, x: x, y: y, v: v, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.HessVecG(dst, x, y, v, phi) })
}

func (p *through) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "CrossVecG", dst: dst, x: x, y: y, v: v, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.CrossVecG(dst, x, y, v, phi) })
}

func (p *through) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	return p.around(call{oracle: "GradXG", dst: gx, x: x, y: y, batch: phi},
		func(phi []bilevel.Sample) error { return p.Completed.GradXG(gx, x, y, phi) })
}

type watched struct {
	through
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

func (f *fault) on(c call) error {
	f.done, f.x, f.y = true, slices.Clone(c.x), slices.Clone(c.y)
	first, last := c.ends()
	switch {
	case f.err != nil:
	case math.IsNaN(f.value):
		last[len(last)-1] = f.value
	default:
		first[0] = f.value
	}
	return f.err
}

func watch(p bilevel.Problem) *watched {
	w := &watched{through: through{Completed: bilevel.Complete(p)}, calls: map[string]int{}}
	w.around = w.note
	w.sizes[upper], w.sizes[lower] = p.Streams()
	for i := range w.seen {
		w.seen[i] = map[bilevel.Sample]struct{}{}
	}
	return w
}

// problem returns w with the problem's products and g_x, and ConvexityAt.
func (w *watched) problem() bilevel.Problem {
	type convex struct {
		bilevel.Problem
		bilevel.StronglyConvex
	}
	type products struct {
		convex
		bilevel.Products
	}
	p := convex{w, w}
	_, has := w.Problem.(bilevel.Products)
	_, upper := w.Problem.(bilevel.UpperGradient)
	switch {
	case has && upper:
		return struct {
			products
			bilevel.UpperGradient
		}{products{p, w}, w}
	case has:
		return products{p, w}
	case upper:
		return struct {
			convex
			bilevel.UpperGradient
		}{p, w}
	}
	return p
}

func (w *watched) note(c call, ask func(batch []bilevel.Sample) error) error {
	err := ask(c.batch)
	n := w.calls[c.oracle]
	w.calls[c.oracle]++
	stream, asked := lower, uint64(len(c.batch))
	if c.oracle == "GradF" {
		stream = upper
	}
	if asked == 0 {
		w.exact[stream] = true
		asked = max(w.sizes[stream], 1)
	}
	count := reflect.ValueOf(&w.counts).Elem().FieldByName(c.oracle)
	count.SetUint(count.Uint() + asked)
	for _, s := range c.batch {
		w.seen[stream][s] = struct{}{}
	}
	for i, v := range [2][]float64{c.x, c.y} {
		if at := mat.NotFinite(v); at >= 0 && w.stray == "" {
			w.stray = fmt.Sprintf("%s is then asked where %c[%d] is %v: call Iteration.Finite first",
				c.oracle, "xy"[i], at, v[at])
		}
	}
	if f := w.fault; f != nil && f.oracle == c.oracle {
		f.again = f.again || f.done && !f.at(c.x, c.y)
		if err == nil && f.call == n {
			return f.on(c)
		}
	}
	return err
}

type starter func(it *bilevel.Iteration)

func (starter) Name() string                                           { return "starter" }
func (f starter) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { f(it); return nil, nil }

// drawn wants samples of an unbounded stream to be those that the run drew, if at most 2²⁰: a seed
// gives the same names in the same order, whatever the batches.
func (t *trial) drawn(w *watched, s *bilevel.Solver) {
	c := s.Counts()
	if max(c.Xi, c.Phi) > 1<<20 {
		return
	}
	_, _ = bilevel.New(w.Problem, starter(func(it *bilevel.Iteration) {
		for stream, names := range [2][]bilevel.Sample{upper: it.DrawXi(int(c.Xi)), lower: it.DrawPhi(int(c.Phi))} {
			for _, name := range names {
				delete(w.seen[stream], name)
			}
			if foreign := w.seen[stream]; w.sizes[stream] == 0 && len(foreign) > 0 {
				t.breach("counts", "an oracle was asked for the sample %s = %d, which the run has not drawn: "+
					"samples must come from DrawXi and DrawPhi", samples[stream], slices.Min(slices.Collect(maps.Keys(foreign))))
			}
		}
	}), t.Options)
}
