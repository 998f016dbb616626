package tune

import (
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bench/plot"
	"stable/bilevel/saa"
	"stable/mat"
)

var likeLabel = regexp.MustCompile(`(?i)^(label|class|target|y)$`)

func (t *search) describe(w io.Writer) {
	for _, f := range t.files {
		fmt.Fprintf(w, "data     %s: %d rows\n", f.Path, f.Rows)
	}
	fmt.Fprintf(w, "features %s; and an intercept\n", kit.Features(t.scaler, "all but the test rows"))
	empty := t.dim - len(t.used)
	say(w, empty > 0, "empty    %d more are 0 in all these rows, and are left out", empty)
	say(w, t.filled > 0, "filled   %d missing cells, by the %s of a column's values in %s, or its most frequent text",
		t.filled, t.Impute, t.files[0].Path)
	for _, cell := range t.lone {
		fmt.Fprintf(w, "warning  %s: a million times as large as all others there, which are as if equal beside it\n", cell)
	}
	say(w, t.constant != "", "constant %s", t.constant)
	say(w, t.Label == "" && t.label != "", "label    %q, the last column (-label names another)", t.label)
	for _, first := range t.features[:min(1, len(t.features))] {
		say(w, t.Label == "" && likeLabel.MatchString(first), "warning  the first column is named %q: -label %[1]q if that is the label", first)
		say(w, first == "", "warning  the first column has no name, as a column of row names: -drop \"\" leaves it out")
	}
	for _, j := range t.counters {
		name := t.features[j]
		say(w, name != "", "warning  column %q numbers the rows, and is a feature: -drop %[1]q leaves it out", name)
	}
	for _, c := range t.columns {
		words := slices.DeleteFunc(slices.Clone(c.Levels), func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil })
		if 2*len(words) < len(c.Levels) {
			fmt.Fprintf(w, "warning  column %q is one of texts, since it holds %s beside numbers\n", c.Name, quoted(words))
		} else if 2*len(c.Levels) > t.files[0].Rows {
			fmt.Fprintf(w, "warning  column %q holds another text in nearly every row: -id makes it names of rows, -drop leaves it out\n", c.Name)
		}
	}
	say(w, !t.Headerless && slices.Contains(t.classes, t.label),
		"warning  the last column is named %q, as a class is: -headerless if the first line is a row", t.label)
	for i, class := range t.classes {
		for _, other := range t.classes[:i] {
			say(w, strings.EqualFold(class, other), "warning  the classes %q and %q differ in case alone", other, class)
		}
	}
	n := t.rows()
	if t.folded() {
		fmt.Fprintf(w, "rows     %d to train and choose on, in %d folds × %d; %d for the test (seed %d)\n",
			n.Design, n.Folds, t.repeats, n.Test, t.Seed)
		say(w, t.kin != nil || t.apart, "folds    rows that are copies, or of one name (-id), %s",
			either(t.apart, "stand in several: there are too few kinds", "stay in one fold"))
	} else {
		fmt.Fprintf(w, "rows     %d training, %d validation, %d kept back to choose on, %d test (seed %d)\n",
			n.Train, n.Validation, n.Unseen, n.Test, t.Seed)
	}
	if t.Loss == "logistic" {
		last := len(t.classes) - 1
		fmt.Fprintf(w, "classes  %s and %q; logistic loss\n", quoted(t.classes[:last]), t.classes[last])
	} else {
		fmt.Fprintf(w, "target   mean %.6g, deviation %.6g on all but the test rows; squared loss ½(t − b)²\n",
			t.target.Mean, t.target.Deviation)
	}
	less := either(t.open && t.Solver != solverSAA, " or less", "")
	fmt.Fprintf(w, "weights  on squares of coefficients, in [%.3g%s, %.3g]; intercept %s\n", t.Lo, less, t.Hi, t.Intercept)
	if t.Solver == solverSAA {
		fmt.Fprintf(w, "solver   saa: %s, %d steps of at most two samples each\n\n", saa.Newton{}.Name(), t.Steps)
	} else {
		fmt.Fprintf(w, "solver   exact: %s on all rows\n\n", either(len(t.classes) > 2, "L-BFGS", "Newton's method"))
	}
}

func say(w io.Writer, so bool, format string, args ...any) {
	if so {
		fmt.Fprintf(w, format+"\n", args...)
	}
}

func (t *search) report(w io.Writer) error {
	if t.cleaner != nil {
		t.reportCleaning(w)
	} else if t.Clean {
		fmt.Fprint(w, "clean    not done: the run was stopped before\n\n")
	}
	t.reportResults(w)
	fmt.Fprintf(w, "\nchoice   %v\n", t.choice)
	d, e := t.beside(t.results[1])
	say(w, t.choice.index != 1, "test     %s on the %d test rows", besideOne("loss", d, e), t.test.Rows())
	var gone []string
	for j, column := range t.used {
		if t.chosen().y[j] == 0 {
			gone = append(gone, t.featureName(column))
		}
	}
	say(w, len(gone) > 0, "dropped  %d of %d features: %s", len(gone), len(t.used),
		either(len(gone) == len(t.used), "the model is a constant", quoted(gone)))
	t.warn(w)
	fmt.Fprintf(w, "model    trained on the %d rows that are not for the test\n", t.design.Rows())
	return nil
}

func (t *search) reportResults(w io.Writer) {
	quality := either(t.regression(), "rmse", "accuracy")
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\tweight\tfeatures\tshare\theld-out loss\t± error\ttest loss\ttest %s\tseconds\t\n", quality)
	for _, r := range t.results {
		mark := either(r == t.chosen(), "→ ", "")
		lambda := either(r.Lambda > 0 && r.Lambda < dropped, fmt.Sprintf("%.3g", r.Lambda), "")
		share := either(r.Share > 0, fmt.Sprintf("%.0f %%", 100*r.Share), "")
		held := either(t.choice.Rows > 0, fmt.Sprintf("%.6g\t%.2g", r.HeldOut, r.Error), "\t")
		fmt.Fprintf(tw, "%s%s\t%s\t%d\t%s\t%s\t%.6g\t%.5g\t%.2f\t\n", mark, r.Name, lambda, len(t.used)-r.Dropped, share,
			held, r.Test["loss"], r.Test[quality], r.seconds.Seconds())
	}
	tw.Flush()
	fmt.Fprintln(w, "\n→ is handed out; share: of 100 resamples of the held-out rows, those that choose it")
}

// beside is the test loss less another result's.
func (t *search) beside(r *result) (mean, deviation float64) {
	return difference(t.lossesOf(t.test, t.chosen().y), t.lossesOf(t.test, r.y), kin(t.test, t.test.IDs, nil)...)
}

func besideOne(of string, difference, deviation float64) string {
	if difference == 0 {
		return "its " + of + " is that of one weight for all"
	}
	size, apart := math.Abs(difference), fmt.Sprintf(" ± %.2g", deviation)
	if deviation < 1e-9*size { // rows of one kind
		deviation, apart = size, ""
	}
	return fmt.Sprintf("its %s is %.3g%s %s that of one weight for all%s", of, size, apart,
		either(difference < 0, "below", "above"), either(size <= 2*deviation, ", which may be chance,", ""))
}

func (t *search) featureName(column int) string {
	if t.features != nil {
		return t.features[column]
	}
	return fmt.Sprint(column + 1)
}

func (t *search) warn(w io.Writer) {
	for i, f := range t.files {
		for _, other := range t.files[:i] {
			say(w, f.SHA256 == other.SHA256, "warning  %s is %s once more: what is measured on it says nothing about new rows",
				f.Path, other.Path)
		}
	}
	used, rows, again, leaks := len(t.used), t.design.Rows(), t.again(), t.leaks()
	drop := either(t.features != nil, " (-drop)", "")
	say(w, used > 1 && used >= rows, "warning  %d features for %d rows: an l1 penalty (Lasso), which is not smooth and not among these "+
		"weights, may do better", used, rows)
	say(w, 20*again >= t.test.Rows(), "warning  %d of the %d test rows stand among the others, too, label and all: what is measured on "+
		"them says little about new rows", again, t.test.Rows())
	say(w, len(leaks) > 0, "warning  alone, each of these orders the labels nearly without exception: %s. If it is made of them, "+
		"or known only after them, leave it out%s: the losses above hold for rows that have it", quoted(leaks), drop)
	d, e := t.beside(t.results[0])
	say(w, t.chosen().Cleaned && d > 2*e,
		"warning  the cleaned model does worse than a constant on the test rows: the labels may be right, and rarely what features say")
	d, e = difference(t.chosen().losses, t.results[0].losses, t.kin...)
	say(w, d > 0 && t.chosen().Dropped < used,
		"warning  a constant has a lower held-out loss, by %.3g ± %.2g: the features may tell nothing", d, e)
	one := t.results[1]
	say(w, one.Lambda <= t.Lo && (!t.open || t.Solver == solverSAA) && one.Dropped < used,
		"warning  one weight for all is at the lower end of the range, %.3g: see -lo", one.Lambda)
}

func (t *search) again() (n int) {
	var h maphash.Hash
	seen := map[uint64]bool{}
	for i, label := range t.design.Label {
		seen[hashRow(&h, t.design, i, label)] = true
	}
	for i, label := range t.test.Label {
		n += b2i(seen[hashRow(&h, t.test, i, label)])
	}
	return n
}

// leaks are features that order the labels, among the ten of largest coefficients.
func (t *search) leaks() (names []string) {
	d, size := t.design, make([]float64, len(t.used))
	bar := either(len(t.classes) == 2, 0.98, 0.995) // petals of iris, three classes: 0.991
	for i, v := range t.chosen().y {
		if j := i % d.Dim; j < len(size) {
			size[j] -= v * v
		}
	}
	for _, j := range ascending(size)[:min(len(size), 10)] {
		column, only := make([]float64, d.Rows()), narrow(d, []int{j})
		for i := range column {
			if _, val := only.Row(i); len(val) > 0 {
				column[i] = val[0]
			}
		}
		if d.Rows() >= 30 && size[j] < 0 && concord(column, d.Label, t.regression()) > bar {
			names = append(names, t.featureName(t.used[j]))
		}
	}
	return names
}

// concord is 1 where a feature rises or falls with the labels, or classes are intervals of it: Somers' D
// for two, Spearman's correlation for a regression.
func concord(feature, label []float64, regression bool) float64 {
	x, y, total, n := ranks(feature), slices.Clone(label), map[float64]float64{}, map[float64]float64{}
	for i, b := range label {
		total[b] += x[i]
		n[b]++
	}
	for i, b := range label {
		if !regression {
			y[i] = total[b] / n[b]
		}
	}
	y = ranks(y)
	return math.Abs(mat.Dot(x, y) / mat.Dot(y, y))
}

// ranks have mean 0; equal values share theirs.
func ranks(values []float64) []float64 {
	list, order := make([]float64, len(values)), ascending(values)
	for i, j := 0, 0; i < len(order); i = j {
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			list[k] = float64(i+j-len(order)) / 2
		}
	}
	return list
}

func quoted(names []string) string { return some(kit.Map(names, strconv.Quote)) }

func some(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func (t *search) figure() *plot.Figure {
	left := plot.Panel{Title: "Tuning on " + filepath.Base(t.files[0].Path),
		Y: plot.Axis{Label: "held-out loss", Log: true}, X: plot.Axis{Label: "weights, rung by rung"}}
	all := plot.Series{Name: "held-out loss ± standard error", Markers: true, Style: 1}
	for i, r := range t.results {
		all.X, all.Y = append(all.X, float64(i+1)), append(all.Y, r.HeldOut)
		all.Lo, all.Hi = append(all.Lo, r.HeldOut-r.Error), append(all.Hi, r.HeldOut+r.Error)
		name := strings.NewReplacer(rungName(0), "none", rungName(1), "one", "ladder, rung ", "", "a weight each, by ", "",
			"cleaned rows", "clean", "average", "avg").Replace(r.Name)
		left.X.Names = append(left.X.Names, name)
	}
	out := plot.Series{Name: "handed out", Markers: true, Bare: true, Style: 2,
		X: []float64{float64(t.choice.index + 1)}, Y: []float64{t.chosen().HeldOut}}
	left.Series = []plot.Series{out, all}

	order := ascending(t.chosen().weights[:len(t.used)])
	order = slices.DeleteFunc(order, func(j int) bool { return t.chosen().weights[j] == dropped })
	gone := len(t.used) - len(order)
	order = order[:min(len(order), 40)]
	slices.Reverse(order)
	right := plot.Panel{Title: "Weights", X: plot.Axis{Log: true,
		Label: fmt.Sprintf("weight; the least %d of %d, %d dropped", len(order), len(t.used), gone)}}
	out.X, out.Y = nil, nil
	for k, j := range order {
		out.X, out.Y = append(out.X, t.chosen().weights[j]), append(out.Y, float64(k+1))
		right.X.Min = min(out.X[k]/1.2, out.X[0]/2)
		right.Y.Names = append(right.Y.Names, t.featureName(t.used[j]))
	}
	right.Series = []plot.Series{out}
	from, to := b2i(t.choice.Rows == 0 && len(order) > 0), 1+b2i(len(order) > 0)
	return &plot.Figure{Panels: []plot.Panel{left, right}[from:to], Height: max(50, 3.2*float64(len(order)))}
}
