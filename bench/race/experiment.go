package race

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bench/kit"
)

// experiment races every entrant in every arena: first a choice of step sizes on separate seeds,
// then the trials.
type experiment struct {
	name       string
	describe   string // what the results depend on beyond the fields here: form and bounds of the weights, …
	arenas     []*arena
	entrants   []*entrant
	samples    uint64 // budget of a run, ξ and φ together
	trials     int
	tuneTrials int  // runs of each of the best settings in the choice of step sizes
	exhaustive bool // … and of all others
	points     int  // of a curve
	seed       uint64
	median     bool // curves are medians with quartiles, instead of means with standard deviations
	folder     string
	share      kit.Share
}

// tuneSeeds keeps the seeds of the choice apart from those of the trials.
const tuneSeeds = 1 << 32

// tuning lists the runs for the choice of step sizes: the first of every setting, or the others of
// those in the final.
func (x *experiment) tuning(final map[string][]int) []kit.Task[trial] {
	var list []kit.Task[trial]
	c := course{marks: []uint64{x.samples * 8 / 10, x.samples * 9 / 10, x.samples}}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			for i, s := range e.grid() {
				for t := range x.runs(a, e, i, final) {
					list = append(list, task(tuneKey(a, e, i, t), a, e, s, x.seed+tuneSeeds+uint64(t), c))
				}
			}
		}
	}
	return list
}

// runs is how many runs of a setting the choice has.
func (x *experiment) runs(a *arena, e *entrant, setting int, final map[string][]int) int {
	switch {
	case e.untuned:
		return 0
	case x.exhaustive || slices.Contains(final[a.name+"/"+e.name], setting):
		return x.tuneTrials
	}
	return 1
}

func tuneKey(a *arena, e *entrant, setting, t int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d", a.name, e.name, setting, t)
}

// racing lists the trials, with the settings that have been chosen.
func (x *experiment) racing(chosen map[string]choice) []kit.Task[trial] {
	var list []kit.Task[trial]
	c := course{marks: spread(x.samples, x.points)}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			for t := range x.trials {
				i := chosen[a.name+"/"+e.name].rank[0]
				list = append(list, task(raceKey(a, e, i, t), a, e, e.grid()[i], x.seed+uint64(t), c))
			}
		}
	}
	return list
}

func raceKey(a *arena, e *entrant, setting, t int) string {
	return fmt.Sprintf("race/%s/%s/%d/%d", a.name, e.name, setting, t)
}

// task is one run of an entrant with a setting.
func task(key string, a *arena, e *entrant, s setting, seed uint64, c course) kit.Task[trial] {
	return kit.Task[trial]{Key: key, Cost: 1, Run: func(ctx context.Context) (trial, error) {
		return race(ctx, a, e.make(a, s), seed, c)
	}}
}

// choice is the outcome of the choice of step sizes.
type choice struct {
	Diverged int // settings of which a run failed
	Tried    int
	Samples  uint64 // spent
	rank     []int  // settings to race, the first one first: see tries
}

// choose returns, for each entrant, the settings with the least geometric mean of their final errors,
// those with more runs first, and at most n. One that failed is among them only if all did.
func (x *experiment) choose(done map[string]trial, final map[string][]int, n int) map[string]choice {
	chosen := map[string]choice{}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			var c choice
			grid := e.grid()
			score, behind := make([]float64, len(grid)), make([]int, len(grid))
			for i := range grid {
				c.rank = append(c.rank, i)
				runs, failed := x.runs(a, e, i, final), false
				for t := range runs {
					r := done[tuneKey(a, e, i, t)]
					score[i] += math.Log(max(r.final(), a.floor())) / float64(runs)
					failed = failed || r.End != ""
					c.Samples += x.samples
				}
				c.Tried += min(runs, 1)
				if behind[i] = -runs; failed {
					c.Diverged++
					behind[i] = 0
				}
			}
			slices.SortStableFunc(c.rank, func(i, j int) int {
				return cmp.Or(behind[i]-behind[j], cmp.Compare(score[i], score[j]))
			})
			c.rank = runners(c.rank, func(i int) bool { return math.IsInf(score[i], 1) }, n)
			chosen[a.name+"/"+e.name] = c
		}
	}
	return chosen
}

// fallBack takes, in place of a setting of which a trial failed, the next one in the choice, and says
// whether there was one: then its trials are to be done.
func (x *experiment) fallBack(chosen map[string]choice, done map[string]trial) (again bool) {
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			c := chosen[a.name+"/"+e.name]
			if len(c.rank) > 1 && x.summarise(a, e, chosen, done).failed > 0 {
				c.rank = c.rank[1:]
				chosen[a.name+"/"+e.name], again = c, true
			}
		}
	}
	return again
}

// identity is what results depend on besides their keys, so that methods and trials can be added.
func (x *experiment) identity() kit.Identity {
	id := kit.Identity{Build: kit.Build()}
	var names []string
	for _, a := range x.arenas {
		names = append(names, a.name)
		for _, s := range a.data {
			if !slices.Contains(id.Data, s) {
				id.Data = append(id.Data, s)
			}
		}
	}
	id.Options = fmt.Sprintf("%s on %q, %s, %d samples, %d tuning runs, %d points, seed %d",
		x.name, names, x.describe, x.samples, x.tuneTrials, x.points, x.seed)
	return id
}

// run does the missing runs of this share, and returns all of its results.
func (x *experiment) run(ctx context.Context, out kit.Terminal) (
	chosen map[string]choice, done map[string]trial, err error) {
	c, err := kit.Open[trial](x.folder, x.name, x.identity(), x.share)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	const what = "choosing step sizes"
	final := map[string][]int{}
	if done, err = c.Complete(ctx, x.tuning(final), what, out); err != nil {
		return nil, nil, err
	}
	for key, c := range x.choose(done, final, finalists(100)) {
		final[key] = c.rank
	}
	if done, err = c.Complete(ctx, x.tuning(final), what+", the best", out); err != nil {
		return nil, nil, err
	}
	for chosen = x.choose(done, final, tries); ; {
		done, err = c.Complete(ctx, x.racing(chosen), "trials", out)
		if err != nil || !x.fallBack(chosen, done) {
			return chosen, done, err
		}
	}
}
