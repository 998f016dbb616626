package tune

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/atomicfile"
)

type task interface {
	describe(w io.Writer)
	run(ctx context.Context, out kit.Terminal) error // ready says whether there is anything to report
	ready() bool
	report(w io.Writer) error
	write(w io.Writer) error
	method() *engine // nil where no method runs
}

// drive does a task. It reports and writes an interrupted or diverged run too, as far as it came.
func drive(ctx context.Context, t task, folder string, out kit.Terminal) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // before the work, which would be lost
		return err
	}
	t.describe(out.Stdout)
	runErr := t.run(ctx, out)
	if runErr != nil && !stopped(runErr) || !t.ready() {
		return runErr
	}
	err := errors.Join(t.report(out.Stdout), t.write(out.Stdout), runErr)
	if e := t.method(); e != nil && (err == nil || errors.Is(runErr, bilevel.ErrDiverged)) {
		err = errors.Join(err, e.forget())
	}
	return err
}

// stopped says that an error leaves results.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, bilevel.ErrDiverged)
}

func put(folder string, files map[string]func(io.Writer) error) error {
	for name, fill := range files {
		path := filepath.Join(folder, name)
		if err := kit.FirstOf(atomicfile.Sweep(path), atomicfile.Write(path, fill)); err != nil {
			return err
		}
	}
	return nil
}
