package tune

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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
	diverged := errors.Is(runErr, bilevel.ErrDiverged)
	if runErr != nil && !errors.Is(runErr, context.Canceled) && !diverged || !t.ready() {
		return runErr
	}
	err := errors.Join(t.report(out.Stdout), t.write(out.Stdout), runErr)
	if e := t.method(); e != nil && (err == nil || diverged) {
		err = errors.Join(err, e.forget())
	}
	return err
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

// checkpoint is the file of a run in a folder. Other options, data and builds have another.
func checkpoint(folder string, id kit.Identity) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q", id.Options, id.Build)
	for _, d := range id.Data {
		fmt.Fprintf(sum, " %s", d.SHA256)
	}
	return filepath.Join(folder, fmt.Sprintf("%.6x.checkpoint", sum.Sum(nil)))
}

func (e *engine) resume(out kit.Terminal) error {
	if e.path == "" {
		return nil
	}
	if e.fresh {
		return e.forget()
	}
	err := kit.FirstOf(atomicfile.Sweep(e.path), e.solver.LoadFile(e.path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(err, bilevel.ErrDamaged) {
		fmt.Fprintf(out.Stderr, "bench: %v; trying the one before\n", err)
		err = e.solver.LoadFile(e.path + ".old")
	}
	if err != nil {
		return fmt.Errorf("%w\nuse -fresh to start over, or another -out to keep it", err)
	}
	fmt.Fprintf(out.Stdout, "goes on at step %d of %d, where it was interrupted\n\n", e.solver.K(), e.steps)
	return nil
}

func (e *engine) forget() error {
	for _, path := range []string{e.path, e.path + ".old"} {
		if err := os.Remove(path); e.path != "" && err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
