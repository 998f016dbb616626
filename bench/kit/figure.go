package kit

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"stable/bench/plot"
	"stable/bilevel/atomicfile"
	"stable/bilevel/method"
)

// WriteFigure writes NAME.svg and NAME.csv into a folder.
func WriteFigure(w io.Writer, folder, name string, fig *plot.Figure) error {
	if err := WriteFile(w, folder, name+".svg", fig.WriteSVG); err != nil {
		return err
	}
	return WriteFile(w, folder, name+".csv", fig.WriteCSV)
}

// WriteFile writes a file into a folder, or leaves out a figure without a number that can be drawn, and says so.
func WriteFile(w io.Writer, folder, name string, fill func(io.Writer) error) error {
	path := filepath.Join(folder, name)
	err := atomicfile.Write(path, fill)
	switch {
	case errors.Is(err, plot.ErrEmpty):
		fmt.Fprintf(w, "no %s: no number can be drawn\n", name)
		return nil
	case err == nil:
		fmt.Fprintf(w, "wrote %s\n", path)
	}
	return err
}

func Last[T any](v []T) (x T) {
	if len(v) > 0 {
		x = v[len(v)-1]
	}
	return x
}

// Map is f of each value.
func Map[T, U any](values []T, f func(v T) U) []U {
	list := make([]U, len(values))
	for i, v := range values {
		list[i] = f(v)
	}
	return list
}

// Style returns a method's look in every figure, for plot.Series.Style, 0 for any other name. The
// first seven, often together, differ in colour; the rest follow as registered.
func Style(name string) int {
	list := []string{"STABLE", "SAA-Newton", "STABLE-paper", "BSA", "TTSA", "SOBA", "SABA", "STABLE-guarded"}
	list = append(list, slices.DeleteFunc(method.Names(), func(n string) bool { return slices.Contains(list, n) })...)
	return 1 + slices.Index(list, name)
}

// Table is rows and an empty line.
func Table(w io.Writer, lines [][]string) {
	Rows(w, lines)
	fmt.Fprintln(w)
}

func Rows(w io.Writer, lines [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	tw.Flush()
}

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
	return Estimate{mean, student(len(v)-1) * math.Sqrt(square/(n-1)/n)}
}

// student returns the t with P(|T| ≤ t) = 0.95 for n degrees of freedom. T = √n tan Θ, Θ with a
// density ∝ cos^{n−1} (Abramowitz, Stegun, Handbook of Mathematical Functions, 26.7).
func student(n int) float64 {
	lo, hi := 0.0, math.Pi/2
	for range 60 {
		if mid := (lo + hi) / 2; cosines(n-1, mid) < 0.95*cosines(n-1, math.Pi/2) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(float64(n)) * math.Tan(hi)
}

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

// Reach returns the cost at which err falls to eps for good, by log-log interpolation; NaN if it
// never does, or does at the first point. cost ascends.
func Reach(cost, err []float64, eps float64) float64 {
	i := len(err)
	for i > 0 && err[i-1] <= eps {
		i--
	}
	if i == 0 || i == len(err) {
		return math.NaN()
	}
	share := math.Log(err[i-1]/eps) / math.Log(err[i-1]/err[i])
	return cost[i-1] * math.Pow(cost[i]/cost[i-1], share)
}

// Ratios returns n ≥ 2 values from a to b, both exact, in geometric progression.
func Ratios(a, b float64, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = a * math.Pow(b/a, float64(i)/float64(n-1))
	}
	v[n-1] = b
	return v
}
