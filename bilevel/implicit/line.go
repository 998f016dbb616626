package implicit

import (
	"math"

	"stable/bilevel"
)

const (
	maxTrials = 20   // of one search
	fall      = 1e-3 // share of the slope by which F has to fall
	flat      = 0.9  // share of the slope that may be left
	growth    = 10.  // of a search without an end
	nearest   = 0.1  // to the ends of an interval
)

// line searches t with the strong Wolfe conditions (Nocedal, Wright, Numerical Optimization, 2006,
// algorithms 3.5 and 3.6); φ(t) is the change of F.
type line struct {
	slope, most float64 // φ′(0) < 0; the largest t
	t           float64 // the trial
	low, high   end     // the best t so far, and the other end, if bracketed
	bracketed   bool
	last        bool // the next trial is low once more, and is taken
	trials      int
}

type end struct{ t, value, slope float64 }

func (l *line) begin(slope, t, most float64) {
	*l = line{slope: slope, t: min(t, most), most: most, low: end{slope: slope}}
}

// tell takes φ(t), φ′(t) and the promise for φ(t), tφ′(0) on a straight path. It accepts t, or
// chooses another.
func (l *line) tell(value, slope, promise float64) bool {
	if l.last {
		return true
	}
	l.trials++
	at := end{l.t, value, slope}
	fine := value-value == 0 && slope-slope == 0
	switch {
	case !fine || value > fall*promise || value >= l.low.value && l.low.t > 0:
		l.high, l.bracketed = at, true
	case math.Abs(slope) <= -flat*l.slope, slope < 0 && l.t == l.most:
		return true
	default:
		if slope >= 0 && !l.bracketed || l.bracketed && slope*(l.high.t-l.low.t) >= 0 {
			l.high, l.bracketed = l.low, true
		}
		l.low = at
	}
	switch {
	case l.trials == maxTrials-1 && l.low.t > 0:
		l.t, l.last = l.low.t, true
	case l.bracketed:
		l.t = between(l.low, l.high)
	default:
		l.t = min(growth*l.t, l.most)
	}
	return false
}

// between returns the minimiser of the cubic through the ends, kept away from them.
func between(a, b end) float64 {
	width := b.t - a.t
	d := a.slope + b.slope - 3*(b.value-a.value)/width
	root := math.Sqrt(d*d - a.slope*b.slope)
	if width < 0 {
		root = -root
	}
	share := 1 - (b.slope+root-d)/(b.slope-a.slope+2*root)
	if math.IsNaN(share) {
		share = nearest
	}
	return a.t + min(max(share, nearest), 1-nearest)*width
}

func (l *line) state(t *bilevel.State) {
	for _, v := range []*float64{&l.slope, &l.most, &l.t, &l.low.t, &l.low.value, &l.low.slope,
		&l.high.t, &l.high.value, &l.high.slope} {
		t.Float(v)
	}
	t.Flag(&l.bracketed)
	t.Flag(&l.last)
	t.Count(&l.trials)
}
