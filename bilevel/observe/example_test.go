package observe_test

import (
	"context"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
)

// An observer on a run: the error of F and of the estimated Hessian, every 100 steps.
func ExampleObserver_Progress() {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 0.1, SigmaGy: 0.1, SigmaGyy: 0.3})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, best := p.Optimum()
	o, err := observe.New(p, observe.Options{Best: best, Rho: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate := bilevel.Power{C: 2, K0: 20, P: 1}
	s, err := bilevel.New(p, bilevel.STABLE{Alpha: rate, Beta: rate, Tau: rate, MuG: 1}, bilevel.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Run(context.Background(), bilevel.Run{Steps: 300, Every: 100, Progress: o.Progress(func(m observe.Measurement) bool {
		fmt.Printf("%d: F − F* = %.0e, ‖H_yy − g_yy‖ = %.2f, near-stationarity %.0e\n", m.K, m.Gap, m.Hyy, m.Near)
		return true
	})})
	if err != nil || o.Err() != nil {
		fmt.Println(err, o.Err())
	}
	// Output:
	// 100: F − F* = 1e-03, ‖H_yy − g_yy‖ = 0.03, near-stationarity 6e-04
	// 200: F − F* = 1e-04, ‖H_yy − g_yy‖ = 0.03, near-stationarity 5e-05
	// 300: F − F* = 6e-05, ‖H_yy − g_yy‖ = 0.02, near-stationarity 3e-05
}

// How much better could a run have been? Not at all, where the error is at the samples' limit.
func ExampleLocalLimit() {
	p, err := quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 1,
		SigmaGyy: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, best := p.Optimum()
	limit, err := observe.LocalLimit(p, x, observe.LimitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const n, runs = 2000, 20
	mean := 0.0
	for seed := range uint64(runs) {
		s, err := bilevel.New(p, bilevel.STABLE{MuG: 1}, bilevel.Options{Seed: seed})
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := s.Run(context.Background(), bilevel.Run{Steps: n})
		if err != nil {
			fmt.Println(err)
			return
		}
		f, err := p.Objective(nil, r.Mean)
		if err != nil {
			fmt.Println(err)
			return
		}
		mean += (f - best) / runs
	}
	fmt.Println("not better than the limit allows:", mean > 0.7*limit.At(n, n))
	fmt.Println("not three times as bad:", mean < 3*limit.At(n, n))
	// Output:
	// not better than the limit allows: true
	// not three times as bad: true
}
