package theory

import (
	"fmt"

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
