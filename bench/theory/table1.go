package theory

import (
	"context"
	"errors"
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
	done, chosen, err := c.run(ctx, out)
	if err != nil {
		return c.share.Unfinished(err, out)
	}
	return c.report(out.Stdout, chosen, done)
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
		c.all = append(c.all, g.rows...)
	}
	return err
}

func (c *complexity) run(ctx context.Context, out kit.Terminal) (done map[string]outcome, chosen map[*row]picked, err error) {
	l, err := c.open("table1")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var choice, trials []kit.Task[outcome]
	for _, r := range c.all {
		choice = append(choice, c.tuning(r)...)
	}
	if done, err = l.Complete(ctx, choice, "choosing step sizes", out); err != nil {
		return nil, nil, err
	}
	chosen = map[*row]picked{}
	for _, r := range c.all {
		chosen[r] = r.choose(done)
		trials = append(trials, c.trials(r, chosen[r].constants).tasks(c.groups)...)
	}
	done, err = l.Complete(ctx, trials, "trials", out)
	return done, chosen, err
}

func (c *complexity) tuning(r *row) (tasks []kit.Task[outcome]) {
	if r.alpha == nil {
		return nil
	}
	k := r.within(float64(c.samples))
	for i, constants := range r.choices() {
		for t := range choiceTrials {
			w := r.walk(constants, k, c.Seed+tuneSeeds+uint64(t))
			w.marks = []int{k}
			tasks = append(tasks, kit.Task[outcome]{Key: r.tuneKey(i, t), Cost: float64(c.samples), Run: w.run})
		}
	}
	return tasks
}

func (r *row) tuneKey(choice, t int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d", r.key, r.name, choice, t)
}

func (r *row) walk(c [2]float64, k int, seed uint64) walk {
	w := walk{problem: r.problem, method: r.method(r.problem, c[0], c[1], k), radius: r.radius, rho: r.rho,
		start: seed, seed: seed}
	if r.batch != nil {
		w.batch = r.batch(k)
	}
	return w
}

type picked struct {
	constants [2]float64
	failed    int // choices of which a run failed
}

func (r *row) choose(done map[string]outcome) picked {
	best, least := picked{constants: r.choices()[0]}, math.Inf(1)
	for i, constants := range r.choices() {
		score, failed := 0.0, 0
		for t := range choiceTrials {
			d, ok := done[r.tuneKey(i, t)]
			if !ok { // no choice
				return best
			}
			score += d.Reading[upper][0] / choiceTrials
			failed = max(failed, min(len(d.End), 1))
		}
		best.failed += failed
		if failed == 0 && score < least {
			least, best.constants = score, constants
		}
	}
	return best
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

// trials are a row's runs: fewer in a group for a mean over a run, one for a long one. Runs of a
// group share a start where their number changes with the horizon.
func (c *complexity) trials(r *row, constants [2]float64) *series {
	s := &series{key: r.key + "/" + r.name, marks: c.horizons(r), horizon: r.horizon, cost: r.samples}
	s.per = func(k int) int {
		const long = 20000
		n := 12
		switch {
		case r.horizon && k > long:
			n = 1
		case r.rho > 0:
			n = 3
		}
		if c.Quick {
			n = (n + 1) / 2
		}
		return n
	}
	s.walk = func(k, t int) walk {
		w := r.walk(constants, k, c.Seed+uint64(t))
		if r.horizon {
			w.start = c.Seed + uint64(t/s.per(k))
		}
		return w
	}
	return s
}
