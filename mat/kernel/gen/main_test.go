package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCurrent fails where a source has changed since go generate was run.
func TestCurrent(t *testing.T) {
	t.Chdir("..")
	for _, name := range sources {
		want, err := generate(name)
		require.NoError(t, err)
		got, err := os.ReadFile(target(name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is not current: run go generate in mat/kernel", target(name))
	}
}
