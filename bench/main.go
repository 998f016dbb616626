// Command bench runs the experiments of this module. Without a command it does the main job:
// hyper-parameter tuning with STABLE on a real data set.
//
//	go run ./bench            tune, on the data set that ships with the module
//	go run ./bench -h         flags and examples
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// command is one experiment.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, out terminal) error
}

// commands lists the experiments; the first is the main job, which needs no name.
func commands() []command {
	return []command{
		{"main", "hyper-parameter tuning with STABLE on one data set (the default)", mainJob},
		{"tune", "tune on files of your own: weights and model as JSON, against the best single weight", tune},
		{"compare", "all methods under equal sample budgets", compare},
		{"figure2", "the paper's Figure 2: STABLE, BSA, TTSA on its three data sets", figure2},
		{"table1", "the paper's Table 1: samples that each method needs to come to an error ε", table1},
		{"theorems", "Theorems 1 to 3: the flow and its Lyapunov function, K^(−1/2) and 1/k", theorems},
		{"ijcnn1", "STABLE, SOBA and SABA in the setup of benchmark_bilevel", ijcnn1},
		{"survive", "which step sizes blow up, and STABLE untuned against its peers tuned", survive},
	}
}

// terminal is where a command writes: results to Stdout, progress and errors to Stderr.
type terminal struct {
	Stdout, Stderr io.Writer
	Live           bool // Stderr is a terminal that can show a line that changes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	info, err := os.Stderr.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0
	os.Exit(run(ctx, os.Args[1:], terminal{os.Stdout, os.Stderr, live}))
}

// run finds the command and returns the exit status: 0, 1 for a failure, 2 for wrong usage, 130
// after an interrupt.
func run(ctx context.Context, args []string, out terminal) int {
	list := commands()
	c := list[0]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(list, func(c command) bool { return c.name == args[0] })
		if args[0] == "help" {
			fmt.Fprintf(out.Stdout, "the commands, each with its flags under -h, are\n%s", summary(list))
			return 0
		}
		if i < 0 {
			fmt.Fprintf(out.Stderr, "bench: no command %q; the commands are\n%s", args[0], summary(list))
			return 2
		}
		c, args = list[i], args[1:]
	}
	switch err := c.run(ctx, args, out); {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
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

func summary(list []command) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	return b.String()
}

// errUsage is wrapped by errors about flags and arguments.
var errUsage = errors.New("wrong usage")

// parse reads the flags of a command, and refuses further arguments.
func parse(fs *flag.FlagSet, args []string, out terminal) error {
	files, err := parseFiles(fs, args, out)
	if err == nil && len(files) > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, files[0])
	}
	return err
}

// parseFiles reads flags and arguments, in any order, and returns the arguments.
func parseFiles(fs *flag.FlagSet, args []string, out terminal) (files []string, err error) {
	fs.SetOutput(out.Stderr)
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: see -h", errUsage) // fs has said what is wrong
		}
		if fs.NArg() == 0 {
			return files, nil
		}
		files, args = append(files, fs.Arg(0)), fs.Args()[1:]
	}
}
