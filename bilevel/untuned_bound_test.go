package bilevel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stable/eig"
	"stable/mat"
)

// bowl is f = ½‖x‖² + Σy, g = ½yᵀ(A + noise)y − xᵀy with A = diag(1, …, d), noise of H_yy for every
// sample, and a pull of x on y.
type bowl struct{ d int }

func (p bowl) Dims() (int, int)          { return p.d, p.d }
func (p bowl) Streams() (uint64, uint64) { return 0, 0 }

func (p bowl) GradF(fx, fy, x, _ []float64, _ []Sample) error {
	for i, v := range x {
		fx[i], fy[i] = v, 1
	}
	return nil
}

func (p bowl) GradG(gy, x, y []float64, phi []Sample) error {
	h := mat.NewSym(p.d)
	if err := p.HessG(h, x, y, phi); err != nil {
		return err
	}
	mat.MulVecSym(gy, h, y)
	mat.Axpy(gy, -1, x)
	return nil
}

func (p bowl) CrossG(gxy *mat.Dense, _, _ []float64, _ []Sample) error {
	gxy.Zero()
	for i := range p.d {
		gxy.Row(i)[i] = -1
	}
	return nil
}

// HessG has noise that depends on y, so that g_yy changes from point to point.
func (p bowl) HessG(gyy *mat.Sym, _, y []float64, phi []Sample) error {
	rng := rand.New(rand.NewPCG(uint64(phi[0]), 1))
	for i := range p.d {
		for j := range i + 1 {
			gyy.Row(i)[j] = (1 + y[j]/8) * (rng.Float64() - 0.5) / 2
		}
		gyy.Row(i)[i] += float64(i + 1)
	}
	return nil
}

// The bound of the eigenvalues of H_yy holds at every step, and saves the proof at most of them; H
// has the bits of a truncation that has no bound.
func TestUntunedBound(t *testing.T) {
	const d, steps = 6, 600
	for _, mu := range []float64{0, 0.5} {
		s, err := New(bowl{d}, Untuned{MuG: mu}, Options{Seed: 3, X0: []float64{1, 2, -1, 0, 1, -2}})
		require.NoError(t, err)
		var e eig.Symmetric
		var tr eig.Truncator
		h, held := mat.NewSym(d), 0
		for range steps {
			require.NoError(t, s.Step())
			m := s.Stepper().(*untuned)
			require.NoError(t, e.FactorValues(m.yy))
			require.GreaterOrEqual(t, e.Values()[0], m.bound.least)
			if m.bound.least > 0 {
				held++
				_, err := tr.Truncate(h, m.yy, 0)
				require.NoError(t, err)
				require.Equal(t, h.Data, m.hp.Data)
			}
		}
		require.Greater(t, held, steps/2)
	}
}
