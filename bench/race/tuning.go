package race

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/observe"
	"stable/bilevel/stream"
)

type weights struct {
	form   string // raw: x_i, as in the paper; exp: ½exp(x_i)
	lo, hi float64
}

func (w weights) String() string { return fmt.Sprintf("%s weights in [%g, %g]", w.form, w.lo, w.hi) }

func (w weights) box() string { return fmt.Sprintf("%s %g…%g", w.form, w.lo, w.hi) }

// The boxes of the test problem as a sum and as a stream. On most data most of the best weights lie
// at a bound.
var (
	sumBoxes    = []weights{{"raw", 0.1, 1}, {"raw", 0.01, 1}, {"raw", 0.001, 1}, {"exp", 0.01, 1}, {"exp", 0.001, 10}}
	streamBoxes = []weights{{"raw", 0.001, 1}, {"exp", 0.0001, 1}}
)

// mostRows is how many rows of a data set races take, but for compare and figure2 in full.
const mostRows = 20000

type table struct {
	train, val *data.Data
	sources    []kit.Source
	features   string
}

func newTable(name string, parts []*data.Data, sources ...kit.Source) (table, error) {
	scaler, err := kit.Scale(parts)
	if err != nil {
		return table{}, err
	}
	return table{parts[0], parts[1], sources, "features of " + name + ": " + kit.Features(scaler, "the training rows")}, nil
}

// halves splits at most rows rows of a file at random, once.
func halves(file string, rows int, seed uint64) func() (table, error) {
	return sync.OnceValues(func() (t table, err error) {
		d, origin, err := kit.OpenData(file, data.ReadOptions{})
		if err != nil {
			return t, err
		}
		if d.Rows() > rows {
			part, err := d.Split(seed, float64(rows), float64(d.Rows()-rows))
			if err != nil {
				return t, err
			}
			d = part[0]
		}
		parts, err := d.Split(seed, 1, 1)
		if err != nil {
			return t, err
		}
		return newTable(kit.DataName(file), parts, origin)
	})
}

// onTable is the paper's test problem. Those on breast_cancer and australian may choose rules.
func onTable(name string, load func() (table, error), w weights) maker {
	return maker{name, func() (*problem, error) {
		t, err := load()
		if err != nil {
			return nil, err
		}
		p, err := tuning(name, t.train, t.val, w)
		if err != nil {
			return nil, err
		}
		p.data, p.features, p.half = t.sources, t.features, confirmed
		if file := t.sources[0].Name; strings.Contains(file, "breast_cancer") || strings.Contains(file, "australian") {
			p.half = chosen
		}
		return p, nil
	}}
}

func tuning(name string, train, val *data.Data, w weights) (*problem, error) {
	opt := hyperopt.Options{Form: hyperopt.Raw, Lo: w.lo, Hi: w.hi, PenaliseIntercept: true}
	if w.form == "exp" {
		opt = hyperopt.Options{Form: hyperopt.Exp, Lo: math.Log(2 * w.lo), Hi: math.Log(2 * w.hi),
			PenaliseIntercept: true}
	}
	p, err := hyperopt.New(train, val, opt)
	if err != nil {
		return nil, err
	}
	best, err := kit.LeastF(p)
	if err != nil {
		return nil, err
	}
	lo, hi := p.Box()
	return &problem{
		name:  name,
		fresh: func() contest { return p.Clone() },
		set:   bilevel.Box{Lo: lo, Hi: hi},
		muG:   p.StrongConvexity(), lG: p.Smoothness(), cGxy: p.CrossBound(),
		best: best.F, star: best.X,
		start: func(rng *rand.Rand) (x0, y0 []float64) {
			x0, y0 = make([]float64, len(lo)), make([]float64, len(lo))
			for i := range x0 {
				x0[i] = lo[i] + rng.Float64()*(hi[i]-lo[i])
				y0[i] = rng.NormFloat64()
			}
			return x0, y0
		},
	}, nil
}

func endless(m maker) maker {
	return maker{m.name, func() (*problem, error) {
		p, err := m.make()
		if err != nil {
			return nil, err
		}
		l, err := observe.LocalLimit(p.fresh(), p.star, observe.LimitOptions{Set: p.set})
		if err != nil {
			return nil, err
		}
		if l.Free > 0 {
			p.limit = &l
		}
		sum := p.fresh
		p.fresh = func() contest { return solved{stream.Of(sum())} }
		return p, nil
	}}
}

// noisyRule are Gaussian rows, labelled by a noisy linear rule in which the jth feature counts 1/j.
func noisyRule(n, dim int, seed uint64) *data.Data {
	rng := rand.New(rand.NewPCG(seed, 'r'))
	d := &data.Data{Dim: dim, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64()
		for j := range dim {
			v := rng.NormFloat64()
			score += v / float64(j+1)
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
	}
	return d
}

func tuningStreams(files []string, seed uint64) (list []maker) {
	for i, w := range streamBoxes {
		for j, h := range []half{chosen, confirmed} {
			name := fmt.Sprintf("tuning stream %d %s", j+1, w.box())
			list = append(list, endless(maker{name, func() (*problem, error) {
				seed := 100*seed + uint64(2*i+j)
				p, err := tuning(name, noisyRule(300, 12, seed), noisyRule(1200, 12, seed+50), w)
				if err == nil {
					p.half = h
				}
				return p, err
			}}))
		}
	}
	for _, f := range files {
		load := halves(f, mostRows, seed)
		for _, w := range streamBoxes {
			list = append(list, endless(onTable(kit.DataName(f)+" stream "+w.box(), load, w)))
		}
	}
	return list
}

// dataFiles are the shipped data set, and the paper's in a folder, if any.
func dataFiles(folder string) ([]string, error) {
	files := []string{kit.ShippedData}
	for _, f := range []string{
		"australian/australian_scale", "ijcnn1/ijcnn1.trn", "covtype/covtype.libsvm.binary.scale",
	} {
		if folder != "" {
			path, err := kit.PlainOrGzip(filepath.Join(folder, filepath.FromSlash(f)))
			if err != nil {
				return files, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}

// benchmark is ijcnn1 with the starts and batches of benchmark_bilevel.
func benchmark(folder string, w weights) maker {
	m := onTable("ijcnn1, as benchmark_bilevel", func() (t table, err error) {
		var sets [2]*data.Data
		var sources [2]kit.Source
		for i, name := range []string{"ijcnn1.trn", "ijcnn1.tst"} {
			path, err := kit.PlainOrGzip(filepath.Join(folder, "ijcnn1", name))
			if err != nil {
				return t, err
			}
			if sets[i], sources[i], err = kit.OpenData(path, data.ReadOptions{}); err != nil {
				return t, err
			}
		}
		return newTable("ijcnn1", sets[:], sources[:]...)
	}, w)
	return maker{m.name, func() (*problem, error) {
		p, err := m.make()
		if err != nil {
			return nil, err
		}
		p.batch, p.units.alpha = 64, 100
		box := p.set.(bilevel.Box)
		p.start = func(rng *rand.Rand) (x0, y0 []float64) {
			for i, lo := range box.Lo {
				x0 = append(x0, min(max(math.Log(rng.Float64()), lo), box.Hi[i]))
				y0 = append(y0, rng.NormFloat64())
			}
			return x0, y0
		}
		return p, nil
	}}
}
