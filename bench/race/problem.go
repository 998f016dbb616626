package race

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/observe"
	"stable/bilevel/quadratic"
	"stable/bilevel/stream"
	"stable/mat"
)

// half says what a problem is for: to choose an untuned method's rules, or to confirm them.
type half string

const (
	chosen    half = "chosen"
	confirmed half = "confirmed"
)

type problem struct {
	name          string
	half          half
	data          []kit.Source
	features      string
	fresh         func() contest
	set           bilevel.Set
	muG, lG, cGxy float64
	batch         int // 0: 1
	units         units
	best          float64 // F*
	star          []float64
	limit         *observe.Limit // nil: none, or not known
	start         func(rng *rand.Rand) (x0, y0 []float64)
	natural       *problem // with natural units; nil: the same
	work          float64  // of a sample
	sum           bool     // of finite sums
}

// contest has an exact objective, which may start from y and leave y*(x) there.
type contest interface {
	bilevel.Problem
	ObjectiveFrom(grad, y, x []float64) (float64, error)
}

type maker struct {
	name string
	make func() (*problem, error)
}

func (m maker) then(change func(p *problem) error) maker {
	return maker{m.name, func() (*problem, error) {
		p, err := m.make()
		if err == nil {
			err = change(p)
		}
		return p, err
	}}
}

// limited sets the limit of p, if samples set one, as it is on q.
func (p *problem) limited(q bilevel.Problem, o observe.LimitOptions) error {
	o.Set = p.set
	l, err := observe.LocalLimit(q, p.star, o)
	if l.Free > 0 {
		p.limit = &l
	}
	return err
}

func (p *problem) floor() float64 { return 1e-14*math.Abs(p.best) + 1e-300 }

// of returns the problem as it is put to an entrant: a rival has one step size for all entries.
func (p *problem) of(e *entrant) *problem {
	if p.natural != nil && e.rival() {
		return p.natural
	}
	return p
}

// units are factors of α and β in the grid, and where they are lengths of steps; 0 stands for 1.
type units struct{ alpha, beta, lengthX, lengthY float64 }

func (u units) of(e *entrant) (alpha, beta float64) {
	alpha, beta = u.alpha, u.beta
	if e.Lengths[0] {
		alpha = u.lengthX
	}
	if e.Lengths[1] {
		beta = u.lengthY
	}
	return cmp.Or(alpha, 1), cmp.Or(beta, 1)
}

type exact interface {
	bilevel.Problem
	bilevel.Products
	bilevel.UpperGradient
	bilevel.Truth
}

type solved struct{ exact }

func (s solved) ObjectiveFrom(grad, _, x []float64) (float64, error) { return s.Objective(grad, x) }

func quadraticSum(name string, o quadratic.Options) maker {
	return maker{name, func() (*problem, error) {
		o.Terms, o.CrossNorm = 1000, 3
		loud(&o, 1)
		p := kit.Must(quadratic.New(o))
		x, best := p.Optimum()
		c := p.Constants(3)
		return &problem{
			half: confirmed, fresh: func() contest { return solved{p.Clone()} }, set: bilevel.Space{},
			muG: c.MuG, lG: 2 * c.Lg, cGxy: c.Cgxy, // samples double it now and then
			best: best,
			start: func(rng *rand.Rand) (x0, y0 []float64) {
				x0 = normals(rng, len(x))
				mat.Axpy(x0, 1, x)
				return x0, make([]float64, 10)
			},
		}, nil
	}}
}

func normals(rng *rand.Rand, n int) (v []float64) {
	for range n {
		v = append(v, rng.NormFloat64())
	}
	return v
}

type weights struct {
	form   string // raw: x_i, as in the paper; exp: ½exp(x_i)
	lo, hi float64
}

func (w weights) String() string { return fmt.Sprintf("%s %g…%g", w.form, w.lo, w.hi) }

// The paper's box, and those of the test problem as a sum and as a stream: most of the best weights lie at a bound.
var (
	paperBox    = weights{"raw", 0.1, 1}
	sumBoxes    = []weights{paperBox, {"raw", 0.01, 1}, {"raw", 0.001, 1}, {"exp", 0.01, 1}, {"exp", 0.001, 10}}
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

func dataName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".gz")
	for _, ending := range []string{".csv", ".svm", ".libsvm", ".svmlight"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
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
		return newTable(dataName(file), parts, origin)
	})
}

// onTable is the paper's test problem. Those on breast_cancer and australian may choose rules.
func onTable(name string, load func() (table, error), w weights) maker {
	return maker{name, func() (*problem, error) {
		t, err := load()
		if err != nil {
			return nil, err
		}
		h, file := confirmed, t.sources[0].Name
		if strings.Contains(file, "breast_cancer") || strings.Contains(file, "australian") {
			h = chosen
		}
		p, err := tuning(t.train, t.val, w, h)
		if err == nil {
			p.data, p.features = t.sources, t.features
		}
		return p, err
	}}
}

func onFiles(files []string, rows int, seed uint64, kind string, boxes ...weights) (list []maker) {
	for _, file := range files {
		load := halves(file, rows, seed)
		for _, w := range boxes {
			name := dataName(file) + kind
			if len(boxes) > 1 {
				name += w.String()
			}
			list = append(list, onTable(name, load, w))
		}
	}
	return list
}

func tuning(train, val *data.Data, w weights, h half) (*problem, error) {
	opt := hyperopt.Options{Form: hyperopt.Raw, Lo: w.lo, Hi: w.hi, PenaliseIntercept: true}
	if w.form == "exp" {
		opt.Form, opt.Lo, opt.Hi = hyperopt.Exp, math.Log(2*w.lo), math.Log(2*w.hi)
	}
	p, err := hyperopt.New(train, val, opt)
	if err != nil {
		return nil, err
	}
	opt.Workers = runtime.GOMAXPROCS(0) // the same bits
	best, err := kit.LeastF(kit.Must(hyperopt.New(train, val, opt)))
	if err != nil {
		return nil, err
	}
	lo, hi := p.Box()
	return &problem{
		half: h, fresh: func() contest { return p.Clone() }, set: bilevel.Box{Lo: lo, Hi: hi},
		muG: p.StrongConvexity(), lG: p.Smoothness(), cGxy: p.CrossBound(),
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
	return m.then(func(p *problem) error {
		sum := p.fresh
		p.fresh = func() contest { return solved{stream.Of(sum())} }
		return p.limited(sum(), observe.LimitOptions{})
	})
}

func tuningStreams(files []string, seed uint64) (list []maker) {
	for i, w := range streamBoxes {
		for j, h := range []half{chosen, confirmed} {
			name := fmt.Sprintf("tuning stream %d %s", j+1, w.String())
			list = append(list, endless(maker{name, func() (*problem, error) {
				rule := func(n int, extra uint64) *data.Data {
					return kit.NoisyRule(n, 12, 1, rand.New(rand.NewPCG(100*seed+uint64(2*i+j)+extra, 'r')))
				}
				return tuning(rule(300, 0), rule(1200, 50), w, h)
			}}))
		}
	}
	return append(list, kit.Map(onFiles(files, mostRows, seed, " stream ", streamBoxes...), endless)...)
}

func plainOrGzip(path string) (string, error) {
	for _, p := range []string{path + ".gz", path} {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("neither %s nor %[1]s.gz exists; the file is on the LIBSVM data page", path)
}

func dataFiles(folder string) ([]string, error) {
	files := []string{kit.ShippedData}
	for _, f := range []string{
		"australian/australian_scale", "ijcnn1/ijcnn1.trn", "covtype/covtype.libsvm.binary.scale",
	} {
		if folder != "" {
			path, err := plainOrGzip(filepath.Join(folder, filepath.FromSlash(f)))
			if err != nil {
				return files, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}

func benchmark(folder string, w weights) maker {
	m := onTable("ijcnn1, as benchmark_bilevel", func() (t table, err error) {
		var sets [2]*data.Data
		var sources [2]kit.Source
		for i, name := range []string{"ijcnn1.trn", "ijcnn1.tst"} {
			path, err := plainOrGzip(filepath.Join(folder, "ijcnn1", name))
			if err != nil {
				return t, err
			}
			if sets[i], sources[i], err = kit.OpenData(path, data.ReadOptions{}); err != nil {
				return t, err
			}
		}
		return newTable("ijcnn1", sets[:], sources[:]...)
	}, w)
	return m.then(func(p *problem) error {
		p.batch, p.units.alpha = 64, 100
		box := p.set.(bilevel.Box)
		p.start = func(rng *rand.Rand) (x0, y0 []float64) {
			for i, lo := range box.Lo {
				x0 = append(x0, min(max(math.Log(rng.Float64()), lo), box.Hi[i]))
				y0 = append(y0, rng.NormFloat64())
			}
			return x0, y0
		}
		return nil
	})
}
