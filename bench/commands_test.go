package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable"
	"stable/bench/kit"
	"stable/mat/kernel"
)

func TestCommands(t *testing.T) {
	for _, help := range []string{"-h", "-help", "help"} {
		status, stdout, stderr := kit.Capture(context.Background(), commands, help)
		assert.Zero(t, status)
		assert.Empty(t, stderr)
		for _, c := range commands {
			assert.Contains(t, stdout, "  "+c.Name)
			assert.Contains(t, stdout, c.Summary+"\n")
		}
	}
	status, stdout, _ := kit.Capture(context.Background(), commands, "-version")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "stable "+stable.Version+", "+kernel.Tier()+"; "+runtime.Version())
	status, _, stderr := kit.Capture(context.Background(), commands, "tuna")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, `no command "tuna"; the commands are`)
	assert.Contains(t, stderr, commands[0].Summary)
	readme := kit.Must(os.ReadFile("README.md"))
	for _, c := range commands {
		assert.Contains(t, string(readme), "| `"+c.Name+"` |")
		status, stdout, stderr := kit.Capture(context.Background(), commands, c.Name, "-h")
		assert.Zero(t, status, c.Name)
		assert.Contains(t, stdout+stderr, strings.TrimSuffix("go run ./bench "+c.Name, " main"), c.Name)
		assert.Contains(t, stdout+stderr, "  -out FOLDER", c.Name)
		for _, line := range strings.Split(stderr, "\n") {
			assert.LessOrEqual(t, len([]rune(strings.ReplaceAll(line, "\t", "    "))), 120, "%s -h: %s", c.Name, line)
		}
		example := regexp.MustCompile(`(?m)^\s*go run ./bench ` + c.Name + " .*")
		for _, line := range example.FindAllString(stderr+string(readme), -1) {
			for _, f := range regexp.MustCompile(` -[a-z0-9]+`).FindAllString(line, -1) {
				assert.Regexp(t, "(?m)^ "+f+`(\s|$)`, stderr, line)
			}
		}
		status, _, stderr = kit.Capture(context.Background(), commands, c.Name, "-dta", "x")
		assert.Equal(t, 2, status, c.Name)
		assert.Contains(t, stderr, "flag provided but not defined: -dta", c.Name)
	}
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	os.Args[0] = filepath.Join("of", "mine", "races.exe")
	_, stdout, _ = kit.Capture(context.Background(), commands, "-h")
	_, _, stderr = kit.Capture(context.Background(), commands, "untuned", "-h")
	assert.Regexp(t, `^races NAME: the (?s:.*)\nraces untuned: a`, stdout+stderr)
}

// The signal with which a system ends a program is an interrupt: what is done is kept.
func TestTerminate(t *testing.T) {
	ctx, stop := interruptible()
	defer stop()
	if err := kit.Must(os.FindProcess(os.Getpid())).Signal(syscall.SIGTERM); err != nil {
		t.Skip("this system has no such signal:", err)
	}
	require.Eventually(t, func() bool { return ctx.Err() != nil }, time.Minute, time.Millisecond)
}
