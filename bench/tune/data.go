package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"stable/bench/kit"
	"stable/bilevel/hyperopt/data"
)

type dataFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file as it is, compressed or not
	Rows   int    `json:"rows"`
}

// dataSet is the data of tune, ready for the problem: split, scaled, with a bias feature, and with
// the target of a regression standardised.
type dataSet struct {
	files        []dataFile
	features     []string // nil where no file names them
	dim          int
	used         []int // which of them have an entry in the design rows; the others have no part in it
	columns      []data.Column
	label        string // the column of the first file that is the label
	constant     string
	counters     []int // columns of the first file that number its rows
	filled       int   // missing cells
	lone         []string
	means        []float64
	classes      []string
	kin          []int        // of the rows that judge
	apart        bool         // these are too few to be dealt
	design, test *data.Data   // training and validation rows together; test rows
	split        []*data.Data // training and validation rows, where the user has split them
	scaler       *data.Scaler
	target       targetScale
}

type targetScale struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

const mostFeatures = 4095

func readData(o options, paths []string) (s *dataSet, err error) {
	s = &dataSet{target: targetScale{0, 1}}
	regression := o.regression()
	var sets []*data.Data
	for _, path := range paths {
		d, file, err := kit.OpenData(path,
			data.ReadOptions{LabelColumn: cmp.Or(o.Label, s.label), Regression: regression, Classes: s.classes, Class: o.Class,
				Several: true, Categorical: o.Categorical, Impute: o.Impute, Drop: o.Drop, ID: o.ID, Columns: s.columns,
				Features: s.features, Headerless: o.Headerless})
		if err != nil {
			return nil, hint(err, regression)
		}
		if d.Features == nil && (o.Label != "" || o.ID != "" || o.Categorical || o.Impute != "" || o.Headerless || len(o.Drop) > 0) {
			return nil, fmt.Errorf("%w: %s is LIBSVM text; -label, -id, -drop, -categorical, -impute and -headerless are for CSV",
				kit.ErrUsage, d.Name)
		}
		if o.Class != "" && countClasses(d)[1] == 0 {
			return nil, fmt.Errorf("%s: no row has the label %q, which -class names", d.Name, o.Class)
		}
		if len(sets) == 0 {
			if err := enough(d, 4-len(paths), regression); err != nil {
				return nil, err
			}
			s.classes, s.columns, s.label, s.counters = d.Classes, d.Columns, d.LabelName, counters(d)
		}
		if o.Clean && d.IDs == nil {
			for i := range d.Rows() {
				d.IDs = append(d.IDs, fmt.Sprint(i+1))
			}
		}
		if s.features == nil {
			s.features = d.Features
		}
		s.files = append(s.files, dataFile{file.Name, file.SHA256, d.Rows()})
		s.filled += d.Filled
		s.lone = append(s.lone, d.Lone...)
		sets = append(sets, d)
	}
	if s.dim, err = reconcile(sets); err != nil {
		return nil, err
	}
	if len(sets) == 1 { // a quarter of the rows are for the test
		if sets, err = split(sets[0], kin(sets[0], sets[0].IDs), regression, 4, o.Seed, 't'); err != nil {
			return nil, err
		}
	}
	return s, s.prepare(sets, regression)
}

const labelFlag = "-label names the column of the label, where it is not the last"

func hint(err error, regression bool) error {
	is := func(what error) bool { return errors.Is(err, what) }
	for _, h := range []struct {
		so  bool
		say string
	}{
		{is(data.ErrNoLabel), "-label names it"},
		{is(data.ErrNoHeader), "-headerless calls them 1, 2, …"},
		{is(data.ErrLabel) && is(data.ErrMissing), "leave the rows without a label out, or predict them with -apply -unlabelled"},
		{is(data.ErrNoPair), "read as LIBSVM; a table of that kind has a name in .csv"},
		{is(data.ErrLevel), "with -apply, -impute takes the most frequent one"},
		{is(data.ErrCell) && is(data.ErrNumber),
			"-categorical turns text into indicators, -id makes it names of rows, -drop leaves a column out; " + labelFlag},
		{is(data.ErrCell) && (is(data.ErrMissing) || is(data.ErrNaN)), "-impute fills missing cells, -drop leaves a column out"},
		{is(data.ErrCell), "-drop leaves a column out"},
		{!regression && is(data.ErrThirdLabel),
			"-class sets one against the rest; for a regression, use -loss squared; " + labelFlag},
		{!regression && is(data.ErrLabel), "a later file has the classes of the first; for a regression, use -loss squared; " + labelFlag},
	} {
		if h.so {
			return fmt.Errorf("%w (%s)", err, h.say)
		}
	}
	return err
}

func enough(d *data.Data, parts int, regression bool) error {
	want, few := 1<<(parts-1), fewest(d, regression)
	switch {
	case few >= want:
		return nil
	case regression:
		return fmt.Errorf("%s: %s, want at least %d", d.Name, countRows(few), want)
	case few == 0:
		return fmt.Errorf("%s: all rows (%d) are of one class", d.Name, d.Rows())
	}
	count := countClasses(d)
	class := func(k int) string { return fmt.Sprintf("%s of class %q", countRows(count[k]), d.Classes[k]) }
	those, hint := class(0)+" and "+class(1), ""
	if len(count) > 2 {
		those = fmt.Sprintf("%s, one of %d", class(slices.Index(count, few)), len(count))
		hint = "; -class sets one class against the rest; for a regression, use -loss squared; " + labelFlag
	}
	return fmt.Errorf("%s: %s, too few to split into %d parts: want at least %d of each%s", d.Name, those, parts, want, hint)
}

// counters returns the features of a table that rise by 1 from row to row.
func counters(d *data.Data) (list []int) {
	if d.Features == nil {
		return nil
	}
	rises, last, now := make([]int, d.Dim), make([]float64, d.Dim), make([]float64, d.Dim)
	for i := range d.Rows() {
		clear(now)
		col, val := d.Row(i)
		for k, j := range col {
			now[j] = val[k]
		}
		for j, v := range now {
			rises[j] += b2i(v == last[j]+1)
		}
		last, now = now, last
	}
	for j, n := range rises {
		if n >= d.Rows()-1 { // the first may be any
			list = append(list, j)
		}
	}
	return list
}

func countRows(n int) string {
	return fmt.Sprintf("%d row%s", n, either(n == 1, "", "s"))
}

func countClasses(d *data.Data) []int {
	count := make([]int, max(2, len(d.Classes)))
	for _, b := range d.Label {
		if len(count) == 2 {
			b = (b + 1) / 2
		}
		count[int(b)]++
	}
	return count
}

func reconcile(sets []*data.Data) (dim int, err error) {
	for _, d := range sets {
		dim = max(dim, d.Dim)
	}
	for _, d := range sets {
		if d.Features != nil && d.Dim < dim {
			return 0, fmt.Errorf("%s has %d features, another file %d", d.Name, d.Dim, dim)
		}
		d.Dim = dim
	}
	return dim, nil
}

func findUsed(d *data.Data) (used []int) {
	has := make([]bool, d.Dim)
	for _, c := range d.Col {
		has[c] = true
	}
	for j, yes := range has {
		if yes {
			used = append(used, j)
		}
	}
	return used
}

func narrow(d *data.Data, used []int) *data.Data {
	if len(used) == d.Dim {
		return d
	}
	at := make([]int32, d.Dim) // 1-based new column, 0: none
	for k, j := range used {
		at[j] = int32(k + 1)
	}
	n := *d
	n.Dim, n.RowPtr, n.Col, n.Val = len(used), []int{0}, nil, nil
	for i := range d.Rows() {
		col, val := d.Row(i)
		for k, c := range col {
			if at[c] > 0 {
				n.Col, n.Val = append(n.Col, at[c]-1), append(n.Val, val[k])
			}
		}
		n.RowPtr = append(n.RowPtr, len(n.Col))
	}
	if d.Features != nil {
		n.Features = kit.Map(used, func(j int) string { return d.Features[j] })
	}
	return &n
}

// split takes one of equal parts off, the second result; kin stay together where they can.
func split(d *data.Data, kin []int, regression bool, parts int, seed, key uint64) ([]*data.Data, error) {
	if of := deal(d, kin, regression, parts, seed, key); of != nil {
		in, out := inAndOut(of, 0)
		for k := range parts { // the nearest to its share
			if i, o := inAndOut(of, k); math.Abs(float64(parts*len(o)-len(of))) < math.Abs(float64(parts*len(out)-len(of))) {
				in, out = i, o
			}
		}
		return []*data.Data{d.Subset(in), d.Subset(out)}, nil
	}
	return either(regression, d.Split, d.SplitStratified)(seed, float64(parts-1), 1)
}

func (s *dataSet) prepare(parts []*data.Data, regression bool) error {
	rows := len(parts) - 1 // all but the last are design rows
	design := data.Join(parts[:rows]...)
	if regression {
		if s.target = measureTarget(design.Label); !(s.target.Deviation > 1e-75 && s.target.Deviation < 1e75) {
			return fmt.Errorf("%s: the target has deviation %v on the training rows, want 1e-75 to 1e75",
				parts[0].Name, s.target.Deviation)
		}
	}
	s.used = findUsed(design)
	most := mostFeatures / either(len(s.classes) > 2, len(s.classes), 1)
	if n := len(s.used); n == 0 || n > max(most, most*most/design.Rows()) { // few rows take their own coordinates
		return fmt.Errorf("%s: %d features with a value other than 0 in the %d rows that are not for the test, "+
			"want 1 to %d (more with fewer rows): %s", s.files[0].Path, n, design.Rows(), max(most, most*most/design.Rows()),
			either(n == 0, "no column beside the label tells rows apart", "leave out those that few rows hold"))
	}
	all := append([]*data.Data{design}, parts...)
	for i, d := range all {
		all[i] = narrow(d, s.used)
	}
	s.constant, s.means = constant(all[0]), data.Standardise(all[0]).Shift
	var err error
	if s.scaler, err = kit.Scale(all); err != nil {
		return fmt.Errorf("%s: %w", s.files[0].Path, err)
	}
	for i, d := range all {
		all[i] = data.WithBias(d)
		all[i].Label = kit.Map(d.Label, func(b float64) float64 { return (b - s.target.Mean) / s.target.Deviation })
	}
	s.design, s.test, s.kin = all[0], all[len(all)-1], kin(all[0], all[0].IDs, nil)
	if rows == 2 {
		s.split = all[1:3]
	}
	return nil
}

func constant(d *data.Data) string {
	list := data.Constant(d)
	if len(list) == 0 {
		return ""
	}
	var names []string
	for _, j := range list {
		if names = append(names, fmt.Sprint(j+1)); d.Features != nil {
			names[len(names)-1] = strconv.Quote(d.Features[j])
		}
	}
	return fmt.Sprintf("%d with one value in all these rows, which cannot help: %s", len(list), some(names))
}

// measureTarget divides by the number of rows; the deviation of equal labels is exactly 0.
func measureTarget(label []float64) targetScale {
	if slices.Min(label) == slices.Max(label) {
		return targetScale{Mean: label[0]}
	}
	mean, deviation := meanOf(label)
	return targetScale{mean, deviation * math.Sqrt(float64(len(label)))}
}
