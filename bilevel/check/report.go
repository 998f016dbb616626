package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"stable/bilevel"
)

// The values of Finding.Check; the package comment says what each is.
const (
	Call       = "call"
	Finite     = "finite"
	Overwrite  = "overwrite"
	Inputs     = "inputs"
	SameDraw   = "same draw"
	BatchMean  = "batch mean"
	Derivative = "derivative"
	Symmetry   = "symmetry"
	Convexity  = "convexity"
	Unbiased   = "unbiased"
	Product    = "product"
	Truth      = "truth"
	Effect     = "effect"
)

var (
	// Report.Err wraps ErrWrong if there are findings.
	ErrWrong = errors.New("check: problem is wrong")

	// Report.Err wraps ErrIncomplete if there are none, but some oracle could not be verified.
	ErrIncomplete = errors.New("check: problem is not fully verified")
)

// A Finding is one thing that is wrong; a report has the worst five of those wrong in the same way.
type Finding struct {
	Check    string           // Call, Finite, …
	Oracle   string           // the method of the problem, as GradF or Solution
	Quantity string           // in the paper's notation: f_x, f_y, g_y, g_xy, g_yy, …
	I, J     int              // the entry; J is −1 for vectors, both are −1 where no entry is meant
	Got      float64          // what the oracle gave
	Want     float64          // what it should have given
	Tol      float64          // the difference that was allowed
	Point    int              // number of the point, or −1
	Batch    []bilevel.Sample // the samples asked for; empty for the exact value
	Message  string

	severity float64
}

func (f Finding) entry() string {
	switch {
	case f.I < 0:
		return f.Quantity
	case f.J < 0:
		return fmt.Sprintf("%s[%d]", f.Quantity, f.I)
	}
	return fmt.Sprintf("%s[%d,%d]", f.Quantity, f.I, f.J)
}

func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s: %s: %s", f.Check, f.Oracle, f.entry(), f.Message)
	if f.measured() {
		s += fmt.Sprintf(": got %.6g, want %.6g", f.Got, f.Want)
	}
	return s
}

func (f Finding) measured() bool { return f.Tol != 0 || f.Got != f.Want }

// A Pass is a check that an oracle passed, with the number of entries compared.
type Pass struct {
	Check, Oracle string
	Count         int
}

// A Skip is a check that was not made, or not in full, and why.
type Skip struct {
	Check, Oracle, Reason string

	// Gap says that only this check would have seen a mistake of the oracle. It is false where
	// there is nothing to check, an exact value that the problem does not have, or where Options
	// have left it out.
	Gap bool
}

func (s Skip) String() string { return fmt.Sprintf("%s: %s: %s", s.Check, s.Oracle, s.Reason) }

// A Report is the result of Problem.
type Report struct {
	Findings []Finding // in the order of the checks
	Passed   []Pass
	Skipped  []Skip
}

// Err returns nil if every oracle was verified and found right. Otherwise it wraps ErrWrong, with a
// line for each finding, or if there are none ErrIncomplete, with a line for each gap.
func (r *Report) Err() error {
	if len(r.Findings) > 0 {
		return joined(ErrWrong, r.Findings)
	}
	if gaps := r.Gaps(); len(gaps) > 0 {
		return joined(ErrIncomplete, gaps)
	}
	return nil
}

func joined[T fmt.Stringer](err error, list []T) error {
	var lines []string
	for _, l := range list {
		lines = append(lines, l.String())
	}
	return fmt.Errorf("%w: %s", err, strings.Join(lines, "\n\t"))
}

// Gaps returns the skipped checks that leave an oracle unverified.
func (r *Report) Gaps() []Skip {
	var gaps []Skip
	for _, s := range r.Skipped {
		if s.Gap {
			gaps = append(gaps, s)
		}
	}
	return gaps
}

// String returns the report as a table, under a line with the verdict.
func (r *Report) String() string {
	gaps := len(r.Gaps())
	verdict := "RIGHT"
	switch {
	case len(r.Findings) > 0 && gaps > 0:
		verdict = "WRONG, AND NOT COMPLETE"
	case len(r.Findings) > 0:
		verdict = "WRONG"
	case gaps > 0:
		verdict = "NOT COMPLETE"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d wrong, %d could not be checked, %d passed\n", verdict, len(r.Findings), gaps, len(r.Passed))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	section := func(head string, rows []string) {
		if len(rows) > 0 {
			fmt.Fprintf(w, "\n%s\n%s\n", head, strings.Join(rows, "\n"))
		}
	}
	var wrong []string
	var skipped [2][]string // gaps first
	for _, f := range r.Findings {
		got, want, tol := "", "", ""
		if f.measured() {
			got, want, tol = fmt.Sprintf("%.6g", f.Got), fmt.Sprintf("%.6g", f.Want), fmt.Sprintf("%.1g", f.Tol)
		}
		wrong = append(wrong, strings.Join([]string{f.Check, f.Oracle, f.entry(), at(f.Point), names(f.Batch),
			got, want, tol, f.Message}, "\t"))
	}
	section("WRONG\tORACLE\tENTRY\tPOINT\tSAMPLES\tGOT\tWANT\tTOLERANCE\t", wrong)
	for _, s := range r.Skipped {
		kind := 1
		if s.Gap {
			kind = 0
		}
		skipped[kind] = append(skipped[kind], s.Check+"\t"+s.Oracle+"\t"+s.Reason)
	}
	section("NOT CHECKED\tORACLE\tREASON", skipped[0])
	section("SKIPPED\tORACLE\tREASON", skipped[1])
	section("PASSED\tCHECKS", r.passed())
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}

// passed has a row for each oracle, with the checks that it passed.
func (r *Report) passed() (rows []string) {
	row := map[string]int{}
	for _, p := range r.Passed {
		if k, ok := row[p.Oracle]; ok {
			rows[k] += ", " + p.Check
			continue
		}
		row[p.Oracle] = len(rows)
		rows = append(rows, p.Oracle+"\t"+p.Check)
	}
	return rows
}

func at(point int) string {
	if point < 0 {
		return ""
	}
	return fmt.Sprint(point)
}

func names(batch []bilevel.Sample) string {
	if len(batch) == 0 {
		return "exact"
	}
	return strings.Trim(fmt.Sprint(batch), "[]")
}

// log collects what the checks say.
type log struct {
	findings []Finding
	passed   []Pass
	skipped  []Skip
}

func (l *log) find(f Finding) {
	f.Batch = slices.Clone(f.Batch)
	for i, g := range l.findings {
		if g.Check == f.Check && g.Oracle == f.Oracle && g.Quantity == f.Quantity && g.I == f.I && g.J == f.J {
			if f.severity > g.severity {
				l.findings[i] = f
			}
			return
		}
	}
	l.findings = append(l.findings, f)
}

func (l *log) pass(check, oracle string, count int) {
	for i, p := range l.passed {
		if p.Check == check && p.Oracle == oracle {
			l.passed[i].Count += count
			return
		}
	}
	l.passed = append(l.passed, Pass{check, oracle, count})
}

// gap notes once why a check cannot be made.
func (l *log) gap(check, oracle, format string, args ...any) {
	l.skip(Skip{check, oracle, fmt.Sprintf(format, args...), true})
}

func (l *log) skip(s Skip) {
	if !slices.Contains(l.skipped, s) {
		l.skipped = append(l.skipped, s)
	}
}

func (l *log) wrong(check, oracle string) bool {
	return slices.ContainsFunc(l.findings, func(f Finding) bool { return f.Check == check && f.Oracle == oracle })
}

// clean reports whether a check has been passed by an oracle, and by all of it.
func (l *log) clean(check, oracle string) bool {
	return !l.wrong(check, oracle) &&
		slices.ContainsFunc(l.passed, func(p Pass) bool { return p.Check == check && p.Oracle == oracle })
}

// report keeps the worst five findings of each check, oracle and quantity, and drops the passes
// beside them.
func (l *log) report() *Report {
	const most = 5
	r := &Report{Skipped: l.skipped}
	groups, order := map[[3]string][]Finding{}, [][3]string{}
	for _, f := range l.findings {
		key := [3]string{f.Check, f.Oracle, f.Quantity}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	for _, key := range order {
		group := groups[key]
		slices.SortStableFunc(group, func(a, b Finding) int { return cmp.Compare(b.severity, a.severity) })
		if n := len(group); n > most {
			group = group[:most]
			group[most-1].Message += fmt.Sprintf(" (and %d more entries)", n-most)
		}
		r.Findings = append(r.Findings, group...)
	}
	for _, p := range l.passed {
		if !l.wrong(p.Check, p.Oracle) {
			r.Passed = append(r.Passed, p)
		}
	}
	return r
}
