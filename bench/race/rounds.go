package race

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bench/kit"
)

// A choice of step sizes goes in rounds, one a budget (successive halving: Jamieson & Talwalkar,
// AISTATS 2016). All settings of an entrant run to the first budget. The best of them, by their
// last iterates and by their means in turn, run anew to the next one. Methods for finite sums alone
// have hardly begun at the first budgets, when they have read a sum once: all of their settings run
// to every budget.
//
// keeps are how many go on to the second budget, to the third, and so on.
var keeps = []int{30, 10, 5}

// outOfRace is the factor on the best rival's error in the choice beyond which a rival is out of
// the race on a problem. From the second budget on, such a rival has no trial there, and runs no
// further.
const outOfRace = 10

// place is a problem and an entrant in it.
type place struct{ problem, entrant string }

// picks are those of one entrant on one problem.
type picks struct {
	best     [][2]int     // numbers of settings in the entrant's grid, for each budget and output
	least    [][2]float64 // their errors in the choice
	going    []int        // settings of the next round, ascending
	diverged int          // settings of which a run failed
	in       int          // budgets to which it is in the race: the first ones
}

// lengths returns, for each setting that was chosen, the largest budget for which it was.
func (c *picks) lengths() map[int]int {
	upto := map[int]int{}
	for b, pair := range c.best[:c.in] {
		for _, i := range pair {
			upto[i] = b
		}
	}
	return upto
}

// begin puts every setting of every entrant into the race.
func (l *league) begin() map[place]*picks {
	all := map[place]*picks{}
	for _, p := range l.problems {
		for _, e := range p.field {
			n := len(l.budgets)
			c := &picks{in: n, best: make([][2]int, n), least: make([][2]float64, n)}
			for i := range e.grid() {
				c.going = append(c.going, i)
			}
			all[place{p.name, e.name}] = c
		}
	}
	return all
}

func (l *league) choiceKey(p *problem, e *entrant, setting, b, t int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d/%d", p.name, e.name, setting, l.budgets[b], t)
}

// tuning lists the runs of one round.
func (l *league) tuning(b int, field map[place]*picks) []kit.Task[trial] {
	var list []kit.Task[trial]
	for _, p := range l.problems {
		for _, e := range p.field {
			c := field[place{p.name, e.name}]
			if e.untuned || c.in <= b {
				continue
			}
			grid := e.grid()
			for _, i := range c.going {
				for t := range l.tuneTrials {
					seed := l.seed + tuneSeeds + uint64(t)
					list = append(list, l.run(l.choiceKey(p, e, i, b, t), p, e, grid[i], seed, b, b))
				}
			}
		}
	}
	return list
}

// judge takes the settings with the least mean error of a round, says which go on, and which
// entrants are out of the race.
func (l *league) judge(b int, field map[place]*picks, done map[string]trial) {
	for _, p := range l.problems {
		best := math.Inf(1) // of the rivals
		for _, e := range p.field {
			if c := field[place{p.name, e.name}]; !e.untuned && c.in > b {
				l.pick(p, e, b, c, done)
				best = min(best, c.least[b][0], c.least[b][1])
			}
		}
		for _, e := range p.field {
			c := field[place{p.name, e.name}]
			behind := !(min(c.least[b][0], c.least[b][1]) <= outOfRace*best)
			if b > 0 && behind && !l.exhaustive && !e.untuned {
				c.in = min(c.in, b)
			}
		}
	}
}

// pick is judge for one entrant on one problem.
func (l *league) pick(p *problem, e *entrant, b int, c *picks, done map[string]trial) {
	var score [2][]float64 // of the settings going, for each output
	for _, i := range c.going {
		failed := false
		var sum [2]float64
		for t := range l.tuneTrials {
			r := done[l.choiceKey(p, e, i, b, t)]
			failed = failed || r.End != ""
			for o := range outputs {
				sum[o] += r.at(l.budgets[b], 0, o, false) / float64(l.tuneTrials)
			}
		}
		if failed {
			c.diverged++
		}
		for o := range outputs {
			score[o] = append(score[o], max(sum[o], p.floor()))
		}
	}
	var rank [2][]int // positions in going
	for o := range outputs {
		for i := range c.going {
			rank[o] = append(rank[o], i)
		}
		slices.SortStableFunc(rank[o], func(i, j int) int { return cmp.Compare(score[o][i], score[o][j]) })
		c.best[b][o], c.least[b][o] = c.going[rank[o][0]], score[o][rank[o][0]]
	}
	if l.exhaustive || e.needs.FiniteSums {
		return
	}
	var next []int
	for i := 0; i < len(c.going) && len(next) < keeps[min(b, len(keeps)-1)]; i++ {
		for o := range outputs {
			if k := c.going[rank[o][i]]; len(next) < keeps[min(b, len(keeps)-1)] && !slices.Contains(next, k) {
				next = append(next, k)
			}
		}
	}
	slices.Sort(next)
	c.going = next
}

// choose does the rounds, as far as those of other parts are there.
func (l *league) choose(ctx context.Context, c *kit.Campaign[trial], out kit.Terminal) (map[place]*picks, error) {
	field := l.begin()
	for b, n := range l.budgets {
		done, err := c.Complete(ctx, l.tuning(b, field), fmt.Sprintf("choosing step sizes, to %d samples", n), out)
		if err != nil {
			return nil, err
		}
		l.judge(b, field, done)
	}
	return field, nil
}
