package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every register tile against its definition, also the one that this build does not choose, with
// NaN around the rows.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := func(k, ld int) []float64 {
		a := make([]float64, 3*ld)
		for i := range a {
			a[i] = math.NaN()
			if i%ld < k {
				a[i] = rng.Float64() - 0.5
			}
		}
		return a
	}
	for k := range 40 {
		lda, ldb := k+2, k+5
		a, b := rows(k, lda), rows(k, ldb)
		want := func(i, j int) float64 {
			s := 0.0
			for p := range k {
				s += a[i*lda+p] * b[j*ldb+p]
			}
			return s
		}
		check := func(name string, i, j int, got float64) {
			t.Helper()
			require.InDelta(t, want(i, j), got, 1e-15*float64(k+1), "%s k=%d entry %d,%d", name, k, i, j)
		}
		var s [3][3]float64
		s[0][0], s[0][1], s[0][2] = Dots1(a[:k], b, ldb)
		for j := range 3 {
			check("Dots1", 0, j, s[0][j])
		}
		s[0][0], s[0][1], s[0][2], s[1][0], s[1][1], s[1][2] = Dots2(a, lda, b, ldb, k)
		for i := range 2 {
			for j := range 3 {
				check("Dots2", i, j, s[i][j])
			}
		}
		s[0][0], s[0][1], s[0][2], s[1][0], s[1][1], s[1][2], s[2][0], s[2][1], s[2][2] = Dots3(a, lda, b, ldb, k)
		for i := range 3 {
			for j := range 3 {
				check("Dots3", i, j, s[i][j])
			}
		}
		b, ldb = a, lda
		s[0][0], s[1][0], s[1][1], s[2][0], s[2][1], s[2][2] = Gram3(a[:k], a[lda:][:k], a[2*lda:][:k])
		for i := range 3 {
			for j := range i + 1 {
				check("Gram3", i, j, s[i][j])
			}
		}
	}
}

func TestSwitch(t *testing.T) {
	all := AllLanes()
	defer SetLanes(Lanes())
	require.Zero(t, all[len(all)-1], "the portable kernels")
	if runtime.GOARCH == "amd64" {
		require.Equal(t, all[0], Lanes(), "the widest")
	} else {
		require.Zero(t, Lanes(), "two lanes were not measured to win")
	}
	for _, n := range all {
		SetLanes(n)
		require.Equal(t, n, Lanes())
		require.Equal(t, n > 0, Vector())
	}
}

// BenchmarkTile is the portable tile by itself, with operands in the first-level cache: what no
// product or factorisation made of it can be faster than.
func BenchmarkTile(b *testing.B) {
	for _, k := range []int{32, 64, 128, 192} {
		x, y := make([]float64, 3*k), make([]float64, 3*k)
		for i := range x {
			x[i], y[i] = float64(i%7)/7, float64(i%5)/5
		}
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			for b.Loop() {
				if Rows == 3 {
					Dots3(x, k, y, k, k)
				} else {
					Dots2(x, k, y, k, k)
				}
			}
			b.ReportMetric(6*Rows*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
