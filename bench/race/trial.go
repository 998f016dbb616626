package race

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"stable/bilevel"
)

// trial is one run of one method.
type trial struct {
	Error    []float64 // F(x) − F* when the marks were reached; after a failure, that of the last good iterate
	Mean     []float64 `json:",omitempty"` // the same for Solver.Mean
	Seconds  []float64 // of the method and its oracles up to there
	Evals    []float64 // evaluations of single samples, of all oracles, up to there
	End      string    `json:",omitempty"` // why the run failed
	Used     uint64    `json:",omitempty"` // samples that a run with means has used
	Steps    int
	Activity bilevel.Activity
}

// course says how far a run goes, and what is measured on the way.
type course struct {
	marks []uint64 // numbers of samples at which F is measured; the last one ends the run
	each  bool     // samples of the stream that is used more, not of both together
	mean  bool     // the running mean is measured, too
}

// used is the number of samples that counts.
func (c course) used(n bilevel.Counts) uint64 {
	if c.each {
		return max(n.Xi, n.Phi)
	}
	return n.Xi + n.Phi
}

// final is the error that a run is judged by: the mean over the last three marks, which is less a
// matter of luck than the last one. It is infinite for a run that failed.
func (t trial) final() float64 {
	if t.End != "" {
		return math.Inf(1)
	}
	last := t.Error[max(0, len(t.Error)-3):]
	var sum float64
	for _, e := range last {
		sum += e / float64(len(last))
	}
	return sum
}

// race runs a method from a random start over a course. F is computed off the clock. The result
// depends on the seed alone, but for the seconds. The error is that of a cancelled context, or of
// an exact value that could not be computed.
func race(ctx context.Context, a *arena, m bilevel.Method, seed uint64, c course) (trial, error) {
	var t trial
	p := a.fresh()
	x0, y0 := a.start(rand.New(rand.NewPCG(seed, 's')))
	s, err := bilevel.New(p, m, bilevel.Options{
		X0: x0, Y0: y0, Set: a.set, Seed: seed, UpperBatch: a.batch, LowerBatch: a.batch,
	})
	if err != nil {
		return t, err
	}
	y := make([]float64, len(y0))
	var clock time.Duration
	for start := time.Now(); len(t.Error) < len(c.marks); {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		if err := s.Step(); err != nil {
			t.End = err.Error()
		}
		used := c.used(s.Counts())
		if used < c.marks[len(t.Error)] && t.End == "" {
			continue
		}
		clock += time.Since(start)
		f, err := p.ObjectiveFrom(nil, y, s.X())
		if err != nil {
			return t, err
		}
		var fm float64
		if c.mean {
			t.Used = used
			if fm, err = p.ObjectiveFrom(nil, y, s.Mean()); err != nil {
				return t, err
			}
		}
		for len(t.Error) < len(c.marks) && (used >= c.marks[len(t.Error)] || t.End != "") {
			t.Error = append(t.Error, f-a.best)
			t.Seconds = append(t.Seconds, clock.Seconds())
			t.Evals = append(t.Evals, float64(s.Counts().Evaluations()))
			if c.mean {
				t.Mean = append(t.Mean, fm-a.best)
			}
		}
		start = time.Now()
	}
	t.Steps, t.Activity = s.K(), s.Activity()
	return t, nil
}

// spread returns n sample counts up to budget, evenly spaced on a logarithmic axis from budget/200.
func spread(budget uint64, n int) []uint64 {
	marks := make([]uint64, n)
	for i := range marks {
		marks[i] = max(2, uint64(math.Round(float64(budget)*math.Pow(200, float64(i+1-n)/float64(n-1)))))
	}
	return marks
}
