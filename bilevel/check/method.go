package check

import (
	"cmp"
	"errors"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
)

// A Breach is a rule of bilevel.Method and bilevel.Stepper that a method breaks.
type Breach struct {
	Rule    string // its name in the comment of Method
	Run     string // the run that shows it, as "a stream"
	Message string // what was seen, and what usually causes it
}

func (b *Breach) Error() string {
	return fmt.Sprintf("check: method breaks a rule: %s: on %s: %s", b.Rule, b.Run, b.Message)
}

// MethodOptions says on what Method runs a method. The zero value is usable.
type MethodOptions struct {
	// Problem must suit the method's step sizes. nil means two of package quadratic, a stream and a
	// sum of 12 terms: 3 variables in x and 4 in y, noise on every derivative, eigenvalues between 1
	// and 3 in the mean g_yy and in f_xx.
	Problem bilevel.Problem

	// Options are those of the runs, but for the batch sizes. With neither Problem nor Set, one of
	// the runs starts at a corner of the box [0, 1]^3.
	Options bilevel.Options

	// As returns p in the form that the method looks for in Iteration.Problem; nil: p itself.
	As func(p bilevel.Problem) bilevel.Problem

	Steps int // of each run, ≥ 1; 0 means 24
}

// Method checks that a method keeps the rules of bilevel.Method and bilevel.Stepper in short runs: on
// a stream and on a finite sum, with batches of 1, of 2 and 3, and full ones, and in a feasible set.
//
//	name        Name is not empty, and always the same
//	start       Start calls no oracle, draws no sample, and refuses by an error that wraps ErrOption
//	run         no step fails
//	inputs      a step leaves X and Y as they are, whether it fails or not
//	feasible    x stays in the feasible set, up to rounding
//	steps       a step that moves x or y reports by UseSteps how long its step was
//	counts      every oracle call goes through Iteration.Oracle, and every sample of one was drawn
//	seed        two runs with one seed give the same bits
//	shared      so does a run beside another one of the same Method value
//	resume      so does a run that is cut after any step, saved, and loaded into another Solver
//	oracle      an error of an oracle ends the step, and is the error of the run; but from a trial point
//	            that gives bilevel.ErrDomain a step may go back, and ask elsewhere
//	not finite  so does NaN or infinity from an oracle, and no oracle is asked at such a point
//
// The error is nil, or joins one *Breach for each broken rule, from the first run that shows it. A
// run that Start refuses is left out, and so are full batches without exact values; if all are left
// out, the rule start is broken. Neither convergence nor allocation is checked.
//
// Cost: for each run about Steps²/2 steps, and 5·Steps for each oracle that the method calls.
func Method(m bilevel.Method, o MethodOptions) error {
	if m == nil {
		return option.Bad("check: Method needs a method, and it is nil")
	}
	option.Default(&o.Steps, 24)
	var found breaches
	trials, err := o.trials(m, &found)
	if err = cmp.Or(option.AtLeast("check: Steps", o.Steps, 1), err); err != nil {
		return err
	}
	var refused error
	left := len(trials)
	for _, t := range trials {
		if err := t.inspect(); err != nil {
			refused = err
			left--
		}
	}
	if left == 0 {
		found.add("start", "every problem", "no run is left: %v", refused)
	}
	return errors.Join(found...)
}

func (o *MethodOptions) trials(m bilevel.Method, found *breaches) (all []*trial, err error) {
	add := func(name string, p bilevel.Problem, upper, lower int, set bilevel.Set) {
		t := &trial{name: name, p: p, opt: o.Options, m: m, as: o.As, steps: o.Steps, found: found}
		t.opt.UpperBatch, t.opt.LowerBatch, t.opt.Set = upper, lower, set
		all = append(all, t)
	}
	one, many, set := "the problem", "the problem", o.Options.Set
	stream, sum := o.Problem, o.Problem
	if o.Problem == nil {
		q := quadratic.Options{Dx: 3, Dy: 4, Seed: 2, MuG: 1, LG: 3, MuP: 1, LP: 3,
			SigmaFx: 0.3, SigmaFy: 0.3, SigmaGy: 0.3, SigmaGxy: 0.2, SigmaGyy: 0.2}
		if stream, err = quadratic.New(q); err != nil {
			return nil, err
		}
		q.Terms = 12
		if sum, err = quadratic.New(q); err != nil {
			return nil, err
		}
		one, many = "a stream", "a sum"
	}
	add(one, stream, 1, 1, set)
	add(many+" in batches of 2 and 3", sum, 2, 3, set)
	add(many+" in full batches", sum, bilevel.Full, bilevel.Full, set)
	if o.Problem == nil && set == nil {
		add("a stream in a box", stream, 1, 1, bilevel.UniformBox(3, 0, 1))
	}
	return all, nil
}

// breaches are of one *Breach for each rule.
type breaches []error

func (found *breaches) add(rule, run, format string, args ...any) {
	for _, err := range *found {
		if err.(*Breach).Rule == rule {
			return
		}
	}
	*found = append(*found, &Breach{rule, run, fmt.Sprintf(format, args...)})
}
