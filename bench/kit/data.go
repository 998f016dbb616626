package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"stable/bilevel"
	"stable/bilevel/hyperopt"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/implicit"
	"stable/mat"
)

// ShippedData is the module's own data set, from its root.
const ShippedData = "testdata/breast_cancer.csv"

// OpenData reads a data file: the shipped one from any folder of the module, - from standard input.
func OpenData(file string, opt data.ReadOptions) (*data.Data, Source, error) {
	var text []byte
	path, err := find(file)
	switch {
	case err != nil:
	case file != "-":
		text, err = os.ReadFile(path)
	default:
		file, path = "standard input", "standard input"
		text, err = readStdin()
	}
	if err != nil {
		return nil, Source{}, err
	}
	d, err := data.Read(bytes.NewReader(text), path, opt)
	return d, Source{file, digest(text)}, err
}

// spool is standard input, which may be read again with other options.
var spool struct {
	from *os.File
	text []byte
	err  error
}

func readStdin() ([]byte, error) {
	if spool.from != os.Stdin {
		spool.from = os.Stdin
		spool.text, spool.err = io.ReadAll(os.Stdin)
	}
	return spool.text, spool.err
}

func find(file string) (string, error) {
	path := filepath.FromSlash(file)
	if file != ShippedData {
		return path, nil
	}
	for range 3 {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
		path = filepath.Join("..", path)
	}
	return "", fmt.Errorf("%s does not exist here: run from the root of the module (main, tune and compare "+
		"take a file of yours, too)", file)
}

// NoisyRule are Gaussian rows, labelled by a noisy linear rule: the jth feature counts j^(−fall).
func NoisyRule(n, dim int, fall float64, rng *rand.Rand) *data.Data {
	d := &data.Data{Dim: dim, RowPtr: []int{0}}
	for range n {
		score := rng.NormFloat64()
		for j := range dim {
			v := rng.NormFloat64()
			score += v / math.Pow(float64(j+1), fall)
			d.Col, d.Val = append(d.Col, int32(j)), append(d.Val, v)
		}
		d.RowPtr, d.Label = append(d.RowPtr, len(d.Col)), append(d.Label, math.Copysign(1, score))
	}
	return d
}

// Scale is measured on the first part.
func Scale(parts []*data.Data) (scaler *data.Scaler, err error) {
	scaler = data.FitScaler(parts[0])
	for i, d := range parts {
		if parts[i], err = scaler.Apply(d); err != nil {
			return nil, err
		}
	}
	return scaler, nil
}

func Features(s *data.Scaler, rows string) string {
	return fmt.Sprintf("%d, %v, as measured on %s", len(s.Factor), s, rows)
}

// Until returns what do returns, or, as soon as the context ends, its cause: do then goes on in vain.
func Until[T any](ctx context.Context, do func() (T, error)) (none T, err error) {
	var result T
	done := make(chan error, 1)
	go func() {
		v, err := do()
		result = v
		done <- err
	}()
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case err = <-done:
		return result, err
	}
}

// HessianF is ∇²F by central differences of ∇F, exact up to rounding where F is quadratic.
func HessianF(p bilevel.Truth, x []float64) *mat.Sym {
	const h = 1e-3
	n := len(x)
	hess, up, down, z := mat.NewSym(n), make([]float64, n), make([]float64, n), slices.Clone(x)
	for i := range n {
		z[i] = x[i] + h
		Must(p.Objective(up, z))
		z[i] = x[i] - h
		Must(p.Objective(down, z))
		z[i] = x[i]
		for j := range i + 1 {
			hess.Set(i, j, (up[j]-down[j])/(2*h))
		}
	}
	return hess
}

// ManyRows is the number of training rows from which commands compute fewer exact values.
const ManyRows, manyFeatures = 5000, 150

// LeastF returns the least minimum of F from the given points, from uniform weights, and, where rows
// are few, from random points: F need not be convex. With many features the given points, if any,
// are all.
func LeastF(p *hyperopt.Problem, from ...[]float64) (best *implicit.Minimum, err error) {
	lo, hi := p.Box()
	rng := rand.New(rand.NewPCG(0, 'F'))
	if p.Train().Dim <= manyFeatures || len(from) == 0 {
		for _, share := range []float64{0, 0.3, 0.6, 1} {
			from = append(from, within(lo, hi, func() float64 { return share }))
			if lo[0] > 0 { // raw weights: in their logarithms, too
				share = (math.Pow(hi[0]/lo[0], share) - 1) / (hi[0]/lo[0] - 1)
				from = append(from, within(lo, hi, func() float64 { return share }))
			}
		}
		if p.Train().Rows() <= ManyRows {
			for range 24 {
				from = append(from, within(lo, hi, rng.Float64))
			}
		}
	}
	y := make([]float64, p.Train().Dim)
	for _, x := range from {
		m, err := implicit.Minimise(func(grad, x []float64) (float64, error) {
			return p.ObjectiveFrom(grad, y, x)
		}, x, implicit.Options{Lo: lo, Hi: hi})
		if err != nil {
			return nil, err
		}
		if best == nil || m.F < best.F {
			best = m
		}
	}
	return best, nil
}

func within(lo, hi []float64, share func() float64) []float64 {
	x := make([]float64, len(lo))
	for i := range x {
		x[i] = lo[i] + share()*(hi[i]-lo[i])
	}
	return x
}
