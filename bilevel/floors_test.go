package bilevel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var floors = strings.Fields(`doc.go problem.go errors.go schedule.go health.go state.go complete.go oracle.go stream.go
	sets.go sets_metric.go options.go iteration.go method.go solver.go run_rules.go run.go checkpoint_describe.go
	checkpoint.go estimator_bound.go estimator_health.go estimator.go adagrad.go stable.go`)

// Every file uses only what it declares itself, or a file before it in floors.
func TestUsesPointDown(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset, floor := token.NewFileSet(), map[string]int{}
	var files []*ast.File
	for i, name := range floors {
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		files, floor[name] = append(files, f), i
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			assert.Contains(t, floor, name)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: strangers{}, Error: func(error) {}}
	pkg, _ := config.Check("bilevel", fset, files, &info)
	down := 0
	for id, used := range info.Uses {
		if used.Pkg() == pkg {
			from, to := fset.Position(id.Pos()), fset.Position(used.Pos())
			assert.GreaterOrEqual(t, floor[from.Filename], floor[to.Filename], "%s uses %s of %s", from, id, to)
			if from.Filename != to.Filename {
				down++
			}
		}
	}
	assert.Greater(t, down, 500)
}

type strangers struct{}

func (strangers) Import(p string) (*types.Package, error) {
	return types.NewPackage(p, path.Base(p)), nil
}
