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
	defer SetLanes(Lanes())
	for _, n := range AllLanes() {
		SetLanes(n)
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
