package kit

import (
	"fmt"
	"math"
)

// Estimate has half its 95 % confidence interval.
type Estimate struct{ Mean, Half float64 }

func (e Estimate) String() string { return fmt.Sprintf("%.2f ± %.2f", e.Mean, e.Half) }

// MeanOf takes Student's interval, infinite below two values.
func MeanOf(v []float64) Estimate {
	n := float64(len(v))
	var mean, square float64
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		square += (x - mean) * (x - mean)
	}
	if len(v) < 2 {
		return Estimate{mean, math.Inf(1)}
	}
	return Estimate{mean, student(len(v)-1, 0.95) * math.Sqrt(square/(n-1)/n)}
}

// student returns the t ≥ 0 with P(|T| ≤ t) = p for n degrees of freedom.
func student(n int, p float64) float64 {
	lo, hi := 0.0, 1.0
	for studentWithin(n, hi) < p {
		lo, hi = hi, 2*hi
	}
	for range 60 {
		if mid := (lo + hi) / 2; studentWithin(n, mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// studentWithin is P(|T| ≤ t), θ = arctan(t/√n) (Abramowitz, Stegun, Handbook of Mathematical
// Functions, 26.7.3 and 26.7.4):
//
//	n even: sin θ (1 + 1/2 cos²θ + (1·3)/(2·4) cos⁴θ + … + … cos^{n−2}θ),
//	n odd:  (2/π)(θ + sin θ (cos θ + 2/3 cos³θ + (2·4)/(3·5) cos⁵θ + … + … cos^{n−2}θ)).
func studentWithin(n int, t float64) float64 {
	theta := math.Atan(t / math.Sqrt(float64(n)))
	sin, cos := math.Sincos(theta)
	term, first := 1.0, 1
	if n%2 == 1 {
		term, first = cos, 2
	}
	sum := 0.0
	for i := first; i < n; i += 2 {
		sum += term
		term *= float64(i) / float64(i+1) * cos * cos
	}
	if n%2 == 0 {
		return sin * sum
	}
	return 2 / math.Pi * (theta + sin*sum)
}

// Exponent returns the least-squares p of y ~ x^p, NaN for fewer than two points.
func Exponent(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my, sxx, sxy float64
	for i := range x {
		mx += math.Log(x[i]) / n
		my += math.Log(y[i]) / n
	}
	for i := range x {
		d := math.Log(x[i]) - mx
		sxx += d * d
		sxy += d * (math.Log(y[i]) - my)
	}
	return sxy / sxx
}

// Reach returns the cost at which err falls to eps for good, by log-log interpolation; false if it
// never does, or does at the first point. cost ascends.
func Reach(cost, err []float64, eps float64) (float64, bool) {
	i := len(err)
	for i > 0 && err[i-1] <= eps {
		i--
	}
	if i == 0 || i == len(err) {
		return math.NaN(), false
	}
	share := math.Log(err[i-1]/eps) / math.Log(err[i-1]/err[i])
	return cost[i-1] * math.Pow(cost[i]/cost[i-1], share), true
}

// Ratios returns n ≥ 2 values from a to b in geometric progression.
func Ratios(a, b float64, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = a * math.Pow(b/a, float64(i)/float64(n-1))
	}
	return v
}
