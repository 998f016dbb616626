package kit

import (
	"fmt"
	"time"
)

// Progress shows one line that changes, on a terminal only, at most five times a second. The zero
// value shows nothing.
type Progress struct {
	out   Terminal
	start time.Time
	last  time.Time
	shown int // length of the line that stands there
}

// NewProgress starts the clock of the estimate.
func NewProgress(out Terminal) *Progress { return &Progress{out: out, start: time.Now()} }

// Update shows which share is done, with an estimate of the time that the rest takes.
func (p *Progress) Update(done float64, format string, args ...any) {
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

// Clear removes the line.
func (p *Progress) Clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.out.Stderr, "\r%*s\r", p.shown, "")
		p.shown = 0
	}
}
