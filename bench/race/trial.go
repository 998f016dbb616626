package race

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"stable/bilevel"
)

// trial is one run, measured at marks. Behind a failure stand the errors of the last good iterate.
type trial struct {
	Error   []float64 // F(x) − F*
	Mean    []float64 `json:",omitempty"` // the same for Solver.Mean
	Seconds []float64
	Evals   []float64 // of all oracles
	Reached int       // marks before a failure
	End     string    `json:",omitempty"` // why it failed
}

// held is an error at a mark; +Inf for a method that refused the problem.
func (t trial) held(output, mark int) float64 {
	errs := [2][]float64{t.Error, t.Mean}[output]
	if mark >= len(errs) {
		return math.Inf(1)
	}
	return errs[mark]
}

// at is held, or +Inf where the run failed before.
func (t trial) at(output, mark int) float64 {
	if mark >= t.Reached {
		return math.Inf(1)
	}
	return t.held(output, mark)
}

// run runs a method from a random start to the last mark, with F off the clock. A method that refuses
// the problem has failed at the start; errors are a cancelled context, and exact values that fail.
func (t *tournament) run(ctx context.Context, p *problem, m bilevel.Method, seed uint64, marks []uint64) (v trial, err error) {
	f := p.fresh()
	x0, y0 := p.start(rand.New(rand.NewPCG(seed, 's')))
	s, err := bilevel.New(f, m, bilevel.Options{
		X0: x0, Y0: y0, Set: p.set, Seed: seed, UpperBatch: p.batch, LowerBatch: p.batch,
	})
	if errors.Is(err, bilevel.ErrOption) {
		return trial{End: err.Error()}, nil
	}
	if err != nil {
		return v, err
	}
	y := make([]float64, len(y0))
	var clock time.Duration
	for start := time.Now(); len(v.Error) < len(marks); {
		if err := ctx.Err(); err != nil {
			return v, err
		}
		if err := s.Step(); err != nil {
			v.End = err.Error()
		}
		n := s.Counts()
		used := n.Xi + n.Phi
		if t.each {
			used = max(n.Xi, n.Phi)
		}
		if used < marks[len(v.Error)] && v.End == "" {
			continue
		}
		clock += time.Since(start)
		last, err := f.ObjectiveFrom(nil, y, s.X())
		if err != nil {
			return v, err
		}
		var mean float64
		if t.mean {
			if mean, err = f.ObjectiveFrom(nil, y, s.Mean()); err != nil {
				return v, err
			}
		}
		for len(v.Error) < len(marks) && (used >= marks[len(v.Error)] || v.End != "") {
			v.Error = append(v.Error, last-p.best)
			if t.mean {
				v.Mean = append(v.Mean, mean-p.best)
			}
			v.Seconds = append(v.Seconds, clock.Seconds())
			v.Evals = append(v.Evals, float64(n.Evaluations()))
			if v.End == "" {
				v.Reached = len(v.Error)
			}
		}
		start = time.Now()
	}
	return v, nil
}

// spread returns n sample counts up to budget, evenly spaced on a logarithmic axis from budget/200.
func spread(budget uint64, n int) []uint64 {
	marks := make([]uint64, n)
	for i := range marks {
		marks[i] = max(2, uint64(math.Round(float64(budget)*math.Pow(200, float64(i+1-n)/float64(n-1)))))
	}
	return marks
}
