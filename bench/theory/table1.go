package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bench/kit"
)

const table1Usage = `go run ./bench table1: the sample complexities of Table 1 of the STABLE paper

Counts the samples of ξ and of φ that each method of the table needs to reach an error ε, over two
decades of ε, on two problems with known solutions and noise on every derivative. Prints the fitted
exponent p of ε^(−p), with its 95 % interval over groups of independent trials, beside the one that
the table claims. Each method takes the step sizes of its own theory; their constants are the best of
16 pairs on separate seeds, with the same number of samples for each. STABLE-paper is the paper's
method without additions; STABLE is this module's default, and is not tuned.

  go run ./bench table1 -quick
  go run ./bench table1
  go run ./bench table1 -part 3/8          the third of eight parts; -merge 8 does the rest, and reports
`

func Table1(ctx context.Context, args []string, out kit.Terminal) error {
	var c complexity
	if err := c.parse("table1", table1Usage, args, out); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	return c.play("table1", out, func(l *kit.Campaign[outcome]) error {
		var choice, trials []*series
		for _, r := range c.all {
			choice = append(choice, r.tried...)
		}
		if err := complete(ctx, l, choice, 1, "choosing step sizes", out); err != nil {
			return err
		}
		for _, r := range c.all {
			r.choose()
			trials = append(trials, r.trials...)
		}
		if err := complete(ctx, l, trials, c.groups, "trials", out); err != nil {
			return err
		}
		return c.report(out.Stdout)
	})
}

type complexity struct {
	options
	regimes []*regime
	all     []*row
	samples uint64 // of a run in the choice of constants
}

// For the choice of constants, on seeds of its own.
const (
	choiceSamples = 20000
	choiceTrials  = 6
	tuneSeeds     = 1 << 32
)

func (c *complexity) begin() (err error) {
	c.samples = max(1000, uint64(c.length*choiceSamples))
	c.regimes, err = regimes(c.Seed)
	for _, g := range c.regimes {
		for _, r := range g.rows {
			c.plan(r)
			c.all = append(c.all, r)
		}
	}
	return err
}

// plan makes a row's series: tried has one of each choice, trials fewer in a group for a mean over a
// run, one for a long one. Runs of a group share a start where their number changes with the horizon.
func (c *complexity) plan(r *row) {
	key := r.key + "/" + r.name
	r.constants, r.marks = r.choices()[0], c.horizons(r)
	if r.alpha != nil {
		k := r.within(float64(c.samples))
		for i, constants := range r.choices() {
			r.tried = append(r.tried, &series{key: fmt.Sprintf("tune/%s/%d", key, i), marks: []int{k}, per: choiceTrials,
				cost: r.samples(k), walk: func(t int) walk { return r.walk(constants, k, c.Seed+tuneSeeds+uint64(t)) }})
		}
	}
	r.trials = chain(r.marks, r.horizon, func(k int, s *series) {
		const long = 20000
		s.key, s.cost, s.per = "run/"+key, r.samples(k), 12
		switch {
		case r.horizon && k > long:
			s.per = 1
		case r.rho > 0:
			s.per = 3
		}
		if c.Quick {
			s.per = (s.per + 1) / 2
		}
		s.walk = func(t int) walk {
			w := r.walk(r.constants, k, c.Seed+uint64(t))
			if r.horizon {
				w.start = c.Seed + uint64(t/s.per)
			}
			return w
		}
	})
}

func (r *row) walk(c [2]float64, k int, seed uint64) walk {
	w := walk{problem: r.problem, method: r.method(r.problem, c[0], c[1], k), radius: r.radius, rho: r.rho,
		start: seed, seed: seed}
	if r.batch != nil {
		w.batch = r.batch(k)
	}
	return w
}

// choose takes the constants of least error of those that failed in no run.
func (r *row) choose() {
	least := math.Inf(1)
	for i, s := range r.tried {
		score := s.groups[0][upper][0]
		if r.failed += min(s.failed, 1); s.failed == 0 && score < least {
			least, r.constants = score, r.choices()[i]
		}
	}
}

// horizons are steps in ratios of √2 within a run, of 2 between runs.
func (c *complexity) horizons(r *row) (list []int) {
	ratio, last := math.Sqrt2, r.steps[1]
	if c.Quick {
		last = r.steps[2]
	}
	if r.horizon {
		ratio = 2
	}
	first := float64(r.steps[0])
	for k := max(8*first, float64(last)*c.length); k > 0.99*first; k /= ratio {
		list = append(list, int(math.Round(k)))
	}
	slices.Reverse(list)
	return list
}
