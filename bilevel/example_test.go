package bilevel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"stable/bilevel"
	"stable/mat"
)

// shrink is a problem in one dimension: y*(x) shrinks the mean 2 of noisy measurements φ towards 0
// by the weight x ≥ 0, and x is to be such that y*(x) = 1:
//
//	min over x ≥ 0 of ½(y*(x) − 1)²   subject to   y*(x) = argmin_y E[½(y − φ)²] + ½x·y² = 2/(1+x).
type shrink struct{}

func (shrink) Dims() (dx, dy int)             { return 1, 1 }
func (shrink) Streams() (upper, lower uint64) { return 1, 0 } // f has one term, φ comes from a simulator

func (shrink) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	fx[0], fy[0] = 0, y[0]-1
	return nil
}

func (shrink) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	gy[0] = (1+x[0])*y[0] - measure(phi)
	return nil
}

func (shrink) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	gxy.Set(0, 0, y[0])
	return nil
}

func (shrink) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	gyy.Set(0, 0, 1+x[0])
	return nil
}

// measure is the mean of the measurements with these names, 2 in expectation.
func measure(phi []bilevel.Sample) float64 {
	if len(phi) == 0 {
		return 2
	}
	var sum float64
	for _, name := range phi {
		sum += 2 + 0.5*rand.New(rand.NewPCG(uint64(name), 0)).NormFloat64()
	}
	return sum / float64(len(phi))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A problem of one's own: its derivatives at named samples, a method, a run.
func Example() {
	s := must(bilevel.New(shrink{}, bilevel.STABLE{MuG: 1}, bilevel.Options{Set: bilevel.NonNegative{}}))
	r := must(s.Run(context.Background(), bilevel.Run{Phi: 20000}))
	fmt.Printf("x = %.1f, y = %.1f, %s after %d samples of φ\n", r.X[0], r.Y[0], r.Reason, r.Counts.Phi)
	// Output: x = 1.0, y = 1.0, sample limit after 20000 samples of φ
}

// STABLE's estimator under a rule of one's own: here x follows the sign of the hypergradient.
func ExampleEstimator() {
	p := shrink{}
	e := must(bilevel.NewEstimator(p, 1, 10))
	x, y := []float64{0}, []float64{0}
	fx, fy, gy, h, drift, dx := []float64{0}, []float64{0}, []float64{0}, []float64{0}, []float64{0}, []float64{0}
	for k := range 20000 {
		phi, move := []bilevel.Sample{bilevel.Sample(k)}, e.Init
		if k > 0 {
			move = func(x, y []float64, phi []bilevel.Sample) error { return e.Update(0.1, x, y, phi) }
		}
		err := errors.Join(
			move(x, y, phi),
			p.GradF(fx, fy, x, y, nil),
			p.GradG(gy, x, y, phi),
			e.Hypergradient(h, fx, fy),
		)
		dx[0] = math.Copysign(0.001, -h[0])
		x[0] += dx[0]
		if err := errors.Join(err, e.Drift(drift, dx)); err != nil {
			panic(err)
		}
		y[0] -= 0.02*gy[0] + drift[0]
	}
	fmt.Printf("x = %.1f, y = %.1f\n", x[0], y[0])
	// Output: x = 1.0, y = 1.0
}

// A run that takes itself up where it was stopped.
func ExampleSolver_SaveFile() {
	dir := must(os.MkdirTemp("", "checkpoint"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.checkpoint")

	for range 3 { // as three processes would
		s := must(bilevel.New(shrink{}, bilevel.STABLE{MuG: 1}, bilevel.Options{Set: bilevel.NonNegative{}}))
		if err := s.LoadFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			panic(err)
		}
		fmt.Print("from step ", s.K())
		must(s.Run(context.Background(), bilevel.Run{Steps: 1000}))
		fmt.Println(" to", s.K())
		if err := s.SaveFile(path); err != nil {
			panic(err)
		}
	}
	// Output:
	// from step 0 to 1000
	// from step 1000 to 2000
	// from step 2000 to 3000
}
