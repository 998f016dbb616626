package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
)

const ijcnn1Usage = `go run ./bench ijcnn1: STABLE beside SOBA and SABA in the setup of benchmark_bilevel

Hyper-parameter tuning on ijcnn1 as in the benchmark_bilevel suite: exponential form, the 49,990 training rows inside, the 91,701 test rows outside, no bias,
no scaling, y⁰ ~ N(0, I), exp(u⁰) ~ U(0, 1), batches of 64, medians. Unlike there, F* and F are exact to about 1e-12 and samples are counted; weights
½exp(u) are kept in [-lo, -hi], where there is no bound there. The grid for α is 100 times the paper's: u has the scale of a logarithm.

  go run ./bench ijcnn1 -data ../data

Flags:
`

func ijcnn1(ctx context.Context, args []string, out terminal) error {
	r := racingFlags{methods: "STABLE,SOBA,SABA", samples: 256000, trials: 10, tune: 1, lo: 1e-5, hi: 10}
	fs := flag.NewFlagSet("bench ijcnn1", flag.ContinueOnError)
	fs.StringVar(&r.data, "data", os.Getenv("STABLE_DATA"), "`FOLDER` with ijcnn1/ijcnn1.trn and ijcnn1.tst, plain or .gz")
	r.add(fs)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), ijcnn1Usage)
		fs.PrintDefaults()
	}
	if err := parse(fs, args, out); err != nil {
		return err
	}
	if r.data == "" {
		return fmt.Errorf("%w: -data is missing: a folder with ijcnn1/ijcnn1.trn and ijcnn1.tst of the LIBSVM data page", errUsage)
	}
	r.form, r.median = "exp", true
	if err := r.check(); err != nil {
		return err
	}
	a, err := ijcnn1Arena(&r, out)
	if err != nil {
		return err
	}
	return r.race(ctx, "ijcnn1", []*arena{a}, out)
}

func ijcnn1Arena(r *racingFlags, out terminal) (*arena, error) {
	var sets [2]*hyperopt.Data
	var data [2]source
	for i, name := range []string{"ijcnn1.trn", "ijcnn1.tst"} {
		path, err := plainOrGzip(filepath.Join(r.data, "ijcnn1", name))
		if err != nil {
			return nil, err
		}
		if sets[i], err = hyperopt.Open(path, hyperopt.ReadOptions{}); err != nil {
			return nil, err
		}
		if data[i], err = newSource(name, path); err != nil {
			return nil, err
		}
	}
	a, err := tuningArena("ijcnn1, as benchmark_bilevel", sets[0], sets[1], r.form, r.lo, r.hi, out)
	if err != nil {
		return nil, err
	}
	a.data, a.batch, a.stretch = data[:], 64, 100
	lo, hi := math.Log(2*r.lo), math.Log(2*r.hi)
	a.start = func(rng *rand.Rand) (x0, y0 []float64) {
		d := sets[0].Dim
		x0, y0 = make([]float64, d), make([]float64, d)
		for i := range x0 {
			x0[i] = min(max(math.Log(rng.Float64()), lo), hi)
			y0[i] = rng.NormFloat64()
		}
		return x0, y0
	}
	a.set = bilevel.UniformBox(sets[0].Dim, lo, hi)
	return a, nil
}
