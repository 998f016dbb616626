package kit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// Task is work whose result is a function of its key and the campaign's identity.
type Task[R any] struct {
	Key  string
	Cost float64 // for the estimate of time
	Run  func(ctx context.Context) (R, error)
}

// Play opens or begins a command's campaign, whose ledger is NAME.ledger, has it played, and closes it. It
// begins a new one in place of another that was finished.
func Play[R any](o Common, name string, id Identity, play func(*Campaign[R]) error) (err error) {
	path := filepath.Join(o.Out, name+".ledger")
	if o.fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	c, err := openLedger[R](path, id)
	if err != nil {
		return err
	}
	if err = play(c); err == nil {
		id.Finished = true
		err = c.write(id)
	}
	return errors.Join(err, c.close())
}

// Complete does the missing tasks, named what in the progress, and returns all results by key.
func (c *Campaign[R]) Complete(ctx context.Context, tasks []Task[R], what string, out Terminal) (map[string]R, error) {
	var todo []Task[R]
	var total, spent float64
	for _, t := range tasks {
		if _, there := c.done[t.Key]; !there {
			todo, total = append(todo, t), total+t.Cost
		}
	}
	// The time left is told from tasks of all kinds.
	rand.New(rand.NewPCG(0, 'c')).Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, finished := NewProgress(out), 0
	var mu sync.Mutex
	_ = Parallel(len(todo), func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		t := todo[i]
		r, err := t.Run(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = c.put(t.Key, r)
		}
		if err != nil {
			cancel(err)
			return nil
		}
		finished++
		spent += t.Cost
		p.Update(spent/total, "%s: %d of %d runs, %s", what, finished, len(todo), t.Key)
		return nil
	})
	p.Clear()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(out.Stderr, "%s: %d of %d runs done are kept in %s; the same command goes on from there\n",
			what, finished, len(todo), c.file.Name())
	}
	return c.done, err
}

// Parallel does n pieces of work, on each core one at a time, and returns the first piece's error.
func Parallel(n int, do func(i int) error) error {
	errs, cores := make([]error, n), make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		cores <- struct{}{}
		go func() {
			errs[i] = do(i)
			<-cores
		}()
	}
	for range cap(cores) { // until none is at work
		cores <- struct{}{}
	}
	return FirstOf(errs...)
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
