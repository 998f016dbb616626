package tune

import (
	"math"
	"slices"

	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
)

const solverAuto, solverExact, solverSAA = "auto", "exact", "saa"

const (
	defaultFolds = 5
	moreFolds    = 40    // with repeats, where quick
	quick        = 1.5e9 // multiplications: some half a second
	rowWork      = 500   // multiplications: exponentials and the like
	manyRows     = 5000  // from which one split may do, and -solver saa
	patience     = 1e10  // the most for which exact is the default: some twenty seconds
)

func (t *search) plan() error {
	most := fewest(t.design, t.regression())
	auto := t.Folds == 0
	if t.repeats = 1; auto {
		t.Folds = 1
		if k := min(defaultFolds, most); t.split == nil && k > 1 && t.Solver != solverSAA {
			t.repeats, t.Folds = max(int(min(quick/t.work(), moreFolds))/k, 1), k
		}
	}
	if t.Solver == solverAuto || t.Solver == "" {
		t.Solver = solverExact
		if auto && t.design.Rows() > manyRows && t.work() > patience {
			sampled := math.Pow(float64(t.design.Dim*max(1, len(t.classes)-1)), 3) * float64(max(leastSteps, t.design.Rows()))
			if t.Folds = 1; t.work() > max(patience, sampled) {
				t.Solver = solverSAA
			}
		}
	}
	err := usage(
		wrong(t.Folds > max(most, 1), "-folds is %d, want 1 to %d (as many as there are rows of a class)", t.Folds, most),
		wrong(t.folded() && t.split != nil, "-folds is %d, but there is a file of validation rows", t.Folds),
		wrong(t.Clean && (!t.folded() || t.regression()), "-clean goes with folds (-folds 5), -solver exact and classes"),
		wrong(t.Solver == solverSAA && len(t.used) > mostFeatures,
			"-solver saa takes %d features, and there are %d", mostFeatures, len(t.used)),
		wrong(t.folded() && t.Solver == solverSAA, "-folds goes with -solver exact: -solver saa works on one split"))
	if err != nil || t.folded() {
		for r := 0; t.kin != nil && err == nil && r < t.repeats; r++ {
			t.apart = t.apart || deal(t.design, t.kin, t.regression(), t.Folds, t.Seed, 'f'+uint64(r)<<8) == nil
		}
		return err
	}
	if t.parts = slices.Clone(t.split); t.split == nil {
		if t.parts, err = split(t.design, t.kin, t.regression(), 3, t.Seed, 's'); err != nil {
			return err
		}
	}
	const few = 4 // of a class
	judges := t.parts[1]
	if t.Solver == solverSAA && fewest(judges, t.regression()) >= 2*few {
		halves, err := split(judges, kin(judges, judges.IDs, nil), t.regression(), 2, t.Seed, 'u')
		if err != nil {
			return err
		}
		t.parts[1], t.unseen, judges = halves[0], halves[1], halves[1]
	}
	t.kin = kin(judges, judges.IDs, nil)
	return nil
}

func (t *search) loss() hyperopt.Loss {
	loss, _ := t.kind(t.classes)
	return loss
}

func fewest(d *data.Data, regression bool) int {
	if regression {
		return d.Rows()
	}
	return slices.Min(countClasses(d))
}

func (t *search) work() float64 {
	d := float64(min(t.design.Dim, t.design.Rows()))
	classes, hessians, gradients := 1.0, 200.0, 0.0 // of a fold; of several classes as three files took, within 1.7
	if t.loss() == hyperopt.Softmax {
		classes, hessians, gradients = float64(len(t.classes)), 6, 700
	}
	work := hessians * d * d * d * classes * classes * max(1, classes/2)
	for i := range t.design.Rows() {
		n := min(d, float64(t.design.RowPtr[i+1]-t.design.RowPtr[i]))
		work += hessians*(n*n/4*classes*(1+classes)+rowWork) + gradients*classes*(2*n+20)
	}
	return work * float64(t.Folds)
}
