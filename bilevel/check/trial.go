package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"stable/bilevel"
	"stable/mat"
)

// trial is a problem on which a method runs.
type trial struct {
	name  string
	p     bilevel.Problem
	opt   bilevel.Options
	m     bilevel.Method
	as    func(bilevel.Problem) bilevel.Problem
	steps int
	found *breaches
	want  []moment // the undisturbed run: before step 0, after it, and so on
}

func (t *trial) breach(rule, format string, args ...any) { t.found.add(rule, t.name, format, args...) }

type moment struct {
	x, y   []float64
	counts bilevel.Counts
}

func now(s *bilevel.Solver) moment {
	return moment{slices.Clone(s.X()), slices.Clone(s.Y()), s.Counts()}
}

func (m moment) differs(want moment) string {
	if i := firstDifference(m.x, want.x); i >= 0 {
		return fmt.Sprintf("x[%d] is %v, and not %v", i, m.x[i], want.x[i])
	}
	if i := firstDifference(m.y, want.y); i >= 0 {
		return fmt.Sprintf("y[%d] is %v, and not %v", i, m.y[i], want.y[i])
	}
	if m.counts != want.counts {
		return fmt.Sprintf("the counts are %+v, and not %+v", m.counts, want.counts)
	}
	return ""
}

func distance(a, b []float64) float64 {
	d := slices.Clone(a)
	mat.Axpy(d, -1, b)
	return mat.Norm(d)
}

// inspect makes all runs of a trial. An error says that there are none to make.
func (t *trial) inspect() error {
	w, err := t.clean()
	if w == nil {
		return err
	}
	s, err := t.start(watch(t.p), t.opt)
	if err == nil {
		err = t.follows(s, nil)
	}
	if err != nil {
		t.breach("seed", "in a second run of one seed, %v: the method's random numbers must come from Iteration.Rand, "+
			"and its state must be in the Stepper", err)
		return nil // the other rules compare with that run, too
	}
	if t.shared() {
		t.resume()
	}
	t.faults(w)
	return nil
}

func (t *trial) start(w *watched, opt bilevel.Options) (s *bilevel.Solver, err error) {
	p := w.problem()
	if t.as != nil {
		p = t.as(p)
	}
	err = guard(func() (err error) { s, err = bilevel.New(p, t.m, opt); return err })
	return s, err
}

// clean makes the undisturbed run, judges it, and returns what it asked for: nil where no other run
// can be compared with it, an error if it is refused.
func (t *trial) clean() (*watched, error) {
	w, name := watch(t.p), t.m.Name()
	if name == "" {
		t.breach("name", "Name is empty")
	}
	s, err := t.start(w, t.opt)
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
	for range t.steps {
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

// step does one step, and checks the iterate that was given to it, which the Solver keeps in the
// memory of the next one.
func (t *trial) step(s *bilevel.Solver) error {
	k, before, x, y := s.K(), now(s), s.X(), s.Y()
	err := s.Step()
	if d := (moment{x, y, before.counts}).differs(before); d != "" {
		t.breach("inputs", "step %d changes what it is to read: %s", k, d)
	}
	return err
}

func (t *trial) feasible(s *bilevel.Solver) {
	if t.opt.Set == nil {
		return
	}
	p := make([]float64, len(s.X()))
	t.opt.Set.Project(p, s.X())
	if d := distance(p, s.X()); !(d <= 1e-9*(1+mat.Norm(s.X()))) {
		t.breach("feasible", "after %d steps, x is %.3g away from the feasible set: project NextX, as MoveX does", s.K(), d)
	}
}

// reported wants a step size above 0 of what has moved by more than rounding.
func (t *trial) reported(s *bilevel.Solver) {
	moved := func(name, size string, step float64, from, to []float64) {
		if d := distance(to, from); step == 0 && d > 1e-9*(1+mat.Norm(to)) {
			t.breach("steps", "step %d moves %s by %.3g and reports %s = 0, with which Run.Tol never stops: "+
				"call Iteration.UseSteps or InnerStep", s.K()-1, name, d, size)
		}
	}
	alpha, beta := s.StepSizes()
	before, after := t.want[s.K()-1], t.want[s.K()]
	moved("x", "α", alpha, before.x, after.x)
	moved("y", "β", beta, before.y, after.y)
}

// counted compares what the problem was asked for with the run's counts.
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

// follows does the steps that are left, those of another Solver beside them if there is one, and
// wants them to be those of the undisturbed run.
func (t *trial) follows(s, beside *bilevel.Solver) error {
	for {
		if d := now(s).differs(t.want[s.K()]); d != "" {
			return fmt.Errorf("after %d steps, %s", s.K(), d)
		}
		if s.K() == t.steps {
			return nil
		}
		err := s.Step()
		if beside != nil {
			err = errors.Join(err, beside.Step())
		}
		if err != nil {
			return err
		}
	}
}

// shared makes the run beside one with another seed, and reports whether the bits are the same.
func (t *trial) shared() bool {
	other := t.opt
	other.Seed++
	s, err := t.start(watch(t.p), t.opt)
	beside, err2 := t.start(watch(t.p), other)
	if err = errors.Join(err, err2); err == nil {
		err = t.follows(s, beside)
	}
	if err != nil {
		t.breach("shared", "beside another Solver of the same Method value, %v: Start must return a Stepper with "+
			"memory of its own", err)
	}
	return err == nil
}

// resume makes the run, and the rest of it from a checkpoint after each step.
func (t *trial) resume() {
	s, err := t.start(watch(t.p), t.opt)
	files := make([]bytes.Buffer, t.steps+1)
	for k := range files {
		if err == nil && k > 0 {
			err = s.Step()
		}
		if err == nil {
			err = s.Save(&files[k])
		}
	}
	for k := range files {
		if err == nil {
			err = t.resumeFrom(k, files[k].Bytes(), files[t.steps].Bytes())
		}
	}
	if err != nil {
		t.breach("resume", "%v", err)
	}
}

func (t *trial) resumeFrom(k int, file, last []byte) error {
	s, err := t.start(watch(t.p), t.opt)
	if err != nil {
		return err
	}
	const visits = "State must visit the same numbers at all times, and change none of them"
	if err := s.Load(bytes.NewReader(file)); err != nil {
		return fmt.Errorf("Load after %d steps: %w: %s", k, err, visits)
	}
	if err := saves(s, file); err != nil {
		return fmt.Errorf("Load after %d steps, and Save: %w: %s", k, err, visits)
	}
	if err = t.follows(s, nil); err == nil {
		err = saves(s, last)
	}
	if err != nil {
		return fmt.Errorf("cut after %d steps, saved and loaded, %w: State must visit all that later steps depend on", k, err)
	}
	return nil
}

func saves(s *bilevel.Solver, want []byte) error {
	var file bytes.Buffer
	if err := s.Save(&file); err != nil {
		return err
	}
	if !bytes.Equal(file.Bytes(), want) {
		return fmt.Errorf("after %d steps, the checkpoint has other numbers", s.K())
	}
	return nil
}

// faults makes the run with one oracle call that goes wrong, for several calls of each oracle.
func (t *trial) faults(clean *watched) {
	for _, name := range slices.Sorted(maps.Keys(clean.calls)) {
		n := clean.calls[name]
		at := []int{0, 1, 2, n / 2, n - 1}
		slices.Sort(at)
		for i, call := range slices.Compact(at) {
			if call < n {
				t.fault(&fault{oracle: name, call: call, kind: fails})
				t.fault(&fault{oracle: name, call: call, kind: [2]int{isNaN, isInf}[i%2]})
			}
		}
	}
}

func (t *trial) fault(f *fault) {
	w := watch(t.p)
	w.fault = f
	s, err := t.start(w, t.opt)
	for err == nil && !f.done && s.K() < t.steps {
		err = t.step(s)
	}
	rule, seen := "not finite", err != nil
	if f.kind == fails {
		var o *bilevel.OracleError
		rule, seen = "oracle", errors.Is(err, errFault) && errors.As(err, &o)
	}
	switch {
	case !f.done || w.stray != "":
		t.breach(rule, "%s: %s", f, cmp.Or(w.stray, "the run does not come to it"))
	case err == nil && f.kind == fails:
		t.breach(rule, "%s, and the step goes on: return the Oracle's errors", f)
	case !seen && f.kind == fails:
		t.breach(rule, "%s, and the step returns another error, %v: return the Oracle's errors unchanged", f, err)
	case !seen:
		t.breach(rule, "%s, and the step goes on: Vectors must visit all that a step computes", f)
	}
}
