package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable"
	"stable/bench/kit/kittest"
	"stable/mat/kernel"
)

// -h lists the commands with a line each, and every command has a help and refuses what it does not
// know.
func TestCommands(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-help"}, {"help"}} {
		status, stdout, stderr := kittest.Bench(context.Background(), commands, args...)
		assert.Zero(t, status)
		assert.Empty(t, stderr)
		for _, c := range commands {
			assert.Contains(t, stdout, "  "+c.Name)
			assert.Contains(t, stdout, c.Summary+"\n")
		}
	}
	status, stdout, _ := kittest.Bench(context.Background(), commands, "-version")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "stable "+stable.Version+", "+kernel.Tier()+"; "+runtime.Version())
	status, _, stderr := kittest.Bench(context.Background(), commands, "tuna")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, `no command "tuna"; the commands are`)
	assert.Contains(t, stderr, commands[0].Summary)
	for _, c := range commands {
		status, stdout, stderr := kittest.Bench(context.Background(), commands, c.Name, "-h")
		assert.Zero(t, status, c.Name)
		assert.Contains(t, stdout+stderr, "go run ./bench", c.Name)
		assert.Contains(t, stdout+stderr, "  -out FOLDER", c.Name)
		for _, line := range strings.Split(stderr, "\n") {
			assert.LessOrEqual(t, len([]rune(strings.ReplaceAll(line, "\t", "    "))), 120, "%s -h: %s", c.Name, line)
		}
		status, _, stderr = kittest.Bench(context.Background(), commands, c.Name, "-dta", "x")
		assert.Equal(t, 2, status, c.Name)
		assert.Contains(t, stderr, "flag provided but not defined: -dta", c.Name)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, c := range commands {
		assert.Contains(t, string(readme), "| `"+c.Name+"` |")
	}
}

// The signal with which a system ends a program is an interrupt: what is done is kept.
func TestTerminate(t *testing.T) {
	ctx, stop := interruptible()
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGTERM)
	}
	if err != nil {
		t.Skip("this system has no such signal:", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("no interrupt")
	}
}
