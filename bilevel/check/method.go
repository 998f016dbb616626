package check

import (
	"errors"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
)

// The values of Breach.Rule; the comment of Method says what each is.
const (
	RuleName      = "name"
	RuleStart     = "start"
	RuleRun       = "run"
	RuleInputs    = "inputs"
	RuleFeasible  = "feasible"
	RuleSteps     = "steps"
	RuleCounts    = "counts"
	RuleSeed      = "seed"
	RuleShared    = "shared"
	RuleResume    = "resume"
	RuleOracle    = "oracle"
	RuleNotFinite = "not finite"
)

// A Breach is a rule of bilevel.Method and bilevel.Stepper that a method breaks.
type Breach struct {
	Rule    string // RuleName, RuleStart, …
	Run     string // the run that shows it, as "a stream"
	Message string // what was seen, and what usually causes it
}

func (b *Breach) Error() string {
	return fmt.Sprintf("check: method breaks a rule: %s: on %s: %s", b.Rule, b.Run, b.Message)
}

// MethodOptions says on what Method runs a method. The zero value is usable.
type MethodOptions struct {
	// Problem is the problem of all runs, which must suit the method's step sizes. nil means two of
	// package quadratic, a stream and a sum of 12 terms: 3 variables in x and 4 in y, noise on
	// every derivative, eigenvalues between 1 and 3 in the mean g_yy and in f_xx.
	Problem bilevel.Problem

	// Options are those of the runs; Method chooses the batch sizes. With neither Problem nor Set,
	// one of the runs starts at a corner of the box [0, 1]^3.
	Options bilevel.Options

	// As returns p, with the same oracles, in the form that the method looks for in
	// Iteration.Problem. nil returns p itself.
	As func(p bilevel.Problem) bilevel.Problem

	Steps int // of each run, ≥ 1; 0 means 24. A rule that acts later is not seen
}

// Method checks that a method keeps the rules of bilevel.Method and bilevel.Stepper on small
// problems: in runs on a stream and on a finite sum, with one sample a step, with batches of 2 and
// 3, with full batches, and in a feasible set.
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
//	oracle      an error of an oracle ends the step, and is the error of the run
//	not finite  so does NaN or infinity from an oracle, and no oracle is asked at such a point
//
// The error is nil if all rules are kept, else it joins one *Breach for each broken rule, from the
// first run that shows it. A run that Start refuses is left out, and so are full batches without
// exact values; if all are left out, the rule start is broken. Method checks neither that the
// method converges, nor that its steps allocate nothing.
//
// Cost: for each run about Steps²/2 steps, and 5·Steps for each oracle that the method calls.
func Method(m bilevel.Method, o MethodOptions) error {
	if m == nil {
		return option.Bad("check: Method needs a method, and it is nil")
	}
	if o.Steps == 0 {
		o.Steps = 24
	}
	if o.Steps < 1 {
		return option.Bad("check: Steps is %d, want ≥ 1", o.Steps)
	}
	trials, err := o.trials()
	if err != nil {
		return err
	}
	var in inspection
	refusals := 0
	for _, t := range trials {
		t.m, t.in, t.steps, t.as = m, &in, o.Steps, o.As
		if err := t.inspect(); err != nil {
			in.refused = err
			refusals++
		}
	}
	if refusals == len(trials) {
		in.breach(RuleStart, "every problem", "no run is left: %v", in.refused)
	}
	return errors.Join(in.breaches...)
}

func (o *MethodOptions) trials() ([]*trial, error) {
	with := func(upper, lower int) bilevel.Options {
		opt := o.Options
		opt.UpperBatch, opt.LowerBatch = upper, lower
		return opt
	}
	if p := o.Problem; p != nil {
		return []*trial{
			{name: "the problem", p: p, opt: with(1, 1)},
			{name: "the problem in batches of 2 and 3", p: p, opt: with(2, 3)},
			{name: "the problem in full batches", p: p, opt: with(bilevel.Full, bilevel.Full)},
		}, nil
	}
	q := quadratic.Options{Dx: 3, Dy: 4, Seed: 2, MuG: 1, LG: 3, MuP: 1, LP: 3,
		SigmaFx: 0.3, SigmaFy: 0.3, SigmaGy: 0.3, SigmaGxy: 0.2, SigmaGyy: 0.2}
	stream, err := quadratic.New(q)
	if err != nil {
		return nil, err
	}
	q.Terms = 12
	sum, err := quadratic.New(q)
	if err != nil {
		return nil, err
	}
	all := []*trial{
		{name: "a stream", p: stream, opt: with(1, 1)},
		{name: "a sum in batches of 2 and 3", p: sum, opt: with(2, 3)},
		{name: "a sum in full batches", p: sum, opt: with(bilevel.Full, bilevel.Full)},
	}
	if o.Options.Set == nil {
		boxed := with(1, 1)
		boxed.Set = bilevel.UniformBox(q.Dx, 0, 1)
		all = append(all, &trial{name: "a stream in a box", p: stream, opt: boxed})
	}
	return all, nil
}

type inspection struct {
	breaches []error
	refused  error
}

func (in *inspection) breach(rule, run, format string, args ...any) {
	for _, err := range in.breaches {
		if err.(*Breach).Rule == rule {
			return
		}
	}
	in.breaches = append(in.breaches, &Breach{rule, run, fmt.Sprintf(format, args...)})
}
