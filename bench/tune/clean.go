package tune

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/mat"
)

const (
	cleaningRidge = 1e-4 // handed out: true labels' log p is lost sooner than noisy ones' p
	cleaningSteps = 40
	shownRows     = 10
	fewRows       = 200
)

var judgesRidges = []float64{cleaningRidge, 3e-4, 1e-3, 3e-3}

// cleaner finds labels that look wrong, by models of folds that take a share of all labels as wrong.
type cleaner struct {
	rows    *data.Data // with classes 0, 1, …
	classes int
	in, out [][]int

	share  float64   // of wrong labels
	weight []float64 // of each row, a mean over the folds
	own    []float64 // probability of its label, by the models that it did not train
	vote   []int     // the likeliest class by these
	sure   []float64
	self   []float64 // own of models where all rows weigh 1: cross-validated self-confidence
	y      []float64
}

func (t *search) newCleaner() *cleaner {
	d, n := *t.design, t.design.Rows()
	c := &cleaner{rows: &d, classes: len(t.classes), weight: make([]float64, n), own: make([]float64, n),
		vote: make([]int, n), sure: make([]float64, n)}
	if d.Classes = nil; c.classes == 2 {
		d.Label = kit.Map(d.Label, func(b float64) float64 { return (b + 1) / 2 })
	}
	c.in, c.out = t.folds(0)
	return c
}

func (c *cleaner) try(ctx context.Context, ridge float64) error {
	weights := make([][]float64, len(c.in))
	err := kit.Parallel(len(c.in), func(k int) error {
		y, weight, err := c.settle(ctx, c.rows.Subset(c.in[k]), ridge)
		if err != nil {
			return err
		}
		p := make([]float64, c.classes)
		for _, i := range c.out[k] {
			hyperopt.Probabilities(p, c.rows, y, i)
			c.own[i], c.sure[i] = p[int(c.rows.Label[i])], slices.Max(p)
			c.vote[i] = slices.Index(p, c.sure[i])
		}
		weights[k] = weight
		return nil
	})
	if err != nil {
		return err
	}
	clear(c.weight)
	for k, weight := range weights {
		for a, i := range c.in[k] {
			c.weight[i] += weight[a] / float64(len(c.in)-1)
		}
	}
	return nil
}

// losses of the rows are −log of the probability that their labels have, wrong ones allowed for.
func (c *cleaner) losses() (list []float64) {
	for _, p := range c.own {
		right, wrong := c.right(p)
		list = append(list, -math.Log(right+wrong))
	}
	return list
}

func (c *cleaner) ridge(ctx context.Context) (float64, error) {
	mean := make([]float64, len(judgesRidges))
	for k, ridge := range judgesRidges {
		if err := c.try(ctx, ridge); err != nil {
			return 0, err
		}
		mean[k], _ = meanOf(c.losses())
	}
	return judgesRidges[least(mean)], nil
}

// disagree returns the share of labels that differ from the votes, among the half of the rows whose
// votes are the surest: classes overlap little there.
func (c *cleaner) disagree() (share float64) {
	order := ascending(c.sure)
	half := order[len(order)/2:]
	for _, i := range half {
		share += float64(b2i(c.vote[i] != int(c.rows.Label[i]))) / float64(len(half))
	}
	return share
}

// chance says that votes and labels agree hardly more than drawn ones: nothing can be told of them.
func (c *cleaner) chance() bool { return c.share > 0.9*(1-1/float64(c.classes)) }

func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

// right returns the probabilities that a label, p by a model, is right, and that it is wrong.
func (c *cleaner) right(p float64) (right, wrong float64) {
	return (1 - c.share) * p, c.share * (1 - p) / float64(c.classes-1)
}

// settle trains a model of rows whose weights agree with it: a row weighs the probability w that its label
// is right, given the model. With p̃ that of a label, right or wrong, w·p̃ = (1 − share)·p, so that
// Σ w·∇log p = Σ ∇log p̃ = 0: of all models, it has the likeliest labels.
func (c *cleaner) settle(ctx context.Context, rows *data.Data, ridge float64) (y, weight []float64, err error) {
	problem, err := hyperopt.New(rows, rows, hyperopt.Options{Loss: hyperopt.Softmax, Penalty: hyperopt.PerRow,
		Lo: 0, Hi: 1, Ridge: ridge})
	if err != nil {
		return nil, nil, err
	}
	newton, p := newNewton(problem), make([]float64, c.classes)
	_, y = vectors(problem)
	weight = slices.Repeat([]float64{1}, rows.Rows())
	for step := 0; ; step++ {
		if err := cmp.Or(context.Cause(ctx), newton.minimise(y, weight)); err != nil {
			return nil, nil, err
		}
		if step == cleaningSteps || c.share == 0 || c.chance() {
			return y, weight, nil
		}
		for i := range weight {
			hyperopt.Probabilities(p, rows, y, i)
			right, wrong := c.right(p[int(rows.Label[i])])
			weight[i] = right / (right + wrong)
		}
	}
}

func (t *search) clean(ctx context.Context, p *kit.Progress) (err error) {
	began, c := time.Now(), t.newCleaner()
	if err := c.try(ctx, cleaningRidge); err != nil {
		return err
	}
	c.self = slices.Clone(c.own)
	if c.share = c.disagree(); c.share > 0 {
		p.Update(0.3, "wrong labels: a share of %.2g", c.share)
		ridge, err := c.ridge(ctx)
		if err := cmp.Or(err, c.try(ctx, ridge)); err != nil {
			return err
		}
		c.share = c.disagree()
		p.Update(0.8, "wrong labels: a share of %.2g", c.share)
		if err := c.try(ctx, ridge); err != nil {
			return err
		}
	}
	if c.y, _, err = c.settle(ctx, c.rows, cleaningRidge); err != nil {
		return err
	}
	if t.cleaner = c; c.share > 0 && !c.chance() {
		t.results = append(t.results, t.cleaned(began))
	}
	return nil
}

// cleaned is the result of the weighted rows: its held-out losses compare with the others'.
func (t *search) cleaned(began time.Time) *result {
	c := t.cleaner
	r := &result{Name: "cleaned rows", Cleaned: true, Lambda: cleaningRidge, y: c.y, seconds: time.Since(began),
		weights: slices.Repeat([]float64{cleaningRidge}, t.design.Dim), losses: c.losses()}
	if d := t.design.Dim; c.classes == 2 { // the log-odds
		r.y = slices.Clone(c.y[d:])
		mat.Axpy(r.y, -1, c.y[:d])
	}
	r.HeldOut, r.Error = meanOf(r.losses, t.kin...)
	return r
}

// gains says that held-out losses are a standard error below those without, wrong labels allowed for by the
// best share. Of 15 sets of right labels 6 are cleaned (with two errors 3), of 22 of wrong ones 20 (18).
func gains(without, losses []float64, classes int) bool {
	best, deviation := math.Inf(1), 0.0
	own := kit.Map(without, func(l float64) float64 { return math.Exp(-l) })
	for share := range 50 {
		some := &cleaner{share: float64(share) / 100, classes: classes, own: own}
		if d, e := difference(some.losses(), losses); d < best {
			best, deviation = d, e
		}
	}
	return best > deviation
}

func (t *search) reportCleaning(w io.Writer) {
	c, n, both := t.cleaner, 0, 0
	for i := range c.own {
		right, wrong := c.right(c.own[i])
		n += b2i(right < wrong)
	}
	order, bySelf := ascending(c.own), ascending(c.self)
	for _, i := range order[:n] {
		both += b2i(slices.Contains(bySelf[:n], i))
	}
	for _, r := range t.results {
		say(w, r.Cleaned && r != t.chosen(), "warning  these rows may be no finding: held-out rows do not tell wrong labels "+
			"from classes that overlap, where\n         labels against the odds are right, too; for those the model is \"average\" "+
			"(leave -clean out)")
	}
	fmt.Fprintf(w, "clean    %d of %d labels look wrong, if a share of %.2g is; all rows, most suspicious first: rows.csv\n",
		n, len(c.own), c.share)
	say(w, n > 0, "         cross-validated self-confidence has %d of them among its %d lowest", both, n)
	for _, i := range order[:min(n, shownRows)] {
		fmt.Fprintf(w, "         row %s: %q, others vote %q; probability of its label %.2g, self-confidence %.2g\n",
			c.rows.IDs[i], t.classes[int(c.rows.Label[i])], t.classes[c.vote[i]], c.own[i], c.self[i])
	}
	say(w, c.chance(), "         votes and labels agree by chance alone: no cleaned model is tried, and the rows are no finding")
	say(w, !c.chance() && n > 0 && len(c.own) < fewRows, "         of fewer than %d rows some are named by chance", fewRows)
	fmt.Fprint(w, "         only training rows are judged; the cleaned model tells the true label: its held-out loss allows for\n"+
		"         the share of wrong ones, its test loss counts each test label as right\n\n")
}

func (t *search) writeRows(to io.Writer) error {
	c, lines := t.cleaner, [][]string{{"row", "label", "vote", "probability", "self_confidence", "weight"}}
	for _, i := range ascending(c.own) {
		lines = append(lines, []string{c.rows.IDs[i], t.classes[int(c.rows.Label[i])], t.classes[c.vote[i]],
			sixDigits(c.own[i]), sixDigits(c.self[i]), sixDigits(c.weight[i])})
	}
	return csv.NewWriter(to).WriteAll(lines)
}
