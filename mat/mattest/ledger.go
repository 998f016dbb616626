package mattest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
)

// Ledger holds the largest error over unit seen for each name, against its documented constant.
type Ledger struct {
	bounds map[string]float64
	seen   map[string]float64
	where  map[string]string
	counts map[string]int
}

// NewLedger returns a ledger for these ratios and their constants.
func NewLedger(bounds map[string]float64) *Ledger {
	return &Ledger{bounds: bounds, seen: map[string]float64{}, where: map[string]string{}, counts: map[string]int{}}
}

// See notes err/unit, 0 where both are 0, infinite for NaN; where names the input.
func (l *Ledger) See(name string, err, unit float64, where string) {
	r := err / unit
	switch {
	case err == 0:
		r = 0
	case math.IsNaN(r):
		r = math.Inf(1)
	}
	l.counts[name]++
	if old, ok := l.seen[name]; !ok || r > old {
		l.seen[name], l.where[name] = r, where
	}
}

// Check logs all ratios, and reports those beyond their constant, without one, or never seen.
func (l *Ledger) Check(t testing.TB) {
	t.Helper()
	for name := range l.seen {
		if _, ok := l.bounds[name]; !ok {
			t.Errorf("%s: no constant", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.bounds)) {
		line := fmt.Sprintf("%-28s at most %7.4g, constant %5.4g, %6d times; %s",
			name, l.seen[name], l.bounds[name], l.counts[name], l.where[name])
		if !(l.seen[name] <= l.bounds[name]) || l.counts[name] == 0 {
			t.Error(line)
		} else {
			t.Log(line)
		}
	}
}
