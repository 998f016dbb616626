package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCurrent(t *testing.T) {
	t.Chdir("..")
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, 5)
	for name, want := range files {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is not current: run go generate in mat/kernel", name)
	}
}
