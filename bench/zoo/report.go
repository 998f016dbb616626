package zoo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"stable/bench/kit"
)

const (
	within = 2    // × the limit
	atRest = 1e-8 // of F(x⁰) − F*
)

// counts: a ratio at a mark counts from 10 expected rare events on.
func (r *result) counts(o *outcome, mark int) bool {
	return o.NoLimit == "" && mark < len(o.Ratio) && (r.Rate == 0 || r.Rate*o.Used[mark] >= 10)
}

// mean is NaN where no run counts.
func (r *result) mean(mark int, of func(o *outcome) float64) float64 {
	total, n := 0.0, 0.0
	for _, o := range r.Runs {
		if r.counts(&o, mark) {
			total += of(&o)
			n++
		}
	}
	return total / n
}

func (r *result) ratio(mark int) float64 {
	if slices.ContainsFunc(r.Runs, func(o outcome) bool { return o.Failed != "" }) {
		return math.Inf(1)
	}
	return r.mean(mark, func(o *outcome) float64 { return o.Ratio[mark] })
}

func (r *result) root() float64 {
	return r.mean(len(r.Runs[0].Used)-1, func(o *outcome) float64 {
		if o.Root <= 0 {
			return math.NaN()
		}
		return o.Root
	})
}

// badness orders problems: failures, rises without a warning, with one, distances from the floor (1).
func (r *result) badness() float64 {
	worst := 0.0
	if r.Stream {
		worst = r.ratio(len(r.Runs[0].Error)-1) / within
	}
	for _, o := range r.Runs {
		if worst = max(worst, o.badness()); !r.Stream {
			worst = max(worst, o.left()/atRest)
		}
	}
	return worst
}

func (o *outcome) badness() float64 {
	switch {
	case o.Failed != "":
		return math.Inf(1)
	case o.worse() && len(o.Warnings) == 0:
		return 1e200 * (1 + min(o.Rise/o.Gap, 1e50))
	case o.worse():
		return 1e100
	}
	return min(o.left(), 1) // below 1: it tells runs of one problem apart
}

func quantiles(list []float64, shares ...float64) string {
	if len(list) == 0 {
		return "–"
	}
	text := kit.Map(shares, func(q float64) string { return fmt.Sprintf("%.3g", quantile(list, q)) })
	return strings.Join(text, "  ")
}

func quantile(list []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(list))
	return s[int(math.Round(q*float64(len(s)-1)))]
}

func share(list []float64, atMost float64) float64 {
	n := 0.0
	for _, v := range list {
		if v <= atMost {
			n++
		}
	}
	return n / float64(len(list))
}

type group struct {
	problems, runs, failed, warned, silent, noLimit int
	ratios                                          [3][]float64
	left, evaluations, micros, roots                []float64
	told                                            [2][]float64
	untold                                          [2]int
}

func (g *group) add(r *result) {
	g.problems++
	g.runs += len(r.Runs)
	for _, o := range r.Runs {
		switch {
		case o.Failed != "":
			g.failed++
		case o.worse() && len(o.Warnings) == 0:
			g.silent++
		case o.worse():
			g.warned++
		}
		if o.NoLimit != "" {
			g.noLimit++
		}
		g.evaluations = append(g.evaluations, o.Evaluations)
		g.micros = append(g.micros, 1e6*o.Seconds/o.Used[len(o.Used)-1])
		if !r.Stream {
			g.left = append(g.left, max(o.left(), 0))
		}
	}
	if !r.Stream {
		return
	}
	known := func(list []float64, v float64) []float64 {
		if math.IsNaN(v) {
			return list
		}
		return append(list, v)
	}
	for mark := range r.Runs[0].Error {
		g.ratios[mark] = known(g.ratios[mark], r.ratio(mark))
	}
	g.roots = known(g.roots, r.root())
	for i := range g.told {
		sum, n := 0.0, 0.0
		for _, o := range r.Runs {
			switch t := o.Told[i]; {
			case !r.counts(&o, len(o.Error)-1):
			case t > 0:
				sum, n = sum+t, n+1
			default:
				g.untold[i]++
			}
		}
		g.told[i] = known(g.told[i], sum/n)
	}
}

func (o *options) report(w io.Writer, list []result) error {
	var all group
	var ran []result
	why := ""
	last, streams, chance := len(o.marks())-1, 0, [2]float64{}
	for _, r := range list {
		if len(r.Runs) == 0 {
			why = r.Refused
			continue
		}
		ran = append(ran, r)
		all.add(&r)
		if r.Stream {
			streams++
			if v := r.ratio(last); v < math.Inf(1) {
				k := 0.0
				for _, run := range r.Runs {
					k += max(run.Effective, 1)
				}
				chance[0] += beyond(k, within)
				chance[1] += beyond(k, 3) + 1 - beyond(k, 1./3)
			}
		}
	}
	if len(ran) == 0 {
		return fmt.Errorf("%s runs on none of these %d problems, the last: %s", o.method, len(list), why)
	}
	fmt.Fprintf(w, "%s on %d problems of seed %d, %d samples of each kind: %d streams and %d sums, %d runs",
		o.method, len(ran), o.Seed, o.samples, streams, len(ran)-streams, all.runs)
	if n := len(list) - len(ran); n > 0 {
		fmt.Fprintf(w, "; %d more are refused, the last: %s", n, why)
	}
	fmt.Fprint(w, "\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	verdict := map[bool]string{true: "holds", false: "MISSED"}
	fmt.Fprintln(tw, "floor\tis\twant\t")
	fmt.Fprintf(tw, "diverged\t%d of %d runs\t0\t%s\n", all.failed, all.runs, verdict[all.failed == 0])
	fmt.Fprintf(tw, "worse than the start, no warning\t%d (with one: %d)\t0\t%s\n", all.silent, all.warned,
		verdict[all.silent == 0])
	if ends := all.ratios[last]; len(ends) > 0 {
		fmt.Fprintf(tw, "streams within %d × of the limit\t%.1f %% of %d\t95 %%\t%s\n", within, 100*share(ends, within),
			len(ends), verdict[share(ends, within) >= 0.95])
		fmt.Fprintf(tw, "  median over the limit\t%s\t1.1\t%s\n", quantiles(ends, 0.5), verdict[quantile(ends, 0.5) <= 1.1])
		fmt.Fprintf(tw, "  beyond it by chance, exactly at the limit\t%.1f %%\n", 100*chance[0]/float64(len(ends)))
	}
	if n := len(all.roots); n > 0 {
		fmt.Fprintf(tw, "  the exact minimum of the same samples\t%.1f %% of %d\n    median over the limit\t%s\n",
			100*share(all.roots, within), n, quantiles(all.roots, 0.5))
	}
	for m, n := range o.marks() {
		fmt.Fprintf(tw, "  over the limit at %d: 50, 95, 100 %%\t%s\n", n, quantiles(all.ratios[m], 0.5, 0.95, 1))
	}
	for i, what := range [...]string{"F − F*", "‖y − y*(x)‖"} {
		if list := all.told[i]; len(list) > 0 {
			near := share(list, 3) - share(list, 1./3)
			fmt.Fprintf(tw, "%s within 3 × of what Health tells\t%.1f %% of %d, median %s, not told in %d runs\t95 %%\t%s\n", what,
				100*near, len(list), quantiles(list, 0.5), all.untold[i], verdict[near >= 0.95])
			if n := len(all.ratios[last]); i == 0 && n > 0 {
				fmt.Fprintf(tw, "  off by chance, told the truth\t%.1f %%\n", 100*chance[1]/float64(n))
			}
		}
	}
	if all.noLimit > 0 {
		fmt.Fprintf(tw, "  runs without a limit, or reference\t%d\n", all.noLimit)
	}
	if n := len(all.left); n > 0 {
		fmt.Fprintf(tw, "sums stationary to %g\t%.1f %% of %d\t95 %%\t%s\n", atRest, 100*share(all.left, atRest), n,
			verdict[share(all.left, atRest) >= 0.95])
	}
	fmt.Fprintf(tw, "evaluations a sample, median\t%s\n", quantiles(all.evaluations, 0.5))
	fmt.Fprintf(tw, "µs a sample, with the oracles, median\t%s\n\n", quantiles(all.micros, 0.5))
	groups(tw, last, ran, "kind", func(r *result) string { return r.Kind })
	groups(tw, last, ran, "law", func(r *result) string { return r.Law })
	groups(tw, last, ran, "set", func(r *result) string { return r.SetName })
	tw.Flush()
	o.worst(w, ran)
	return nil
}

func groups(w io.Writer, last int, ran []result, by string, of func(r *result) string) {
	list := map[string]group{}
	for _, r := range ran {
		g := list[of(&r)]
		g.add(&r)
		list[of(&r)] = g
	}
	fmt.Fprintf(w, "by %s\tproblems\truns\tdiverged\tworse\tno limit\tover the limit 50, 95, 100 %%"+
		"\tleft of a sum: 50, 95, 100 %%\tevaluations 50, 95 %%\tµs 50 %%\n", by)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		g := list[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", name, g.problems, g.runs, g.failed,
			g.silent+g.warned, g.noLimit, quantiles(g.ratios[last], 0.5, 0.95, 1), quantiles(g.left, 0.5, 0.95, 1),
			quantiles(g.evaluations, 0.5, 0.95), quantiles(g.micros, 0.5))
	}
	fmt.Fprintln(w)
}

func (o *options) worst(w io.Writer, ran []result) {
	slices.SortStableFunc(ran, func(a, b result) int { return cmp.Compare(b.badness(), a.badness()) })
	if !o.verbose {
		ran = slices.DeleteFunc(ran, func(r result) bool { return !(r.badness() > 1) })
		fmt.Fprintf(w, "%d problems miss a floor; the worst:\n", len(ran))
		ran = ran[:min(len(ran), 10)]
	}
	for _, r := range ran {
		fmt.Fprintf(w, "go run ./bench zoo -method %s -seed %d -samples %d -only %d -v\n    %s\n", o.method, o.Seed, o.samples,
			r.Index, r.About)
		runs := r.Runs
		if !o.verbose {
			runs = []outcome{slices.MaxFunc(runs, func(a, b outcome) int { return cmp.Compare(a.badness(), b.badness()) })}
		}
		for _, run := range runs {
			fmt.Fprintf(w, "    %s\n", run.text(r.Stream))
		}
	}
}

func (o *outcome) text(stream bool) string {
	left := kit.Map(o.Error, func(e float64) float64 { return e / o.Gap })
	s := fmt.Sprintf("F − F₀ %.2g of %.2g", o.Rise, o.Gap)
	switch {
	case o.Failed != "":
		s += ", failed: " + o.Failed
	case stream && o.NoLimit == "":
		s += fmt.Sprintf(", over the limit %.3g with %d free", o.Ratio, o.Free)
	default:
		s += fmt.Sprintf(", left of it %.2g", left)
		if stream {
			s += ", no limit: " + o.NoLimit
		}
	}
	s += fmt.Sprintf(", at %.0f samples; %.3g evaluations a sample, %d steps, %.2g s", o.Used, o.Evaluations, o.Steps, o.Seconds)
	return strings.Join(append([]string{s}, o.Warnings...), "; ")
}

// beyond is the probability that χ²_k/k exceeds c (Wilson, Hilferty, PNAS 17, 1931).
func beyond(k, c float64) float64 {
	z := (math.Cbrt(c) - 1 + 2/(9*k)) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2) / 2
}
