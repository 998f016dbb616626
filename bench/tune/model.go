package tune

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

// model is what tune writes and -apply reads. The score of a row v, with the values of the file, is
//
//	Intercept + Σ_j Coefficient_j·(v_j − Centre_j),
//
// the log-odds of the second class, or the prediction of a regression. RawIntercept, with no centres,
// gives the same up to rounding. Of several classes each has a score, with Intercepts and Coefficients:
// the log of its probability, but for a constant.
type model struct {
	Format       string        `json:"format"`
	Version      int           `json:"version"`
	Options      options       `json:"options"`
	Classes      []string      `json:"classes,omitempty"` // spelled as in the file; none in a regression
	Target       *targetScale  `json:"target,omitempty"`  // of a regression: the losses are of (b − mean)/deviation
	Files        []dataFile    `json:"files"`
	Columns      []data.Column `json:"columns,omitempty"` // of the file, where not each is a feature as it stands
	Rows         rowCounts     `json:"rows"`
	Choice       choice        `json:"choice"`
	Results      []*result     `json:"results"`
	Intercept    float64       `json:"intercept"`
	RawIntercept float64       `json:"raw_intercept"` // Intercept − Σ Coefficient·Centre
	Intercepts   []float64     `json:"intercepts,omitempty"`

	RawIntercepts []float64 `json:"raw_intercepts,omitempty"`
	Scaling       string    `json:"scaling"`
	Dim           int       `json:"dim,omitempty"` // number of features of the files; 0: as many as here
	Features      []feature `json:"features"`      // without names, those with an entry in the design rows
}

// The design rows, all but the test's, train the model; the others are parts of them.
type rowCounts struct {
	Design     int `json:"design"`
	Folds      int `json:"folds"`
	Train      int `json:"train,omitempty"`
	Validation int `json:"validation,omitempty"`
	Unseen     int `json:"unseen,omitempty"`
	Test       int `json:"test"`
}

// feature is one column of the file. The model was trained on (v − Centre)·Factor, where its
// coefficient is Coefficient/Factor, in a regression divided by the target's deviation.
type feature struct {
	Index       int     `json:"index"` // 1-based, labels not counted
	Name        string  `json:"name,omitempty"`
	Centre      float64 `json:"centre"`
	Mean        float64 `json:"mean"` // fills, with -apply -impute
	Factor      float64 `json:"factor"`
	Weight      float64 `json:"weight"`      // on the square of the coefficient in training; 1e6: dropped
	Coefficient float64 `json:"coefficient"` // in the units of the file

	Coefficients []float64 `json:"coefficients,omitempty"`
}

const modelFormat, modelVersion = "stable tune", 1

func (t *search) newModel() (*model, error) {
	m := &model{
		Format: modelFormat, Version: modelVersion, Options: t.options, Classes: t.classes,
		Files: t.files, Columns: t.columns, Rows: t.rows(), Choice: t.choice,
		Results: t.results, Scaling: t.scaler.String(), Dim: t.dim,
	}
	if t.regression() {
		m.Target = &t.target
	}
	m.Options.Label = cmp.Or(m.Options.Label, t.label) // -apply finds it by name
	m.Intercept, m.Intercepts = t.coefficients(t.design.Dim-1, 1)
	m.Intercept += t.target.Mean
	m.RawIntercept, m.RawIntercepts = m.Intercept, slices.Clone(m.Intercepts)
	for j, column := range t.used {
		m.empty(t.features, column)
		f := feature{Index: column + 1, Factor: t.scaler.Factor[j], Mean: t.means[j], Weight: t.chosen().weights[j]}
		if t.features != nil {
			f.Name = t.features[column]
		}
		if t.scaler.Shift != nil {
			f.Centre = t.scaler.Shift[j]
		}
		f.Coefficient, f.Coefficients = t.coefficients(j, f.Factor)
		m.RawIntercept -= f.Coefficient * f.Centre
		mat.Axpy(m.RawIntercepts, -f.Centre, f.Coefficients)
		m.Features = append(m.Features, f)
	}
	m.empty(t.features, len(t.features))
	return m, m.check()
}

func (t *search) coefficients(column int, factor float64) (one float64, each []float64) {
	y, dim := t.chosen().y, t.design.Dim
	if len(y) == dim {
		return t.target.Deviation * y[column] * factor, nil
	}
	for ; column < len(y); column += dim {
		each = append(each, y[column]*factor)
	}
	return 0, each
}

func (m *model) empty(names []string, column int) {
	for j := len(m.Features); j < column && names != nil; j++ {
		m.Features = append(m.Features, feature{Index: j + 1, Name: names[j], Factor: 1})
	}
}

func (t *search) rows() rowCounts {
	n := rowCounts{Design: t.design.Rows(), Test: t.test.Rows(), Folds: t.Folds}
	if !t.folded() {
		n.Train, n.Validation = t.parts[0].Rows(), t.parts[1].Rows()
		if t.unseen != nil {
			n.Unseen = t.unseen.Rows()
		}
	}
	return n
}

func (m *model) encode(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(m)
}

func readModel(path string) (*model, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := new(model)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s:%d: not a model written by tune, which is the file model.json: %w", path, 1+bytes.Count(text[:jsonOffset(err, len(text))], []byte("\n")), err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func jsonOffset(err error, n int) int {
	at := int64(0)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	} else if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		at = kind.Offset
	}
	return int(min(max(at, 0), int64(n)))
}

func (m *model) check() error {
	_, loss := losses[m.Options.Loss]
	m.Dim = cmp.Or(m.Dim, len(m.Features))
	if err := cmp.Or(
		wrong(m.Format != modelFormat, "not a model written by tune: its format is %q, want %q", m.Format, modelFormat),
		wrong(m.Version != modelVersion, "a model of version %d, want %d", m.Version, modelVersion),
		wrong(!loss, "unknown loss %q", m.Options.Loss),
		wrong(!m.Options.regression() && (len(m.Classes) < 2 || m.Classes[0] == m.Classes[1]),
			"classes %q, want two or more", m.Classes),
		wrong(len(m.Classes) > 2 && len(m.Intercepts) != len(m.Classes),
			"%d intercepts for %d classes", len(m.Intercepts), len(m.Classes)),
		wrong(len(m.Features) < 1 || m.Dim > data.MaxIndex,
			"%d features of %d, want 1 to %d", len(m.Features), m.Dim, data.MaxIndex)); err != nil {
		return err
	}
	last, finite := 0, isFinite(m.RawIntercept, m.Intercept) && isFinite(m.Intercepts...)
	for j, f := range m.Features {
		n := len(f.Coefficients)
		if err := cmp.Or(
			wrong(f.Index <= last || f.Index > m.Dim, "index %d after %d, of %d", f.Index, last, m.Dim),
			wrong(n > 0 && n != len(m.Intercepts), "%d coefficients for %d classes", n, len(m.Classes)),
			wrong(!finite || !isFinite(f.Coefficient) || !isFinite(f.Coefficients...),
				"the coefficient, or the intercept, is not finite")); err != nil {
			return fmt.Errorf("feature %d: %w", j+1, err)
		}
		last = f.Index
	}
	return nil
}

func isFinite(values ...float64) bool { return mat.NotFinite(values) < 0 }

func (m *model) names() []string {
	list := kit.Map(m.Features, func(f feature) string { return f.Name })
	return either(strings.Join(list, "") == "", nil, list)
}

func (m *model) scores(d *data.Data) []float64 {
	_, n := m.Options.kind(m.Classes)
	list, row := make([]float64, d.Rows()*n), make([]float64, d.Dim)
	for i := range d.Rows() {
		s := list[i*n : (i+1)*n]
		col, val := d.Row(i)
		for k, c := range col {
			row[c] = val[k]
		}
		s[0] = m.Intercept
		copy(s, m.Intercepts)
		for _, f := range m.Features {
			v := row[f.Index-1]/2 - f.Centre/2 // the difference itself may overflow
			s[0] += f.Coefficient * v * 2
			for k, c := range f.Coefficients {
				s[k] += c * v * 2
			}
		}
		for _, c := range col {
			row[c] = 0
		}
	}
	return list
}

func (m *model) writePredictions(to io.Writer, id string, ids []string, scores []float64) error {
	_, n := m.Options.kind(m.Classes)
	record := []string{"row"}
	if ids != nil {
		record = append(record, id)
	}
	switch {
	case n > 1:
		record = append(record, kit.Map(m.Classes, func(class string) string { return "probability " + class })...)
		record = append(record, "class")
	case !m.Options.regression():
		record = append(record, "score", "probability", "class")
	default:
		record = append(record, "prediction")
	}
	w := csv.NewWriter(to) // its Error is the first of all
	w.Write(record)
	for i := range len(scores) / n {
		record = append(record[:0], strconv.Itoa(i+1))
		if ids != nil {
			record = append(record, ids[i])
		}
		w.Write(m.append(record, scores[i*n:(i+1)*n]))
	}
	w.Flush()
	return w.Error()
}

func (m *model) append(record []string, scores []float64) []string {
	most, total := slices.Max(scores), 0.0
	if len(scores) == 1 {
		record = append(record, strconv.FormatFloat(most, 'g', -1, 64))
		if m.Options.regression() {
			return record
		}
		return append(record, sixDigits(1/(1+math.Exp(-most))), m.Classes[b2i(most > 0)])
	}
	for _, s := range scores {
		total += math.Exp(s - most)
	}
	record = append(record, kit.Map(scores, func(s float64) string { return sixDigits(math.Exp(s-most) / total) })...)
	class := max(slices.Index(scores, most), 0) // where scores overflow, all may be NaN
	return append(record, m.Classes[class])
}

func sixDigits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

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
