package theory

import (
	"context"
	"errors"
	"fmt"
	"math"

	"stable/bench/kit"
	"stable/bilevel/quadratic"
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

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// Table1 is the command table1.
func Table1(ctx context.Context, args []string, out kit.Terminal) error {
	var f theoryFlags
	share, err := f.parse("table1", table1Usage, args, out)
	if err != nil {
		return err
	}
	c := newComplexity(&f)
	done, chosen, err := c.run(ctx, share, out)
	if err != nil {
		return share.Unfinished(err, out)
	}
	return c.report(out.Stdout, chosen, done)
}

type complexity struct {
	theoryFlags
	regimes    []*regime
	samples    uint64 // of a run in the choice of constants
	tuneTrials int    // runs of each pair of constants
}

func newComplexity(f *theoryFlags) *complexity {
	return &complexity{theoryFlags: *f, regimes: regimes(f.Seed),
		samples: max(1000, uint64(f.length*choiceSamples)), tuneTrials: choiceTrials}
}

// Samples and runs for the choice of a pair of constants.
const (
	choiceSamples = 20000
	choiceTrials  = 6
)

// tuneSeeds keeps the seeds of the choice apart from those of the trials.
const tuneSeeds = 1 << 32

func (c *complexity) run(ctx context.Context, share kit.Share,
	out kit.Terminal) (done map[string]outcome, chosen map[*row]picked, err error) {
	problems := map[*regime]*quadratic.Problem{}
	for _, g := range c.regimes {
		if problems[g], err = quadratic.New(g.options); err != nil {
			return nil, nil, err
		}
	}
	l, err := kit.Open[outcome](c.Out, "table1", c.identity("table1"), share)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()

	var tasks []kit.Task[outcome]
	for _, g := range c.regimes {
		for _, r := range g.rows {
			tasks = append(tasks, c.tuning(g, r, problems[g])...)
		}
	}
	if done, err = l.Complete(ctx, tasks, "choosing step sizes", out); err != nil {
		return nil, nil, err
	}
	tasks = nil
	chosen = map[*row]picked{}
	for _, g := range c.regimes {
		for _, r := range g.rows {
			chosen[r] = c.choose(g, r, done)
			tasks = append(tasks, c.trials(g, r, problems[g], chosen[r].constants)...)
		}
	}
	done, err = l.Complete(ctx, tasks, "trials", out)
	return done, chosen, err
}

type picked struct {
	constants [2]float64
	score     float64
	steps     int // of a run
	failed    int // choices of which a run failed
}

func (c *complexity) tuning(g *regime, r *row, p *quadratic.Problem) (tasks []kit.Task[outcome]) {
	if r.alpha == nil {
		return nil
	}
	k := r.within(float64(c.samples))
	for i, constants := range r.choices() {
		for t := range c.tuneTrials {
			w := r.walk(g, p, constants, k, c.Seed+tuneSeeds+uint64(t))
			w.marks = []int{k}
			tasks = append(tasks, kit.Task[outcome]{Key: r.tuneKey(g, i, t), Cost: float64(c.samples), Run: w.run})
		}
	}
	return tasks
}

func (r *row) tuneKey(g *regime, choice, t int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d", g.key, r.name, choice, t)
}

func (r *row) walk(g *regime, p *quadratic.Problem, c [2]float64, k int, seed uint64) walk {
	return walk{problem: p, method: r.method(p, c[0], c[1], k), batch: r.batchAt(k), radius: g.radius, rho: g.rho,
		start: seed, seed: seed}
}

func (c *complexity) choose(g *regime, r *row, done map[string]outcome) picked {
	best := picked{score: math.Inf(1), steps: r.within(float64(c.samples)), constants: r.choices()[0]}
	if r.alpha == nil {
		return best
	}
	for i, constants := range r.choices() {
		score, failed := 0.0, 0
		for t := range c.tuneTrials {
			d := done[r.tuneKey(g, i, t)]
			score += d.Reading.Upper[0] / float64(c.tuneTrials)
			if d.End != "" {
				failed = 1
			}
		}
		best.failed += failed
		if failed == 0 && score < best.score {
			best.score, best.constants = score, constants
		}
	}
	return best
}

// horizons returns the steps at which a row is measured, in ratios of √2 within a run, of 2 between
// runs.
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
		list = append([]int{int(math.Round(k))}, list...)
	}
	return list
}

// perGroup is the number of trials of a group: fewer for a mean over a run, one for a long one.
func (c *complexity) perGroup(g *regime, r *row, k int) int {
	const long = 20000
	n := 12
	switch {
	case r.horizon && k > long:
		n = 1
	case g.rho > 0:
		n = 3
	}
	if c.Quick {
		n = (n + 1) / 2
	}
	return n
}

// trials lists a row's runs. Runs of a group share a start, since the number of trials changes with
// the horizon.
func (c *complexity) trials(g *regime, r *row, p *quadratic.Problem, constants [2]float64) (tasks []kit.Task[outcome]) {
	marks := c.horizons(r)
	if !r.horizon {
		for t := range c.groups * c.perGroup(g, r, 0) {
			w := r.walk(g, p, constants, 0, c.Seed+uint64(t))
			w.marks = marks
			tasks = append(tasks,
				kit.Task[outcome]{Key: r.runKey(g, 0, t), Cost: r.samples(marks[len(marks)-1]), Run: w.run})
		}
		return tasks
	}
	for _, k := range marks {
		per := c.perGroup(g, r, k)
		for t := range c.groups * per {
			w := r.walk(g, p, constants, k, c.Seed+uint64(t))
			w.start, w.marks = c.Seed+uint64(t/per), []int{k}
			tasks = append(tasks, kit.Task[outcome]{Key: r.runKey(g, k, t), Cost: r.samples(k), Run: w.run})
		}
	}
	return tasks
}

func (r *row) runKey(g *regime, k, t int) string {
	return fmt.Sprintf("run/%s/%s/%d/%d", g.key, r.name, k, t)
}

// curves averages each group's trials at the row's horizons.
func (c *complexity) curves(g *regime, r *row, done map[string]outcome) (groups []reading, failed int) {
	marks := c.horizons(r)
	for group := range c.groups {
		sum := newReading(len(marks))
		average := func(i, k int) { // the runs of k steps, from mark i on
			per := c.perGroup(g, r, k)
			for t := group * per; t < (group+1)*per; t++ {
				d := done[r.runKey(g, k, t)]
				failed += min(len(d.End), 1)
				sum.add(i, d.Reading, 1/float64(per))
			}
		}
		if !r.horizon {
			average(0, 0)
		} else {
			for i, k := range marks {
				average(i, k)
			}
		}
		groups = append(groups, sum)
	}
	return groups, failed
}
