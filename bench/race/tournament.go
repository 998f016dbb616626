package race

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel"
)

// tournament chooses step sizes for each budget and output, and makes trials with them.
type tournament struct {
	flags
	name, file string // the command's, and of files
	describe   string // what else results depend on
	problems   []*problem
	entrants   []*entrant
	budgets    []uint64     // of samples, ascending
	marks      []uint64     // of trials, the budgets among them
	each       bool         // the larger count of ξ and φ counts, not the sum
	mean       bool         // with the running mean
	median     bool         // curves are medians with quartiles
	given      rivals       // instead of this race's
	selections []*selection // problem by problem
	done       map[string]trial
}

const tuneSeeds = 1 << 32

func (t *tournament) outputs() []string {
	if t.mean {
		return []string{"last", "mean"}
	}
	return []string{"last"}
}

func (t *tournament) task(key string, s *selection, setting int, seed uint64, marks []uint64) kit.Task[trial] {
	return kit.Task[trial]{Key: key, Cost: float64(kit.Last(marks)) * s.work,
		Run: func(ctx context.Context) (trial, error) {
			e, p := s.entrant, s.of(s.entrant)
			return t.run(ctx, p, e.make(p, e.grid()[setting]), seed, marks)
		}}
}

func (t *tournament) trialKey(s *selection, setting, upto, i int) string {
	return fmt.Sprintf("trial/%s/%s/%d/%d/%d", s.name, s.entrant.Name, setting, t.budgets[upto], i)
}

func (t *tournament) mark(b int) int { return slices.Index(t.marks, t.budgets[b]) }

func (t *tournament) racing() (list []kit.Task[trial]) {
	for _, s := range t.selections {
		upto := s.longest()
		for _, setting := range slices.Sorted(maps.Keys(upto)) {
			b := upto[setting]
			for i := range t.trials {
				list = append(list, t.task(t.trialKey(s, setting, b, i), s, setting, t.Seed+uint64(i),
					t.marks[:t.mark(b)+1]))
			}
		}
	}
	return list
}

func (t *tournament) trialsOf(s *selection, b, output int) (list []trial) {
	setting := s.rank[b][output][0]
	upto := s.longest()[setting]
	for i := range t.trials {
		list = append(list, t.done[t.trialKey(s, setting, upto, i)])
	}
	return list
}

type result struct {
	kit.Estimate
	diverged      int          // trials that failed before; the mean is +Inf then
	held          kit.Estimate // with their last good iterates
	setting       int
	out           bool
	evals, micros float64 // a sample, of trials that did not fail
}

func (t *tournament) result(s *selection, b, output int) result {
	if nan := math.NaN(); b >= s.in {
		return result{Estimate: kit.Estimate{Mean: nan, Half: nan}, out: true, evals: nan, micros: nan}
	}
	r := result{setting: s.rank[b][output][0]}
	mark, samples := t.mark(b), 0.0
	var errs []float64
	for _, v := range t.trialsOf(s, b, output) {
		if mark >= v.Reached {
			r.diverged++
		}
		errs = append(errs, max(v.held(output, mark), s.floor()))
		if v.End == "" {
			r.evals, r.micros, samples = r.evals+v.Evals[mark], r.micros+1e6*v.Seconds[mark], samples+float64(t.budgets[b])
		}
	}
	r.evals, r.micros = r.evals/samples, r.micros/samples
	r.Estimate = kit.Estimate{Mean: math.Inf(1), Half: math.Inf(1)}
	if r.held = r.Estimate; !math.IsInf(slices.Max(errs), 1) {
		r.held = kit.MeanOf(errs)
	}
	if r.diverged == 0 {
		r.Estimate = r.held
	}
	return r
}

type row struct {
	*selection
	budget, output int
	result
}

func (t *tournament) rows() (list []row) {
	for _, s := range t.selections {
		for o := range t.outputs() {
			for b := range t.budgets {
				list = append(list, row{s, b, o, t.result(s, b, o)})
			}
		}
	}
	return list
}

func (r row) told() string {
	if r.out {
		return "out of the race"
	}
	text, _ := r.entrant.describe(r.of(r.entrant), r.entrant.grid()[r.setting])
	return text
}

func (r row) failed() string {
	switch {
	case r.out:
		return "out"
	case r.diverged > 0:
		return fmt.Sprintf("diverged (%d)", r.diverged)
	}
	return ""
}

func (r row) perSample() string { return fmt.Sprintf("%.3g, %.2g", r.evals, r.micros) }

// fallBack puts the next choice for settings of which a trial failed, and says if there was one.
func (t *tournament) fallBack() bool {
	var failed []*[]int
	for _, r := range t.rows() {
		if r.diverged > 0 && len(r.rank[r.budget][r.output]) > 1 {
			failed = append(failed, &r.rank[r.budget][r.output])
		}
	}
	for _, list := range failed { // not before: results are of the settings as they stood
		*list = (*list)[1:]
	}
	return len(failed) > 0
}

// identity leaves out methods and trials, which are in the keys and may be added.
func (t *tournament) identity() kit.Identity {
	id := kit.Identity{Build: kit.Build()}
	var names []string
	for _, p := range t.problems {
		name := p.name
		if t.given != nil { // its files may know a lower F*, of which errors are counted
			name += fmt.Sprintf(", F* = %v", p.best)
		}
		names = append(names, name)
		for _, s := range p.data {
			if !slices.Contains(id.Data, s) {
				id.Data = append(id.Data, s)
			}
		}
	}
	id.Options = fmt.Sprintf("%s on %q, %s, budgets %v, %d marks, %d tuning runs, seed %d",
		t.name, names, t.describe, t.budgets, len(t.marks), t.tune, t.Seed)
	return id
}

func (t *tournament) play(ctx context.Context, c *kit.Campaign[trial], out kit.Terminal) (err error) {
	for err = t.choose(ctx, c, out); err == nil; {
		if t.done, err = c.Complete(ctx, t.racing(), "trials", out); err == nil && !t.fallBack() {
			return nil
		}
	}
	return err
}

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
	idle, drawn := 0, uint64(0) // steps since the last sample, and samples then
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
		if idle++; used > drawn {
			idle, drawn = 0, used
		} else if idle == 1e5 && v.End == "" {
			v.End = "100000 steps in a row drew no sample"
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

func spread(budget uint64, n int) []uint64 {
	return kit.Map(kit.Ratios(float64(budget)/200, float64(budget), n), func(v float64) uint64 {
		return max(2, uint64(math.Round(v)))
	})
}
