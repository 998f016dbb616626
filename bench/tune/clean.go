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
	cleaningPasses = 3    // the first has the weights 1
	cleaningLooks  = 20   // evaluations of the upper level: more fit the chance in the held-out rows
	cleaningSteps  = 40   // of settle
	shownRows      = 10
	fewRows        = 200
)

// cleaner is data hyper-cleaning on folds (Franceschi et al., ICML 2017): each row has a weight in
// [0, 1] in all the models that it trains, and the weights minimise the mean loss of the held-out
// rows. A share of their labels is taken as wrong: without that, weights tell nothing of flips.
type cleaner struct {
	rows    *data.Data // with classes 0, 1, …
	classes int
	folds   []cleanFold

	share  float64   // of wrong labels
	weight []float64 // of each row, a mean over the folds
	own    []float64 // probability of its label, by the models that it did not train
	vote   []int     // the likeliest class by these
	sure   []float64 // its probability
	self   []float64 // own of models where all rows weigh 1: cross-validated self-confidence
	y      []float64 // the model of all weighted rows
}

type cleanFold struct {
	p          *hyperopt.Problem
	f          *implicit.Function
	in, out    []int
	x, grad, y []float64
	value      float64
}

func (t *search) newCleaner() *cleaner {
	d, n := *t.design, t.design.Rows()
	c := &cleaner{rows: &d, classes: len(t.classes), folds: make([]cleanFold, t.Folds),
		weight: slices.Repeat([]float64{1}, n), own: make([]float64, n), vote: make([]int, n), sure: make([]float64, n)}
	if d.Classes = nil; c.classes == 2 {
		d.Label = make([]float64, n)
		for i, b := range t.design.Label {
			d.Label[i] = (b + 1) / 2
		}
	}
	in, out := t.folds()
	for k := range c.folds {
		c.folds[k].in, c.folds[k].out = in[k], out[k]
	}
	return c
}

func (c *cleaner) problem(train, held *data.Data) (*hyperopt.Problem, error) {
	return hyperopt.New(train, held, hyperopt.Options{Loss: hyperopt.Softmax, Penalty: hyperopt.PerRow,
		Lo: 0, Hi: 1, Ridge: cleaningRidge, Flips: c.share})
}

// try finds the weights for the share of wrong labels, in the first pass 1, and the votes. The label of
// a row has no part in the weights that its judge is trained with.
func (c *cleaner) try(ctx context.Context) (err error) {
	for k := range c.folds {
		f := &c.folds[k]
		if f.p, err = c.problem(c.rows.Subset(f.in), c.rows.Subset(f.out)); err != nil {
			return err
		}
		f.f, f.grad = implicit.New(f.p), make([]float64, len(f.in))
		f.x, f.y = vectors(f.p)
	}
	lo, one := make([]float64, len(c.own)), slices.Repeat([]float64{1}, len(c.own))
	p, weight := make([]float64, c.classes), make([]float64, len(c.own))
	for k := range c.folds {
		x := one
		if c.self != nil {
			least, err := implicit.Minimise(func(grad, x []float64) (float64, error) {
				if err := context.Cause(ctx); err != nil {
					return 0, err
				}
				return c.objective(grad, x, k)
			}, one, implicit.Options{Lo: lo, Hi: one, Evaluations: cleaningLooks})
			if least == nil { // at the cap there is one
				return err
			}
			x = least.X
		}
		f := &c.folds[k]
		if err := f.judge(x); err != nil {
			return err
		}
		for i, w := range x {
			weight[i] += w / float64(len(c.folds))
		}
		for a, i := range f.out {
			hyperopt.Probabilities(p, f.p.Validation(), f.y, a)
			c.own[i], c.sure[i] = p[int(c.rows.Label[i])], slices.Max(p)
			c.vote[i] = slices.Index(p, c.sure[i])
		}
	}
	if c.weight = weight; c.self == nil {
		c.self = slices.Clone(c.own)
	}
	return nil
}

func (f *cleanFold) judge(x []float64) (err error) {
	for a, i := range f.in {
		f.x[a] = x[i]
	}
	if err := minimise(f.p, f.f, f.y, f.x); err != nil {
		return err
	}
	f.value, err = f.f.Gradient(f.grad, f.x, f.y)
	return err
}

// objective returns the mean loss of the held-out rows of all folds but one, which these weights judge.
func (c *cleaner) objective(grad, x []float64, without int) (value float64, err error) {
	others := slices.Delete(slices.Clone(c.folds), without, without+1)
	err = parallel(len(others), func(k int) error { return others[k].judge(x) })
	clear(grad)
	for _, f := range others {
		share := float64(len(f.out)) / float64(len(x))
		value += share * f.value
		for a, i := range f.in {
			grad[i] += share * f.grad[a]
		}
	}
	return value, err
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

// right returns the probabilities that a label of probability p is right and what it says, and that
// it is wrong.
func (c *cleaner) right(p float64) (right, wrong float64) {
	return (1 - c.share) * p, c.share * (1 - p) / float64(c.classes-1)
}

// settle trains the model of all rows. From the weights that the folds found it goes to those that agree
// with it: a row weighs the probability w that its label is right, given the model. With p̃ that of a
// label, right or wrong, w·p̃ = (1 − share)·p, so that Σ p̃·w·∇log p = 0: no bias is left.
func (c *cleaner) settle() error {
	all, err := c.problem(c.rows, c.rows)
	if err != nil {
		return err
	}
	p, weight := make([]float64, c.classes), slices.Clone(c.weight)
	_, c.y = vectors(all)
	for step := 0; ; step++ {
		if all.Solution(c.y, weight) != nil {
			return fmt.Errorf("no model of the cleaned rows: %w", implicit.ErrNoSolution)
		}
		if step == cleaningSteps || c.share == 0 || c.chance() {
			return nil
		}
		for i := range weight {
			hyperopt.Probabilities(p, c.rows, c.y, i)
			right, wrong := c.right(p[int(c.rows.Label[i])])
			weight[i] = right / (right + wrong)
		}
	}
}

func (t *search) clean(ctx context.Context, p *kit.Progress) error {
	began, c := time.Now(), t.newCleaner()
	for pass := range cleaningPasses {
		p.Update(float64(pass+1)/(cleaningPasses+1), "wrong labels: a share of %.2g", c.share)
		if err := c.try(ctx); err != nil {
			return err
		}
		if c.share = c.disagree(); c.share == 0 {
			break
		}
	}
	if err := c.settle(); err != nil {
		return err
	}
	if t.cleaner = c; c.share > 0 && !c.chance() {
		t.results = append(t.results, t.cleaned(began))
	}
	return nil
}

// cleaned is the result of the weighted rows. Its held-out losses are −log of the probability that
// the rows' labels have with the share of wrong ones, and compare with the others'.
func (t *search) cleaned(began time.Time) *result {
	c := t.cleaner
	r := &result{Name: "cleaned rows", Cleaned: true, Lambda: cleaningRidge, y: c.y, seconds: time.Since(began),
		weights: slices.Repeat([]float64{cleaningRidge}, t.design.Dim)}
	for i := range c.own {
		right, wrong := c.right(c.own[i])
		r.losses = append(r.losses, -math.Log(right+wrong))
	}
	if d := t.design.Dim; c.classes == 2 { // the log-odds
		r.y = make([]float64, d)
		for j := range r.y {
			r.y[j] = c.y[d+j] - c.y[j]
		}
	}
	r.HeldOut, r.Error = meanOf(r.losses)
	return r
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
	fmt.Fprintf(w, "clean    %d of %d labels look wrong, where a share of %.2g is; cross-validated self-confidence\n"+
		"         has %d of them among its %d lowest; all rows, most suspicious first: rows.csv\n",
		n, len(c.own), c.share, both, n)
	for _, i := range order[:min(n, shownRows)] {
		fmt.Fprintf(w, "         row %s: %q, others vote %q; probability of its label %.2g, self-confidence %.2g\n",
			c.rows.IDs[i], t.classes[int(c.rows.Label[i])], t.classes[c.vote[i]], c.own[i], c.self[i])
	}
	if c.chance() {
		fmt.Fprintln(w, "         votes and labels agree by chance alone: no cleaned model is tried, and the rows are no finding")
	} else if len(c.own) < fewRows {
		fmt.Fprintf(w, "         of fewer than %d rows some are named by chance\n", fewRows)
	}
	fmt.Fprint(w, "         only training rows are judged; the cleaned model tells the true label: its held-out loss allows for\n"+
		"         the share of wrong ones, its test loss counts each test label as right\n\n")
}

func (t *search) writeRows(w io.Writer) error {
	c := t.cleaner
	_, err := fmt.Fprintln(w, "row,label,vote,probability,self_confidence,weight")
	for _, i := range ascending(c.own) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s,%s,%s,%.6g,%.6g,%.6g\n", csvField(c.rows.IDs[i]),
				csvField(t.classes[int(c.rows.Label[i])]), csvField(t.classes[c.vote[i]]), c.own[i], c.self[i], c.weight[i])
		}
	}
	return err
}
