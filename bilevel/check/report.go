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

// measured reports whether Got and Want say anything.
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
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.String())
	}
	if len(lines) > 0 {
		return fmt.Errorf("%w: %s", ErrWrong, strings.Join(lines, "\n\t"))
	}
	for _, s := range r.Gaps() {
		lines = append(lines, s.String())
	}
	if len(lines) > 0 {
		return fmt.Errorf("%w: %s", ErrIncomplete, strings.Join(lines, "\n\t"))
	}
	return nil
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

// verdict is the first line of the report.
func (r *Report) verdict() string {
	gaps := len(r.Gaps())
	v := "RIGHT"
	switch {
	case len(r.Findings) > 0 && gaps > 0:
		v = "WRONG, AND NOT COMPLETE"
	case len(r.Findings) > 0:
		v = "WRONG"
	case gaps > 0:
		v = "NOT COMPLETE"
	}
	return fmt.Sprintf("%s: %d wrong, %d could not be checked, %d passed", v, len(r.Findings), gaps, len(r.Passed))
}

// String returns the report as a table, under a line with the verdict.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.verdict())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(r.Findings) > 0 {
		fmt.Fprint(w, "\nWRONG\tORACLE\tENTRY\tPOINT\tSAMPLES\tGOT\tWANT\tTOLERANCE\t\n")
		for _, f := range r.Findings {
			got, want, tol := "", "", ""
			if f.measured() {
				got, want, tol = fmt.Sprintf("%.6g", f.Got), fmt.Sprintf("%.6g", f.Want), fmt.Sprintf("%.1g", f.Tol)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				f.Check, f.Oracle, f.entry(), at(f.Point), names(f.Batch), got, want, tol, f.Message)
		}
	}
	for _, part := range []struct {
		title string
		gap   bool
	}{{"NOT CHECKED", true}, {"SKIPPED", false}} {
		title := part.title
		for _, s := range r.Skipped {
			if s.Gap != part.gap {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s\tORACLE\tREASON\n", title)
				title = ""
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Check, s.Oracle, s.Reason)
		}
	}
	if len(r.Passed) > 0 {
		fmt.Fprint(w, "\nPASSED\tCHECKS\n")
		for i, p := range r.Passed {
			same := func(q Pass) bool { return q.Oracle == p.Oracle }
			if slices.ContainsFunc(r.Passed[:i], same) {
				continue
			}
			var checks []string
			for _, q := range r.Passed[i:] {
				if same(q) {
					checks = append(checks, q.Check)
				}
			}
			fmt.Fprintf(w, "%s\t%s\n", p.Oracle, strings.Join(checks, ", "))
		}
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
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

// find adds a finding; of two on one entry, the worse one stays.
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

// pass counts entries that were compared and found right.
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

// wrong reports whether a check has a finding on an oracle.
func (l *log) wrong(check, oracle string) bool {
	return slices.ContainsFunc(l.findings, func(f Finding) bool { return f.Check == check && f.Oracle == oracle })
}

// clean reports whether a check has been passed by an oracle, and by all of it.
func (l *log) clean(check, oracle string) bool {
	passed := slices.ContainsFunc(l.passed, func(p Pass) bool { return p.Check == check && p.Oracle == oracle })
	return passed && !l.wrong(check, oracle)
}

// report keeps the worst five findings of each check, oracle and quantity, and drops the passes
// beside them.
func (l *log) report() *Report {
	const most = 5
	r := &Report{Skipped: l.skipped}
	for i, f := range l.findings {
		same := func(g Finding) bool { return g.Check == f.Check && g.Oracle == f.Oracle && g.Quantity == f.Quantity }
		if slices.ContainsFunc(l.findings[:i], same) {
			continue
		}
		var group []Finding
		for _, g := range l.findings[i:] {
			if same(g) {
				group = append(group, g)
			}
		}
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
