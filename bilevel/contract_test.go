package bilevel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// contract are the files of what every problem, method and run is made of. The others hold methods.
var contract = []string{
	"checkpoint.go", "checkpoint_describe.go", "checkpoint_state.go", "doc.go", "errors.go", "health.go",
	"iteration.go", "method.go", "options.go", "oracle.go",
	"problem.go", "run.go", "run_gap.go", "schedule.go", "sets.go", "sets_metric.go", "solver.go", "stream.go",
}

// The contract knows no method: none of its files uses what a method's file declares.
func TestContractKnowsNoMethod(t *testing.T) {
	names, err := os.ReadDir(".")
	require.NoError(t, err)
	files, declared := map[string]*ast.File{}, map[string]string{}
	for _, e := range names {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files[name] = f
		if slices.Contains(contract, name) {
			continue
		}
		for _, d := range topLevel(f) {
			declared[d] = name
		}
	}
	for _, must := range []string{"STABLE", "Estimator", "NewEstimator", "adagrad", "Constants"} {
		require.Contains(t, declared, must)
	}
	for _, name := range contract {
		require.Contains(t, files, name)
		for _, used := range identifiers(files[name]) {
			assert.NotContains(t, declared, used, "%s uses %s", name, used)
		}
	}
}

// topLevel are the names that a file declares for the package, without methods.
func topLevel(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// identifiers are the names that a file uses by themselves: no field, method or name of another
// package behind a dot, and no key of a literal.
func identifiers(f *ast.File) (names []string) {
	skip := map[*ast.Ident]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			skip[n.Sel] = true
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				skip[key] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				skip[name] = true
			}
		case *ast.FuncDecl:
			skip[n.Name] = true
		case *ast.Ident:
			if !skip[n] {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// The parts of the rule: what a file declares, and what it uses.
func TestContractRule(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type T struct{ Free int }
var v, w = T{Free: 1}, other.Hidden
func f(a T) { a.Method(); g() }
func (T) Method() {}
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.Equal(t, []string{"T", "v", "w", "f"}, topLevel(f))
	used := identifiers(f)
	for _, name := range []string{"T", "other", "g", "a"} {
		assert.Contains(t, used, name)
	}
	for _, name := range []string{"Free", "Hidden", "Method"} {
		assert.NotContains(t, used, name)
	}
}
