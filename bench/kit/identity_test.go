package kit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDiffering(t *testing.T) {
	for _, c := range [][4]string{
		{"tune -seed 1 -lo 2", "tune -seed 1 -lo 3", "-lo 2", "-lo 3"},
		{"tune -seed 1 -lo 2", "tune -seed 2 -lo 3", "-seed 1 -lo 2", "-seed 2 -lo 3"},
		{"tune -seed 1", "race -seed 1", "tune -seed 1", "race -seed 1"},
		{"tune -seed 1", "tune -seed 1 -lo 3", "tune -seed 1", "tune -seed 1 -lo 3"},
		{"one", "two", "one", "two"},
	} {
		was, is := differing(c[0], c[1])
		assert.Equal(t, c[2:], []string{was, is})
	}
}
