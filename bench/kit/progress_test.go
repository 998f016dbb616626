package kit

import (
	"bytes"
	"testing"

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
