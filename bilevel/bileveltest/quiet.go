package bileveltest

import (
	"math"

	"stable/mat"
)

// Quiet is Wavy with one fixed matrix a sample, and oracles that allocate nothing.
type Quiet[S ~uint64] struct{ *Wavy[S] }

func (q Quiet[S]) GradF(fx, fy, x, y []float64, _ []S) error {
	copy(fx, x)
	copy(fy, y)
	return nil
}

func (q Quiet[S]) GradG(gy, _, y []float64, _ []S) error { copy(gy, y); return nil }

func (q Quiet[S]) CrossG(gxy *mat.Dense, x, _ []float64, phi []S) error {
	gxy.Zero()
	for i := range x {
		gxy.Set(i, i, math.Cos(x[i]+first(phi)))
	}
	return nil
}

// HessG is that of bilevel.Problem. It is often below a μ_g of 0.9.
func (q Quiet[S]) HessG(gyy *mat.Sym, _, y []float64, phi []S) error {
	gyy.Zero()
	for i := range y {
		gyy.Set(i, i, 2*math.Cos(y[i]+first(phi)))
	}
	return nil
}

func (q Quiet[S]) GradXG(gx, x, y []float64, phi []S) error {
	for i := range gx {
		gx[i] = math.Cos(x[i]+first(phi)) * y[i]
	}
	return nil
}

// first is the name of the first sample of a batch, 0 for an empty one.
func first[S ~uint64](phi []S) float64 {
	if len(phi) == 0 {
		return 0
	}
	return float64(phi[0])
}
