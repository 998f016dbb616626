package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

func applyModel(o options, path string, out kit.Terminal) error {
	m, err := readModel(o.apply)
	if err != nil {
		return err
	}
	m.Options.Label = cmp.Or(o.Label, m.Options.Label)
	d, labelled, err := m.open(o, path)
	if err != nil {
		return err
	}
	scores := m.scores(d)
	predict := func(to io.Writer) error { return m.writePredictions(to, o.ID, d.IDs, scores) }
	if o.out == "" {
		err = predict(out.Stdout)
	} else if err = os.MkdirAll(o.out, 0o755); err == nil {
		err = put(o.out, map[string]func(io.Writer) error{"predictions.csv": predict})
	}
	if err != nil {
		return err
	}
	if d.Filled > 0 {
		fmt.Fprintf(out.Stderr, "filled: %d missing or unknown cells\n", d.Filled)
	}
	if !labelled {
		_, err = fmt.Fprintf(out.Stderr, "%s, no labels\n", countRows(d.Rows()))
		return err
	}
	loss, quality, value := m.measure(d.Label, scores)
	_, err = fmt.Fprintf(out.Stderr, "%s, loss %.6g, %s %.6g\n", countRows(d.Rows()), loss, quality, value)
	return err
}

func (m *model) measure(label, scores []float64) (loss float64, quality string, value float64) {
	kind, n := m.Options.kind(m.Classes)
	d := &data.Data{Dim: n, RowPtr: []int{0}, Val: scores, Label: label}
	for i := range scores {
		d.Col = append(d.Col, int32(i%n))
	}
	for range label {
		d.RowPtr = append(d.RowPtr, len(d.RowPtr)*n)
	}
	one := make([]float64, n*n) // the model whose predictions are the scores
	for k := range n {
		one[k*n+k] = 1
	}
	loss = kind.Mean(d, one)
	if m.Options.regression() {
		return loss, "rmse", math.Sqrt(2 * loss)
	}
	return loss, "accuracy", hyperopt.Accuracy(d, one)
}

// A CSV file without the column of labels is found by its header.
func (m *model) open(o options, path string) (d *data.Data, labelled bool, err error) {
	of := m.Options
	opt := data.ReadOptions{Dim: m.Dim, LabelColumn: of.Label, Regression: of.regression(),
		Class: of.Class, Classes: m.Classes, Several: true, Columns: m.Columns, Features: m.names(),
		Drop: append(of.Drop, o.Drop...), ID: o.ID, Impute: cmp.Or(o.Impute, of.Impute),
		Headerless: of.Headerless, Unlabelled: o.unlabelled}
	if m.Options.ID != "" {
		opt.Drop = append(opt.Drop, m.Options.ID)
	}
	if opt.Impute != "" && opt.Columns == nil && opt.Features != nil { // what tells nothing stands for a missing cell
		if opt.Impute == "median" {
			return nil, false, fmt.Errorf("%w: -impute is median, but the model has means: want mean", kit.ErrUsage)
		}
		for _, f := range m.Features {
			fill := cmp.Or(f.Mean, f.Centre)
			opt.Columns = append(opt.Columns, data.Column{Name: f.Name, Fill: &fill})
		}
	}
	d, _, err = kit.OpenData(path, opt)
	if errors.Is(err, data.ErrNoLabel) {
		opt.Unlabelled = true
		d, _, err = kit.OpenData(path, opt)
	}
	if errors.Is(err, data.ErrNoHeader) {
		return nil, false, fmt.Errorf("%w (the model finds columns by their names: it takes the header of its training rows)", err)
	}
	if err == nil && d.Dim != m.Dim {
		err = fmt.Errorf("%s: its columns are of %d features, those of the model of %d: was it changed by hand?",
			path, d.Dim, m.Dim)
	}
	return d, !opt.Unlabelled, hint(err, true)
}
