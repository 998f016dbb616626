package kernel

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A build that asks for vector kernels must get them (else: no GOEXPERIMENT, or -tags purego).
func TestToolchain(t *testing.T) {
	require.False(t, Dropped, "GOEXPERIMENT=simd is set, but the vector kernels were not tried with %s: "+
		"the portable ones run. See KERNELS.md on letting a release in", runtime.Version())
}

func TestTier(t *testing.T) {
	all := AllLanes()
	defer SetLanes(Lanes())
	require.Zero(t, all[len(all)-1], "the portable kernels")
	require.Equal(t, all[0], Lanes(), "the widest")
	for _, n := range all {
		SetLanes(n)
		require.Equal(t, n, Lanes())
		require.Equal(t, n > 0, Vector())
		switch {
		case n > 0:
			require.Equal(t, fmt.Sprintf("simd, %d bits", 64*n), Tier())
		case Rows > 2:
			require.Equal(t, "v3", Tier())
		default:
			require.Equal(t, "portable", Tier())
		}
	}
}
