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

// chain makes the runs with so many marks: all in one, or each in a run of its own.
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

// joined are the groups of a chain.
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

// complete does the runs of series in so many groups.
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
