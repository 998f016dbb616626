// Package theory measures what the STABLE paper proves, on problems of known solution: bench's
// commands [Table1] and [Theorems]. A walk is one measured run; a row of Table 1, or a variant of
// step sizes, has walks in groups, and each group gives one fit of an exponent.
package theory

import (
	"context"
	"fmt"
	"slices"

	"stable/bench/kit"
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
	case o.groups < 3:
		return fmt.Errorf("%w: -groups is %d, want ≥ 3", kit.ErrUsage, o.groups)
	case !(o.length > 0 && o.length <= 1):
		return fmt.Errorf("%w: -length is %v, want 0 < length ≤ 1", kit.ErrUsage, o.length)
	}
	return nil
}

func (o *options) play(name string, out kit.Terminal, play func(*kit.Campaign[outcome]) error) error {
	return kit.Play(o.Common, name, kit.Identity{Build: kit.Build(), Options: fmt.Sprintf(
		"%s, %d groups, length %g, quick %t, seed %d", name, o.groups, o.length, o.Quick, o.Seed)}, out, play)
}

// series is runs that are measured at marks, averaged over the trials of a group.
type series struct {
	key     string
	marks   []int               // steps
	horizon bool                // each mark needs a run of its own
	per     func(k int) int     // trials of a group
	cost    func(k int) float64 // of a run
	walk    func(k, t int) walk // trial t of k steps, but for its marks

	groups []reading
	failed int // runs
}

// complete does the runs of series in so many groups.
func complete(ctx context.Context, l *kit.Campaign[outcome], all []*series, groups int, what string, out kit.Terminal) error {
	var tasks []kit.Task[outcome]
	for _, s := range all {
		s.each(func(key string, k, _ int, marks []int) {
			for t := range groups * s.per(k) {
				w := s.walk(k, t)
				w.marks = marks
				tasks = append(tasks, kit.Task[outcome]{Key: fmt.Sprint(key, t), Cost: s.cost(k), Run: w.run})
			}
		})
	}
	done, err := l.Complete(ctx, tasks, what, out)
	if err != nil {
		return err
	}
	for _, s := range all {
		s.groups, s.failed = make([]reading, groups), 0
		for g := range groups {
			s.groups[g] = newReading(len(s.marks))
			s.each(func(key string, k, first int, _ []int) {
				for t := range s.per(k) {
					d := done[fmt.Sprint(key, g*s.per(k)+t)]
					s.failed += min(len(d.End), 1)
					s.groups[g].add(first, d.Reading, 1/float64(s.per(k)))
				}
			})
		}
	}
	return nil
}

// each visits the kinds of runs: k steps, the marks and the place of the first one.
func (s *series) each(visit func(key string, k, first int, marks []int)) {
	runs := [][]int{s.marks}
	if s.horizon {
		runs = slices.Collect(slices.Chunk(s.marks, 1))
	}
	first := 0
	for _, marks := range runs {
		k := kit.Last(marks)
		visit(fmt.Sprintf("%s/%d/", s.key, k), k, first, marks)
		first += len(marks)
	}
}
