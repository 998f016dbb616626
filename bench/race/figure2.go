package race

import (
	"context"
	"path/filepath"

	"stable/bench/kit"
)

const figure2Usage = `go run ./bench figure2: Figure 2 of the STABLE paper

The test problem of the paper's section 4 (validation loss of a logistic regression whose weights x_i
of y_i² are tuned) on australian, ijcnn1 and covtype: error F(x^k) − F* against samples and against
seconds, mean and standard deviation over trials from random starts. Each method takes the best of
100 settings of the paper's grid {1, .5, .1, .05, .01}, found on seeds of its own; this module's
default, SAA-Newton, which is not the paper's method, and STABLE with steps that adapt take none.

  go run ./bench figure2                                  the data set that ships with the module
  go run ./bench figure2 -data ../data -trials 50         the paper's three, from a folder laid out as LIBSVM's files
  go run ./bench figure2 -data ../data -quick             a short form
  go run ./bench figure2 -data ../data -part 3/8          the third of eight parts; -merge 8 does the rest, and reports

Finished runs are kept in the -out folder: after an interrupt the same command goes on.

Flags:
`

// Figure2 is the command figure2.
func Figure2(ctx context.Context, args []string, out kit.Terminal) error {
	r, w := racingFlags{samples: 20000, trials: 50, tune: 4}, weights{lo: 0.1, hi: 1}
	var data, methods string
	fs := kit.NewFlags("bench figure2", figure2Usage, "")
	fs.StringVar(&data, "data", "", "`FOLDER` with australian/, ijcnn1/ and covtype/ (default: the shipped data set)")
	fs.StringVar(&methods, "methods", "SAA-Newton,STABLE,STABLE-paper,BSA,TTSA",
		"`NAMES` of methods, separated by commas")
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
	files, err := paperFiles(data)
	if err != nil {
		return err
	}
	var arenas []*arena
	for _, f := range files {
		a, err := dataArena(f, r.rows(), r.Seed, w, out)
		if err != nil {
			return err
		}
		arenas = append(arenas, a)
	}
	x, err := r.experiment("figure2", w.String(), arenas, entrants)
	if err != nil {
		return err
	}
	return x.show(ctx, out)
}

// paperFiles finds the paper's data sets in a folder. Without one, it is the shipped data set.
func paperFiles(folder string) ([]string, error) {
	if folder == "" {
		return []string{kit.ShippedData}, nil
	}
	var files []string
	for _, f := range []string{
		"australian/australian_scale", "ijcnn1/ijcnn1.trn", "covtype/covtype.libsvm.binary.scale",
	} {
		path, err := kit.PlainOrGzip(filepath.Join(folder, filepath.FromSlash(f)))
		if err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}
