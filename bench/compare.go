package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"

	"stable/bilevel"
	"stable/bilevel/quadratic"
)

const compareUsage = `go run ./bench compare: stochastic bilevel methods under equal sample budgets

Each method takes the best of 100 settings of step sizes, found on seeds of its own; STABLE runs untuned as well. Prints where each ended and how many
samples and seconds it took to get there; draws the error F(x^k) − F* against both.

  go run ./bench compare                                    all methods, hyper-parameter tuning on the shipped data set
  go run ./bench compare -methods STABLE,TTSA -trials 20
  go run ./bench compare -data ijcnn1.trn.gz -lo 0.01
  go run ./bench compare -problem quadratic                 a problem with a closed-form solution and noise on every derivative

Flags:
`

func compare(ctx context.Context, args []string, out terminal) error {
	r := racingFlags{methods: strings.Join(entrantNames(), ","), samples: 20000, trials: 10, tune: 2, lo: 0.1, hi: 1}
	var problem string
	fs := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	fs.StringVar(&r.data, "data", shippedData, "`FILE` of LIBSVM or CSV text, plain or gzip")
	fs.StringVar(&problem, "problem", "hyperopt", "hyperopt or quadratic")
	r.add(fs)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), compareUsage)
		fs.PrintDefaults()
		fmt.Fprintf(fs.Output(), "\nMethods: %s\n", strings.Join(entrantNames(), ", "))
	}
	if err := parse(fs, args, out); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	var a *arena
	var err error
	switch problem {
	case "hyperopt":
		a, err = hyperoptArena(r.data, &r, out)
	case "quadratic":
		a, err = quadraticArena("quadratic", quadratic.Options{Seed: r.seed})
	default:
		return fmt.Errorf("%w: -problem %q, want hyperopt or quadratic", errUsage, problem)
	}
	if err != nil {
		return err
	}
	return r.race(ctx, "compare", []*arena{a}, out)
}

// solved is the quadratic problem as a contest.
type solved struct{ *quadratic.Problem }

func (s solved) ObjectiveFrom(grad, _, x []float64) (float64, error) { return s.Objective(grad, x) }

// quadraticArena is a problem of 10 × 10 variables with noise on every derivative, a finite sum,
// and starts around its solution.
func quadraticArena(name string, o quadratic.Options) (*arena, error) {
	o.Terms, o.CrossNorm = 1000, 3
	o.SigmaFx, o.SigmaFy, o.SigmaGy, o.SigmaGxy, o.SigmaGyy = 1, 1, 1, 1, 1
	p, err := quadratic.New(o)
	if err != nil {
		return nil, err
	}
	x, best := p.Optimum()
	c := p.Constants(3)
	return &arena{
		name:  name,
		fresh: func() contest { return solved{p.Clone()} },
		set:   bilevel.Space{},
		muG:   c.MuG, lG: 2 * c.Lg, cGxy: c.Cgxy, // the noise of single samples doubles the curvature now and then
		best: best,
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0, y0 = make([]float64, len(x)), make([]float64, 10)
			for i := range x0 {
				x0[i] = x[i] + rng.NormFloat64()
			}
			return x0, y0
		},
	}, nil
}
