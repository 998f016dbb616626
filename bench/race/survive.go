package race

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"stable/bench/kit"
	"stable/bilevel/quadratic"
)

const surviveUsage = `go run ./bench survive: a STABLE that does not blow up

On every data set, in both forms of the weights, for small and large μ_g, and on quadratic problems:
how many of the 100 settings of the paper's grid end non-finite, in one run of each and -tune of the
best 20, for the paper's method with its bound C_gxy and for it with this module's safeguards, too;
and how SAA-Newton, this module's default, and STABLE with steps that adapt stand to TTSA and BSA at
the best of their 100 settings; one that fails in a trial gives way to the next, 4 times at most; and
to HOAG, which takes all rows in every step and has no setting. SAA-Newton is not the paper's method
but Newton's, on samples that grow; of STABLE it keeps the drift correction and the contract.

  go run ./bench survive -quick
  go run ./bench survive -data ../data
  go run ./bench survive -ablate             what each safeguard is worth

Flags:
`

// boxes are the forms and bounds of the weights that survive goes through.
var boxes = []weights{{"raw", 0.1, 1}, {"raw", 0.01, 1}, {"raw", 0.001, 1}, {"exp", 0.01, 1}, {"exp", 0.001, 10}}

// Survive is the command survive.
func Survive(ctx context.Context, args []string, out kit.Terminal) error {
	r := racingFlags{samples: 20000, trials: 10, tune: 3}
	var data string
	var ablate bool
	fs := kit.NewFlags("bench survive", surviveUsage, "")
	fs.StringVar(&data, "data", "", "`FOLDER` with australian/, ijcnn1/ and covtype/, besides the shipped data set")
	fs.BoolVar(&ablate, "ablate", false, "one safeguard after the other, over all settings")
	r.add(fs)
	if err := kit.Parse(fs, args, out); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	arenas, err := surviveArenas(data, &r, out)
	if err != nil {
		return err
	}
	entrants, err := lineup("SAA-Newton,STABLE,STABLE-paper,STABLE-guarded,TTSA,BSA,HOAG")
	if err != nil {
		return err
	}
	x, err := r.experiment("survive", "boxes", arenas, entrants)
	if err != nil {
		return err
	}
	x.points = 10
	if ablate {
		x.name, x.entrants, x.trials, x.exhaustive = "ablate", ablations, 1, true
	}
	chosen, done, err := x.run(ctx, out)
	if err != nil {
		return x.share.Unfinished(err, out)
	}
	if ablate {
		return x.ablation(out.Stdout, chosen, done)
	}
	return x.survival(out.Stdout, chosen, done)
}

// maker is a problem that is made when it is wanted.
type maker[P any] struct {
	name string
	make func() (P, error)
}

// surviveArenas makes the problems of survive.
func surviveArenas(folder string, r *racingFlags, out kit.Terminal) ([]*arena, error) {
	makers, err := survivors(folder, r, out)
	if err != nil {
		return nil, err
	}
	var arenas []*arena
	for _, m := range makers {
		a, err := m.make()
		if err != nil {
			return nil, err
		}
		arenas = append(arenas, a)
	}
	return arenas, nil
}

// survivors are the problems of survive: each data set in each box, at most quickRows of its rows,
// and three quadratic ones.
func survivors(folder string, r *racingFlags, out kit.Terminal) ([]maker[*arena], error) {
	files := []string{kit.ShippedData}
	if folder != "" {
		more, err := paperFiles(folder)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	rows := quickRows
	if r.Quick {
		rows /= 10
	}
	var list []maker[*arena]
	for _, f := range files {
		var t table
		for _, b := range boxes {
			name := fmt.Sprintf("%s %s %g…%g", kit.DataName(f), b.form, b.lo, b.hi)
			list = append(list, maker[*arena]{name, func() (*arena, error) {
				var err error
				if t.train == nil {
					if t, err = halves(f, rows, r.Seed); err != nil {
						return nil, err
					}
				}
				return t.arena(name, b, out)
			}})
		}
	}
	for _, q := range []struct {
		name string
		o    quadratic.Options
	}{
		{"quadratic μ=1", quadratic.Options{Seed: r.Seed}},
		{"quadratic μ=0.1", quadratic.Options{Seed: r.Seed, MuG: 0.1, LG: 10}},
		{"quadratic nonconvex", quadratic.Options{Seed: r.Seed, Nonconvex: 0.5}},
	} {
		list = append(list, maker[*arena]{q.name, func() (*arena, error) { return quadraticArena(q.name, q.o) }})
	}
	return list, nil
}

// survival prints one line a problem.
func (x *experiment) survival(w io.Writer, chosen map[string]choice, done map[string]trial) error {
	tellFeatures(w, x.arenas...)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "problem\tμ_g\tdiverged of %d: paper\tguarded\tmean error at the end: "+
		"SAA-Newton\tSTABLE, adaptive\tpaper, best\tguarded, best\tTTSA, best\tBSA, best\tHOAG\t"+
		"better of TTSA, BSA / SAA-Newton\t/ adaptive\t\n", len(x.entrants[2].grid()))
	var ahead [2]int
	for _, a := range x.arenas {
		end, held := map[string]float64{}, map[string]float64{}
		for _, e := range x.entrants {
			s := x.summarise(a, e, chosen, done)
			held[e.name] = s.error[len(s.error)-1]
			if end[e.name] = held[e.name]; s.failed > 0 {
				end[e.name] = math.Inf(1)
			}
		}
		fmt.Fprintf(tw, "%s\t%.3g\t%d\t%d", a.name, a.muG,
			chosen[a.name+"/STABLE-paper"].Diverged, chosen[a.name+"/STABLE-guarded"].Diverged)
		for _, e := range x.entrants {
			fmt.Fprintf(tw, "\t%.2e", end[e.name])
		}
		rival := min(end["TTSA"], end["BSA"])
		if math.IsInf(rival, 1) {
			rival = min(held["TTSA"], held["BSA"])
		}
		for i, e := range x.entrants[:2] {
			ratio := rival / end[e.name]
			if ratio > 1 {
				ahead[i]++
			}
			fmt.Fprintf(tw, "\t%.2f", ratio)
		}
		fmt.Fprint(tw, "\t\n")
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nSAA-Newton is ahead of the better of TTSA and BSA on %d of %d problems, "+
		"STABLE, adaptive, on %d; +Inf: a trial diverged, and where trials of both of these did, their last good "+
		"iterates count.\n", ahead[0], len(x.arenas), ahead[1])
	return err
}

// ablation prints, for each entrant, how many settings diverged, and the median of the errors at
// the end over all settings; a run that diverged counts with its last good iterate.
func (x *experiment) ablation(w io.Writer, chosen map[string]choice, done map[string]trial) error {
	tellFeatures(w, x.arenas...)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "diverged, median error over the settings")
	for _, e := range x.entrants {
		fmt.Fprintf(tw, "\t%s", e.name)
	}
	fmt.Fprintln(tw)
	total := make([]int, len(x.entrants))
	for _, a := range x.arenas {
		fmt.Fprint(tw, a.name)
		for j, e := range x.entrants {
			var errors []float64
			for i := range e.grid() {
				for t := range x.tuneTrials {
					r := done[tuneKey(a, e, i, t)]
					errors = append(errors, r.Error[len(r.Error)-1])
				}
			}
			median, _, _ := center(errors, true)
			c := chosen[a.name+"/"+e.name]
			total[j] += c.Diverged
			fmt.Fprintf(tw, "\t%d, %.2g", c.Diverged, median)
		}
		fmt.Fprintln(tw)
	}
	fmt.Fprintf(tw, "all, of %d", len(x.arenas)*len(x.entrants[0].grid()))
	for _, n := range total {
		fmt.Fprintf(tw, "\t%d", n)
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}
