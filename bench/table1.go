package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"

	"stable/bilevel/quadratic"
)

const table1Usage = `go run ./bench table1: the sample complexities of Table 1 of the STABLE paper

On two problems with known solutions, noise on every derivative: how many samples of ξ and of φ each method of the table needs to come to an error ε,
over two decades of ε, and the exponent p of ε^(−p) that this makes, with its 95 % interval over groups of independent trials, beside the one that the
table claims. Each method takes the step sizes of its own theory; their constants are the best of 16 pairs on seeds of their own, with the same
number of samples for each. STABLE-paper is the paper's method, and no more; STABLE as this module has it runs untuned.

  go run ./bench table1 -quick
  go run ./bench table1
  go run ./bench table1 -part 3/8          the third of eight parts; with -merge 8, all of them together

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// complexity is the experiment of Table 1.
type complexity struct {
	experiment
	regimes []*regime
	groups  int
	length  float64 // share of the steps
	quick   bool
}

// theoryFlags are those that table1 and theorems have in common.
type theoryFlags struct {
	out, part     string
	seed          uint64
	groups, merge int
	length        float64
	quick         bool
}

func (f *theoryFlags) add(fs *flag.FlagSet) {
	fs.IntVar(&f.groups, "groups", 8, "groups of trials; each gives one fit")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of problems, starts and samples")
	fs.StringVar(&f.out, "out", "out", "`FOLDER` for results, figure and numbers")
	fs.StringVar(&f.part, "part", "", "`I/N`: do the Ith of N parts only")
	fs.IntVar(&f.merge, "merge", 0, "report on the results of `N` parts")
	fs.Float64Var(&f.length, "length", 1, "`SHARE` of the steps of every run, between 0 and 1")
	fs.BoolVar(&f.quick, "quick", false, "fewer steps and trials, fewer decades")
}

// experiment checks the flags and returns the frame of an experiment.
func (f *theoryFlags) experiment(name string) (x experiment, err error) {
	if f.groups < 3 {
		return x, fmt.Errorf("%w: -groups is %d, want ≥ 3", errUsage, f.groups)
	}
	if !(f.length > 0 && f.length <= 1) {
		return x, fmt.Errorf("%w: -length is %v, want 0 < length ≤ 1", errUsage, f.length)
	}
	x = experiment{name: name, seed: f.seed, folder: f.out, describe: fmt.Sprintf("%d groups, length %g", f.groups, f.length)}
	if f.quick {
		x.describe += ", quick"
	}
	if x.part, x.of, err = parsePart(f.part); err != nil {
		return x, err
	}
	if f.merge > 1 {
		x.part, x.of = 1, f.merge
	}
	return x, nil
}

// unfinished says what to do where other parts are missing, and passes other errors on.
func (f *theoryFlags) unfinished(err error, out terminal) error {
	if !errors.Is(err, errUnfinished) || f.part == "" {
		return err
	}
	_, err = fmt.Fprintf(out.Stdout, "part %s: done so far as it can be without the others; when they are there too, the same command goes on, and -merge reports\n", f.part)
	return err
}

func table1(ctx context.Context, args []string, out terminal) error {
	var f theoryFlags
	fs := flag.NewFlagSet("bench table1", flag.ContinueOnError)
	f.add(fs)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), table1Usage)
		fs.PrintDefaults()
	}
	if err := parse(fs, args, out); err != nil {
		return err
	}
	x, err := f.experiment("table1")
	if err != nil {
		return err
	}
	c := &complexity{experiment: x, regimes: regimes(f.seed), groups: f.groups, length: f.length, quick: f.quick}
	c.samples, c.tuneTrials = max(1000, uint64(f.length*choiceSamples)), choiceTrials
	return f.unfinished(c.run(ctx, out), out)
}

// Samples and runs that the choice of a pair of constants gets.
const (
	choiceSamples = 20000
	choiceTrials  = 6
)

func (c *complexity) run(ctx context.Context, out terminal) error {
	problems := map[*regime]*quadratic.Problem{}
	for _, g := range c.regimes {
		p, err := quadratic.New(g.options)
		if err != nil {
			return err
		}
		problems[g] = p
	}
	l, err := openLedger(c.ledger(c.part, c.of), c.identity())
	if err != nil {
		return err
	}
	defer l.close()

	var tasks []task
	for _, g := range c.regimes {
		for _, r := range g.rows {
			tasks = append(tasks, c.tuning(g, r, problems[g])...)
		}
	}
	done, err := c.complete(ctx, l, tasks, "choosing step sizes", out)
	if err != nil {
		return err
	}
	tasks = nil
	chosen := map[*row]picked{}
	for _, g := range c.regimes {
		for _, r := range g.rows {
			chosen[r] = c.choose(g, r, done)
			tasks = append(tasks, c.trials(g, r, problems[g], chosen[r].constants)...)
		}
	}
	if done, err = c.complete(ctx, l, tasks, "trials", out); err != nil {
		return err
	}
	return errors.Join(c.report(out.Stdout, chosen, done), l.close())
}

// picked is the outcome of the choice of constants.
type picked struct {
	constants [2]float64
	score     float64
	steps     int // of a run
	failed    int // choices of which a run failed
}

// tuning lists the runs for the choice of constants.
func (c *complexity) tuning(g *regime, r *row, p *quadratic.Problem) (tasks []task) {
	if r.alpha == nil {
		return nil
	}
	k := r.within(float64(c.samples))
	for i, constants := range r.choices() {
		for t := range c.tuneTrials {
			w := r.walk(g, p, constants, k, c.seed+tuneSeeds+uint64(t))
			w.marks = []int{k}
			tasks = append(tasks, task{r.tuneKey(g, i, t), float64(c.samples), w.run})
		}
	}
	return tasks
}

func (r *row) tuneKey(g *regime, choice, t int) string {
	return fmt.Sprintf("tune/%s/%s/%d/%d", g.key, r.name, choice, t)
}

// walk is a run of k steps.
func (r *row) walk(g *regime, p *quadratic.Problem, c [2]float64, k int, seed uint64) walk {
	return walk{problem: p, method: r.method(p, c[0], c[1], k), batch: r.batchAt(k), radius: g.radius, rho: g.rho, start: seed, seed: seed}
}

// choose takes the constants with the least mean error at the end.
func (c *complexity) choose(g *regime, r *row, done func(key string) trial) picked {
	best := picked{score: math.Inf(1), steps: r.within(float64(c.samples)), constants: r.choices()[0]}
	if r.alpha == nil {
		return best
	}
	for i, constants := range r.choices() {
		score, failed := 0.0, 0
		for t := range c.tuneTrials {
			d := done(r.tuneKey(g, i, t))
			score += unpack(d).Upper[0] / float64(c.tuneTrials)
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

// horizons are the numbers of steps at which a row is measured, in ratios of √2 within one run, and
// of 2 where each is a run of its own.
func (c *complexity) horizons(r *row) (list []int) {
	ratio, last := math.Sqrt2, r.steps[1]
	if c.quick {
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

// perGroup is the number of trials of a group. A mean over a run needs fewer than an error at its
// end, and one over a long run just one.
func (c *complexity) perGroup(g *regime, r *row, k int) int {
	const long = 20000
	n := 12
	switch {
	case r.horizon && k > long:
		n = 1
	case g.rho > 0:
		n = 3
	}
	if c.quick {
		n = (n + 1) / 2
	}
	return n
}

// trials lists the runs of a row with its constants. Where each horizon is a run of its own, all
// runs of a group have the same start: the number of trials changes with the horizon, and a mean
// over other starts would be another.
func (c *complexity) trials(g *regime, r *row, p *quadratic.Problem, constants [2]float64) (tasks []task) {
	marks := c.horizons(r)
	if !r.horizon {
		for t := range c.groups * c.perGroup(g, r, 0) {
			w := r.walk(g, p, constants, 0, c.seed+uint64(t))
			w.marks = marks
			tasks = append(tasks, task{r.runKey(g, 0, t), r.samples(marks[len(marks)-1]), w.run})
		}
		return tasks
	}
	for _, k := range marks {
		per := c.perGroup(g, r, k)
		for t := range c.groups * per {
			w := r.walk(g, p, constants, k, c.seed+uint64(t))
			w.start, w.marks = c.seed+uint64(t/per), []int{k}
			tasks = append(tasks, task{r.runKey(g, k, t), r.samples(k), w.run})
		}
	}
	return tasks
}

func (r *row) runKey(g *regime, k, t int) string {
	return fmt.Sprintf("run/%s/%s/%d/%d", g.key, r.name, k, t)
}

// curves averages the trials of each group of a row, at its horizons, in the order of their
// numbers.
func (c *complexity) curves(g *regime, r *row, done func(key string) trial) (groups []reading, failed int) {
	marks := c.horizons(r)
	for group := range c.groups {
		sum := newReading(len(marks))
		average := func(i, k int) { // the runs of k steps, from mark i on
			per := c.perGroup(g, r, k)
			for t := group * per; t < (group+1)*per; t++ {
				d := done(r.runKey(g, k, t))
				failed += min(len(d.End), 1)
				sum.add(i, unpack(d), 1/float64(per))
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
