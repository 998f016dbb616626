package race

import (
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
	tuneTrials int // runs of each setting in the choice of step sizes; 0: no choice, the first setting
	points     int // of a curve
	seed       uint64
	median     bool // curves are medians with quartiles, instead of means with standard deviations
	folder     string
	share      kit.Share
}

// tuneSeeds keeps the seeds of the choice apart from those of the trials.
const tuneSeeds = 1 << 32

// tuning lists the runs for the choice of step sizes.
func (x *experiment) tuning() []kit.Task[trial] {
	var list []kit.Task[trial]
	c := course{marks: []uint64{x.samples * 8 / 10, x.samples * 9 / 10, x.samples}}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			for i, s := range e.grid() {
				if e.untuned {
					continue
				}
				for t := range x.tuneTrials {
					list = append(list, task(tuneKey(a, e, i, t), a, e, s, x.seed+tuneSeeds+uint64(t), c))
				}
			}
		}
	}
	return list
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
				s := chosen[a.name+"/"+e.name].Setting
				list = append(list, task(raceKey(a, e, t), a, e, s, x.seed+uint64(t), c))
			}
		}
	}
	return list
}

func raceKey(a *arena, e *entrant, t int) string {
	return fmt.Sprintf("race/%s/%s/%d", a.name, e.name, t)
}

// task is one run of an entrant with a setting.
func task(key string, a *arena, e *entrant, s setting, seed uint64, c course) kit.Task[trial] {
	return kit.Task[trial]{Key: key, Cost: 1, Run: func(ctx context.Context) (trial, error) {
		return race(ctx, a, e.make(a, s), seed, c)
	}}
}

// choice is the outcome of the choice of step sizes.
type choice struct {
	Setting  setting
	Score    float64 // mean final error over the tuning seeds
	Diverged int     // settings of which a run failed
	Tried    int
	Samples  uint64 // spent
}

// choose returns, for each entrant, the setting with the least mean final error.
func (x *experiment) choose(done map[string]trial) map[string]choice {
	chosen := map[string]choice{}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			c := choice{Setting: e.grid()[0], Score: math.Inf(1)}
			for i, s := range e.grid() {
				if e.untuned || x.tuneTrials == 0 {
					break
				}
				score, failed := 0.0, false
				for t := range x.tuneTrials {
					r := done[tuneKey(a, e, i, t)]
					score += r.final() / float64(x.tuneTrials)
					failed = failed || r.End != ""
					c.Samples += x.samples
				}
				c.Tried++
				if failed {
					c.Diverged++
				}
				if score < c.Score {
					c.Setting, c.Score = s, score
				}
			}
			chosen[a.name+"/"+e.name] = c
		}
	}
	return chosen
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
	if done, err = c.Complete(ctx, x.tuning(), "choosing step sizes", out); err != nil {
		return nil, nil, err
	}
	chosen = x.choose(done)
	done, err = c.Complete(ctx, x.racing(chosen), "trials", out)
	return chosen, done, err
}
