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

// student returns the t ≥ 0 with P(|T| ≤ t) = p for n degrees of freedom. T = √n tan Θ, Θ with a
// density ∝ cos^{n−1} (Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7).
func student(n int, p float64) float64 {
	lo, hi := 0.0, math.Pi/2
	for range 60 {
		if mid := (lo + hi) / 2; cosines(n-1, mid) < p*cosines(n-1, math.Pi/2) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(float64(n)) * math.Tan(hi)
}

// cosines is ∫ cos^m from 0 to θ.
func cosines(m int, theta float64) float64 {
	sin, cos := math.Sincos(theta)
	sum, factor := 0.0, 1.0 // of the rest
	for ; m > 1; m -= 2 {
		sum += factor * math.Pow(cos, float64(m-1)) * sin / float64(m)
		factor *= float64(m-1) / float64(m)
	}
	return sum + factor*[]float64{theta, sin}[m]
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
