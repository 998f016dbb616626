// Package kittest, which makes no promise to others, runs the commands of bench for their tests.
package kittest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"stable/bench/kit"
)

func Bench(ctx context.Context, list []kit.Command, args ...string) (status int, stdout, stderr string) {
	var o, e bytes.Buffer
	status = kit.Run(ctx, list, args, kit.Terminal{Stdout: &o, Stderr: &e})
	return status, o.String(), e.String()
}

func SmallData(t testing.TB) string {
	rng := rand.New(rand.NewPCG(4, 4))
	b := bytes.NewBufferString("a,b,c,label\n")
	for range 60 {
		a, noise := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(b, "%v,%v,%v,%t\n", a, rng.NormFloat64(), a*a, a+0.5*noise > 0)
	}
	path := filepath.Join(t.TempDir(), "small.csv")
	kit.Must(0, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}
