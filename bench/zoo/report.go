package zoo

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	within     = 2    // × the limit
	stationary = 1e-8 // of F(x⁰) − F*
)

// counts: a ratio at a mark counts from 10 expected rare events on.
func (r *Result) counts(o *Outcome, mark int) bool {
	return o.NoLimit == "" && mark < len(o.Ratio) && (r.Rate == 0 || r.Rate*o.Used[mark] >= 10)
}

// ratio is the mean of a stream's runs at a mark, NaN where none counts.
func (r *Result) ratio(mark int) float64 {
	total, n := 0.0, 0.0
	for i := range r.Runs {
		if o := &r.Runs[i]; o.Failed != "" {
			return math.Inf(1)
		} else if r.counts(o, mark) {
			total += o.Ratio[mark]
			n++
		}
	}
	return total / n
}

// root is the mean of Outcome.Root over the runs that ratio counts, NaN where one is not known.
func (r *Result) root() float64 {
	total, n := 0.0, 0.0
	for i := range r.Runs {
		if o := &r.Runs[i]; o.Root < 0 {
			return math.NaN()
		} else if o.Root > 0 && r.counts(o, len(o.Used)-1) {
			total += o.Root
			n++
		}
	}
	return total / n
}

// left is what descent from the worst end still gains, over F(x⁰) − F*.
func (r *Result) left() float64 {
	worst := 0.0
	for i := range r.Runs {
		o := &r.Runs[i]
		if o.Failed != "" {
			return math.Inf(1)
		}
		worst = max(worst, o.Error[len(o.Error)-1]/o.Gap)
	}
	return worst
}

// badness orders runs and problems: failures, rises without a warning, with one, distances from the
// floor; above 1 misses it.
func (r *Result) badness() float64 {
	worst := r.left() / stationary
	if r.Stream {
		worst = r.ratio(len(r.Runs[0].Error)-1) / within
	}
	for i := range r.Runs {
		worst = max(worst, r.Runs[i].badness())
	}
	return worst
}

func (o *Outcome) badness() float64 {
	switch {
	case o.Failed != "":
		return math.Inf(1)
	case o.Worse() && len(o.Warnings) == 0:
		return 1e200 * (1 + min(o.Rise/o.Gap, 1e50))
	case o.Worse():
		return 1e100
	}
	return min(o.Error[len(o.Error)-1]/o.Gap, 1) // below 1: it tells runs of one problem apart
}

func quantiles(list []float64, shares ...float64) string {
	if len(list) == 0 {
		return "–"
	}
	var text []string
	for _, q := range shares {
		text = append(text, fmt.Sprintf("%.3g", quantile(list, q)))
	}
	return strings.Join(text, "  ")
}

func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(list))
	return s[int(math.Round(q*float64(len(s)-1)))]
}

type group struct {
	problems, runs, failed, worse, silent, noLimit int
	ratios                                         [3][]float64
	left, evaluations, micros, roots               []float64
}

func (g *group) add(r *Result) {
	g.problems++
	for i := range r.Runs {
		o := &r.Runs[i]
		g.runs++
		if o.Failed != "" {
			g.failed++
		} else if o.Worse() {
			g.worse++
			if len(o.Warnings) == 0 {
				g.silent++
			}
		}
		if o.NoLimit != "" {
			g.noLimit++
		}
		used := o.Used[len(o.Used)-1]
		g.evaluations = append(g.evaluations, o.Evaluations)
		g.micros = append(g.micros, 1e6*o.Seconds/used)
		if !r.Stream {
			left := math.Inf(1)
			if o.Failed == "" {
				left = max(o.Error[len(o.Error)-1]/o.Gap, 0)
			}
			g.left = append(g.left, left)
		}
	}
	if r.Stream {
		for mark := range r.Runs[0].Error {
			if v := r.ratio(mark); !math.IsNaN(v) {
				g.ratios[mark] = append(g.ratios[mark], v)
			}
		}
		if v := r.root(); !math.IsNaN(v) {
			g.roots = append(g.roots, v)
		}
	}
}

func share(list []float64, atMost float64) float64 {
	n := 0
	for _, v := range list {
		if v <= atMost {
			n++
		}
	}
	return float64(n) / float64(max(len(list), 1))
}

func (o *options) report(w io.Writer, list []Result) {
	var all group
	refused, why := 0, ""
	var ran []Result
	for _, r := range list {
		if len(r.Runs) == 0 {
			refused, why = refused+1, r.Refused
			continue
		}
		ran = append(ran, r)
		all.add(&r)
	}
	last := len(o.marks()) - 1
	streams, chance := 0, 0.0
	for _, r := range ran {
		if r.Stream {
			streams++
			if v := r.ratio(last); !math.IsNaN(v) && !math.IsInf(v, 1) {
				chance += beyond(float64(len(r.Runs)*max(r.Runs[0].Free, 1)), within)
			}
		}
	}
	ends := all.ratios[last]
	fmt.Fprintf(w, "%s on %d problems of seed %d, %d samples of each kind: %d streams and %d sums, %d runs",
		o.method, len(ran), o.Seed, o.samples, streams, len(ran)-streams, all.runs)
	if refused > 0 {
		fmt.Fprintf(w, "; %d more are refused, the last: %s", refused, why)
	}
	fmt.Fprint(w, "\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "floor\tis\twant\t")
	fmt.Fprintf(tw, "diverged\t%d of %d runs\t0\t%s\n", all.failed, all.runs, verdict(all.failed == 0))
	fmt.Fprintf(tw, "worse than the start, no warning\t%d (with one: %d)\t0\t%s\n", all.silent, all.worse-all.silent,
		verdict(all.silent == 0))
	if len(ends) > 0 {
		fmt.Fprintf(tw, "streams within %d × of the limit\t%.1f %% of %d\t95 %%\t%s\n", within, 100*share(ends, within),
			len(ends), verdict(share(ends, within) >= 0.95))
		fmt.Fprintf(tw, "  median over the limit\t%.3g\t1.1\t%s\n", quantile(ends, 0.5), verdict(quantile(ends, 0.5) <= 1.1))
		fmt.Fprintf(tw, "  beyond it by chance, exactly at the limit\t%.1f %%\n", 100*chance/float64(len(ends)))
	}
	if len(all.roots) > 0 {
		fmt.Fprintf(tw, "  the exact minimum of the same samples\t%.1f %% of %d\n    median over the limit\t%.3g\n",
			100*share(all.roots, within), len(all.roots), quantile(all.roots, 0.5))
	}
	for m, n := range o.marks() {
		fmt.Fprintf(tw, "  over the limit at %d: 50, 95, 100 %%\t%s\n", n, quantiles(all.ratios[m], 0.5, 0.95, 1))
	}
	if all.noLimit > 0 {
		fmt.Fprintf(tw, "  runs without a limit, or reference\t%d\n", all.noLimit)
	}
	if len(all.left) > 0 {
		fmt.Fprintf(tw, "sums stationary to %g\t%.1f %% of %d\t95 %%\t%s\n", stationary, 100*share(all.left, stationary),
			len(all.left), verdict(share(all.left, stationary) >= 0.95))
	}
	fmt.Fprintf(tw, "evaluations a sample, median\t%s\n", quantiles(all.evaluations, 0.5))
	fmt.Fprintf(tw, "µs a sample, with the oracles, median\t%s\n\n", quantiles(all.micros, 0.5))
	tw.Flush()
	o.tables(w, ran)
	o.worst(w, ran)
}

func verdict(ok bool) string {
	if ok {
		return "holds"
	}
	return "MISSED"
}

func (o *options) tables(w io.Writer, ran []Result) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := len(o.marks()) - 1
	for _, by := range []struct {
		name string
		of   func(r *Result) string
	}{
		{"kind", func(r *Result) string { return r.Kind }},
		{"law", func(r *Result) string { return r.Law }},
		{"set", func(r *Result) string { return r.SetName }},
	} {
		groups := map[string]*group{}
		var names []string
		for i := range ran {
			name := by.of(&ran[i])
			if groups[name] == nil {
				groups[name] = &group{}
				names = append(names, name)
			}
			groups[name].add(&ran[i])
		}
		slices.Sort(names)
		fmt.Fprintf(tw, "by %s\tproblems\truns\tdiverged\tworse\tno limit\tover the limit 50, 95, 100 %%"+
			"\tleft of a sum: 50, 95, 100 %%\tevaluations 50, 95 %%\tµs 50 %%\n", by.name)
		for _, name := range names {
			g := groups[name]
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d", name, g.problems, g.runs, g.failed, g.worse, g.noLimit)
			fmt.Fprintf(tw, "\t%s\t%s\t%s\t%s\n", quantiles(g.ratios[last], 0.5, 0.95, 1), quantiles(g.left, 0.5, 0.95, 1), quantiles(g.evaluations, 0.5, 0.95),
				quantiles(g.micros, 0.5))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

// worst prints the ten worst problems, or with -v all, with their runs.
func (o *options) worst(w io.Writer, ran []Result) {
	order := slices.Clone(ran)
	slices.SortStableFunc(order, func(a, b Result) int { return cmp.Compare(b.badness(), a.badness()) })
	if !o.verbose {
		order = slices.DeleteFunc(order, func(r Result) bool { return !(r.badness() > 1) })
		fmt.Fprintf(w, "%d problems miss a floor; the worst:\n", len(order))
		order = order[:min(len(order), 10)]
	}
	for _, r := range order {
		fmt.Fprintf(w, "go run ./bench zoo -method %s -seed %d -samples %d -only %d -v\n    %s\n", o.method, o.Seed, o.samples,
			r.Index, r.About)
		runs := slices.Clone(r.Runs)
		if !o.verbose {
			slices.SortStableFunc(runs, func(a, b Outcome) int { return cmp.Compare(b.badness(), a.badness()) })
			runs = runs[:1]
		}
		for i := range runs {
			fmt.Fprintf(w, "    %s\n", runs[i].text(r.Stream))
		}
	}
}

func (o *Outcome) text(stream bool) string {
	s := fmt.Sprintf("F − F₀ %.2g of %.2g", o.Rise, o.Gap)
	switch {
	case o.Failed != "":
		s += ", failed: " + o.Failed
	case !stream:
		s += fmt.Sprintf(", left of it %.2g", scaled(o.Error, o.Gap))
	case o.NoLimit != "":
		s += fmt.Sprintf(", left of it %.2g, no limit: %s", scaled(o.Error, o.Gap), o.NoLimit)
	default:
		s += fmt.Sprintf(", over the limit %.3g with %d free", o.Ratio, o.Free)
	}
	s += fmt.Sprintf(", at %.0f samples; %.3g evaluations a sample, %d steps, %.2g s", o.Used, o.Evaluations, o.Steps, o.Seconds)
	for _, line := range o.Warnings {
		s += "; " + line
	}
	return s
}

func scaled(v []float64, by float64) []float64 {
	v = slices.Clone(v)
	for i := range v {
		v[i] /= by
	}
	return v
}

// beyond is the probability that χ²_k/k exceeds c (Wilson, Hilferty, Proc. Nat. Acad. Sci. 17,
// 1931).
func beyond(k, c float64) float64 {
	z := (math.Cbrt(c) - 1 + 2/(9*k)) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2) / 2
}
