package mattest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"stable/mat/kernel"
)

// EachKernel runs f with vectors of each length that this machine has, and with none.
func EachKernel(t *testing.T, f func(t *testing.T)) {
	defer kernel.SetLanes(kernel.Lanes())
	for _, n := range kernel.AllLanes() {
		kernel.SetLanes(n)
		t.Run(fmt.Sprintf("lanes=%d", n), f)
	}
}

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

// Within reports ratios beyond their constant, or without one.
func (l *Ledger) Within(t testing.TB) {
	t.Helper()
	for name, r := range l.seen {
		if bound, ok := l.bounds[name]; !ok || !(r <= bound) {
			t.Error(l.line(name))
		}
	}
}

// Check is Within, logs all ratios, and reports those never seen.
func (l *Ledger) Check(t testing.TB) {
	t.Helper()
	l.Within(t)
	for _, name := range slices.Sorted(maps.Keys(l.bounds)) {
		if l.counts[name] == 0 {
			t.Errorf("%s: never seen", name)
		}
		t.Log(l.line(name))
	}
}

func (l *Ledger) line(name string) string {
	return fmt.Sprintf("%-28s at most %7.4g, constant %5.4g, %6d times; %s",
		name, l.seen[name], l.bounds[name], l.counts[name], l.where[name])
}
