package main

import (
	"fmt"
	"time"
)

// progress shows one line that changes, on a terminal only, at most five times a second.
type progress struct {
	out   terminal
	start time.Time
	last  time.Time
	shown int // length of the line that stands there
}

func newProgress(out terminal) *progress { return &progress{out: out, start: time.Now()} }

// update shows how much is done, with an estimate of the rest.
func (p *progress) update(done float64, format string, args ...any) {
	now := time.Now()
	if !p.out.Live || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last = now
	line := fmt.Sprintf("%3.0f %%  ", 100*done) + fmt.Sprintf(format, args...)
	if spent := now.Sub(p.start); done > 0.01 && spent > time.Second {
		left := time.Duration(float64(spent) * (1/done - 1))
		line += fmt.Sprintf("  %v left", left.Round(time.Second))
	}
	fmt.Fprintf(p.out.Stderr, "\r%-*s", p.shown, line)
	p.shown = len(line)
}

// clear removes the line.
func (p *progress) clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.out.Stderr, "\r%*s\r", p.shown, "")
		p.shown = 0
	}
}
