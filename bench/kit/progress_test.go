package kit

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgress(t *testing.T) {
	show := func(out Terminal) string {
		var b bytes.Buffer
		out.Stderr = &b
		p := NewProgress(out)
		for i := range 1000 {
			p.Update(float64(i)/1000, "step %d", i)
		}
		p.Clear()
		return b.String()
	}
	live := show(Terminal{Live: true})
	assert.Contains(t, live, "\r  0 %  step 0")
	assert.NotContains(t, live, "\n")
	assert.Regexp(t, "\r *\r$", live, "the line is cleared")
	lines := show(Terminal{Every: 1}) // a nanosecond
	assert.Contains(t, lines, " 50 %  step 500\n")
	assert.NotContains(t, lines, "\r")
	assert.Empty(t, show(Terminal{}))
}

// Where nobody calls Update, the last line stands again after a while, and not before, nor when the
// work is done.
func TestSignOfLife(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(Terminal{Stderr: &b, Every: time.Hour})
	p.Update(0, "exact minimum of %s", "covtype")
	p.beat()
	assert.Empty(t, b.String())
	p.start, p.last = p.start.Add(-90*time.Minute), p.last.Add(-time.Hour)
	p.beat()
	assert.Equal(t, "  0 %  exact minimum of covtype  for 1h30m0s\n", b.String())
	p.Clear()
	p.last = p.last.Add(-time.Hour)
	p.beat()
	assert.Equal(t, 1, bytes.Count(b.Bytes(), []byte("\n")))
}
