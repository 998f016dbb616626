package race

import (
	"context"
	"fmt"
	"strings"

	"stable/bench/kit"
	"stable/bilevel/quadratic"
)

const compareUsage = `go run ./bench compare: stochastic bilevel methods under equal sample budgets

Each method takes the best of 100 settings of step sizes, found on seeds of its own: one run of each,
and -tune runs of the best 20. One that fails in a trial gives way to the next best, 4 times at most.
STABLE runs untuned as well. Prints where each ended, how many samples and seconds it took to get
there, and how many evaluations of single samples a sample; draws the error F(x^k) − F* against all
three.

  go run ./bench compare                                    all methods, hyper-parameter tuning on the shipped data set
  go run ./bench compare -methods STABLE,TTSA -trials 20
  go run ./bench compare -data ijcnn1.trn.gz -lo 0.01
  go run ./bench compare -problem quadratic                 a problem with a closed-form solution, with noise

Flags:
`

// methodList names all methods, some on a line.
func methodList() string {
	var b strings.Builder
	for i, name := range entrantNames() {
		switch {
		case i == 0:
		case i%8 == 0:
			b.WriteString(",\n  ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String() + "\n"
}

// Compare is the command compare.
func Compare(ctx context.Context, args []string, out kit.Terminal) error {
	r, w := racingFlags{samples: 20000, trials: 10, tune: 3}, weights{lo: 0.1, hi: 1}
	var data, problem, methods string
	fs := kit.NewFlags("bench compare", compareUsage, "\nMethods: "+methodList())
	fs.StringVar(&data, "data", kit.ShippedData, "`FILE` of LIBSVM or CSV text, plain or gzip")
	fs.StringVar(&problem, "problem", "hyperopt", "hyperopt or quadratic")
	fs.StringVar(&methods, "methods", "all", "`NAMES` of methods, separated by commas")
	r.add(fs)
	addWeights(fs, &w)
	addForm(fs, &w)
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	entrants, err := lineup(methods)
	if err := kit.FirstOf(r.check(), w.check(), err); err != nil {
		return err
	}
	var a *arena
	switch problem {
	case "hyperopt":
		a, err = dataArena(data, r.rows(), r.Seed, w, out)
	case "quadratic":
		a, err = quadraticArena("quadratic", quadratic.Options{Seed: r.Seed})
	default:
		return fmt.Errorf("%w: -problem %q, want hyperopt or quadratic", kit.ErrUsage, problem)
	}
	if err != nil {
		return err
	}
	x, err := r.experiment("compare", w.String(), []*arena{a}, entrants)
	if err != nil {
		return err
	}
	return x.show(ctx, out)
}
