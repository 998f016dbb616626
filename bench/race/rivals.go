package race

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"stable/bench/kit"
)

// rival is the best on a problem at a budget, with the better of its outputs.
type rival struct {
	method, tuned, output string
	error, half           float64 // mean and 95 % interval; +Inf where every rival diverged
	trials                int
}

type cell struct {
	problem *problem
	budget  int
}

type rivals map[cell]rival

func (v rivals) best(p *problem, budget int) (r rival, stands bool) {
	r = v[cell{p, budget}]
	return r, r.method != "" && !math.IsInf(r.error, 1)
}

func (v rivals) over(r row) float64 {
	if rival, ok := v.best(r.problem, r.budget); ok {
		return r.Mean / rival.error
	}
	return math.NaN()
}

// rivals are the best rows of rivals; without a rival, those of the first entrant.
func (t *tournament) rivals(rows []row) rivals {
	none := !slices.ContainsFunc(t.entrants, (*entrant).rival)
	best, held := rivals{}, rivals{}
	for _, r := range rows {
		if (r.entrant.rival() || none && r.entrant == t.entrants[0]) && !r.out {
			new := rival{r.entrant.Name, r.told(), t.outputs()[r.output], r.Mean, r.Half, t.trials}
			best.offer(r, new)
			new.tuned += fmt.Sprintf("%s%d of %d trials", failedIn, r.diverged, t.trials)
			new.error, new.half = r.held.Mean, r.held.Half
			held.offer(r, new)
		}
	}
	for at := range best {
		if _, ok := best.best(at.problem, at.budget); !ok {
			best[at] = held[at]
		}
	}
	return best
}

// failedIn stands behind the best setting where trials of all failed: last good iterates count.
const failedIn = "; failed in "

func (v rivals) offer(r row, new rival) {
	at := cell{r.problem, r.budget}
	if old := v[at]; old.method == "" || new.error < old.error {
		v[at] = new
	}
}

func (r rival) String() string {
	if _, n, ok := strings.Cut(r.tuned, failedIn); ok {
		return r.method + " (failed in " + n + ")"
	}
	return r.method
}

var rivalColumns = []string{"problem", "samples", "output", "method", "tuned", "error", "interval", "trials", "F*"}

// settled is what a file of rivals must agree on with this race, beside F*.
func (t *tournament) settled() []string {
	return []string{"# race: " + t.name + ", " + t.describe, fmt.Sprintf("# seed: %d", t.Seed)}
}

func (t *tournament) writeRivals(w io.Writer, best rivals) error {
	rivals := slices.DeleteFunc(slices.Clone(t.entrants), (*entrant).untuned)
	head := append(t.settled(), "# rivals: "+strings.Join(names(rivals), ", "),
		fmt.Sprintf("# choice: up to %d runs of each of 100 settings, in rounds", t.tune),
		"# machine: "+kit.Machine(), "# build: "+kit.Build()+"\n")
	lines := [][]string{rivalColumns}
	for _, p := range t.problems {
		for b, n := range t.budgets {
			if r := best[cell{p, b}]; r.method != "" {
				lines = append(lines, []string{p.name, fmt.Sprint(n), r.output, r.method, r.tuned,
					number(r.error), number(r.half), fmt.Sprint(r.trials), strconv.FormatFloat(p.best, 'g', -1, 64)})
			}
		}
	}
	return kit.WriteFile(w, t.Out, t.file+"-rivals.csv", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(head, "\n"))
		return cmp.Or(err, csvOf(lines)(w))
	})
}

// readRivals reads files of writeRivals, separated by commas. Each problem and budget needs a rival
// there. Errors name file and line.
func (t *tournament) readRivals(files string) (rivals, error) {
	best := rivals{}
	for path := range strings.SplitSeq(files, ",") {
		if err := t.readFile(best, strings.TrimSpace(path)); err != nil {
			return nil, err
		}
	}
	for _, p := range t.problems {
		for b, n := range t.budgets {
			if best[cell{p, b}].method == "" {
				return nil, fmt.Errorf("%s: no rivals on %q at %d samples: race them there first", files, p.name, n)
			}
		}
	}
	return best, nil
}

// rivalsOf reads a file of this very race.
func (t *tournament) rivalsOf(path string) (text []byte, err error) {
	if text, err = os.ReadFile(path); err != nil {
		return nil, fmt.Errorf("%w: -against: %w", kit.ErrUsage, err)
	}
	head := append(strings.Split(string(text), "\n"), "", "")
	for i, want := range t.settled() {
		if head[i] != want {
			return nil, fmt.Errorf("%s:%d: the rivals are of another race, %q; this one is %q", path, i+1,
				strings.TrimPrefix(head[i], "# "), want[2:])
		}
	}
	return text, nil
}

func (t *tournament) readFile(best rivals, path string) error {
	text, err := t.rivalsOf(path)
	if err != nil {
		return err
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.Comment, in.FieldsPerRecord = '#', len(rivalColumns)
	for first := true; ; first = false {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err) // it names the line
		}
		line, _ := in.FieldPos(0)
		if first && !slices.Equal(record, rivalColumns) {
			err = fmt.Errorf("the columns are %q, want %q", record, rivalColumns)
		} else if !first {
			err = t.readRival(best, record)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

func (t *tournament) readRival(best rivals, record []string) error {
	var v [9]float64
	for _, k := range []int{1, 5, 6, 7, 8} {
		x, err := strconv.ParseFloat(record[k], 64)
		whole := math.Trunc(x) == x && x >= 1 && x < 1<<53
		if err != nil || math.IsNaN(x) || (k == 1 || k == 7) && !whole || k == 5 && x <= 0 || k == 6 && x < 0 {
			return fmt.Errorf("%s is %q", rivalColumns[k], record[k])
		}
		v[k] = x
	}
	i := slices.IndexFunc(t.problems, func(p *problem) bool { return p.name == record[0] })
	b := slices.Index(t.budgets, uint64(v[1]))
	switch {
	case !slices.Contains(t.outputs(), record[2]):
		return fmt.Errorf("output is %q, want one of %q", record[2], t.outputs())
	case record[3] == "":
		return errors.New("a rival without a name")
	case i < 0 || b < 0:
		return nil
	}
	p := t.problems[i]
	// Where F has many minima, this race or the file may know the lower one, by 2 % at most: errors are of
	// F − F*, and move with it. Rounding differs between processors.
	if lower := v[8] - p.best; math.Abs(lower) <= 0.02*math.Abs(p.best) {
		v[5], p.best = v[5]+max(lower, 0), min(v[8], p.best)
		v[8] = p.best
	}
	if !(math.Abs(v[8]-p.best) <= 1e-9*(1+math.Abs(p.best))) {
		return fmt.Errorf("F* of %q is %v, and %v in this race: it is another problem", p.name, v[8], p.best)
	}
	if best[cell{p, b}].method != "" {
		return fmt.Errorf("%q at %s samples has a second rival", p.name, record[1])
	}
	best[cell{p, b}] = rival{record[3], record[4], record[2], v[5], v[6], int(v[7])}
	return nil
}
