// Package theory measures what the STABLE paper proves, on problems of known solution: bench's
// commands [Table1] and [Theorems]. A walk is one measured run; a row of Table 1, or a variant of
// step sizes, has walks in groups, and each group gives one fit of an exponent.
package theory

import (
	"fmt"
	"slices"

	"stable/bench/kit"
)

type options struct {
	kit.Common
	groups int
	length float64
	share  kit.Share
}

func (o *options) parse(command, usage string, args []string, out kit.Terminal) (err error) {
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
	o.share, err = o.Share()
	return err
}

func (o *options) open(name string) (*kit.Campaign[outcome], error) {
	return kit.Open[outcome](o.Out, name, kit.Identity{Build: kit.Build(), Options: fmt.Sprintf(
		"%s, %d groups, length %g, quick %t, seed %d", name, o.groups, o.length, o.Quick, o.Seed)}, o.share)
}

// series is runs that are measured at marks, averaged over the trials of a group.
type series struct {
	key     string
	marks   []int               // steps
	horizon bool                // each mark needs a run of its own
	per     func(k int) int     // trials of a group
	cost    func(k int) float64 // of a run
	walk    func(k, t int) walk // trial t of k steps, but for its marks
}

func (s *series) runs() [][]int {
	if !s.horizon {
		return [][]int{s.marks}
	}
	return slices.Collect(slices.Chunk(s.marks, 1))
}

func (s *series) runKey(k, t int) string { return fmt.Sprintf("run/%s/%d/%d", s.key, k, t) }

func (s *series) tasks(groups int) (list []kit.Task[outcome]) {
	for _, marks := range s.runs() {
		k := kit.Last(marks)
		for t := range groups * s.per(k) {
			w := s.walk(k, t)
			w.marks = marks
			list = append(list, kit.Task[outcome]{Key: s.runKey(k, t), Cost: s.cost(k), Run: w.run})
		}
	}
	return list
}

func (s *series) curves(groups int, done map[string]outcome) (list []reading, failed int) {
	for g := range groups {
		sum, i := newReading(len(s.marks)), 0
		for _, marks := range s.runs() {
			k := kit.Last(marks)
			per := s.per(k)
			for t := g * per; t < (g+1)*per; t++ {
				d := done[s.runKey(k, t)]
				failed += min(len(d.End), 1)
				sum.add(i, d.Reading, 1/float64(per))
			}
			i += len(marks)
		}
		list = append(list, sum)
	}
	return list, failed
}
