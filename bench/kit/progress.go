package kit

import (
	"fmt"
	"time"
)

// Progress shows how far work has come: on a terminal in one line, at most five times a second;
// elsewhere in a new line from time to time (see [Terminal]).
type Progress struct {
	out   Terminal
	start time.Time
	last  time.Time
	shown int // length of the line that stands there
}

// NewProgress starts the clock of the estimate.
func NewProgress(out Terminal) *Progress {
	p := &Progress{out: out, start: time.Now()}
	if !out.Live {
		p.last = p.start // work that is soon done needs no line
	}
	return p
}

// Due says whether Update would show anything now, for loops where formatting costs.
func (p *Progress) Due() bool {
	every := p.out.Every
	if p.out.Live {
		every = 200 * time.Millisecond
	}
	return every > 0 && time.Since(p.last) >= every
}

// Update shows the share done and an estimate of the time left.
func (p *Progress) Update(done float64, format string, args ...any) {
	if !p.Due() {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("%3.0f %%  ", 100*done) + fmt.Sprintf(format, args...)
	if spent := p.last.Sub(p.start); done > 0 && spent > time.Second {
		left := time.Duration(float64(spent) * (1/done - 1))
		line += fmt.Sprintf("  %v left", left.Round(time.Second))
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
	if p.shown > 0 {
		fmt.Fprintf(p.out.Stderr, "\r%*s\r", p.shown, "")
		p.shown = 0
	}
}
