package tune

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
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
	d := &hyperopt.Data{Dim: 1, RowPtr: make([]int, len(scores)+1), Col: make([]int32, len(scores)), Val: scores,
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
func (m *model) open(path string, unlabelled bool) (d *hyperopt.Data, labelled bool, err error) {
	if !unlabelled {
		opt := hyperopt.ReadOptions{Dim: len(m.Features), LabelColumn: m.Options.Label, Regression: !m.classification(),
			Class:   m.Options.Class,
			Columns: m.Columns, Drop: m.Options.Drop}
		copy(opt.Classes[:], m.Classes)
		if d, err = hyperopt.Open(path, opt); err == nil {
			return d, true, m.fits(d)
		}
		var syntax *hyperopt.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line > 1 && m.Columns == nil {
			return nil, false, err
		}
	}
	if m.Columns != nil {
		if bare, bareErr := m.openBare(path, unlabelled); bareErr == nil || unlabelled {
			return bare, false, bareErr
		}
		return nil, false, err
	}
	bare, bareErr := hyperopt.Open(path, hyperopt.ReadOptions{Regression: true})
	if bareErr == nil {
		bare = wholeRows(bare)
		if bareErr = m.fits(bare); bareErr == nil && (unlabelled || bare.Features != nil) {
			return bare, false, nil
		}
	}
	if err == nil {
		err = bareErr
	}
	return nil, false, err
}

// openBare reads a file for a model whose columns are not all numbers that serve as features
// directly. The file has no column of labels, or that column is ignored.
func (m *model) openBare(path string, unlabelled bool) (*hyperopt.Data, error) {
	opt := hyperopt.ReadOptions{Columns: m.Columns, Drop: m.Options.Drop, Unlabelled: true}
	d, err := hyperopt.Open(path, opt)
	if err != nil && unlabelled && m.Options.Label != "" { // a label that means nothing
		opt.Drop = append(slices.Clone(opt.Drop), m.Options.Label)
		if labelled, labelErr := hyperopt.Open(path, opt); labelErr == nil {
			return labelled, nil
		}
	}
	return d, err
}

// wholeRows returns d with its label as the last feature, for a CSV file whose last column was
// taken for the label. LIBSVM rows stay as they are.
func wholeRows(d *hyperopt.Data) *hyperopt.Data {
	if d.Features == nil {
		return d
	}
	w := hyperopt.WithBias(d)
	for i, v := range d.Label {
		w.Val[w.RowPtr[i+1]-1] = v
	}
	w.Features[d.Dim] = "" // the reader keeps no name of it
	return w
}

// fits gives d the model's dimension, and returns an error unless its features are the model's.
func (m *model) fits(d *hyperopt.Data) error {
	if d.Features == nil && d.Dim < len(m.Features) {
		d.Dim = len(m.Features)
	}
	if d.Dim != len(m.Features) {
		return fmt.Errorf("%s has %d features, and the model has %d", d.Name, d.Dim, len(m.Features))
	}
	want, got := m.names(), slices.Clone(d.Features)
	if want == nil || got == nil {
		return nil
	}
	if last := len(got) - 1; got[last] == "" {
		got[last] = want[last]
	}
	return sameFeatures(want, got, "the model", d.Name)
}

// csvField quotes a field where RFC 4180 requires it.
func csvField(s string) string {
	if strings.ContainsAny(s, ",\"\r\n") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
