package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// experiment races every entrant in every arena: first a choice of step sizes on seeds of its own,
// then the trials. Every result is a function of its key, so it does not matter how many cores,
// parts and interruptions there were.
type experiment struct {
	name       string
	describe   string // what the results depend on beyond the fields here: form and box of the weights, …
	arenas     []*arena
	entrants   []*entrant
	samples    uint64 // budget of a run, ξ and φ together
	trials     int
	tuneTrials int // runs of each setting in the choice of step sizes; 0: no choice, the first setting
	points     int // of a curve
	seed       uint64
	median     bool // curves are medians with quartiles, instead of means with standard deviations
	folder     string
	part, of   int // this process does the units i ≡ part − 1 mod of
}

// unit is one run that is to be done.
type unit struct {
	key     string
	arena   *arena
	entrant *entrant
	setting setting
	seed    uint64
	marks   []uint64
}

// Seeds of the choice and of the trials do not meet.
const tuneSeeds = 1 << 32

// tuning lists the runs for the choice of step sizes.
func (x *experiment) tuning() []unit {
	var list []unit
	marks := []uint64{x.samples * 8 / 10, x.samples * 9 / 10, x.samples}
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			for i, s := range e.grid() {
				if e.untuned {
					continue
				}
				for t := range x.tuneTrials {
					list = append(list, unit{tuneKey(a, e, i, t), a, e, s, x.seed + tuneSeeds + uint64(t), marks})
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
func (x *experiment) racing(chosen map[string]choice) []unit {
	var list []unit
	marks := spread(x.samples, x.points)
	for _, a := range x.arenas {
		for _, e := range x.entrants {
			for t := range x.trials {
				list = append(list, unit{raceKey(a, e, t), a, e, chosen[a.name+"/"+e.name].Setting, x.seed + uint64(t), marks})
			}
		}
	}
	return list
}

func raceKey(a *arena, e *entrant, t int) string {
	return fmt.Sprintf("race/%s/%s/%d", a.name, e.name, t)
}

// choice is the outcome of the choice of step sizes.
type choice struct {
	Setting  setting
	Score    float64 // mean final error over the tuning seeds
	Diverged int     // settings of which a run failed
	Tried    int
	Samples  uint64 // spent
}

// choose takes for each entrant the setting with the least mean final error.
func (x *experiment) choose(done func(key string) (trial, bool)) (map[string]choice, error) {
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
					r, ok := done(tuneKey(a, e, i, t))
					if !ok {
						return nil, errUnfinished
					}
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
	return chosen, nil
}

// errUnfinished says that runs of other parts are missing.
var errUnfinished = errors.New("not finished")

// identity is what the results in a ledger depend on, beside their keys: methods and trials may be
// added.
func (x *experiment) identity() identity {
	id := identity{Build: buildSum()}
	var names []string
	for _, a := range x.arenas {
		names = append(names, a.name)
		for _, s := range a.data {
			if !slices.Contains(id.Data, s) {
				id.Data = append(id.Data, s)
			}
		}
	}
	id.Options = fmt.Sprintf("%s on %q, %s, %d samples, %d tuning runs, %d points, seed %d", x.name, names, x.describe, x.samples, x.tuneTrials, x.points, x.seed)
	return id
}

// run does the units of this part that are not done yet. With parts, the results of all parts that
// are in the folder count, and errUnfinished says that some are missing.
func (x *experiment) run(ctx context.Context, out terminal) (map[string]choice, func(key string) (trial, bool), error) {
	l, err := openLedger(x.ledger(x.part, x.of), x.identity())
	if err != nil {
		return nil, nil, err
	}
	defer l.close()
	if err := x.work(ctx, l, x.tuning(), "choosing step sizes", out); err != nil {
		return nil, nil, err
	}
	done, err := x.results(l)
	if err != nil {
		return nil, nil, err
	}
	chosen, err := x.choose(done)
	if err != nil {
		return nil, nil, err
	}
	if err := x.work(ctx, l, x.racing(chosen), "trials", out); err != nil {
		return nil, nil, err
	}
	done, err = x.results(l)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range x.racing(chosen) {
		if _, ok := done(u.key); !ok {
			return nil, nil, errUnfinished
		}
	}
	return chosen, done, l.close()
}

func (x *experiment) ledger(part, of int) string {
	if of == 1 {
		return filepath.Join(x.folder, x.name+".ledger")
	}
	return filepath.Join(x.folder, fmt.Sprintf("%s-%d-of-%d.ledger", x.name, part, of))
}

// work does units on all cores.
func (x *experiment) work(ctx context.Context, l *ledger, units []unit, what string, out terminal) error {
	tasks := make([]task, len(units))
	for i, u := range units {
		tasks[i] = task{u.key, 1, func(ctx context.Context) (trial, error) {
			return race(ctx, u.arena, u.entrant.make(u.arena, u.setting), u.seed, u.marks)
		}}
	}
	return x.tackle(ctx, l, tasks, what, out)
}
