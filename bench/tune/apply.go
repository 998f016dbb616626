package tune

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

// applyModel predicts the rows of a file: predictions to Stdout, loss and accuracy, if the file has
// labels, to Stderr.
func applyModel(o options, path string, out kit.Terminal) error {
	m, err := readModel(o.apply)
	if err != nil {
		return err
	}
	if o.Label != "" {
		m.Options.Label = o.Label
	}
	d, labelled, err := m.open(path, o.unlabelled)
	if err != nil {
		return err
	}
	scores := m.scores(d)
	w := bufio.NewWriter(out.Stdout)
	if err := errors.Join(m.writePredictions(w, scores), w.Flush()); err != nil {
		return err
	}
	if !labelled {
		_, err = fmt.Fprintf(out.Stderr, "%d rows, no labels\n", d.Rows())
		return err
	}
	loss, quality, value := m.measure(d.Label, scores)
	_, err = fmt.Fprintf(out.Stderr, "%d rows, loss %.6g, %s %.6g\n", d.Rows(), loss, quality, value)
	return err
}

// measure returns the mean loss of the scores, and accuracy or rmse.
func (m *model) measure(label, scores []float64) (loss float64, quality string, value float64) {
	d := &data.Data{Dim: 1, RowPtr: make([]int, len(scores)+1), Col: make([]int32, len(scores)), Val: scores,
		Label: label}
	for i := range d.RowPtr {
		d.RowPtr[i] = i
	}
	one := []float64{1} // the model whose prediction is the score
	loss = losses[m.Options.Loss].Mean(d, one)
	if m.classification() {
		return loss, "accuracy", hyperopt.Accuracy(d, one)
	}
	return loss, "rmse", math.Sqrt(2 * loss)
}

// open reads a file with the features of the model. A CSV file without the column of labels is
// found by its header.
func (m *model) open(path string, unlabelled bool) (d *data.Data, labelled bool, err error) {
	opt := data.ReadOptions{Dim: m.dim(), LabelColumn: m.Options.Label, Regression: !m.classification(),
		Class: m.Options.Class, Columns: m.Columns, Features: m.names(), Drop: m.Options.Drop,
		Headerless: m.Options.Headerless, Unlabelled: unlabelled}
	copy(opt.Classes[:], m.Classes)
	d, err = data.Open(path, opt)
	if errors.Is(err, data.ErrNoLabel) {
		opt.Unlabelled = true
		d, err = data.Open(path, opt)
	}
	if err != nil {
		return nil, false, hint(err, true)
	}
	return d, !opt.Unlabelled, m.fits(d)
}

// fits gives d the model's dimension, and returns an error unless its features are the model's.
func (m *model) fits(d *data.Data) error {
	if d.Features == nil && d.Dim < m.dim() {
		d.Dim = m.dim()
	}
	if d.Dim != m.dim() {
		return fmt.Errorf("%s has %d features, and the model has %d", d.Name, d.Dim, m.dim())
	}
	return nil
}

// csvField quotes a field where RFC 4180 requires it.
func csvField(s string) string {
	if strings.ContainsAny(s, ",\"\r\n") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
