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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	Every          time.Duration // between two lines of progress; 0: no lines
	said           *time.Time    // when the last one was; nil: never
}

// Errors about flags and arguments wrap ErrUsage.
var ErrUsage = errors.New("wrong usage")

const help = `go run ./bench NAME: the experiments of this module

%s
go run ./bench NAME -h shows the flags of one. Without a name, the first one runs, with its flags.
-version says which release this is, and what its kernels run on.
`

// Run runs the named command, or the first; 1 is a failure, 2 wrong usage, 130 an interrupt.
func Run(ctx context.Context, list []Command, args []string, out Terminal) int {
	c := list[0]
	if len(args) > 0 && slices.Contains([]string{"version", "-version", "--version"}, args[0]) {
		fmt.Fprintf(out.Stdout, "stable %s, %s\n%s", stable.Version, Machine(), Warning())
		return 0
	}
	if len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprintf(out.Stdout, named(help), summary(list))
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
	stdout := &steady{w: out.Stdout}
	now := time.Now()
	out.Stdout, out.said = stdout, &now
	err, status := c.Run(ctx, args, out), 1
	err = cmp.Or(err, stdout.err)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		status = 2
	case errors.Is(err, context.Canceled):
		err, status = errors.New("interrupted"), 130
	}
	fmt.Fprintln(out.Stderr, "bench:", err)
	return status
}

// Capture returns what [Run] writes, without progress.
func Capture(ctx context.Context, list []Command, args ...string) (status int, stdout, stderr string) {
	var o, e strings.Builder
	status = Run(ctx, list, args, Terminal{Stdout: &o, Stderr: &e})
	return status, o.String(), e.String()
}

// steady keeps the first error of a writer for the end, so that commands need not look.
type steady struct {
	w   io.Writer
	err error
}

func (s *steady) Write(b []byte) (int, error) {
	_, err := s.w.Write(b)
	s.err = cmp.Or(s.err, err)
	return len(b), nil
}

func summary(list []Command) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Summary)
	}
	return b.String()
}

// Must panics with an error. It is for what constants alone decide.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Machine names the tier of the kernels, Go, the system, and on Linux the processor.
func Machine() string {
	return fmt.Sprintf("%s; %s %s/%s; %s", kernel.Tier(), runtime.Version(), runtime.GOOS, runtime.GOARCH, processor())
}

func Warning() string {
	if !kernel.Dropped {
		return ""
	}
	return fmt.Sprintf("WARNING: GOEXPERIMENT=simd is set, but the vector kernels were not tried with %s: "+
		"portable code runs\n",
		runtime.Version())
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor not known"
}

func NewFlags(name, usage, after string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), named(usage))
		fs.PrintDefaults()
		fmt.Fprint(fs.Output(), after)
	}
	return fs
}

// named is a help text for the program that runs, which may be another than bench.
func named(text string) string {
	if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name != "bench" && !strings.HasSuffix(name, ".test") {
		return strings.ReplaceAll(text, "go run ./bench", name)
	}
	return text
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
			fs.Visit(func(f *flag.Flag) {
				if f.Value.String() == "" && f.Name != "drop" { // none
					err = fmt.Errorf("%w: -%s is empty, want a name or a word", ErrUsage, f.Name)
				}
			})
			return files, err
		}
		files, args = append(files, fs.Arg(0)), fs.Args()[1:]
	}
}

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
}

// quick says what -quick shortens.
func (c *Common) Add(fs *flag.FlagSet, quick string) {
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of everything that is random")
	fs.StringVar(&c.Out, "out", "out", "`FOLDER` for results, figure and numbers")
	fs.BoolVar(&c.Quick, "quick", false, quick)
	fs.BoolVar(&c.fresh, "fresh", false, "begin again where finished runs could be kept")
}

// Progress shows a line as often as [Terminal].Every says, also where nobody calls Update, until Clear.
type Progress struct {
	mu     sync.Mutex
	out    Terminal
	start  time.Time
	timer  *time.Timer // nil: nothing to show
	shown  int
	done   float64
	format string
	args   []any
}

func NewProgress(out Terminal) *Progress {
	p := &Progress{out: out, start: time.Now()}
	p.Update(0, "at work")
	return p
}

// Update sets the share done, from which the time left is estimated, and what the line says.
func (p *Progress) Update(done float64, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.format, p.args = done, format, args
	if p.timer == nil && p.out.Every > 0 {
		wait := p.out.Every
		if p.out.said != nil {
			wait -= time.Since(*p.out.said)
		}
		p.timer = time.AfterFunc(wait, p.beat)
	}
}

func (p *Progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil { // cleared meanwhile
		return
	}
	p.timer.Reset(p.out.Every)
	if p.out.said != nil {
		*p.out.said = time.Now()
	}
	line := fmt.Sprintf("%3.0f %%  ", 100*p.done) + fmt.Sprintf(p.format, p.args...)
	switch spent := time.Since(p.start); {
	case p.done >= 0.01 && spent > time.Second:
		left := time.Duration(float64(spent) * (1/p.done - 1))
		line += fmt.Sprintf("  %v left", left.Round(time.Second))
	case spent > time.Second:
		line += fmt.Sprintf("  for %v", spent.Round(time.Second))
	}
	if !p.out.Live {
		fmt.Fprintln(p.out.Stderr, line)
		return
	}
	fmt.Fprintf(p.out.Stderr, "\r%-*s", p.shown, line)
	p.shown = len(line)
}

func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if p.shown > 0 {
		fmt.Fprintf(p.out.Stderr, "\r%*s\r", p.shown, "")
		p.shown = 0
	}
}
