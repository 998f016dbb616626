package tune

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
)

const (
	cleaningRidge  = 1e-4 // of the models of weighted rows
	cleaningPasses = 4
	cleaningLooks  = 20 // evaluations of the upper level: more fit the chance in the held-out rows
	shownRows      = 10
)

// cleaner is data hyper-cleaning on folds (Franceschi et al., ICML 2017): each row has a weight in
// [0, 1] in all the models that it trains, and the weights minimise the mean loss of the held-out
// rows. Of these a share of labels is taken as wrong: without that, the least loss is a model of the
// flips, too, and weights tell nothing.
type cleaner struct {
	rows  *data.Data // with classes 0, 1, …
	folds []cleanFold

	share  float64   // of wrong labels
	weight []float64 // of each row
	own    []float64 // probability of its label, by the models that it did not train
	self   []float64 // the same of models where all rows weigh 1: cross-validated self-confidence
	vote   []int     // the likeliest class by the models of own
	sure   []float64 // its probability
	order  []int     // most suspicious first
	y      []float64 // the model of all weighted rows
}

type cleanFold struct {
	p          *hyperopt.Problem
	f          *implicit.Function
	in, out    []int
	x, grad, y []float64
	value      float64
}

func (t *search) newCleaner() (*cleaner, error) {
	d := *t.design
	c := &cleaner{rows: &d, folds: make([]cleanFold, t.Folds)}
	if d.Classes = nil; t.loss() != hyperopt.Softmax {
		d.Label = make([]float64, d.Rows())
		for i, b := range t.design.Label {
			d.Label[i] = (b + 1) / 2
		}
	}
	for i, fold := range foldsOf(t.design, t.Folds, false, t.Seed) {
		for k := range c.folds {
			if f := &c.folds[k]; k == fold {
				f.out = append(f.out, i)
			} else {
				f.in = append(f.in, i)
			}
		}
	}
	return c, nil
}

// problem weighs the training rows of a fold.
func (c *cleaner) problem(train, held *data.Data, share float64) (*hyperopt.Problem, error) {
	return hyperopt.New(train, held, hyperopt.Options{Loss: hyperopt.Softmax, Penalty: hyperopt.PerRow,
		Lo: 0, Hi: 1, Ridge: cleaningRidge, Flips: share})
}

// try finds the weights for the share of wrong labels; of the first pass they are 1.
func (c *cleaner) try(ctx context.Context) (err error) {
	for k := range c.folds {
		f := &c.folds[k]
		if f.p, err = c.problem(c.rows.Subset(f.in), c.rows.Subset(f.out), c.share); err != nil {
			return err
		}
		f.f = implicit.New(f.p)
		f.x, f.y = vectors(f.p)
		f.grad = make([]float64, len(f.x))
	}
	one, lo := slices.Repeat([]float64{1}, c.rows.Rows()), make([]float64, c.rows.Rows())
	if c.weight = one; c.self != nil {
		least, err := implicit.Minimise(func(grad, x []float64) (float64, error) {
			if err := context.Cause(ctx); err != nil {
				return 0, err
			}
			return c.objective(grad, x)
		}, one, implicit.Options{Lo: lo, Hi: one, Evaluations: cleaningLooks})
		if least == nil {
			return err
		}
		c.weight = least.X
	}
	if _, err := c.objective(lo, c.weight); err != nil {
		return err
	}
	if c.own, c.vote = c.votes(); c.self == nil {
		c.self = c.own
	}
	return nil
}

// disagree returns the share of labels that differ from the votes, among the half of the rows whose
// votes are the surest: classes overlap little there.
func (c *cleaner) disagree() (share float64) {
	order := make([]int, len(c.own))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.sure[b], c.sure[a]) })
	half := order[:(len(order)+1)/2]
	for _, i := range half {
		share += float64(b2i(c.vote[i] != int(c.rows.Label[i]))) / float64(len(half))
	}
	return share
}

// objective returns the mean held-out loss of the folds' models.
func (c *cleaner) objective(grad, x []float64) (value float64, err error) {
	if err := parallel(len(c.folds), func(k int) (err error) {
		f := &c.folds[k]
		for a, i := range f.in {
			f.x[a] = x[i]
		}
		if f.f.Solve(f.y, f.x, 1e-6) != nil {
			if err := f.p.Solution(f.y, f.x); err != nil {
				return err
			}
		}
		f.value, err = f.f.Gradient(f.grad, f.x, f.y)
		return err
	}); err != nil {
		return 0, err
	}
	clear(grad)
	for _, f := range c.folds {
		share := float64(len(f.out)) / float64(len(x))
		value += share * f.value
		for a, i := range f.in {
			grad[i] += share * f.grad[a]
		}
	}
	return value, nil
}

// votes returns for each row the probability of its label and the likeliest class, by the models that
// it did not train.
func (c *cleaner) votes() (own []float64, vote []int) {
	own, vote, c.sure = make([]float64, c.rows.Rows()), make([]int, c.rows.Rows()), make([]float64, c.rows.Rows())
	for _, f := range c.folds {
		p := make([]float64, len(f.y)/c.rows.Dim)
		for a, i := range f.out {
			hyperopt.Probabilities(p, f.p.Validation(), f.y, a)
			c.sure[i] = slices.Max(p)
			own[i], vote[i] = p[int(c.rows.Label[i])], slices.Index(p, c.sure[i])
		}
	}
	return own, vote
}

// clean finds the share of wrong labels that explains the held-out rows best, and the weights.
func (t *search) clean(ctx context.Context, p *kit.Progress) error {
	began := time.Now()
	c, err := t.newCleaner()
	if err != nil {
		return err
	}
	for pass := range cleaningPasses {
		p.Update(float64(pass+1)/(cleaningPasses+1), "wrong labels: a share of %.2g", c.share)
		if err := c.try(ctx); err != nil {
			return err
		}
		if c.share = c.disagree(); c.share == 0 {
			break
		}
	}
	all, err := c.problem(c.rows, c.rows, c.share)
	if err != nil {
		return err
	}
	if _, c.y = vectors(all); all.Solution(c.y, c.weight) != nil {
		return fmt.Errorf("no model of the cleaned rows: %w", implicit.ErrNoSolution)
	}
	c.order = make([]int, len(c.own))
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return cmp.Compare(c.own[a], c.own[b]) })
	t.cleaner = c
	if c.share > 0 {
		t.results = append(t.results, t.cleaned(began))
	}
	return nil
}

// cleaned is the result of the weighted rows. Its held-out losses are −log of the probability that
// the rows' labels have with the share of wrong ones, and compare with the others'.
func (t *search) cleaned(began time.Time) *result {
	c := t.cleaner
	r := &result{Name: "cleaned rows", Cleaned: true, Lambda: cleaningRidge, y: c.y, seconds: time.Since(began)}
	r.weights = slices.Repeat([]float64{cleaningRidge}, len(t.used))
	classes := float64(max(2, len(t.classes)))
	for _, p := range c.own {
		r.losses = append(r.losses, -math.Log((1-c.share)*p+c.share*(1-p)/(classes-1)))
	}
	if d := t.design.Dim; t.loss() != hyperopt.Softmax { // of two classes the log-odds
		r.y = make([]float64, d)
		for j := range r.y {
			r.y[j] = c.y[d+j] - c.y[j]
		}
	}
	r.HeldOut, r.Error = meanOf(r.losses)
	return r
}

// wrong returns the number of rows whose label is likelier wrong than right.
func (c *cleaner) wrong() (n int) {
	classes := float64(len(c.folds[0].y) / c.rows.Dim)
	for _, p := range c.own {
		n += b2i((1-c.share)*p < c.share*(1-p)/(classes-1))
	}
	return n
}

// reportCleaning prints the rows that hurt.
func (t *search) reportCleaning(w io.Writer) {
	c := t.cleaner
	n := c.wrong()
	bySelf := slices.Clone(c.order)
	slices.SortStableFunc(bySelf, func(a, b int) int { return cmp.Compare(c.self[a], c.self[b]) })
	both := 0
	for _, i := range c.order[:n] {
		both += b2i(slices.Contains(bySelf[:n], i))
	}
	fmt.Fprintf(w, "clean    %d of %d labels look wrong, where a share of %.2g is; cross-validated self-confidence\n"+
		"         has %d of them among its %d lowest; all rows, most suspicious first: rows.csv\n", n, len(c.own), c.share, both, n)
	for _, i := range c.order[:min(n, shownRows)] {
		fmt.Fprintf(w, "         row %s: %q, others vote %q; probability of its label %.2g, self-confidence %.2g\n",
			c.rows.IDs[i], t.classes[int(c.rows.Label[i])], t.classes[c.vote[i]], c.own[i], c.self[i])
	}
	fmt.Fprintln(w)
}

// writeRows writes all rows, most suspicious first.
func (t *search) writeRows(w io.Writer) error {
	c := t.cleaner
	_, err := fmt.Fprintln(w, "row,label,vote,probability,self_confidence,weight")
	for _, i := range c.order {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s,%s,%s,%.6g,%.6g,%.6g\n", csvField(c.rows.IDs[i]), csvField(t.classes[int(c.rows.Label[i])]),
				csvField(t.classes[c.vote[i]]), c.own[i], c.self[i], c.weight[i])
		}
	}
	return err
}
