package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/bilevel/quadratic"
	"stable/mat"
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
	var refused []error
	for _, t := range trials {
		if err := t.inspect(); err != nil {
			refused = append(refused, err)
		}
	}
	if n := len(refused); n == len(trials) {
		found.add("start", "every problem", "no run is left: %v", refused[n-1])
	}
	return errors.Join(found...)
}

func (o MethodOptions) trials(m bilevel.Method, found *breaches) (all []*trial, err error) {
	add := func(name string, p bilevel.Problem, upper, lower int, set bilevel.Set) {
		t := &trial{MethodOptions: o, name: name, m: m, found: found}
		t.Problem, t.Options.UpperBatch, t.Options.LowerBatch, t.Options.Set = p, upper, lower, set
		all = append(all, t)
	}
	one, many, stream, sum, set := "the problem", "the problem", o.Problem, o.Problem, o.Options.Set
	if o.Problem == nil {
		q := quadratic.Options{Dx: 3, Dy: 4, Seed: 2, MuG: 1, LG: 3, MuP: 1, LP: 3,
			SigmaFx: 0.3, SigmaFy: 0.3, SigmaGy: 0.3, SigmaGxy: 0.2, SigmaGyy: 0.2}
		one, many = "a stream", "a sum"
		for terms, p := range map[uint64]*bilevel.Problem{0: &stream, 12: &sum} {
			q.Terms = terms
			if *p, err = quadratic.New(q); err != nil {
				return nil, err
			}
		}
	}
	add(one, stream, 1, 1, set)
	add(many+" in batches of 2 and 3", sum, 2, 3, set)
	add(many+" in full batches", sum, bilevel.Full, bilevel.Full, set)
	if o.Problem == nil && set == nil {
		add("a stream in a box", stream, 1, 1, bilevel.UniformBox(3, 0, 1))
	}
	return all, nil
}

type breaches []error

func (found *breaches) add(rule, run, format string, args ...any) {
	if !slices.ContainsFunc(*found, func(err error) bool { return err.(*Breach).Rule == rule }) {
		*found = append(*found, &Breach{rule, run, fmt.Sprintf(format, args...)})
	}
}

type trial struct {
	MethodOptions
	name  string
	m     bilevel.Method
	found *breaches
	want  []moment // the undisturbed run: before step 0, after it, …
}

func (t *trial) breach(rule, format string, args ...any) { t.found.add(rule, t.name, format, args...) }

type moment struct {
	z      [2][]float64 // x and y
	counts bilevel.Counts
	file   []byte // the checkpoint
	err    error  // of Save
}

func now(s *bilevel.Solver) moment {
	var file bytes.Buffer
	err := s.Save(&file)
	return moment{[2][]float64{slices.Clone(s.X()), slices.Clone(s.Y())}, s.Counts(), file.Bytes(), err}
}

func (m moment) differs(want moment) string {
	for i, v := range m.z {
		if k := firstDifference(v, want.z[i]); k >= 0 {
			return fmt.Sprintf("%c[%d] is %v, and not %v", "xy"[i], k, v[k], want.z[i][k])
		}
	}
	if m.counts != want.counts {
		return fmt.Sprintf("the counts are %+v, and not %+v", m.counts, want.counts)
	}
	if !bytes.Equal(m.file, want.file) {
		return "the checkpoint has other numbers"
	}
	return ""
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
}

func (t *trial) inspect() error {
	w, err := t.clean()
	if w == nil {
		return err
	}
	if err := t.again(nil, false); err != nil {
		t.breach("seed", "in a second run of one seed, %v: the method's random numbers must come from Iteration.Rand, "+
			"and its state must be in the Stepper", err)
		return nil // the other rules compare with that run, too
	}
	cuts := t.want
	if err := t.again(nil, true); err != nil {
		t.breach("shared", "beside another Solver of the same Method value, %v: Start must return a Stepper with "+
			"memory of its own", err)
		cuts = nil
	}
	for k, cut := range cuts {
		if err := cmp.Or(cut.err, t.again(cut.file, false)); err != nil {
			t.breach("resume", "cut after %d steps, saved and loaded, %v: State must visit all that later steps depend "+
				"on, the same numbers at all times, and change none of them", k, err)
			break
		}
	}
	t.faults(w)
	return nil
}

func (t *trial) start(w *watched, opt bilevel.Options) (s *bilevel.Solver, err error) {
	p := w.problem()
	if t.As != nil {
		p = t.As(p)
	}
	err = guard(func() (err error) { s, err = bilevel.New(p, t.m, opt); return err })
	return s, err
}

// clean makes and judges the undisturbed run, and returns what it asked for; nil: others cannot be compared with it.
func (t *trial) clean() (*watched, error) {
	w, name := watch(t.Problem), t.m.Name()
	if name == "" {
		t.breach("name", "Name is empty")
	}
	s, err := t.start(w, t.Options)
	switch {
	case errors.Is(err, bilevel.ErrOption):
		return nil, err
	case err != nil:
		t.breach("start", "Start fails, and its error does not wrap bilevel.ErrOption: %v", err)
		return nil, nil
	case s.Counts() != (bilevel.Counts{}) || len(w.calls) > 0:
		t.breach("start", "Start draws samples or calls an oracle: leave that to the first step")
		return nil, nil
	}
	t.want = []moment{now(s)}
	for range t.Steps {
		if err := t.step(s); errors.Is(err, bilevel.ErrNoExact) {
			return nil, err
		} else if err != nil {
			t.breach("run", "%v", err)
			return nil, nil
		}
		t.want = append(t.want, now(s))
		t.feasible(s)
		t.reported(s)
		t.counted(w, s)
	}
	t.drawn(w, s)
	if other := t.m.Name(); other != name {
		t.breach("name", "Name is %q before a run, and %q after it", name, other)
		return nil, nil
	}
	return w, nil
}

func (t *trial) step(s *bilevel.Solver) error {
	k, z := s.K(), [2][]float64{s.X(), s.Y()}
	before := [2][]float64{slices.Clone(z[0]), slices.Clone(z[1])}
	err := s.Step()
	if d := (moment{z: z}).differs(moment{z: before}); d != "" {
		t.breach("inputs", "step %d changes what it is to read: %s", k, d)
	}
	return err
}

func (t *trial) feasible(s *bilevel.Solver) {
	if t.Options.Set == nil {
		return
	}
	p := make([]float64, len(s.X()))
	t.Options.Set.Project(p, s.X())
	if d := distance(p, s.X()); !(d <= 1e-9*(1+mat.Norm(s.X()))) {
		t.breach("feasible", "after %d steps, x is %.3g away from the feasible set: project NextX, as MoveX does", s.K(), d)
	}
}

func (t *trial) reported(s *bilevel.Solver) {
	alpha, beta := s.StepSizes()
	for i, size := range [2]float64{alpha, beta} {
		to := t.want[s.K()].z[i]
		if d := distance(to, t.want[s.K()-1].z[i]); size == 0 && d > 1e-9*(1+mat.Norm(to)) {
			t.breach("steps", "step %d moves %c by %.3g and reports %c = 0, with which Run.Tol never stops: "+
				"call Iteration.UseSteps or InnerStep", s.K()-1, "xy"[i], d, [2]rune{'α', 'β'}[i])
		}
	}
}

func (t *trial) counted(w *watched, s *bilevel.Solver) {
	c, asked := s.Counts(), w.counts
	asked.Xi, asked.Phi = c.Xi, c.Phi
	if asked != c {
		t.breach("counts", "after %d steps, the oracles were asked for %+v samples, and the run counts %+v: "+
			"call Iteration.Oracle, and not the problem itself", s.K(), asked, c)
	}
	for stream, drawn := range [2]uint64{upper: c.Xi, lower: c.Phi} {
		n := uint64(len(w.seen[stream]))
		if w.exact[stream] {
			n = max(n, w.sizes[stream], 1)
		}
		if n > drawn {
			t.breach("counts", "after %d steps, the oracles were asked for %d different samples %s, and %d were drawn: "+
				"they must come from DrawXi and DrawPhi", s.K(), n, samples[stream], drawn)
		}
	}
}

// again makes the run once more, from a checkpoint if there is one, or beside a Solver with another
// seed, and wants the same bits after each step.
func (t *trial) again(file []byte, beside bool) error {
	s, err := t.start(watch(t.Problem), t.Options)
	if err == nil && file != nil {
		err = s.Load(bytes.NewReader(file))
	}
	var other *bilevel.Solver
	if err == nil && beside {
		opt := t.Options
		opt.Seed++
		other, err = t.start(watch(t.Problem), opt)
	}
	for err == nil {
		at, want := now(s), t.want[s.K()]
		if file == nil {
			want.file = at.file // x or y tell more, in time
		}
		if d := at.differs(want); d != "" {
			return fmt.Errorf("after %d steps, %s", s.K(), d)
		}
		if s.K() == t.Steps {
			return nil
		}
		err = s.Step()
		if beside && err == nil {
			err = other.Step()
		}
	}
	return err
}

func (t *trial) faults(clean *watched) {
	for _, name := range slices.Sorted(maps.Keys(clean.calls)) {
		n := clean.calls[name]
		at := []int{0, 1, 2, n / 2, n - 1}
		slices.Sort(at)
		for i, call := range slices.Compact(at) {
			if call < n {
				f := [3]fault{{value: math.NaN()}, {value: math.Inf(1)}, {err: errOutside}}[i%3]
				f.oracle, f.call = name, call
				t.fault(&fault{oracle: name, call: call, err: errFault})
				t.fault(&f)
			}
		}
	}
}

func (t *trial) fault(f *fault) {
	w := watch(t.Problem)
	w.fault = f
	s, err := t.start(w, t.Options)
	var before moment
	for err == nil && !f.done && s.K() < t.Steps {
		before = now(s)
		err = t.step(s)
	}
	rule, seen := "not finite", err != nil
	if f.err != nil {
		var o *bilevel.OracleError
		rule, seen = "oracle", errors.Is(err, f.err) && errors.As(err, &o)
	}
	switch {
	case f.done && f.err == errOutside && err == nil && w.stray == "":
		if f.at(s.X(), s.Y()) || f.at(before.z[0], before.z[1]) && !f.again {
			t.breach(rule, "%s, and the step goes on from that point: return the error, or go back from a trial point", f)
		}
	case !f.done || w.stray != "":
		t.breach(rule, "%s: %s", f, cmp.Or(w.stray, "the run does not come to it"))
	case err == nil && f.err == errFault:
		t.breach(rule, "%s, and the step goes on: return the Oracle's errors", f)
	case !seen && rule == "oracle":
		t.breach(rule, "%s, and the step returns another error, %v: return the Oracle's errors unchanged", f, err)
	case !seen:
		t.breach(rule, "%s, and the step goes on: Vectors must visit all that a step computes", f)
	}
}
