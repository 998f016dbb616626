package theory

import (
	"fmt"

	"stable/bench/kit"
)

type theoryFlags struct {
	kit.Common
	groups int
	length float64
}

func (f *theoryFlags) parse(command, usage string, args []string, out kit.Terminal) (kit.Share, error) {
	fs := kit.NewFlags("bench "+command, usage, "")
	f.Common.Add(fs, "fewer steps and trials, fewer decades")
	fs.IntVar(&f.groups, "groups", 8, "groups of trials; each gives one fit")
	fs.Float64Var(&f.length, "length", 1, "`SHARE` of the steps of every run, between 0 and 1")
	if err := kit.Parse(fs, args, out); err != nil {
		return kit.Share{}, err
	}
	share, err := f.Share()
	return share, kit.FirstOf(f.check(), err)
}

func (f *theoryFlags) check() error {
	switch {
	case f.groups < 3:
		return fmt.Errorf("%w: -groups is %d, want ≥ 3", kit.ErrUsage, f.groups)
	case !(f.length > 0 && f.length <= 1):
		return fmt.Errorf("%w: -length is %v, want 0 < length ≤ 1", kit.ErrUsage, f.length)
	}
	return nil
}

func (f *theoryFlags) identity(name string) kit.Identity {
	return kit.Identity{
		Options: fmt.Sprintf("%s, %d groups, length %g, quick %t, seed %d", name, f.groups, f.length, f.Quick, f.Seed),
		Build:   kit.Build(),
	}
}
