package bilevel

import (
	"fmt"
	"math"
)

// Schedule gives the step size of step k ≥ 0: a pure function, finite and not negative.
type Schedule interface {
	At(k int) float64
}

// Constant is the same step size at every step.
type Constant float64

func (c Constant) At(int) float64 { return float64(c) }

// Power is the schedule C/(k+K0)^P.
type Power struct {
	C  float64
	K0 float64 // default 1
	P  float64
}

func (p Power) At(k int) float64 {
	t := float64(k) + p.k0()
	switch p.P {
	case 0:
		return p.C
	case 0.5:
		return p.C / math.Sqrt(t)
	case 1:
		return p.C / t
	}
	return p.C / math.Pow(t, p.P)
}

func (p Power) String() string { return fmt.Sprintf("%g/(k+%g)^%g", p.C, p.k0(), p.P) }

func (p Power) k0() float64 {
	if p.K0 == 0 {
		return 1
	}
	return p.K0
}

// cubicWeight is the weight of the newest of k+1 terms in a running mean in which term j has a
// weight of order j³.
func cubicWeight(k int) float64 { return 4 / (float64(k) + 4) }
