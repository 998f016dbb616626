package tune

import (
	"fmt"

	"stable/bench/kit"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

// Solvers of -solver.
const (
	solverAuto  = "auto"
	solverExact = "exact"
	solverSAA   = "saa"
)

const (
	defaultFolds = 5
	// patience is the most work, in multiplications, for which exact is the default solver: some
	// twenty seconds.
	patience = 1e10
)

// plan chooses the solver and the folds, and cuts the design rows accordingly.
func (t *search) plan() error {
	if t.Solver == solverAuto || t.Solver == "" {
		t.Solver = solverExact
		if work := t.work(max(1, t.Folds)); work > patience && work > t.sampledWork() {
			t.Solver = solverSAA
		}
	}
	most := t.mostFolds()
	switch {
	case t.Folds == 2 || t.Folds > 1 && t.Folds > most:
		return fmt.Errorf("%w: -folds is %d, want 1, or 3 to %d (as many as there are rows of a class)",
			kit.ErrUsage, t.Folds, most)
	case t.Folds > 1 && t.split != nil:
		return fmt.Errorf("%w: -folds is %d, but there is a file of validation rows", kit.ErrUsage, t.Folds)
	case t.Folds > 1 && t.Solver == solverSAA:
		return fmt.Errorf("%w: -folds goes with -solver exact: -solver saa works on one split", kit.ErrUsage)
	case t.Folds == 0:
		t.Folds = 1
		if k := min(defaultFolds, most); t.split == nil && t.Solver == solverExact && k > 2 && t.work(k) <= patience {
			t.Folds = k
		}
	}
	if t.folded() {
		fractions := make([]float64, t.Folds)
		for i := range fractions {
			fractions[i] = 1
		}
		var err error
		t.parts, err = t.deal(t.design, fractions...)
		return err
	}
	return t.planSplit()
}

// planSplit cuts training and validation rows, and holds half of the latter back for the final
// choice.
func (t *search) planSplit() (err error) {
	if t.parts = t.split; t.split == nil {
		if t.parts, err = t.deal(t.design, 2, 1); err != nil {
			return err
		}
	}
	t.parts = append([]*data.Data(nil), t.parts...)
	const few = 4 // of a class
	val := t.parts[1]
	if fewest(val, t.regression()) < 2*few {
		return nil
	}
	halves, err := t.deal(val, 1, 1)
	if err != nil {
		return err
	}
	t.parts[1], t.unseen = halves[0], halves[1]
	return nil
}

// sampledWork estimates the multiplications of -solver saa from above, as if each step solved with a
// Hessian.
func (t *search) sampledWork() float64 {
	d := float64(t.design.Dim)
	return float64(max(leastSteps, t.design.Rows())) * d * d * d
}

func (t *search) mostFolds() int { return fewest(t.design, t.regression()) }

func (t *search) regression() bool { return losses[t.Loss] == hyperopt.Squared }

// deal deals rows out, class by class where there are classes.
func (t *search) deal(d *data.Data, fractions ...float64) ([]*data.Data, error) {
	return splitter(d, t.regression())(t.Seed, fractions...)
}

func fewest(d *data.Data, regression bool) int {
	if regression {
		return d.Rows()
	}
	return min(countClasses(d))
}

// newtonSteps is roughly what the search for one fold takes: thirty iterations of five Newton
// steps.
const newtonSteps = 150

// work estimates the multiplications of the exact solver. With folds there is one search on all of
// them and one without each. Each search takes newtonSteps Newton steps, which form and factor a
// Hessian of the rows.
func (t *search) work(folds int) float64 {
	d := float64(t.design.Dim)
	step := d * d * d
	for i := range t.design.Rows() {
		n := float64(t.design.RowPtr[i+1] - t.design.RowPtr[i])
		step += n * n / 2
	}
	return newtonSteps * step * float64(folds*folds)
}
