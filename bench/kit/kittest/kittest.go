// Package kittest, which makes no promise to others, runs the commands of bench for their tests.
package kittest

import (
	"bytes"
	"context"

	"stable/bench/kit"
)

func Bench(ctx context.Context, list []kit.Command, args ...string) (status int, stdout, stderr string) {
	var o, e bytes.Buffer
	status = kit.Run(ctx, list, args, kit.Terminal{Stdout: &o, Stderr: &e})
	return status, o.String(), e.String()
}
