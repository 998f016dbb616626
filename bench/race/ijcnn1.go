package race

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt/data"
)

const ijcnn1Usage = `go run ./bench ijcnn1: STABLE beside SOBA and SABA in the setup of benchmark_bilevel

Hyper-parameter tuning on ijcnn1 as in benchmark_bilevel at commit 3ad65dc: exponential form, the
49,990 training rows inside, the 91,701 test rows outside, no bias, no scaling, y⁰ ~ N(0, I),
exp(u⁰) ~ U(0, 1), batches of 64, medians. Unlike there, F* and F are exact to about 1e-12 and
samples are counted; weights ½exp(u) are kept in [-lo, -hi], where there is no bound there. The grid
for α is 100 times the paper's: u has the scale of a logarithm.

  go run ./bench ijcnn1 -data ../data

Flags:
`

// IJCNN1 is the command ijcnn1.
func IJCNN1(ctx context.Context, args []string, out kit.Terminal) error {
	r, w := racingFlags{samples: 256000, trials: 10, tune: 3}, weights{form: "exp", lo: 1e-5, hi: 10}
	var data, methods string
	fs := kit.NewFlags("bench ijcnn1", ijcnn1Usage, "")
	fs.StringVar(&data, "data", os.Getenv("STABLE_DATA"),
		"`FOLDER` with ijcnn1/ijcnn1.trn and ijcnn1.tst, plain or .gz")
	fs.StringVar(&methods, "methods", "STABLE,SOBA,SABA", "`NAMES` of methods, separated by commas")
	r.add(fs)
	addWeights(fs, &w)
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	if data == "" {
		return fmt.Errorf("%w: -data is missing: a folder with ijcnn1/ijcnn1.trn and ijcnn1.tst of the "+
			"LIBSVM data page", kit.ErrUsage)
	}
	entrants, err := lineup(methods)
	if err := kit.FirstOf(r.check(), w.check(), err); err != nil {
		return err
	}
	a, err := ijcnn1Arena(data, w, out)
	if err != nil {
		return err
	}
	x, err := r.experiment("ijcnn1", w.String(), []*arena{a}, entrants)
	if err != nil {
		return err
	}
	x.median = true
	return x.show(ctx, out)
}

// ijcnn1Arena is the data set with the starts and batches of benchmark_bilevel.
func ijcnn1Arena(folder string, w weights, out kit.Terminal) (*arena, error) {
	var sets [2]*data.Data
	var sources [2]kit.Source
	for i, name := range []string{"ijcnn1.trn", "ijcnn1.tst"} {
		path, err := kit.PlainOrGzip(filepath.Join(folder, "ijcnn1", name))
		if err != nil {
			return nil, err
		}
		if sets[i], sources[i], err = kit.OpenData(path, data.ReadOptions{}); err != nil {
			return nil, err
		}
	}
	scaler, err := kit.Scale(sets[:])
	if err != nil {
		return nil, err
	}
	a, err := tuningArena("ijcnn1, as benchmark_bilevel", sets[0], sets[1], w, out)
	if err != nil {
		return nil, err
	}
	a.features = "features of ijcnn1: " + kit.Features(scaler, "the training rows")
	a.data, a.batch, a.units.alpha = sources[:], 64, 100
	lo, hi := math.Log(2*w.lo), math.Log(2*w.hi)
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
