package theory

import (
	"fmt"
	"slices"

	"stable/bench/kit"
)

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
