package hyperopt

import (
	"errors"
	"fmt"
	"math"
)

// Folds is (1/K)·Σ_k F_k(x), the loss of a cross-validation: problem k validates on fold k and
// trains on the other rows.
type Folds struct {
	// Problems are the folds, at least one, of equal options, features and weights.
	Problems []*Problem

	// Progress, if set, is called before each iteration of Minimise with its number and F; false
	// ends the search from that start at the best point so far.
	Progress func(iteration int, f float64) bool
}

// Reads returns the sum of the problems' Reads.
func (f *Folds) Reads() (n uint64) {
	for _, p := range f.Problems {
		n += p.reads
	}
	return n
}

func (f *Folds) check() error {
	if len(f.Problems) == 0 {
		return errors.New("hyperopt: Folds: no problems")
	}
	first := f.Problems[0]
	for k, p := range f.Problems {
		if p.opt.Form != first.opt.Form || p.opt.Lo != first.opt.Lo || p.opt.Hi != first.opt.Hi ||
			p.dx != first.dx || p.train.Dim != first.train.Dim {
			return fmt.Errorf("hyperopt: Folds: problem %d has other weights or features than the first", k)
		}
	}
	return nil
}

// Minimise is Problem.Minimise for the mean of F over the folds, from at least one start. Minimum.Y
// is nil for several folds.
func (f *Folds) Minimise(starts ...[]float64) (*Minimum, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if len(starts) == 0 {
		return nil, errors.New("hyperopt: Folds.Minimise: no starts")
	}
	var best *Minimum
	for _, x := range starts {
		f.Problems[0].sizes("hyperopt: Minimise: dimension mismatch", f.Problems[0].dx, x)
		s, err := f.search()
		if err != nil {
			return nil, err
		}
		for i, v := range x {
			p := f.Problems[0]
			s.trial.x[i] = s.p.clip(math.Log(p.ridge(p.clip(v))))
		}
		if err := s.begin(); err != nil {
			return nil, err
		}
		m, err := f.descend(s)
		if err != nil {
			return nil, err
		}
		if best == nil || m.F < best.F {
			best = m
		}
	}
	return best, nil
}

func (f *Folds) search() (*descent, error) {
	var logs []*Problem
	for _, p := range f.Problems {
		if _, err := p.reserve(); err != nil {
			return nil, err
		}
		q := p.logForm()
		if _, err := q.reserve(); err != nil {
			return nil, err
		}
		logs = append(logs, q)
	}
	return newDescent(logs...), nil
}

func (p *Problem) logForm() *Problem {
	q := p.Clone()
	q.opt.Form = Exp
	q.opt.Lo, q.opt.Hi = math.Log(p.ridge(p.opt.Lo)), math.Log(p.ridge(p.opt.Hi))
	return q
}

func (f *Folds) descend(s *descent) (*Minimum, error) {
	p, q := f.Problems[0], s.p
	err := s.run(func() bool { return f.Progress == nil || f.Progress(s.iterations, s.at.f) })
	if err != nil {
		return nil, err
	}
	for k, fold := range s.folds {
		f.Problems[k].reads += fold.p.reads
	}
	m := &Minimum{X: make([]float64, p.dx), Iterations: s.iterations}
	for i, u := range s.at.x {
		switch u {
		case q.opt.Lo:
			m.X[i] = p.opt.Lo
		case q.opt.Hi:
			m.X[i] = p.opt.Hi
		default:
			m.X[i] = u
			if p.opt.Form == Raw {
				m.X[i] = p.clip(math.Exp(u) / 2)
			}
		}
	}
	end := newDescent(f.Problems...)
	end.trial.x, end.trial.y = m.X, s.at.y
	if err := end.evaluate(); err != nil {
		return nil, err
	}
	m.F, m.ProjGrad = end.trial.f, end.trial.proj
	if len(f.Problems) == 1 {
		m.Y = s.at.y[0]
	}
	return m, nil
}

// GridSearch returns the mean of F over the folds for each weight > 0 of all features. Errors as in
// Problem.GridSearch.
func (f *Folds) GridSearch(lambdas []float64) ([]float64, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	mean := make([]float64, len(lambdas))
	for _, p := range f.Problems {
		points, err := p.GridSearch(lambdas)
		if err != nil {
			return nil, err
		}
		for k, g := range points {
			mean[k] += g.Loss / float64(len(f.Problems))
		}
	}
	return mean, nil
}
