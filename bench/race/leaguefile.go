package race

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bilevel/atomicfile"
)

// leagueFlags holds the flags of limit and untuned.
type leagueFlags struct {
	kit.Common
	data, methods, only string
	without             string
	samples             uint64
	trials, tune        int
	exhaustive          bool
}

func (f *leagueFlags) add(fs *flag.FlagSet, quick, samples string) {
	f.Common.Add(fs, quick)
	fs.StringVar(&f.data, "data", "", "`FOLDER` with australian/, ijcnn1/ and covtype/, besides the shipped data set; "+
		"not read with -quick")
	fs.BoolVar(&f.exhaustive, "exhaustive", false,
		"try every setting at every budget, and keep every rival in the race")
	fs.StringVar(&f.methods, "methods", f.methods, "`NAMES` of methods, separated by commas")
	fs.StringVar(&f.without, "without", "", "`NAMES` of methods to leave out, separated by commas")
	fs.StringVar(&f.only, "only", "", "`WORDS`, separated by commas: only problems whose name has one of them")
	fs.Uint64Var(&f.samples, "samples", f.samples, samples)
	fs.IntVar(&f.trials, "trials", f.trials, "runs of each method, from random starts")
	fs.IntVar(&f.tune, "tune", f.tune, "runs of each of the best settings in the choice of step sizes")
}

// check returns an error if a flag is out of range.
func (f *leagueFlags) check() error { return checkRuns(f.samples, f.trials, f.tune) }

// wants says whether -only includes a problem.
func (f *leagueFlags) wants(name string) bool {
	for word := range strings.SplitSeq(f.only, ",") {
		if strings.Contains(name, strings.TrimSpace(word)) {
			return true
		}
	}
	return false
}

// made makes the problems that are wanted.
func (f *leagueFlags) made(makers []maker[*problem]) ([]*problem, error) {
	var list []*problem
	for _, m := range makers {
		if !f.wants(m.name) {
			continue
		}
		p, err := m.make()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// league returns the league that the flags describe, with the budgets up to -samples.
func (f *leagueFlags) league(command string, budgets []uint64, problems []*problem) (*league, error) {
	entrants, err := lineup(f.methods)
	if err != nil {
		return nil, err
	}
	if f.methods == "all" {
		entrants = append(slices.Clip(entrants), special()...)
	}
	if entrants, err = leaveOut(entrants, f.without); err != nil {
		return nil, err
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("%w: -only %q: no problem has such a name", kit.ErrUsage, f.only)
	}
	share, err := f.Share()
	l := &league{command: command, name: command, problems: problems, entrants: entrants,
		trials: f.trials, tuneTrials: f.tune,
		exhaustive: f.exhaustive, seed: f.Seed, folder: f.Out, share: share, describe: "in full"}
	if f.Quick {
		l.describe = "quick"
	}
	for _, p := range problems {
		c := p.fresh()
		dx, dy := c.Dims()
		p.work = float64(100 + dx*dy + dy*dy)
		upper, lower := c.Streams()
		p.sum = upper > 0 && lower > 0
		for _, e := range entrants {
			if e.takes(c, p.set) {
				p.field = append(p.field, e)
			}
		}
	}
	for _, b := range budgets {
		if b <= f.samples {
			l.budgets = append(l.budgets, b)
		}
	}
	return l, err
}

// leaveOut returns the entrants but those of the given names.
func leaveOut(entrants []*entrant, names string) ([]*entrant, error) {
	list := slices.Clone(entrants)
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		n := len(list)
		list = slices.DeleteFunc(list, func(e *entrant) bool { return strings.EqualFold(e.name, name) })
		if len(list) == n && name != "" {
			return nil, fmt.Errorf("%w: -without %q: no method of this race is called that", kit.ErrUsage, name)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: -without %q leaves no method", kit.ErrUsage, names)
	}
	return list, nil
}

// row is one line of a league's table of numbers.
type row struct {
	problem *problem
	entrant *entrant
	output  int
	budget  int
	result
	evals, micros float64 // evaluations and µs a sample, up to the budget; NaN out of the race
}

// told is the setting in words.
func (r row) told() string {
	if r.out {
		return "out of the race"
	}
	text, _ := r.entrant.describe(r.problem.of(r.entrant), r.entrant.grid()[r.setting])
	return text
}

// rows are all of them, problem by problem.
func (l *league) rows(chosen map[place]*picks, done map[string]trial) []row {
	var list []row
	for _, p := range l.problems {
		for _, e := range p.field {
			for o := range outputs {
				for b := range l.budgets {
					r := row{problem: p, entrant: e, output: o, budget: b, result: l.result(p, e, b, o, chosen, done)}
					l.costs(&r, chosen, done)
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// costs fills in what a sample has cost, in the mean over the trials that got there.
func (l *league) costs(r *row, chosen map[place]*picks, done map[string]trial) {
	var evals, seconds, n float64
	for t := 0; t < l.trials && !r.out; t++ {
		upto := chosen[place{r.problem.name, r.entrant.name}].lengths()[r.setting]
		run := done[l.trialKey(r.problem, r.entrant, r.setting, upto, t)]
		if i := 3*r.budget + 2; i < len(run.Evals) && run.End == "" {
			evals, seconds, n = evals+run.Evals[i], seconds+run.Seconds[i], n+float64(l.budgets[r.budget])
		}
	}
	r.evals, r.micros = evals/n, 1e6*seconds/n
}

// perSample says what a sample costs at the largest budget.
func (r row) perSample() string { return fmt.Sprintf("%.3g, %.2g", r.evals, r.micros) }

// limitAt is the limit of a problem at a budget, NaN where there is none. Where ξ and φ are counted
// together, each is taken for half of them.
func (l *league) limitAt(p *problem, b int) float64 {
	if p.limit == nil {
		return math.NaN()
	}
	n := float64(l.budgets[b])
	if !l.each {
		n /= 2
	}
	return p.limit.At(n, n)
}

// write writes the rows as NAME.csv, with one more column that the command defines, and says so.
func (l *league) write(w io.Writer, rows []row, column string, value func(r row) float64) error {
	path := filepath.Join(l.folder, l.name+".csv")
	err := atomicfile.Write(path, func(w io.Writer) error {
		out := csv.NewWriter(w)
		head := []string{"problem", "method", "tuned", "output", "samples", "error", "limit", column,
			"half", "interval", "diverged", "evaluations"}
		if err := out.Write(head); err != nil {
			return err
		}
		for _, r := range rows {
			if err := out.Write([]string{
				r.problem.name, r.entrant.name, r.told(), outputs[r.output],
				strconv.FormatUint(l.budgets[r.budget], 10),
				number(r.Mean), number(l.limitAt(r.problem, r.budget)), number(value(r)),
				string(r.problem.half), number(r.Half), strconv.Itoa(r.diverged),
				number(r.evals * float64(l.budgets[r.budget])),
			}); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}

// outs prints which rivals were out of the race and how often, if any was.
func (l *league) outs(w io.Writer, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := fmt.Sprintf("out of the race, over %d times the best rival's error in the choice", outOfRace)
	for _, e := range l.entrants {
		n, any := make([]int, len(l.budgets)), false
		for _, r := range rows {
			if r.entrant == e && r.out && r.output == 0 {
				n[r.budget]++
				any = true
			}
		}
		if !any {
			continue
		}
		if head != "" {
			fmt.Fprint(tw, head)
			for _, b := range l.budgets {
				fmt.Fprintf(tw, "\t%d", b)
			}
			fmt.Fprintln(tw)
			head = ""
		}
		fmt.Fprint(tw, e.name)
		for _, v := range n {
			fmt.Fprintf(tw, "\t%d of %d", v, len(l.problems))
		}
		fmt.Fprintln(tw)
	}
	if head == "" {
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// number is a number of a CSV file, empty where there is none.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// summary holds the geometric mean and the worst of several ratios.
type summary struct {
	n          int
	log, worst float64
	name       string // of the worst
}

func (s *summary) add(name string, ratio float64) {
	s.n++
	s.log += math.Log(ratio)
	if s.n == 1 || ratio > s.worst {
		s.worst, s.name = ratio, name
	}
}

func (s *summary) mean() float64 { return math.Exp(s.log / float64(s.n)) }
