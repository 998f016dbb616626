package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 7
	rows := func(k, ld int) []float64 {
		a := make([]float64, most*ld)
		for i := range a {
			a[i] = math.NaN()
			if i%ld < k {
				a[i] = rng.Float64() - 0.5
			}
		}
		return a
	}
	type tile = func(c []float64, ldc int, a []float64, lda int, b []float64, ldb, k, rows int, alpha float64, add bool)
	tiles := []struct {
		name     string
		run      tile
		by, cols int
	}{{"Dots", Dots, 1, Cols}, {"Dots3", Dots3, 1, 3}, {"dots2", dots2, 2, 3}, {"dots3", dots3, 3, 3}, {"dots4", dots4, 4, 4}}
	for k := range 40 {
		lda, ldb, ldc := k+2, k+5, 5
		a, b := rows(k, lda), rows(k, ldb)
		want := func(i, j int) float64 {
			s := 0.0
			for p := range k {
				s += a[i*lda+p] * b[j*ldb+p]
			}
			return s
		}
		for _, f := range tiles {
			if k == 0 {
				break // a tile takes the first of k products by itself
			}
			for m := range most + 1 {
				set, add := make([]float64, most*ldc), make([]float64, most*ldc)
				for i := range set {
					set[i], add[i] = 7, 7
				}
				f.run(set, ldc, a, lda, b, ldb, k, m, -2, false)
				f.run(add, ldc, a, lda, b, ldb, k, m, -2, true)
				for i := range set {
					r, j := i/ldc, i%ldc
					if r < m/f.by*f.by && j < f.cols {
						require.InDelta(t, -2*want(r, j), set[i], 2e-15*float64(k+1), "%s k=%d of %d rows: %d, %d", f.name, k, m, r, j)
						require.InDelta(t, 7-2*want(r, j), add[i], 4e-15*float64(k+1), "%s k=%d of %d rows: %d, %d", f.name, k, m, r, j)
						continue
					}
					require.Equal(t, [2]float64{7, 7}, [2]float64{set[i], add[i]}, "%s k=%d of %d rows: %d, %d", f.name, k, m, r, j)
				}
			}
		}
		var s [3][3]float64
		s[0][0], s[0][1], s[0][2] = Dots1(a[:k], b, ldb)
		for j := range 3 {
			require.InDelta(t, want(0, j), s[0][j], 1e-15*float64(k+1), "Dots1 k=%d entry %d", k, j)
		}
		b, ldb = a, lda
		s[0][0], s[1][0], s[1][1], s[2][0], s[2][1], s[2][2] = Gram3(a[:k], a[lda:][:k], a[2*lda:][:k])
		for i := range 3 {
			for j := range i + 1 {
				require.InDelta(t, want(i, j), s[i][j], 1e-15*float64(k+1), "Gram3 k=%d entry %d, %d", k, i, j)
			}
		}
	}
}

func BenchmarkTile(b *testing.B) {
	const rows = 12
	for _, k := range []int{32, 64, 128, 192} {
		x, y, c := make([]float64, rows*k), make([]float64, Cols*k), make([]float64, rows*Cols)
		for i := range x {
			x[i], y[i%len(y)] = float64(i%7)/7, float64(i%5)/5
		}
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			for b.Loop() {
				Dots(c, Cols, x, k, y, k, k, rows, 1, false)
			}
			b.ReportMetric(2*Cols*rows*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func TestSumSquares(t *testing.T) {
	defer SetLanes(Lanes())
	rng := rand.New(rand.NewPCG(3, 4))
	for _, lanes := range AllLanes() {
		SetLanes(lanes)
		for n := range 40 {
			for _, s := range []Shape{{Rows: n, Lower: true}, {Rows: n, Lower: true, First: 1}, {Rows: 3, Cols: n}} {
				lda, ldb := n+3, n+1
				a, b := make([]float64, lda*(n+4)), make([]float64, ldb*(n+4))
				fill := func(x []float64, ld int) {
					for i := range x {
						x[i] = math.NaN()
						if i/ld < s.Rows && i%ld < s.width(i/ld) {
							x[i] = rng.Float64() - 0.5
						}
					}
				}
				fill(a, lda)
				fill(b, ldb)
				one, two, byRows := 0.0, 0.0, 0.0
				for i := range s.Rows {
					byRows += SumSquares(Shape{Rows: 1, Cols: s.width(i)}, a[i*lda:], 0)
					for j := range s.width(i) {
						x, y := a[i*lda+j], b[i*ldb+j]
						one, two = one+x*x, two+(x-y)*(x-y)
					}
				}
				require.InDelta(t, one, SumSquares(s, a, lda), 1e-13*(1+one), "%d lanes, %+v", lanes, s)
				if lanes == 0 {
					require.Equal(t, byRows, SumSquares(s, a, lda), "%+v: rows in twos have the bits of rows", s)
				}
				require.InDelta(t, two, SumSquaresSub(s, a, lda, b, ldb), 1e-13*(1+two), "%d lanes, %+v", lanes, s)
			}
		}
	}
}

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
