package race

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bench/kit"
	"stable/bilevel"
)

// league measures methods on many problems at several budgets. A tuned method takes, for each
// budget and for each of its two outputs, the setting with the least error over separate seeds, of
// those that fail on none of them, nor in a trial.
type league struct {
	command    string // limit or untuned
	name       string // of its files
	describe   string // what the results depend on beyond the fields here
	problems   []*problem
	entrants   []*entrant // of which a problem's field are those that it can be put to
	budgets    []uint64   // of samples, ascending
	each       bool       // samples of each kind; otherwise ξ and φ together
	trials     int
	tuneTrials int  // runs of each of the best settings in the choice of step sizes
	exhaustive bool // the choice tries every setting at every budget; see keeps
	seed       uint64
	folder     string
	share      kit.Share
}

// arenas are those of the problems.
func (l *league) arenas() []*arena {
	var list []*arena
	for _, p := range l.problems {
		list = append(list, p.arena)
	}
	return list
}

// outputs names the results of a run: its last iterate, and the running mean of all.
var outputs = [2]string{"last", "mean"}

// course is a run up to a budget. At each budget from from on, the error is measured at three
// marks. A choice takes their mean, which depends less on luck than the last one.
func (l *league) course(from, upto int) course {
	c := course{each: l.each, mean: true}
	for _, b := range l.budgets[from : upto+1] {
		c.marks = append(c.marks, b*8/10, b*9/10, b)
	}
	return c
}

// at returns the error of an output at a budget, the ith that the run was measured at, as the mean
// over its marks or that at the last one; +Inf where the run failed before.
func (t trial) at(budget uint64, i, output int, last bool) float64 {
	if t.End != "" && t.Used < budget {
		return math.Inf(1)
	}
	e := t.Error
	if output == 1 {
		e = t.Mean
	}
	if last {
		return e[3*i+2]
	}
	return (e[3*i] + e[3*i+1] + e[3*i+2]) / 3
}

// run is one run of an entrant with a setting, measured at the budgets from one to another. A
// method that refuses the problem fails at the start.
func (l *league) run(key string, p *problem, e *entrant, s setting, seed uint64,
	from, upto int) kit.Task[trial] {
	cost := float64(l.budgets[upto]) * p.work
	return kit.Task[trial]{Key: key, Cost: cost, Run: func(ctx context.Context) (trial, error) {
		t, err := race(ctx, p.of(e), e.make(p.of(e), s), seed, l.course(from, upto))
		if errors.Is(err, bilevel.ErrOption) {
			return trial{End: err.Error()}, nil
		}
		return t, err
	}}
}

func (l *league) trialKey(p *problem, e *entrant, setting, upto, t int) string {
	return fmt.Sprintf("trial/%s/%s/%d/%d/%d", p.name, e.name, setting, l.budgets[upto], t)
}

// racing lists the trials, with the settings that have been chosen.
func (l *league) racing(chosen map[place]*picks) []kit.Task[trial] {
	var list []kit.Task[trial]
	for _, p := range l.problems {
		for _, e := range p.field {
			upto := chosen[place{p.name, e.name}].lengths()
			for i, s := range e.grid() {
				b, ok := upto[i]
				for t := 0; ok && t < l.trials; t++ {
					list = append(list, l.run(l.trialKey(p, e, i, b, t), p, e, s, l.seed+uint64(t), 0, b))
				}
			}
		}
	}
	return list
}

// result is the mean error of an output of an entrant on a problem at a budget.
type result struct {
	kit.Estimate
	diverged int          // trials that failed before; the mean is +Inf then
	held     kit.Estimate // with the last good iterates of these
	setting  int
	out      bool // of the race: no trials, and the mean is NaN
}

// result combines the trials.
func (l *league) result(p *problem, e *entrant, b, output int,
	chosen map[place]*picks, done map[string]trial) result {
	c := chosen[place{p.name, e.name}]
	if b >= c.in {
		return result{Estimate: kit.Estimate{Mean: math.NaN(), Half: math.NaN()}, out: true}
	}
	r := result{setting: c.rank[b][output][0]}
	upto := c.lengths()[r.setting]
	var errs []float64
	for t := range l.trials {
		v := done[l.trialKey(p, e, r.setting, upto, t)]
		if math.IsInf(v.at(l.budgets[b], b, output, true), 1) {
			r.diverged++
		}
		if v.End != "" && v.Error != nil {
			v.End = "" // the marks behind the failure have the last good iterate
		}
		errs = append(errs, max(v.at(l.budgets[b], b, output, true), p.floor()))
	}
	r.Estimate = kit.Estimate{Mean: math.Inf(1), Half: math.Inf(1)}
	if r.held = r.Estimate; !math.IsInf(slices.Max(errs), 1) {
		r.held = kit.MeanOf(errs)
	}
	if r.diverged == 0 {
		r.Estimate = r.held
	}
	return r
}

// identity is what results depend on besides their keys.
func (l *league) identity() kit.Identity {
	id := kit.Identity{Build: kit.Build()}
	var names []string
	for _, p := range l.problems {
		names = append(names, p.name)
		for _, s := range p.data {
			if !slices.Contains(id.Data, s) {
				id.Data = append(id.Data, s)
			}
		}
	}
	id.Options = fmt.Sprintf("%s on %q, %s, budgets %v, %d tuning runs, seed %d",
		l.name, names, l.describe, l.budgets, l.tuneTrials, l.seed)
	return id
}

// play does the missing runs of this share, and returns all of its results.
func (l *league) play(ctx context.Context, out kit.Terminal) (
	chosen map[place]*picks, done map[string]trial, err error) {
	c, err := kit.Open[trial](l.folder, l.name, l.identity(), l.share)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if chosen, err = l.choose(ctx, c, out); err != nil {
		return nil, nil, err
	}
	for {
		done, err = c.Complete(ctx, l.racing(chosen), "trials", out)
		if err != nil || !l.fallBack(chosen, done) {
			return chosen, done, err
		}
	}
}
