package check

import (
	"maps"
	"slices"

	"stable/bilevel"
)

// drawer is a method that draws n samples of each stream in its first step, and nothing else.
type drawer struct {
	n     [2]uint64
	names [2][]bilevel.Sample
}

func (*drawer) Name() string                                        { return "drawer" }
func (d *drawer) Start(*bilevel.Iteration) (bilevel.Stepper, error) { return d, nil }
func (*drawer) Vectors(func(name string, v []float64))              {}
func (*drawer) State(*bilevel.State)                                {}
func (d *drawer) Step(it *bilevel.Iteration) error {
	for stream, draw := range [2]func(n int) []bilevel.Sample{upper: it.DrawXi, lower: it.DrawPhi} {
		if n := d.n[stream]; n > 0 {
			d.names[stream] = slices.Clone(draw(int(n)))
		}
	}
	return nil
}

// drawn wants the samples of an unbounded stream that oracles were asked for to be some that the
// run drew, up to 2²⁰: a seed gives the same names in the same order, whatever the batches.
func (t *trial) drawn(w *watched, s *bilevel.Solver) {
	c := s.Counts()
	d := &drawer{n: [2]uint64{upper: c.Xi, lower: c.Phi}}
	if max(c.Xi, c.Phi) > 1<<20 {
		return
	}
	again, err := bilevel.New(w.Problem, d, t.opt)
	if err != nil || again.Step() != nil {
		return // the method's own run on this problem shows what is wrong
	}
	for stream, name := range samples {
		foreign := maps.Clone(w.seen[stream])
		for _, sample := range d.names[stream] {
			delete(foreign, sample)
		}
		if w.sizes[stream] == 0 && len(foreign) > 0 {
			t.breach("counts", "an oracle was asked for the sample %s = %d, which the run has not drawn: "+
				"samples must come from DrawXi and DrawPhi", name, slices.Min(slices.Collect(maps.Keys(foreign))))
		}
	}
}
