package tune

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// describe prints the data and the problem.
func (t *search) describe(w io.Writer) {
	for _, f := range t.files {
		fmt.Fprintf(w, "data     %s: %d rows\n", f.Path, f.Rows)
	}
	fmt.Fprintf(w, "features %d, scaled to %v on the training rows, and a bias\n", t.train.Dim-1, t.scaler)
	fmt.Fprintf(w, "rows     %d training, %d validation, %d test (seed %d)\n", t.train.Rows(), t.val.Rows(), t.test.Rows(), t.Seed)
	if t.Loss == "logistic" {
		fmt.Fprintf(w, "classes  %q and %q; logistic loss\n", t.classes[0], t.classes[1])
	} else {
		fmt.Fprintf(w, "target   mean %.6g, deviation %.6g on the training rows; squared loss ½(t − b)²\n", t.target.Mean, t.target.Deviation)
	}
	fmt.Fprintf(w, "weights  in [%g, %g], form %s\n\n", t.Lo, t.Hi, t.Form)
}

// report prints the table.
func (t *search) report(w io.Writer) error {
	quality := "accuracy"
	if t.Loss == "squared" {
		quality = "rmse"
	}
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\tweight\ttried\trows read\tseconds\tvalidation loss\tvalidation %s\ttest loss\ttest %s\t\n", quality, quality)
	for _, r := range t.results {
		lambda, tried := "", ""
		if r.Lambda > 0 {
			lambda, tried = fmt.Sprintf("%.3g", r.Lambda), fmt.Sprint(r.Tried)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%.2f\t%.6g\t%.5g\t%.6g\t%.5g\t\n", r.Name, lambda, tried, r.Reads, r.seconds.Seconds(),
			r.Validation["loss"], r.Validation[quality], r.Test["loss"], r.Test[quality])
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nstopped  %v after %d steps\n", t.engine.result.Reason, t.engine.result.Steps)
	for _, r := range t.results[1:] {
		t.compare(w, r)
	}
	return nil
}

// compare says by how much a weight each is better or worse than r on the test rows, and what
// limits the search.
func (t *search) compare(w io.Writer, r result) {
	mean, deviation := t.difference(t.results[0].y, r.y)
	fmt.Fprintf(w, "test     loss with a weight each %+.3g ± %.2g against %s\n", mean, deviation, r.Name)
	if all := t.train.Rows() + t.val.Rows(); r.SearchRows < all {
		fmt.Fprintf(w, "         whose search saw %d of %d training and validation rows\n", r.SearchRows, all)
	}
	if r.Tried > 1 && (r.Lambda == t.Lo || r.Lambda == t.Hi) {
		fmt.Fprintf(w, "         whose weight is at the edge of the range: see -lo and -hi\n")
	}
}

// difference returns the mean over the test rows of the loss of a minus that of b, and its standard
// error.
func (t *search) difference(a, b []float64) (mean, deviation float64) {
	loss, n := losses[t.Loss], float64(t.test.Rows())
	diff := make([]float64, t.test.Rows())
	unit := t.target.Deviation * t.target.Deviation
	for i := range diff {
		row := t.test.Subset([]int{i})
		diff[i] = unit * (loss.Mean(row, a) - loss.Mean(row, b))
		mean += diff[i] / n
	}
	for _, d := range diff {
		deviation += (d - mean) * (d - mean) / n
	}
	return mean, math.Sqrt(deviation / n)
}
