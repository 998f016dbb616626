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
	worst  map[string]worst
}

type worst struct {
	ratio float64
	where string
	count int
}

// NewLedger returns a ledger for these ratios and their constants.
func NewLedger(bounds map[string]float64) *Ledger { return &Ledger{bounds, map[string]worst{}} }

// See notes err/unit, 0 where both are 0, infinite for NaN; where names the input.
func (l *Ledger) See(name string, err, unit float64, where string) {
	ratio, w := err/unit, l.worst[name]
	if err == 0 {
		ratio = 0
	} else if math.IsNaN(ratio) {
		ratio = math.Inf(1)
	}
	if w.count++; w.count == 1 || ratio > w.ratio {
		w.ratio, w.where = ratio, where
	}
	l.worst[name] = w
}

// Within reports ratios beyond their constant, or without one.
func (l *Ledger) Within(t testing.TB) {
	t.Helper()
	for name, w := range l.worst {
		if bound, ok := l.bounds[name]; !ok || !(w.ratio <= bound) {
			t.Error(l.line(name))
		}
	}
}

// Check is Within, logs all ratios, and reports those never seen.
func (l *Ledger) Check(t testing.TB) {
	t.Helper()
	l.Within(t)
	for _, name := range slices.Sorted(maps.Keys(l.bounds)) {
		if l.worst[name].count == 0 {
			t.Errorf("%s: never seen", name)
		}
		t.Log(l.line(name))
	}
}

func (l *Ledger) line(name string) string {
	w := l.worst[name]
	return fmt.Sprintf("%-28s at most %7.4g, constant %5.4g, %6d times; %s", name, w.ratio, l.bounds[name], w.count, w.where)
}
