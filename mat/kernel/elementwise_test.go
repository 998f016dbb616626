package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

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
