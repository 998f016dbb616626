package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bench/kit"
)

// A package may import what stands before it in the list, and the parts of its own folder.
var floors = []string{"stable/mat", "stable/chol", "stable/eig", "stable/bilevel", "stable/bench"}

type listed struct {
	ImportPath, Doc                    string
	Imports, TestImports, XTestImports []string
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range goList(t, "stable/...") {
		for _, imp := range p.Imports {
			assert.NotContains(t, []string{"unsafe", "C"}, imp, p.ImportPath)
			assert.True(t, isStandard(imp) || mayImport(p.ImportPath, imp), "%s imports %s", p.ImportPath, imp)
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			own := imp == p.ImportPath || strings.HasPrefix(imp, "github.com/stretchr/testify/")
			assert.True(t, own || isStandard(imp) || mayImport(p.ImportPath, imp), "a test of %s imports %s", p.ImportPath, imp)
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
		"stable stable/bench",
		"stable/chol stable/eig",
		"stable/bilevel gonum.org/v1/gonum/mat",
	} {
		from, to, _ := strings.Cut(edge, " ")
		assert.False(t, mayImport(from, to), edge)
	}
}

// mayImport has the rooms of bench import kit and plot alone of bench.
func mayImport(from, to string) bool {
	f, t := floor(from), floor(to)
	if part, ok := strings.CutPrefix(to, "stable/bench/"); ok && part != "kit" && part != "plot" {
		return from == "stable/bench"
	}
	return to == "stable" && f >= 0 || t >= 0 && t <= f
}

func floor(path string) int {
	return slices.IndexFunc(floors, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// isStandard: a standard import path has no dot in its first element.
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
