package check

import (
	"fmt"
	"math"
)

// comparison is of an oracle's values with what they should be; an infinite tolerance leaves one out.
type comparison struct {
	check          string
	o              *oracle
	pt             point
	got, want, tol []float64 // got or want is nil where it is not known
	against        string    // what want is
}

func (m comparison) wrong() (bad []int, judged int) {
	for k, tol := range m.tol {
		if math.IsInf(tol, 1) {
			continue
		}
		judged++
		if !(math.Abs(m.got[k]-m.want[k]) <= tol) {
			bad = append(bad, k)
		}
	}
	return bad, judged
}

// judge reports whether both sides are known, and agree.
func (c *checker) judge(m comparison) bool {
	if m.got == nil || m.want == nil {
		return false
	}
	bad, judged := m.wrong()
	if len(bad) == 0 {
		if judged > 0 {
			c.log.pass(m.check, m.o.name, judged)
		}
		return true
	}
	message := "differs from " + m.against
	if r, ok := m.ratio(); ok && m.check != Symmetry {
		message += fmt.Sprintf(": all entries are %.3g times that", r)
	} else if m.check != Symmetry && m.transposed() {
		message += ": it is the transpose of that"
	}
	for _, k := range bad {
		c.log.find(m.o.finding(m.check, m.pt, k, message), m.got[k], m.want[k], m.tol[k])
	}
	return false
}

// ratio returns r ≠ 1 with got = r·want, if there is one and entries enough to tell.
func (m comparison) ratio() (float64, bool) {
	gw, ww := 0.0, 0.0
	for k := range m.got {
		if !math.IsInf(m.tol[k], 1) {
			gw += m.got[k] * m.want[k]
			ww += m.want[k] * m.want[k]
		}
	}
	r := gw / ww
	if len(m.got) < 2 || !(math.Abs(r-1) > 1e-4) || math.IsInf(r, 0) {
		return 0, false
	}
	for k := range m.got { // an infinite tolerance leaves its entry out
		if !(math.Abs(m.got[k]-r*m.want[k]) <= (1+math.Abs(r))*m.tol[k]+1e-6*math.Abs(m.got[k])) {
			return 0, false
		}
	}
	return r, true
}

func (m comparison) transposed() bool {
	b := m.o.blocks[0]
	if b.shape != dense || b.rows != b.cols || b.rows < 2 {
		return false
	}
	for k := range m.got {
		t := k%b.cols*b.cols + k/b.cols
		if !(math.Abs(m.got[k]-m.want[t]) <= m.tol[t]) {
			return false
		}
	}
	return true
}

func (c *checker) level(n int, tol float64) []float64 {
	t := make([]float64, n)
	for k := range t {
		t[k] = c.o.Tol * tol
	}
	return t
}
