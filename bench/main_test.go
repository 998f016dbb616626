package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable"
	"stable/bench/kit"
	"stable/bench/kit/kittest"
	"stable/mat/kernel"
)

// -h lists the commands with a line each, and every command has a help and refuses what it does not
// know.
func TestCommands(t *testing.T) {
	for _, help := range []string{"-h", "-help", "help"} {
		status, stdout, stderr := kittest.Bench(context.Background(), commands, help)
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
	readme := kit.Must(os.ReadFile("README.md"))
	for _, c := range commands {
		assert.Contains(t, string(readme), "| `"+c.Name+"` |")
		status, stdout, stderr := kittest.Bench(context.Background(), commands, c.Name, "-h")
		assert.Zero(t, status, c.Name)
		assert.Contains(t, stdout+stderr, strings.TrimSuffix("go run ./bench "+c.Name, " main"), c.Name)
		assert.Contains(t, stdout+stderr, "  -out FOLDER", c.Name)
		for _, line := range strings.Split(stderr, "\n") {
			assert.LessOrEqual(t, len([]rune(strings.ReplaceAll(line, "\t", "    "))), 120, "%s -h: %s", c.Name, line)
		}
		status, _, stderr = kittest.Bench(context.Background(), commands, c.Name, "-dta", "x")
		assert.Equal(t, 2, status, c.Name)
		assert.Contains(t, stderr, "flag provided but not defined: -dta", c.Name)
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

// floors is the tower: a package may import what stands before it in the list, and the parts of its
// own folder.
var floors = []string{"stable/mat", "stable/chol", "stable/eig", "stable/bilevel", "stable/bench"}

type listed struct {
	ImportPath, Doc                    string
	Imports, TestImports, XTestImports []string
}

// The module imports the standard library alone (its tests: testify, too), nothing of it unsafe or
// C, and imports only point down. The rooms of bench stand side by side on kit, and only tests import
// kittest.
func TestImportsPointDown(t *testing.T) {
	for _, p := range goList(t, "stable/...") {
		inBench := strings.HasPrefix(p.ImportPath, "stable/bench")
		for _, imp := range p.Imports {
			assert.NotContains(t, []string{"unsafe", "C"}, imp, p.ImportPath)
			assert.True(t, isStandard(imp) || mayImport(p.ImportPath, imp), "%s imports %s", p.ImportPath, imp)
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			ok := isStandard(imp) || strings.HasPrefix(imp, "github.com/stretchr/testify/") ||
				imp == p.ImportPath || inBench && imp == "stable/bench/kit/kittest" || mayImport(p.ImportPath, imp)
			assert.True(t, ok, "a test of %s imports %s", p.ImportPath, imp)
		}
	}
}

// README names the packages that its interface leaves out: those whose first line makes no promise.
func TestNoPromise(t *testing.T) {
	readme := kit.Must(os.ReadFile(filepath.Join("..", "README.md")))
	_, list, ok := strings.Cut(string(readme), "first line makes no promise:")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, ".")
	var named, silent []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		named = append(named, "stable/"+m[1])
	}
	for _, p := range goList(t, "stable/mat/...", "stable/chol/...", "stable/eig/...", "stable/bilevel/...") {
		if strings.Contains(p.Doc, "makes no promise") {
			silent = append(silent, p.ImportPath)
		}
	}
	assert.ElementsMatch(t, named, silent)
}

func TestMayNotImport(t *testing.T) {
	for _, edge := range []string{
		"stable/bilevel stable/bench/kit",
		"stable/bench/race stable/bench/theory",
		"stable/bench/race stable/bench/kit/kittest",
		"stable stable/bench",
		"stable/chol stable/eig",
		"stable/bilevel/quadratic stable/bench",
		"stable/bilevel gonum.org/v1/gonum/mat",
	} {
		from, to, _ := strings.Cut(edge, " ")
		assert.False(t, mayImport(from, to), edge)
	}
}

// mayImport says whether a package may import one that is not of the standard library: one of a
// floor below, or of its own folder, or the module's root. The rooms of bench import kit and plot
// alone, the command all but kittest.
func mayImport(from, to string) bool {
	f, t := floor(from), floor(to)
	if part, ok := strings.CutPrefix(to, "stable/bench/"); ok && part != "kit" && part != "plot" {
		return from == "stable/bench" && part != "kit/kittest"
	}
	return to == "stable" && f >= 0 || t >= 0 && t <= f
}

func floor(path string) int {
	return slices.IndexFunc(floors, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// isStandard goes by the rule that a standard import path has no dot in its first element, and is
// not this module's.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "stable" && !strings.Contains(first, ".")
}

func goList(t *testing.T, args ...string) []listed {
	const fields = "-json=ImportPath,Doc,Imports,TestImports,XTestImports"
	out, err := exec.Command("go", append([]string{"list", fields}, args...)...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no go command here to list packages with")
	}
	require.NoError(t, err)
	var list []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		require.NoError(t, d.Decode(&p))
		list = append(list, p)
	}
	return list
}
