package kit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A ledger that is damaged, or of another experiment, is refused and left alone.
func TestLedgerRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ledger")
	one := Identity{Options: "one", Data: []Source{{"x", "123"}}, Build: "b"}
	l, err := openLedger[[]float64](path, one)
	require.NoError(t, err)
	require.NoError(t, l.put("a", []float64{1}))
	require.NoError(t, l.put("b", []float64{0.1}))
	require.NoError(t, l.close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	for want, other := range map[string]Identity{
		"with other options (one); this one is two": {Options: "two", Data: one.Data, Build: "b"},
		"on other data, x (SHA-256 123)":            {Options: "one", Data: []Source{{"x", "124"}}, Build: "b"},
		"this one is on none":                       {Options: "one", Build: "b"},
		"by another build of this program":          {Options: "one", Data: one.Data, Build: "c"},
	} {
		_, err = openLedger[[]float64](path, other)
		assert.ErrorContains(t, err, want)
	}

	altered := []byte(strings.Replace(string(whole), `"a"`, `"c"`, 1))
	require.NoError(t, os.WriteFile(path, altered, 0o644))
	_, err = openLedger[[]float64](path, one)
	assert.ErrorContains(t, err, "x.ledger:2: damaged record")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, altered, after)

	moved := one
	moved.Data = []Source{{"/elsewhere/x", "123"}}
	require.NoError(t, moved.Check(path, one), "the same data under another name")
	for cut := range len(whole) { // torn anywhere
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o644))
		l, err := openLedger[[]float64](path, one)
		require.NoError(t, err)
		lines := strings.Count(string(whole[:cut]), "\n")
		assert.Equal(t, []bool{lines >= 2, lines >= 3}, []bool{l.has("a"), l.has("b")})
		require.NoError(t, l.put("b", []float64{0.1}))
		require.NoError(t, l.close())
	}
}
