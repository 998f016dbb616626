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
// to every budget. In each round all settings make one run, and the best of these the others: see
// finalists.
//
// keeps are how many go on to the second budget, to the third, and so on.
var keeps = []int{30, 10, 5}

// outOfRace is the factor on the best rival's error in the choice beyond which a rival is out of
// the race on a problem. From the second budget on, such a rival has no trial there, and runs no
// further.
const outOfRace = 10

// finalists is how many of n settings make all runs of a choice after a first one of each: a fifth,
// and 5 at least. With 3 runs for these, 100 settings make 140 runs, and 10 make 20.
func finalists(n int) int { return max((n+4)/5, 5) }

// tries is how many settings of an entrant may take the place of each other: where a trial of one
// fails, all trials are done with the next. The last one stays, and its failures are reported.
const tries = 5

// runners takes the first n of ranked settings, up to those of which a run failed; but one in any
// case.
func runners(rank []int, failed func(i int) bool, n int) []int {
	if clean := slices.IndexFunc(rank, failed); clean >= 0 {
		n = min(n, clean)
	}
	return rank[:min(max(n, 1), len(rank))]
}

// place is a problem and an entrant in it.
type place struct{ problem, entrant string }

// picks are those of one entrant on one problem.
type picks struct {
	rank   [][2][]int   // settings to race, the first one first, for each budget and output: see fallBack
	least  [][2]float64 // the errors of the first ones in the choice
	going  []int        // settings of the next round, ascending
	finals []int        // of this round: settings that make all runs
	in     int          // budgets to which it is in the race: the first ones
}

// lengths returns, for each setting that was chosen, the largest budget for which it was.
func (c *picks) lengths() map[int]int {
	upto := map[int]int{}
	for b, pair := range c.rank[:c.in] {
		for _, settings := range pair {
			upto[settings[0]] = b
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
			c := &picks{in: n, rank: make([][2][]int, n), least: make([][2]float64, n)}
			for b := range c.rank {
				c.rank[b] = [2][]int{{0}, {0}}
			}
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

// tuning lists the runs of one round: the first of every setting, or the others of those in the
// final.
func (l *league) tuning(b int, final bool, field map[place]*picks) []kit.Task[trial] {
	var list []kit.Task[trial]
	for _, p := range l.problems {
		for _, e := range p.field {
			c := field[place{p.name, e.name}]
			if e.untuned || c.in <= b {
				continue
			}
			settings, first, last := c.going, 0, 1
			if final {
				settings, first, last = c.finals, 1, l.tuneTrials
			}
			for _, i := range settings {
				for t := first; t < last; t++ {
					seed := l.seed + tuneSeeds + uint64(t)
					list = append(list, l.run(l.choiceKey(p, e, i, b, t), p, e, e.grid()[i], seed, b, b))
				}
			}
		}
	}
	return list
}

// final says which settings make all runs of a round, by the first run of each.
func (l *league) final(b int, field map[place]*picks, done map[string]trial) {
	for _, p := range l.problems {
		for _, e := range p.field {
			c := field[place{p.name, e.name}]
			switch c.finals = nil; {
			case e.untuned || c.in <= b:
			case l.exhaustive:
				c.finals = c.going
			default:
				rank, _ := l.ranked(p, e, b, c, done)
				c.finals = inTurn(rank, finalists(len(c.going)))
			}
		}
	}
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

// ranked returns the settings going, the best by each output first, and their scores: the geometric
// mean of the errors in the choice, +Inf if a run failed. A setting that is in no final has one run,
// and comes behind those that are; one that failed comes last.
func (l *league) ranked(p *problem, e *entrant, b int, c *picks, done map[string]trial) (
	rank [2][]int, score [2]map[int]float64) {
	for o := range outputs {
		score[o] = map[int]float64{}
		behind := map[int]int{}
		for _, i := range c.going {
			runs := 1
			if slices.Contains(c.finals, i) {
				runs = l.tuneTrials
			}
			var sum float64
			for t := range runs {
				r := done[l.choiceKey(p, e, i, b, t)]
				sum += math.Log(max(r.at(l.budgets[b], 0, o, false), p.floor())) / float64(runs)
			}
			score[o][i], behind[i] = math.Exp(sum), -runs
			if math.IsInf(sum, 1) {
				behind[i] = 0
			}
		}
		rank[o] = slices.Clone(c.going)
		slices.SortStableFunc(rank[o], func(i, j int) int {
			return cmp.Or(behind[i]-behind[j], cmp.Compare(score[o][i], score[o][j]))
		})
	}
	return rank, score
}

// inTurn takes n settings, the best of each ranking in turn, in ascending order.
func inTurn(rank [2][]int, n int) (list []int) {
	for k := range rank[0] {
		for o := range rank {
			if i := rank[o][k]; len(list) < n && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return list
}

// pick is judge for one entrant on one problem.
func (l *league) pick(p *problem, e *entrant, b int, c *picks, done map[string]trial) {
	rank, score := l.ranked(p, e, b, c, done)
	for o := range outputs {
		c.rank[b][o] = runners(rank[o], func(i int) bool { return math.IsInf(score[o][i], 1) }, tries)
		c.least[b][o] = score[o][rank[o][0]]
	}
	if !l.exhaustive && !e.needs.FiniteSums {
		c.going = inTurn(rank, keeps[min(b, len(keeps)-1)])
	}
}

// choose does the rounds, as far as those of other parts are there.
func (l *league) choose(ctx context.Context, c *kit.Campaign[trial], out kit.Terminal) (map[place]*picks, error) {
	field := l.begin()
	for b, n := range l.budgets {
		what := fmt.Sprintf("choosing step sizes, to %d samples", n)
		done, err := c.Complete(ctx, l.tuning(b, false, field), what, out)
		if err != nil {
			return nil, err
		}
		l.final(b, field, done)
		if done, err = c.Complete(ctx, l.tuning(b, true, field), what+", the best", out); err != nil {
			return nil, err
		}
		l.judge(b, field, done)
	}
	return field, nil
}

// fallBack takes, in place of a setting of which a trial failed, the next one in the choice, and says
// whether there was one: then its trials are to be done.
func (l *league) fallBack(field map[place]*picks, done map[string]trial) bool {
	var failed []*[]int
	for _, p := range l.problems {
		for _, e := range p.field {
			c := field[place{p.name, e.name}]
			for b := range c.in {
				for o := range outputs {
					if list := &c.rank[b][o]; len(*list) > 1 && l.result(p, e, b, o, field, done).diverged > 0 {
						failed = append(failed, list)
					}
				}
			}
		}
	}
	for _, list := range failed { // not before: results are those of the settings as they stood
		*list = (*list)[1:]
	}
	return len(failed) > 0
}
