package race

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bench/kit"
)

// keeps are how many settings go on to the second budget, to the third, … (successive halving:
// Jamieson & Talwalkar, AISTATS 2016). Methods for finite sums have hardly begun at the first: all go
// on.
var keeps = []int{30, 10, 5}

// outOfRace is the factor on the best rival's error beyond which one is out.
const outOfRace = 10

// finalists is how many of n settings make all runs of a round, by their first.
func finalists(n int) int { return max((n+4)/5, 5) }

// tries is how many settings may follow each other where trials fail.
const tries = 5

type selection struct {
	*problem
	entrant      *entrant
	rank         [][][]int // for each budget and output, the first one first: see fallBack
	least        []float64 // in the choice, by any output
	going        []int     // of the next round, ascending
	finals       []int     // make all runs of this round
	in           int       // budgets before it is out
	tried, blown int       // in the first round; a run failed
	spent        uint64    // samples
}

func (s *selection) chooses(b int) bool { return s.entrant.rival() && s.in > b }

// longest returns the largest budget for which each chosen setting was chosen.
func (s *selection) longest() map[int]int {
	upto := map[int]int{}
	for b, outputs := range s.rank[:s.in] {
		for _, settings := range outputs {
			upto[settings[0]] = b
		}
	}
	return upto
}

func (t *tournament) begin() {
	t.selections, t.done = nil, map[string]trial{}
	for _, p := range t.problems {
		for _, e := range t.entrants {
			if !e.takes(p) {
				continue
			}
			s := &selection{problem: p, entrant: e, in: len(t.budgets), least: make([]float64, len(t.budgets))}
			for range t.budgets {
				s.rank = append(s.rank, slices.Repeat([][]int{{0}}, len(t.outputs())))
			}
			for i := range e.grid() {
				s.going = append(s.going, i)
			}
			t.selections = append(t.selections, s)
		}
	}
}

func (t *tournament) choiceKey(s *selection, setting, b, i int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d/%d", s.name, s.entrant.Name, setting, t.budgets[b], i)
}

// tuning lists the first runs of a round, or the others of those in the final. A score is a mean over
// three marks.
func (t *tournament) tuning(b int, final bool) (list []kit.Task[trial]) {
	n := t.budgets[b]
	for _, s := range t.selections {
		settings, first, last := s.going, 0, 1
		if final {
			settings, first, last = s.finals, 1, t.tune
		}
		for _, setting := range settings {
			for i := first; i < last && s.chooses(b); i++ {
				list = append(list, t.task(t.choiceKey(s, setting, b, i), s, setting,
					t.Seed+tuneSeeds+uint64(i), []uint64{n * 8 / 10, n * 9 / 10, n}))
			}
		}
	}
	return list
}

// ranked returns, for each output, the settings that failed in no run of a round, or one that did:
// finalists first, by the geometric mean of the errors. least is over all outputs.
func (t *tournament) ranked(s *selection, b int) (ranks [][]int, least float64) {
	least = math.Inf(1)
	for o := range t.outputs() {
		score, behind, clean := map[int]float64{}, map[int]int{}, 0
		for _, setting := range s.going {
			runs := 1
			if slices.Contains(s.finals, setting) {
				runs = t.tune
			}
			for i := range runs {
				v := t.done[t.choiceKey(s, setting, b, i)]
				e := (v.at(o, 0) + v.at(o, 1) + v.at(o, 2)) / 3
				score[setting] += math.Log(max(e, s.floor())) / float64(runs)
			}
			if !math.IsInf(score[setting], 1) {
				behind[setting] = -runs
				clean++
			}
		}
		rank := slices.Clone(s.going)
		slices.SortStableFunc(rank, func(i, j int) int {
			return cmp.Or(behind[i]-behind[j], cmp.Compare(score[i], score[j]))
		})
		ranks, least = append(ranks, rank[:max(clean, 1)]), min(least, math.Exp(score[rank[0]]))
	}
	return ranks, least
}

// inTurn takes n settings, the best of each ranking in turn, and sorts them.
func inTurn(ranks [][]int, n int) (list []int) {
	for k := range ranks[0] {
		for _, rank := range ranks {
			if i := rank[k]; len(list) < n && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (t *tournament) final(b int) {
	for _, s := range t.selections {
		if s.finals = nil; t.ablate {
			s.finals = s.going
		} else if s.chooses(b) {
			ranks, _ := t.ranked(s, b)
			s.finals = inTurn(ranks, finalists(len(s.going)))
		}
	}
}

func (t *tournament) judge(b int) {
	best := map[*problem]float64{} // of 1/error of the rivals
	for _, s := range t.selections {
		if !s.chooses(b) {
			continue
		}
		ranks, least := t.ranked(s, b)
		if s.least[b] = least; b == 0 {
			s.tried, s.blown = len(s.going), len(s.going)-len(ranks[0])
			if math.IsInf(least, 1) {
				s.blown++
			}
		}
		for o, rank := range ranks {
			s.rank[b][o] = rank[:min(tries, len(rank))]
		}
		s.spent += t.budgets[b] * uint64(len(s.going)+len(s.finals)*(t.tune-1))
		if !s.entrant.Needs.FiniteSums {
			s.going = inTurn(ranks, keeps[min(b, len(keeps)-1)])
		}
		best[s.problem] = max(best[s.problem], 1/least)
	}
	for _, s := range t.selections {
		if b > 0 && s.chooses(b) && s.least[b] > outOfRace/best[s.problem] {
			s.in = b
		}
	}
}

func (t *tournament) choose(ctx context.Context, c *kit.Campaign[trial], out kit.Terminal) (err error) {
	for b, n := range t.budgets {
		what := fmt.Sprintf("choosing step sizes, to %d samples", n)
		if t.done, err = c.Complete(ctx, t.tuning(b, false), what, out); err != nil {
			return err
		}
		t.final(b)
		if t.done, err = c.Complete(ctx, t.tuning(b, true), what+", the best", out); err != nil {
			return err
		}
		t.judge(b)
	}
	return nil
}
