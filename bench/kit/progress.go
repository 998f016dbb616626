package kit

import (
	"fmt"
	"sync"
	"time"
)

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
