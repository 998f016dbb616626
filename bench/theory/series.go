// Package theory measures what the STABLE paper proves, on problems of known solution: bench's
// commands [Table1] and [Theorems]. A walk is one measured run; a row of Table 1, or a variant of
// step sizes, has walks in groups, and each group gives one fit of an exponent.
package theory

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/mat"
)

type options struct {
	kit.Common
	groups int
	length float64
}

func (o *options) parse(command, usage string, args []string, out kit.Terminal) error {
	fs := kit.NewFlags("bench "+command, usage+"\nFinished runs are kept in the -out folder: after an interrupt the same "+
		"command goes on.\n\nFlags:\n", "")
	o.Common.Add(fs, "fewer steps and trials, fewer decades")
	fs.IntVar(&o.groups, "groups", 8, "groups of trials; each gives one fit")
	fs.Float64Var(&o.length, "length", 1, "`SHARE` of the steps of every run, between 0 and 1")
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	switch {
	case o.groups < 3 || o.groups > 1e6:
		return fmt.Errorf("%w: -groups is %d, want 3 to 1e6", kit.ErrUsage, o.groups)
	case !(o.length > 0 && o.length <= 1):
		return fmt.Errorf("%w: -length is %v, want 0 < length ≤ 1", kit.ErrUsage, o.length)
	}
	return nil
}

func (o *options) play(name string, play func(*kit.Campaign[outcome]) error) error {
	return kit.Play(o.Common, name, kit.Identity{Build: kit.Build(), Options: fmt.Sprintf(
		"%s, %d groups, length %g, quick %t, seed %d", name, o.groups, o.length, o.Quick, o.Seed)}, play)
}

// series is runs of one kind, averaged over the trials of a group.
type series struct {
	key   string
	marks []int // steps at which a run is measured; it ends at the last
	per   int   // trials of a group
	cost  float64
	walk  func(t int) walk // trial t, but for its marks

	groups []reading
	failed int // runs
}

// chain makes one run of all marks, or one of each.
func chain(marks []int, each bool, run func(k int, s *series)) (list []*series) {
	n := len(marks)
	if each {
		n = 1
	}
	for part := range slices.Chunk(marks, n) {
		s := &series{marks: part}
		run(kit.Last(part), s)
		list = append(list, s)
	}
	return list
}

func joined(list []*series) (groups []reading, failed int) {
	groups = make([]reading, len(list[0].groups))
	for _, s := range list {
		failed += s.failed
		for g, r := range s.groups {
			for q, v := range r {
				groups[g][q] = append(groups[g][q], v...)
			}
		}
	}
	return groups, failed
}

func complete(ctx context.Context, l *kit.Campaign[outcome], all []*series, groups int, what string, out kit.Terminal) error {
	var tasks []kit.Task[outcome]
	key := func(s *series, t int) string { return fmt.Sprintf("%s/%d/%d", s.key, kit.Last(s.marks), t) }
	for _, s := range all {
		for t := range groups * s.per {
			w := s.walk(t)
			w.marks = s.marks
			tasks = append(tasks, kit.Task[outcome]{Key: key(s, t), Cost: s.cost, Run: w.run})
		}
	}
	done, err := l.Complete(ctx, tasks, what, out)
	if err != nil {
		return err
	}
	for _, s := range all {
		s.groups = make([]reading, groups)
		for t := range groups * s.per {
			d := done[key(s, t)]
			s.failed += min(len(d.End), 1)
			s.groups[t/s.per].add(d.Reading, 1/float64(s.per))
		}
	}
	return nil
}

type walk struct {
	problem *quadratic.Problem // cloned
	method  bilevel.Method
	batch   int     // of ξ and of φ; 0: 1
	radius  float64 // ‖x⁰ − x*‖; y⁰ = 0
	start   uint64  // seed of the direction of x⁰
	seed    uint64  // of all else
	marks   []int   // ascending steps
	rho     float64 // of the Moreau envelope; 0: errors at the marks
}

type reading [4][]float64

const (
	upper = iota // ‖x^k − x*‖²; with ρ, the mean of ρ²‖x̂(x^j) − x^j‖² over j = 1, …, k
	lower        // ‖y^k − y*(x^k)‖²
	xi           // samples drawn
	phi
)

func (r *reading) add(other reading, weight float64) {
	for q, v := range other {
		if r[q] == nil {
			r[q] = make([]float64, len(v))
		}
		mat.Axpy(r[q], weight, v)
	}
}

type outcome struct {
	Reading reading
	End     string `json:",omitempty"` // why the method failed
}

// perSpan is how many iterates, at least, are measured while the steps double.
const perSpan = 512

// run walks to the last mark, and measures with ρ at one random step of each stratum, weighted by its
// length. If the method fails, its last reading stands at later marks.
func (w walk) run(ctx context.Context) (out outcome, err error) {
	p, pick := w.problem.Clone(), rand.New(rand.NewPCG(w.seed, 'p'))
	best, _ := p.Optimum()
	s := kit.Must(bilevel.New(p, w.method, bilevel.Options{X0: from(best, w.radius, w.start), Seed: w.seed,
		UpperBatch: w.batch, LowerBatch: w.batch, Explode: 1e6}))
	moreau, near := observe.Moreau{F: p, Rho: w.rho}, make([]float64, len(s.X()))
	y, sum := make([]float64, len(s.Y())), 0.0
	for _, mark := range w.marks {
		for s.K() < mark && out.End == "" {
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			k := s.K()
			last := min(k+1+k/perSpan, mark)
			at := k + 1 + pick.IntN(last-k)
			for s.K() < last && out.End == "" {
				if err := s.Step(); err != nil {
					out.End = err.Error()
				} else if s.K() == at && w.rho > 0 {
					e, err := moreau.At(near, s.X())
					if err != nil {
						return out, err
					}
					sum += e.Near * float64(last-k)
				}
			}
		}
		error, c := sum/math.Max(1, float64(s.K())), s.Counts()
		if w.rho == 0 {
			error = distance2(s.X(), best)
		}
		_ = p.Solution(y, s.X()) // there always is one
		for q, v := range []float64{error, distance2(s.Y(), y), float64(c.Xi), float64(c.Phi)} {
			out.Reading[q] = append(out.Reading[q], v)
		}
	}
	return out, nil
}

func from(centre []float64, radius float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 's'))
	x, way := slices.Clone(centre), kit.Map(centre, func(float64) float64 { return rng.NormFloat64() })
	mat.Axpy(x, radius/mat.Norm(way), way)
	return x
}

func distance2(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return sum
}
