package tune

import (
	"fmt"
	"io"
	"regexp"
	"text/tabwriter"

	"stable/bench/kit"
)

var likeLabel = regexp.MustCompile(`(?i)^(label|class|target|y)$`)

// describe prints the data and the plan.
func (t *search) describe(w io.Writer) {
	for _, f := range t.files {
		fmt.Fprintf(w, "data     %s: %d rows\n", f.Path, f.Rows)
	}
	fmt.Fprintf(w, "features %s; and a bias\n", kit.Features(t.scaler, "all but the test rows"))
	if n := t.dim - len(t.used); n > 0 {
		fmt.Fprintf(w, "empty    %d more are 0 in all these rows, and are left out\n", n)
	}
	if t.constant != "" {
		fmt.Fprintf(w, "constant %s\n", t.constant)
	}
	if t.Label == "" && t.label != "" {
		fmt.Fprintf(w, "label    %q, the last column (-label names another)\n", t.label)
	}
	if t.Label == "" && t.features != nil && likeLabel.MatchString(t.features[0]) {
		fmt.Fprintf(w, "warning  the first column is named %q: -label %[1]q if that is the label\n", t.features[0])
	}
	if t.features != nil && t.features[0] == "" {
		fmt.Fprintf(w, "warning  the first column has no name, as a column of row names: -drop \"\" leaves it out\n")
	}
	n := t.rows()
	if t.folded() {
		fmt.Fprintf(w, "rows     %d in %d folds, %d test (seed %d)\n", n.Design, n.Folds, n.Test, t.Seed)
	} else {
		fmt.Fprintf(w, "rows     %d training, %d validation, %d kept back to choose on, %d test (seed %d)\n",
			n.Train, n.Validation, n.Unseen, n.Test, t.Seed)
	}
	if t.Loss == "logistic" {
		fmt.Fprintf(w, "classes  %q and %q; logistic loss\n", t.classes[0], t.classes[1])
	} else {
		fmt.Fprintf(w, "target   mean %.6g, deviation %.6g on all but the test rows; squared loss ½(t − b)²\n",
			t.target.Mean, t.target.Deviation)
	}
	fmt.Fprintf(w, "weights  in [%g, %g], form %s\n", t.Lo, t.Hi, t.Form)
	if t.Solver == solverSAA {
		fmt.Fprintf(w, "solver   saa: %s, %d steps of two samples each\n\n", t.engine.method.Name(), t.Steps)
	} else {
		fmt.Fprintf(w, "solver   exact: Newton's method on all rows; -solver saa takes samples of them\n\n")
	}
}

// report prints the table, the chosen result, and warnings.
func (t *search) report(w io.Writer) error {
	quality := "accuracy"
	if t.Loss == "squared" {
		quality = "rmse"
	}
	validation := "validation"
	if t.folded() {
		validation = fmt.Sprintf("%d-fold", t.Folds)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\tweight\ttried\trows read\tseconds\t%s loss\t%[1]s %[2]s\ttest loss\ttest %[2]s\t\n",
		validation, quality)
	for _, r := range t.results() {
		lambda, tried := "", ""
		if r.Lambda > 0 {
			lambda, tried = fmt.Sprintf("%.3g", r.Lambda), fmt.Sprint(r.Tried)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%.2f\t%.6g\t%.5g\t%.6g\t%.5g\t\n",
			r.Name, lambda, tried, r.Reads, r.seconds.Seconds(),
			r.Validation["loss"], r.Validation[quality], r.Test["loss"], r.Test[quality])
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	lo, hi := t.atEdges(t.each.weights)
	fmt.Fprintf(w, "\nstopped  %s after %d steps; of %d weights, %d at the lower and %d at the upper end of the "+
		"range\n",
		t.each.Stopped, t.each.Steps, len(t.each.weights), lo, hi)
	mean, deviation := meanOf(t.compare(t.test, t.each.y, t.single.y))
	fmt.Fprintf(w, "test     a weight each changes the loss by %+.3g ± %.2g on the %d test rows\n",
		mean, deviation, t.test.Rows())
	fmt.Fprintf(w, "choice   %v\n", t.choice)
	for _, s := range t.warnings() {
		fmt.Fprintf(w, "warning  %s\n", s)
	}
	fmt.Fprintf(w, "model    trained on the %d rows that are not for the test\n", t.design.Rows())
	return nil
}

// warnings returns what limits the search.
func (t *search) warnings() (list []string) {
	for i, f := range t.files {
		for _, other := range t.files[:i] {
			if f.SHA256 == other.SHA256 {
				list = append(list, fmt.Sprintf("%s is %s once more: what is measured on it says nothing about new rows",
					f.Path, other.Path))
			}
		}
	}
	for _, r := range t.results() {
		if edge := r.Lambda; edge > 0 && (edge == t.Lo || edge == t.Hi) {
			list = append(list, fmt.Sprintf("%s is at the edge of the range, %g: see -lo and -hi", r.Name, edge))
		}
	}
	if t.each.f > t.single.f {
		list = append(list, fmt.Sprintf("the search of a weight each ended at a validation loss above that of "+
			"the single weight, %.6g against %.6g: it has not converged; see -steps",
			t.each.f, t.single.f))
	}
	if t.engine != nil {
		if away := t.engine.away(); away > 0.1 {
			list = append(list, fmt.Sprintf("the solver's own y is %.0f %% away from y*(x), so its hypergradients "+
				"are off; see -steps", 100*away))
		}
	}
	return list
}
