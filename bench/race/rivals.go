package race

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/atomicfile"
)

// rival is the best that rivals do on a problem at a budget with one output.
type rival struct {
	method, tuned string
	error, half   float64 // mean and 95 % interval; +Inf where every rival diverged
	trials        int
}

// standing is a problem at a budget.
type standing struct {
	problem *problem
	budget  int
}

// rivals are the best rivals of every standing, for each output.
type rivals map[standing][2]rival

// best is the better of the two outputs; ok says whether there is anybody to compare with: not where
// every rival refuses the problem.
func (v rivals) best(at standing) (best rival, output string, ok bool) {
	pair, ok := v[at]
	o := 0
	if ok && (pair[0].method == "" || pair[1].method != "" && pair[1].error < pair[0].error) {
		o = 1
	}
	return pair[o], outputs[o], ok && !math.IsInf(pair[o].error, 1)
}

// rivals are the tuned rows with the least error; without a tuned entrant, those of the first one.
func (l *league) rivals(rows []row) rivals {
	in := func(e *entrant) bool { return !e.untuned }
	if !slices.ContainsFunc(l.entrants, in) {
		in = func(e *entrant) bool { return e == l.entrants[0] }
	}
	best, held := rivals{}, rivals{}
	for _, r := range rows {
		if in(r.entrant) && !r.out {
			best.offer(r, rival{r.entrant.name, r.told(), r.Mean, r.Half, l.trials})
			told := fmt.Sprintf("%s%s%d of %d trials", r.told(), failedIn, r.diverged, l.trials)
			held.offer(r, rival{r.entrant.name, told, r.held.Mean, r.held.Half, l.trials})
		}
	}
	for at := range best {
		if _, _, ok := best.best(at); !ok {
			best[at] = held[at]
		}
	}
	return best
}

// failedIn stands behind the setting of a rival of which trials failed. It is the best one where
// trials of all failed, and counts with their last good iterates, which is kind to it.
const failedIn = "; failed in "

// offer takes a rival that is better than the one that stands where the row does.
func (v rivals) offer(r row, new rival) {
	at := standing{r.problem, r.budget}
	pair := v[at]
	if old := pair[r.output]; old.method == "" || new.error < old.error {
		pair[r.output] = new
		v[at] = pair
	}
}

// mark says of a rival that it failed, if it did.
func (r rival) mark() string {
	if _, n, ok := strings.Cut(r.tuned, failedIn); ok {
		return " (failed in " + n + ")"
	}
	return ""
}

// The columns of a file of rivals.
var rivalColumns = []string{"problem", "samples", "output", "method", "tuned", "error", "interval", "trials", "F*"}

// line is a rival as a line of a file.
func (r rival) line(p *problem, samples uint64, output int) []string {
	return []string{
		p.name, strconv.FormatUint(samples, 10), outputs[output], r.method, r.tuned,
		number(r.error), number(r.half), strconv.Itoa(r.trials), strconv.FormatFloat(p.best, 'g', -1, 64),
	}
}

// settled says what a file of rivals must agree on with the race that reads it, beside the values
// F* of its problems.
func (l *league) settled() []string {
	return []string{"race: " + l.command + ", " + l.describe, fmt.Sprintf("seed: %d", l.seed)}
}

// writeRivals writes the best rivals to NAME-rivals.csv, for -against, and says so.
func (l *league) writeRivals(w io.Writer, best rivals) error {
	var names []string
	for _, e := range l.entrants {
		if !e.untuned {
			names = append(names, e.name)
		}
	}
	choice := "in rounds"
	if l.exhaustive {
		choice = "at every budget"
	}
	head := append(l.settled(), "rivals: "+strings.Join(names, ", "),
		fmt.Sprintf("choice: up to %d runs of each of 100 settings, %s", l.tuneTrials, choice),
		"machine: "+kit.Machine(), "build: "+kit.Build())
	path := filepath.Join(l.folder, l.name+"-rivals.csv")
	err := atomicfile.Write(path, func(w io.Writer) error {
		for _, line := range head {
			if _, err := fmt.Fprintln(w, "#", line); err != nil {
				return err
			}
		}
		out := csv.NewWriter(w)
		list := [][]string{rivalColumns}
		for _, p := range l.problems {
			for b, n := range l.budgets {
				for o, r := range best[standing{p, b}] {
					if r.method != "" {
						list = append(list, r.line(p, n, o))
					}
				}
			}
		}
		return out.WriteAll(list)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}

// readRivals reads files of writeRivals, separated by commas, for the problems and budgets of this
// race. What they do not agree on, what is missing and what cannot be read is an error that names
// the file, and the line where there is one.
func (l *league) readRivals(files string) (rivals, error) {
	best := rivals{}
	for path := range strings.SplitSeq(files, ",") {
		if err := l.readFile(best, strings.TrimSpace(path)); err != nil {
			return nil, err
		}
	}
	for _, p := range l.problems {
		for b, n := range l.budgets {
			if pair := best[standing{p, b}]; pair[0].method == "" || pair[1].method == "" {
				return nil, fmt.Errorf("%s: no rivals on %q at %d samples, last iterate and mean: "+
					"race them there first", files, p.name, n)
			}
		}
	}
	return best, nil
}

// readFile adds the rivals of a file to best.
func (l *league) readFile(best rivals, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: -against: %w", kit.ErrUsage, err)
	}
	if err := l.agrees(path, text); err != nil {
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
			err = l.readRival(best, record)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

// agrees compares the lines at the top of a file of rivals with those of this race.
func (l *league) agrees(path string, text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for i, want := range l.settled() {
		lines.Scan()
		if got := strings.TrimPrefix(lines.Text(), "# "); got != want {
			return fmt.Errorf("%s:%d: the rivals are of another race, %q; this one is %q", path, i+1, got, want)
		}
	}
	return nil
}

// readRival adds a line to best. Problems and budgets that are not in this race are passed over.
func (l *league) readRival(best rivals, record []string) error {
	i := slices.IndexFunc(l.problems, func(p *problem) bool { return p.name == record[0] })
	samples, bad := strconv.ParseUint(record[1], 10, 64)
	b, o := slices.Index(l.budgets, samples), slices.Index(outputs[:], record[2])
	var v [3]float64
	var err error
	for k, column := range []int{5, 6, 8} {
		x, wrong := strconv.ParseFloat(record[column], 64)
		if wrong != nil || math.IsNaN(x) || column != 8 && !(x > 0) && !(x == 0 && column == 6) {
			err = kit.FirstOf(err, fmt.Errorf("%s is %q", rivalColumns[column], record[column]))
		}
		v[k] = x
	}
	trials, wrong := strconv.Atoi(record[7])
	switch {
	case bad != nil:
		return fmt.Errorf("samples is %q", record[1])
	case err != nil:
		return err
	case wrong != nil || trials < 1:
		return fmt.Errorf("trials is %q, want ≥ 1", record[7])
	case o < 0:
		return fmt.Errorf("output is %q, want one of %q", record[2], outputs)
	case record[3] == "":
		return errors.New("a rival without a name")
	case i < 0 || b < 0:
		return nil
	}
	p := l.problems[i]
	// Rounding differs between processors, and an exact minimum with it.
	if f := v[2]; !(math.Abs(f-p.best) <= 1e-9*(1+math.Abs(p.best))) {
		return fmt.Errorf("F* of %q is %v, and %v in this race: it is another problem", p.name, f, p.best)
	}
	pair := best[standing{p, b}]
	if pair[o].method != "" {
		return fmt.Errorf("%q at %d samples has a second rival by its %s", p.name, samples, record[2])
	}
	pair[o] = rival{record[3], record[4], v[0], v[1], trials}
	best[standing{p, b}] = pair
	return nil
}
