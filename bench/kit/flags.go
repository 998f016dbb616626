package kit

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
)

func NewFlags(name, usage, after string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
		fmt.Fprint(fs.Output(), after)
	}
	return fs
}

func Parse(fs *flag.FlagSet, args []string, out Terminal) error {
	files, err := ParseFiles(fs, args, out)
	if err == nil && len(files) > 0 {
		return fmt.Errorf("%w: unexpected argument %q", ErrUsage, files[0])
	}
	return err
}

// ParseFiles reads flags and arguments, in any order, and returns the arguments.
func ParseFiles(fs *flag.FlagSet, args []string, out Terminal) (files []string, err error) {
	usage := fs.Usage
	fs.Usage = func() {} // a mistake needs one line, not all flags
	fs.SetOutput(io.Discard)
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(out.Stderr)
			usage()
			return nil, err
		} else if err != nil {
			return nil, fmt.Errorf("%w: %v; see -h", ErrUsage, err)
		}
		if fs.NArg() == 0 {
			return files, nil
		}
		files, args = append(files, fs.Arg(0)), fs.Args()[1:]
	}
}

// IsSet says whether the arguments named a flag.
func IsSet(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// Common holds the flags of every command with a [Campaign].
type Common struct {
	Out   string
	Seed  uint64
	Quick bool

	fresh bool
	part  string
	merge int
}

// quick says what -quick shortens.
func (c *Common) Add(fs *flag.FlagSet, quick string) {
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of everything that is random")
	fs.StringVar(&c.Out, "out", "out", "`FOLDER` for results, figure and numbers")
	fs.BoolVar(&c.Quick, "quick", false, quick)
	fs.StringVar(&c.part, "part", "", "`I/N`: do the Ith of N parts only; start it again when the others are as far, "+
		"or leave the rest to -merge")
	fs.IntVar(&c.merge, "merge", 0, "do what `N` parts have left, and report on all")
	fs.BoolVar(&c.fresh, "fresh", false, "begin again where finished runs could be kept")
}

func (c *Common) Share() (Share, error) {
	s := Share{Part: 1, Of: 1, Fresh: c.fresh}
	switch {
	case c.part != "" && c.merge != 0:
		return s, fmt.Errorf("%w: -part does some of the runs and -merge the rest: give only one of them", ErrUsage)
	case c.fresh && c.merge != 0:
		return s, fmt.Errorf("%w: -merge goes on from finished runs, which -fresh throws away", ErrUsage)
	case c.merge < 0:
		return s, fmt.Errorf("%w: -merge is %d, want ≥ 1", ErrUsage, c.merge)
	case c.merge > 1:
		s.Part, s.Of = 0, c.merge
	case c.part != "":
		a, b, ok := strings.Cut(c.part, "/")
		part, err1 := strconv.Atoi(a)
		of, err2 := strconv.Atoi(b)
		if !ok || err1 != nil || err2 != nil || part < 1 || of < part {
			return s, fmt.Errorf("%w: -part %q, want i/n with 1 ≤ i ≤ n", ErrUsage, c.part)
		}
		s.Part, s.Of = part, of
	}
	return s, nil
}

// Unfinished says what to do next if a part waits for others, and passes other errors on.
func (s Share) Unfinished(err error, out Terminal) error {
	if !errors.Is(err, errUnfinished) || s.Part == 0 {
		return err
	}
	_, err = fmt.Fprintf(out.Stdout,
		"part %d of %d: done so far as it can be without the others; when they are there too, "+
			"the same command goes on, or -merge %[2]d does the rest, and reports\n", s.Part, s.Of)
	return err
}
