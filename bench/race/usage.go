package race

// The heads of the commands' help.
const (
	compareUsage = `go run ./bench compare: stochastic bilevel methods under equal sample budgets

Prints, sorted by error, where each method ended, where it was by the evaluations of single samples and
the seconds of the best tuned one, and what an error took; draws F(x^k) − F* against all three.` + choiceUsage + `
  go run ./bench compare                                    all methods, hyper-parameter tuning on the shipped data set
  go run ./bench compare -methods STABLE,TTSA -trials 20
  go run ./bench compare -data ijcnn1.trn.gz -lo 0.01
  go run ./bench compare -problem quadratic                 a problem with a closed-form solution, with noise
`

	figure2Usage = `go run ./bench figure2: Figure 2 of the STABLE paper

The test problem of the paper's section 4 (validation loss of a logistic regression whose weights x_i
of y_i² are tuned) on australian, ijcnn1 and covtype: error F(x^k) − F* against samples, evaluations and
seconds, mean and standard deviation over trials from random starts. SAA-Newton, this module's default,
is not the paper's method; it and STABLE with steps that adapt take no setting.` + choiceUsage + `
  go run ./bench figure2                                  the data set that ships with the module
  go run ./bench figure2 -data ../data -trials 50         the paper's three, from a folder laid out as LIBSVM's files
  go run ./bench figure2 -data ../data -part 3/8          the third of eight parts; -merge 8 does the rest, and reports
`

	ijcnn1Usage = `go run ./bench ijcnn1: STABLE beside SOBA and SABA in the setup of benchmark_bilevel

Hyper-parameter tuning on ijcnn1 as in benchmark_bilevel at commit 3ad65dc: exponential form, the
49,990 training rows inside, the 91,701 test rows outside, no bias, no scaling, y⁰ ~ N(0, I),
exp(u⁰) ~ U(0, 1), batches of 64, medians. Unlike there, F* and F are exact to about 1e-12 and
samples are counted; weights ½exp(u) are kept in [-lo, -hi], where there is no bound there. The grid
for α is 100 times the paper's: u has the scale of a logarithm.

  go run ./bench ijcnn1 -data ../data
`

	surviveUsage = `go run ./bench survive: a STABLE that does not blow up

On every data set, in both forms of the weights, for small and large μ_g, and on quadratic problems:
how many of the 100 settings of the paper's grid end non-finite, for the paper's method with its bound
C_gxy and for it with this module's safeguards, too; and how SAA-Newton, this module's default, and
STABLE with steps that adapt stand to TTSA and BSA at their best, at equal samples and at equal
evaluations, and to HOAG, which takes all rows in every step and has no setting. SAA-Newton is not the
paper's method but Newton's, on samples that grow.` + choiceUsage + `
  go run ./bench survive -quick
  go run ./bench survive -data ../data
  go run ./bench survive -ablate             what each safeguard is worth
`

	limitUsage = `go run ./bench limit: how far from the best that the samples allow

On problems whose samples come from a stream: the mean error E[F − F*] over the local asymptotic
limit, below which no method comes in the long run (observe.LocalLimit). 1 is perfect. Last iterates
and running means, at 1000, 5000, 20000 and 100000 samples of each kind.` + roundsUsage + `
  go run ./bench limit -quick
  go run ./bench limit -data ../data
  go run ./bench limit -methods STABLE,SOBA -only quadratic,saddle -samples 20000
`

	untunedUsage = `go run ./bench untuned: a method that nobody tunes, on anybody's problem

Problems in foreign units, with far starts, wide and tight boxes, solutions on the boundary, of large
dimension and condition, with heavy tails, of min-max and compositional kind, on data, as sums and as
streams. The figure of merit is the error over that of the best rival, whose grid of settings is laid
in the problem's units; the untuned methods take nothing. Where trials of every rival fail, the best
one stands, marked, and counts with its last good iterates. The best rivals are kept in
untuned-rivals.csv in the -out folder, for -against.` + roundsUsage + `
  go run ./bench untuned -quick
  go run ./bench untuned -only simplex,ball -methods STABLE,SOBA
  go run ./bench untuned -methods MINE -against bench/rivals.csv,bench/rivals-large.csv
                                         a method of yours against all rivals, which do not run again
`

	choiceUsage = `

Each tuned method takes the best of 100 settings of step sizes, found on seeds of its own: one run of
each, -tune runs of the best 20, and the least geometric mean of those that fail in none. One that
fails in a trial gives way to the next best, 4 times at most.
`

	roundsUsage = choiceUsage + `
That goes for each budget, by last iterate and by mean, in rounds: all settings run to the first
budget, the best 30 to the second, 10 to the third, 5 to the last; methods for finite sums, which
first read them once, try all at every budget. A rival that is over 10 times behind the best one at
the second budget or later is out of the race on that problem.

With -part 3/8, each round wants the one before it of all parts: run them again until none waits for
another, or leave the rest to -merge 8, which reports.
`
)
