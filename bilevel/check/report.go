package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"stable/bilevel"
)

// The values of Finding.Check; the package comment says what each is.
const (
	Projection = "projection"
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

// The errors that Report.Err wraps.
var (
	ErrWrong      = errors.New("check: problem is wrong")              // there are findings
	ErrIncomplete = errors.New("check: problem is not fully verified") // there are none, but gaps
)

// A Finding is one thing that is wrong; of those wrong in the same way, a report has the worst five.
type Finding struct {
	Check    string           // Call, Finite, …
	Oracle   string           // the method of the problem, as GradF or Solution
	Quantity string           // in the paper's notation: f_x, f_y, g_y, g_xy, g_yy, …
	I, J     int              // the entry; J is −1 for vectors, both are −1 where no entry is meant
	Got      float64          // what the oracle gave
	Want     float64          // what it should have given
	Tol      float64          // the difference that was allowed
	Point    int              // number of the point
	Batch    []bilevel.Sample // the samples asked for; empty for the exact value
	Message  string
}

func (f Finding) miss() float64 { return math.Abs(f.Got - f.Want) }

func (f Finding) String() string {
	s := f.Check + ": " + f.Oracle + ": " + f.Quantity
	switch {
	case f.J >= 0:
		s += fmt.Sprintf("[%d,%d]", f.I, f.J)
	case f.I >= 0:
		s += fmt.Sprintf("[%d]", f.I)
	}
	s += ": " + f.Message
	if f.Check == Finite {
		return s + fmt.Sprintf(": got %g", f.Got)
	}
	if f.Tol != 0 || f.Got != f.Want {
		s += fmt.Sprintf(": got %.6g, want %.6g", f.Got, f.Want)
	}
	return s
}

// A Pass is a check that an oracle passed, with the number of entries compared.
type Pass struct {
	Check, Oracle string
	Count         int
}

// A Skip is a check that was not made, or not in full, and why.
type Skip struct {
	Check, Oracle, Reason string
	Gap                   bool // not where there is nothing to check, or Options say so
}

func (s Skip) String() string { return fmt.Sprintf("%s: %s: %s", s.Check, s.Oracle, s.Reason) }

// A Report is the result of Problem.
type Report struct {
	Findings []Finding // in the order of the checks
	Passed   []Pass
	Skipped  []Skip
}

// Err returns nil if every oracle was verified and found right. Otherwise it wraps ErrWrong, with a
// line for each finding, or else ErrIncomplete, with a line for each gap.
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
	return slices.DeleteFunc(slices.Clone(r.Skipped), func(s Skip) bool { return !s.Gap })
}

// String returns the verdict, with a line for each finding, skipped check and oracle.
func (r *Report) String() string {
	var verdict []string
	if len(r.Findings) > 0 {
		verdict = append(verdict, "WRONG")
	}
	gaps := len(r.Gaps())
	if gaps > 0 {
		verdict = append(verdict, "NOT COMPLETE")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d wrong, %d could not be checked, %d passed\n",
		cmp.Or(strings.Join(verdict, ", AND "), "RIGHT"), len(r.Findings), gaps, len(r.Passed))
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "WRONG %v (tolerance %.1g, point %d, samples %d)\n", f, f.Tol, f.Point, f.Batch)
	}
	for _, s := range r.Skipped {
		kind := "SKIPPED"
		if s.Gap {
			kind = "NOT CHECKED"
		}
		fmt.Fprintf(&b, "%s %v\n", kind, s)
	}
	passed := map[string][]string{} // by oracle
	for _, p := range r.Passed {
		passed[p.Oracle] = append(passed[p.Oracle], p.Check)
	}
	for _, p := range r.Passed {
		if checks := passed[p.Oracle]; checks != nil {
			fmt.Fprintf(&b, "PASSED %s: %s\n", p.Oracle, strings.Join(checks, ", "))
			delete(passed, p.Oracle)
		}
	}
	return b.String()
}

// find notes a finding, or the worse one of two on the same entry.
func (r *Report) find(f Finding, got, want, tol float64) {
	f.Batch, f.Got, f.Want, f.Tol = slices.Clone(f.Batch), got, want, tol
	i := slices.IndexFunc(r.Findings, func(g Finding) bool {
		return g.Check == f.Check && g.Oracle == f.Oracle && g.Quantity == f.Quantity && g.I == f.I && g.J == f.J
	})
	if i < 0 {
		r.Findings = append(r.Findings, f)
	} else if f.miss() > r.Findings[i].miss() {
		r.Findings[i] = f
	}
}

func (r *Report) pass(check, oracle string, count int) {
	i := slices.IndexFunc(r.Passed, func(p Pass) bool { return p.Check == check && p.Oracle == oracle })
	if i < 0 {
		i = len(r.Passed)
		r.Passed = append(r.Passed, Pass{Check: check, Oracle: oracle})
	}
	r.Passed[i].Count += count
}

func (r *Report) gap(check, oracle, format string, args ...any) {
	r.skip(Skip{check, oracle, fmt.Sprintf(format, args...), true})
}

func (r *Report) skip(s Skip) {
	if !slices.Contains(r.Skipped, s) {
		r.Skipped = append(r.Skipped, s)
	}
}

func (r *Report) wrong(check, oracle string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Oracle == oracle && (check == "" || f.Check == check)
	})
}

// cut keeps the worst five of each check, oracle and quantity, and drops passes beside them.
func (r *Report) cut() {
	const most = 5
	key := func(f Finding) [3]string { return [3]string{f.Check, f.Oracle, f.Quantity} }
	groups := map[[3]string][]Finding{}
	for _, f := range r.Findings {
		groups[key(f)] = append(groups[key(f)], f)
	}
	var kept []Finding
	for _, f := range r.Findings {
		group := groups[key(f)]
		delete(groups, key(f))
		slices.SortStableFunc(group, func(a, b Finding) int { return cmp.Compare(b.miss(), a.miss()) })
		if n := len(group); n > most {
			group = group[:most]
			group[most-1].Message += fmt.Sprintf(" (and %d more entries)", n-most)
		}
		kept = append(kept, group...)
	}
	r.Findings = kept
	r.Passed = slices.DeleteFunc(r.Passed, func(p Pass) bool { return r.wrong(p.Check, p.Oracle) })
}

// comparison is of an oracle's values with what they should be.
type comparison struct {
	check          string
	o              *oracle
	pt             point
	got, want, tol []float64 // got or want is nil where it is not known
	against        string    // what want is
}

func (m comparison) wrong() (bad []int, judged int) {
	for k, tol := range m.tol {
		if math.IsInf(tol, 1) {
			continue
		}
		judged++
		if !(math.Abs(m.got[k]-m.want[k]) <= tol) {
			bad = append(bad, k)
		}
	}
	return bad, judged
}

func (c *checker) judge(m comparison) bool {
	if m.got == nil || m.want == nil {
		return false
	}
	bad, judged := m.wrong()
	if len(bad) == 0 {
		if judged > 0 {
			c.log.pass(m.check, m.o.name, judged)
		}
		return true
	}
	message := "differs from " + m.against
	if r, ok := m.ratio(); ok && m.check != Symmetry {
		message += fmt.Sprintf(": all entries are %.3g times that", r)
	} else if m.check != Symmetry && m.transposed() {
		message += ": it is the transpose of that"
	}
	for _, k := range bad {
		c.log.find(m.o.finding(m.check, m.pt, k, message), m.got[k], m.want[k], m.tol[k])
	}
	return false
}

// ratio returns r ≠ 1 with got = r·want, if there is one and entries enough to tell.
func (m comparison) ratio() (float64, bool) {
	gw, ww := 0.0, 0.0
	for k := range m.got {
		if !math.IsInf(m.tol[k], 1) {
			gw += m.got[k] * m.want[k]
			ww += m.want[k] * m.want[k]
		}
	}
	r := gw / ww
	if len(m.got) < 2 || !(math.Abs(r-1) > 1e-4) || math.IsInf(r, 0) {
		return 0, false
	}
	for k := range m.got { // an infinite tolerance leaves its entry out
		if !(math.Abs(m.got[k]-r*m.want[k]) <= (1+math.Abs(r))*m.tol[k]+1e-6*math.Abs(m.got[k])) {
			return 0, false
		}
	}
	return r, true
}

func (m comparison) transposed() bool {
	b := m.o.blocks[0]
	for k := range m.got {
		t := k%b.cols*b.cols + k/b.cols
		if b.symmetric || b.indices < 2 || b.rows != b.cols || !(math.Abs(m.got[k]-m.want[t]) <= m.tol[t]) {
			return false
		}
	}
	return b.rows > 1
}

func level(n int, tol float64) []float64 { return slices.Repeat([]float64{tol}, n) }
