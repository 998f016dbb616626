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

	t.Chdir(t.TempDir())
	for _, lost := range []string{"func oneVector() {}", "func other() {\n}"} {
		source := "package kernel\n\nfunc aVector() {\n}\n\n" + lost + "\n"
		require.NoError(t, os.WriteFile("a_vector.go", []byte(source), 0o644))
		_, err := generate()
		require.ErrorContains(t, err, "a_vector.go: one of 2 functions")
	}
}
