package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Task is work whose result is a function of its key and the campaign's identity.
type Task[R any] struct {
	Key  string
	Cost float64 // for the order of work and the estimate of time
	Run  func(ctx context.Context) (R, error)
}

// Share is the part of a campaign's tasks for this process.
type Share struct {
	Part, Of int  // the tasks i ≡ Part − 1 mod Of; Part 0: those that all parts have left
	Fresh    bool // results on disk are thrown away
}

var errUnfinished = errors.New("not finished")

// Campaign does tasks on all cores and keeps their results in a ledger.
type Campaign[R any] struct {
	name, folder string
	id           Identity
	share        Share
	ledger       *ledger[R]
}

// Open opens or begins a campaign's ledger, NAME.ledger, or NAME-i-of-n.ledger for a part; i = 0 is
// for what the parts have left, and needs a ledger of each, else errUnfinished.
func Open[R any](folder, name string, id Identity, share Share) (*Campaign[R], error) {
	c := &Campaign[R]{name: name, folder: folder, id: id, share: share}
	for part := 1; share.Part == 0 && part <= share.Of; part++ {
		if _, err := os.Stat(c.path(part)); err != nil {
			return nil, fmt.Errorf("%w: part %d of %d was never started: %w", errUnfinished, part, share.Of, err)
		}
	}
	path := c.path(share.Part)
	if share.Fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	var err error
	c.ledger, err = openLedger[R](path, id)
	return c, err
}

// Play opens the campaign of a command, has it played, and closes it. Where a part waits for others it
// says so.
func Play[R any](c Common, name string, id Identity, out Terminal, play func(*Campaign[R]) error) error {
	share, err := c.Share()
	if err != nil {
		return err
	}
	l, err := Open[R](c.Out, name, id, share)
	if err == nil {
		err = errors.Join(play(l), l.Close())
	}
	return share.Unfinished(err, out)
}

func (c *Campaign[R]) path(part int) string {
	if c.share.Of == 1 {
		return filepath.Join(c.folder, c.name+".ledger")
	}
	return filepath.Join(c.folder, fmt.Sprintf("%s-%d-of-%d.ledger", c.name, part, c.share.Of))
}

// Close syncs and closes the ledger.
func (c *Campaign[R]) Close() error { return c.ledger.close() }

// Complete does this share's missing tasks, the costly ones first, named what in the progress, and
// returns all results by key. The error wraps errUnfinished if results of other parts are missing.
func (c *Campaign[R]) Complete(ctx context.Context, tasks []Task[R], what string, out Terminal) (map[string]R, error) {
	done, err := c.results()
	if err != nil {
		return nil, err
	}
	var todo []Task[R]
	for i, t := range tasks {
		_, there := done[t.Key]
		if !there && (c.share.Part == 0 || i%c.share.Of == c.share.Part-1) {
			todo = append(todo, t)
		}
	}
	slices.SortStableFunc(todo, func(a, b Task[R]) int { return cmp.Compare(b.Cost, a.Cost) })
	finished, err := c.pool(ctx, todo, what, out)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(out.Stderr, "%s: %d of %d runs done are kept in %s; the same command goes on from there\n",
			what, finished, len(todo), c.ledger.file.Name())
	}
	if err != nil {
		return nil, err
	}
	if done, err = c.results(); err != nil {
		return nil, err
	}
	missing := 0
	for _, t := range tasks {
		if _, ok := done[t.Key]; !ok {
			missing++
		}
	}
	if missing > 0 {
		return nil, fmt.Errorf("%w: %s: %d of %d runs are missing", errUnfinished, what, missing, len(tasks))
	}
	return done, nil
}

// results are those of all parts.
func (c *Campaign[R]) results() (map[string]R, error) {
	if c.share.Of == 1 {
		return c.ledger.done, nil
	}
	all := map[string]R{}
	for part := range c.share.Of + 1 {
		if _, _, err := readLedger(c.path(part), c.id, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pool does tasks and counts those with a result; the first error stops the rest.
func (c *Campaign[R]) pool(ctx context.Context, todo []Task[R], what string, out Terminal) (finished int, err error) {
	var total, spent float64
	for _, t := range todo {
		total += t.Cost
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := NewProgress(out)
	defer p.Clear()
	next := make(chan Task[R])
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for t := range next {
				r, err := t.Run(ctx)
				if err == nil {
					err = c.ledger.put(t.Key, r)
				}
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				finished++
				spent += t.Cost
				p.Update(spent/total, "%s: %d of %d runs, %s", what, finished, len(todo), t.Key)
				mu.Unlock()
			}
		}()
	}
	for _, t := range todo {
		select {
		case next <- t:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return finished, context.Cause(ctx)
}

// Progress shows one line on a terminal, elsewhere a new one when [Terminal].Every has passed, also
// where nobody calls Update, until Clear.
type Progress struct {
	mu          sync.Mutex
	out         Terminal
	start, last time.Time
	sign        *time.Timer // of life
	shown       int
	done        float64
	format      string
	args        []any
}

func NewProgress(out Terminal) *Progress {
	p := &Progress{out: out, start: time.Now(), format: "at work"}
	if out.Live {
		p.out.Every = 200 * time.Millisecond
		return p
	}
	p.last = p.start // work that is soon done needs no line
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arm()
	return p
}

// arm sees to a sign of life.
func (p *Progress) arm() {
	if p.sign == nil && p.out.Every > 0 && !p.out.Live {
		p.sign = time.AfterFunc(p.out.Every, p.beat)
	}
}

// Due says whether Update would show anything now, for loops where an update costs.
func (p *Progress) Due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.due()
}

func (p *Progress) due() bool { return p.out.Every > 0 && time.Since(p.last) >= p.out.Every }

// Update shows the share done and an estimate of the time left.
func (p *Progress) Update(done float64, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.format, p.args = done, format, args
	p.arm()
	if p.due() {
		p.show()
	}
}

// beat repeats a line that has not changed.
func (p *Progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sign == nil { // cleared meanwhile
		return
	}
	if p.due() {
		p.show()
	}
	p.sign.Reset(p.out.Every - time.Since(p.last))
}

func (p *Progress) show() {
	p.last = time.Now()
	line := fmt.Sprintf("%3.0f %%  ", 100*p.done) + fmt.Sprintf(p.format, p.args...)
	switch spent := p.last.Sub(p.start); {
	case p.done > 0 && spent > time.Second:
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

// Clear removes the line.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sign != nil {
		p.sign.Stop()
		p.sign = nil
	}
	if p.shown > 0 {
		fmt.Fprintf(p.out.Stderr, "\r%*s\r", p.shown, "")
		p.shown = 0
	}
}
