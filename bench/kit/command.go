// Package kit, which makes no promise to others, holds what the experiments of bench share.
//
// Long runs are [Task]s of a [Campaign], on all cores, in parts, with a ledger of results that an
// [Identity] ties to options, data and build.
package kit

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"stable"
	"stable/mat/kernel"
)

type Command struct {
	Name, Summary string
	Run           func(ctx context.Context, args []string, out Terminal) error
}

// Terminal: results go to Stdout, progress and errors to Stderr.
type Terminal struct {
	Stdout, Stderr io.Writer
	Live           bool          // Stderr is a terminal that can show a line that changes
	Every          time.Duration // between two lines of progress where it is not; 0: no lines
}

// Errors about flags and arguments wrap ErrUsage.
var ErrUsage = errors.New("wrong usage")

const help = `go run ./bench NAME: the experiments of this module

%s
go run ./bench NAME -h shows the flags of one. Without a name, the first one runs, with its flags.
-version says which release this is, and what its kernels run on.
`

// Run runs the named command, or the first, and returns 0, 1 for a failure, 2 for wrong usage, 130
// after an interrupt.
func Run(ctx context.Context, list []Command, args []string, out Terminal) int {
	c := list[0]
	if len(args) > 0 && slices.Contains([]string{"version", "-version", "--version"}, args[0]) {
		fmt.Fprintf(out.Stdout, "stable %s, %s\n%s", stable.Version, Machine(), Warning())
		return 0
	}
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprintf(out.Stdout, help, summary(list))
		return 0
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(list, func(c Command) bool { return c.Name == args[0] })
		if i < 0 {
			fmt.Fprintf(out.Stderr, "bench: no command %q; the commands are\n%s", args[0], summary(list))
			return 2
		}
		c, args = list[i], args[1:]
	}
	switch err := c.Run(ctx, args, out); {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		fmt.Fprintln(out.Stderr, "bench:", err)
		return 2
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(out.Stderr, "bench: interrupted")
		return 130
	default:
		fmt.Fprintln(out.Stderr, "bench:", err)
		return 1
	}
}

func summary(list []Command) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Summary)
	}
	return b.String()
}

// FirstOf returns the first error that is not nil.
func FirstOf(errs ...error) error { return cmp.Or(errs...) }

// Machine names the tier of the kernels, Go, the system, and on Linux the processor.
func Machine() string {
	return fmt.Sprintf("%s; %s %s/%s; %s", kernel.Tier(), runtime.Version(), runtime.GOOS, runtime.GOARCH, processor())
}

// Warning returns a line if the build asks for vector kernels in vain, else nothing.
func Warning() string {
	if !kernel.Dropped {
		return ""
	}
	return fmt.Sprintf("WARNING: GOEXPERIMENT=simd is set, but the vector kernels were not tried with %s: "+
		"portable code runs\n",
		runtime.Version())
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "processor not known"
}
