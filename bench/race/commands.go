// Package race compares methods under equal budgets of samples. A program of your own may call its
// commands for a method that it has registered; they promise no interface.
//
// A tournament runs every entrant (a method with its grid of settings) on every problem of known F*:
// first each setting on separate seeds, then the trials with the best one.
package race

import (
	"context"
	"fmt"
	"io"
	"math"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/quadratic"
)

type preset struct {
	tournament
	usage, dataIs string
	points        int // of a curve, where -samples is the only budget
	makers        func(f *flags) ([]maker, error)
	report        func(t *tournament, w io.Writer) error
}

const besides = "`FOLDER` with australian/, ijcnn1/ and covtype/, besides the shipped data set"

// Compare is the command compare.
func Compare(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "compare", flags: flags{samples: 20000, trials: 10, tune: 3, methods: "all",
			problem: "hyperopt", weights: weights{"raw", 0.1, 1}, data: kit.ShippedData}},
		usage: compareUsage, points: 40, report: (*tournament).curves,
		dataIs: "`FILE` of LIBSVM or CSV text, plain or gzip",
		makers: func(f *flags) ([]maker, error) {
			switch f.problem {
			case "hyperopt":
				return f.sums([]string{f.data}), nil
			case "quadratic":
				return []maker{quadraticSum("quadratic", quadratic.Options{Seed: f.Seed})}, nil
			}
			return nil, fmt.Errorf("%w: -problem %q, want hyperopt or quadratic", kit.ErrUsage, f.problem)
		},
	}.race(ctx, args, out)
}

// Figure2 is the command figure2.
func Figure2(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "figure2", flags: flags{samples: 20000, trials: 50, tune: 4,
			methods: "SAA-Newton,STABLE,STABLE-paper,BSA,TTSA", weights: weights{"raw", 0.1, 1}}},
		usage: figure2Usage, points: 40, report: (*tournament).curves,
		dataIs: "`FOLDER` with australian/, ijcnn1/ and covtype/ (default: the shipped data set)",
		makers: func(f *flags) ([]maker, error) {
			files, err := dataFiles(f.data)
			return f.sums(files[min(len(files)-1, 1):]), err
		},
	}.race(ctx, args, out)
}

// IJCNN1 is the command ijcnn1.
func IJCNN1(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "ijcnn1", median: true, flags: flags{samples: 256000, trials: 10, tune: 3,
			methods: "STABLE,SOBA,SABA", weights: weights{"exp", 1e-5, 10}}},
		usage: ijcnn1Usage, points: 40, report: (*tournament).curves,
		dataIs: "`FOLDER` with ijcnn1/ijcnn1.trn and ijcnn1.tst of the LIBSVM data page, plain or .gz",
		makers: func(f *flags) ([]maker, error) {
			if f.data == "" {
				return nil, fmt.Errorf("%w: -data is missing: a folder with ijcnn1/ijcnn1.trn and ijcnn1.tst", kit.ErrUsage)
			}
			return []maker{benchmark(f.data, f.weights)}, nil
		},
	}.race(ctx, args, out)
}

// Survive is the command survive.
func Survive(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "survive", flags: flags{samples: 20000, trials: 10, tune: 3}},
		usage:      surviveUsage, points: 10, report: (*tournament).survival, dataIs: besides, makers: survivors,
	}.race(ctx, args, out)
}

// Limit is the command limit.
func Limit(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "limit", budgets: []uint64{1000, 5000, 20000, 100000}, each: true, mean: true,
			flags: flags{samples: 100000, trials: 20, tune: 3, methods: "all"}},
		usage: limitUsage, report: (*tournament).limits, dataIs: besides + "; not read with -quick",
		makers: func(f *flags) ([]maker, error) {
			files, err := dataFiles(f.data)
			list, tunings := made(streams, f.Seed), tuningStreams(files, f.Seed)
			if f.Quick {
				list, tunings = everyNth(list, 3), tunings[:1]
			}
			return append(list, tunings...), err
		},
	}.race(ctx, args, out)
}

// Untuned is the command untuned.
func Untuned(ctx context.Context, args []string, out kit.Terminal) error {
	return preset{
		tournament: tournament{name: "untuned", budgets: []uint64{1000, 5000, 20000}, mean: true,
			flags: flags{samples: 20000, trials: 10, tune: 3, methods: "all"}},
		usage: untunedUsage, report: (*tournament).comparison, dataIs: besides + "; not read with -quick",
		makers: everyKind,
	}.race(ctx, args, out)
}

func (f *flags) sums(files []string) (list []maker) {
	rows := map[bool]int{false: math.MaxInt, true: mostRows}[f.Quick]
	for _, file := range files {
		list = append(list, onTable(kit.DataName(file), halves(file, rows, f.Seed), f.weights))
	}
	return list
}

func survivors(f *flags) (list []maker, err error) {
	files, err := dataFiles(f.data)
	rows := map[bool]int{false: mostRows, true: mostRows / 10}[f.Quick]
	for _, file := range files {
		load := halves(file, rows, f.Seed)
		for _, w := range sumBoxes {
			list = append(list, onTable(kit.DataName(file)+" "+w.box(), load, w))
		}
	}
	return append(list, quadraticSum("quadratic μ=1", quadratic.Options{Seed: f.Seed}),
		quadraticSum("quadratic μ=0.1", quadratic.Options{Seed: f.Seed, MuG: 0.1, LG: 10}),
		quadraticSum("quadratic nonconvex", quadratic.Options{Seed: f.Seed, Nonconvex: 0.5})), err
}

func everyKind(f *flags) ([]maker, error) {
	list, err := survivors(f)
	list = append(append(append(list, made(streams, f.Seed)...), made(strange, f.Seed)...),
		gameMaker("min-max", chosen, 8, 0.5, f.Seed), gameMaker("min-max, little noise", confirmed, 5, 0.01, f.Seed+1),
		portfolio("portfolio", confirmed, 8, bilevel.Space{}, f.Seed),
		portfolio("portfolio on a simplex", chosen, 8, bilevel.Simplex{}, f.Seed))
	list = append(list, tuningStreams([]string{kit.ShippedData}, f.Seed)...)
	if f.Quick {
		list = everyNth(list, 4)
	}
	return list, err
}

func everyNth(list []maker, n int) (kept []maker) {
	for i := 0; i < len(list); i += n {
		kept = append(kept, list[i])
	}
	return kept
}
