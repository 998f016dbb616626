package method

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
)

func TestFieldsSayTheirDefaults(t *testing.T) {
	documented, base := map[string]string{}, map[string]string{} // by "type.field"; of type MRBO SUSTAIN
	for _, dir := range []string{".", "..", "../compose", "../saa"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					if other, ok := s.Type.(*ast.Ident); ok {
						base[s.Name.Name] = other.Name
					}
					if fields, ok := s.Type.(*ast.StructType); ok {
						for _, field := range fields.Fields.List {
							for _, id := range field.Names {
								documented[s.Name.Name+"."+id.Name] = field.Doc.Text() + field.Comment.Text()
							}
						}
					}
				}
				return true
			})
		}
	}
	types := map[reflect.Type]string{reflect.TypeFor[bilevel.Options](): "", reflect.TypeFor[Neumann](): ""}
	for _, e := range Registry() {
		types[reflect.TypeOf(e.New(Tuning{}))] = ""
	}
	seen := 0
	for typ := range types {
		for i := range typ.NumField() {
			name := cmp.Or(base[typ.Name()], typ.Name()) + "." + typ.Field(i).Name
			doc := documented[name]
			assert.True(t, strings.Contains(doc, "equired") || strings.Contains(doc, "efault") ||
				strings.Contains(doc, "as in"),
				"%s: %q tells neither a default nor that it is required", name, doc)
			seen++
		}
	}
	assert.Greater(t, seen, 60)
}
