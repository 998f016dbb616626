package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// task is one piece of work whose result goes into the ledger under its key, of which the result is
// a function.
type task struct {
	key  string
	cost float64 // in any unit, for the estimate of the time left
	run  func(ctx context.Context) (trial, error)
}

// tackle does the tasks of this part that are not done yet on all cores, the dear ones first.
func (x *experiment) tackle(ctx context.Context, l *ledger, tasks []task, what string, out terminal) error {
	var todo []task
	var total, spent float64
	for i, t := range tasks {
		if _, ok := l.get(t.key); !ok && i%x.of == x.part-1 {
			todo = append(todo, t)
			total += t.cost
		}
	}
	slices.SortStableFunc(todo, func(a, b task) int { return cmp.Compare(b.cost, a.cost) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := newProgress(out)
	defer p.clear()
	next := make(chan task)
	var wg sync.WaitGroup
	var mu sync.Mutex
	finished := 0
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for t := range next {
				r, err := t.run(ctx)
				if err == nil {
					r.Key = t.key
					err = l.put(r)
				}
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				finished++
				spent += t.cost
				p.update(spent/total, "%s: %d of %d runs, %s", what, finished, len(todo), t.key)
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
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(out.Stderr, "%s: %d of %d runs done are kept in %s; the same command goes on from there\n", what, finished, len(todo), l.file.Name())
	}
	return err
}

// complete does tasks, and returns the results of all of them, or errUnfinished if those of other
// parts are missing.
func (x *experiment) complete(ctx context.Context, l *ledger, tasks []task, what string, out terminal) (func(key string) trial, error) {
	if err := x.tackle(ctx, l, tasks, what, out); err != nil {
		return nil, err
	}
	done, err := x.results(l)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		if _, ok := done(t.key); !ok {
			return nil, errUnfinished
		}
	}
	return func(key string) trial { t, _ := done(key); return t }, nil
}
