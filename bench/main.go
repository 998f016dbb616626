// Command bench runs the experiments of this module. Without a command it does the main job:
// hyper-parameter tuning on a real data set.
//
//	go run ./bench            tune, on the data set that ships with the module
//	go run ./bench -h         the commands
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"stable/bench/kit"
	"stable/bench/race"
	"stable/bench/theory"
	"stable/bench/tune"
	"stable/bench/zoo"
)

// commands are the experiments; the first is the main job, which needs no name.
var commands = []kit.Command{
	{Name: "main", Summary: "hyper-parameter tuning on one data set (the default)", Run: tune.Main},
	{Name: "tune", Summary: "tune on files of your own: weights and model as JSON, against the best single weight",
		Run: tune.Tune},
	{Name: "compare", Summary: "all methods under equal sample budgets", Run: race.Compare},
	{Name: "figure2", Summary: "the paper's Figure 2: STABLE, BSA, TTSA on its three data sets", Run: race.Figure2},
	{Name: "table1", Summary: "the paper's Table 1: samples that each method needs to come to an error ε",
		Run: theory.Table1},
	{Name: "theorems", Summary: "Theorems 1 to 3: the flow and its Lyapunov function, K^(−1/2) and 1/k",
		Run: theory.Theorems},
	{Name: "ijcnn1", Summary: "STABLE, SOBA and SABA in the setup of benchmark_bilevel", Run: race.IJCNN1},
	{Name: "survive", Summary: "which step sizes blow up, and STABLE untuned against its peers tuned",
		Run: race.Survive},
	{Name: "limit", Summary: "error over the least that the samples allow, untuned and tuned", Run: race.Limit},
	{Name: "untuned", Summary: "untuned methods against every rival at its best, on problems of all kinds",
		Run: race.Untuned},
	{Name: "zoo", Summary: "a default on problems drawn from a seed, where nothing may lead it astray", Run: zoo.Zoo},
}

func main() {
	ctx, stop := interruptible()
	defer stop()
	info, err := os.Stderr.Stat()
	out := kit.Terminal{Stdout: os.Stdout, Stderr: os.Stderr, Every: 30 * time.Second}
	if err == nil && info.Mode()&os.ModeCharDevice != 0 {
		out.Live, out.Every = true, 200*time.Millisecond
	}
	os.Exit(kit.Run(ctx, commands, os.Args[1:], out))
}

// interruptible returns a context that ends with an interrupt or SIGTERM; a second one ends the program at once.
func interruptible() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
