package bileveltest

import "stable/mat"

// Diagonal is f = ½‖x − 1‖² + ½‖y − 1‖², g = ½ Σ (1 + i/D)·y_i² + ½(Σ y_i)²/D − xᵀy, without noise.
type Diagonal[S ~uint64] struct{ D int }

func (p Diagonal[S]) Dims() (int, int) { return p.D, p.D }

// Streams returns two finite sums of equal terms.
func (p Diagonal[S]) Streams() (uint64, uint64) { return 8, 8 }

func (p Diagonal[S]) GradF(fx, fy, x, y []float64, _ []S) error {
	for i := range x {
		fx[i], fy[i] = x[i]-1, y[i]-1
	}
	return nil
}

func (p Diagonal[S]) GradG(gy, x, y []float64, _ []S) error {
	p.hess(gy, y)
	mat.Axpy(gy, -1, x)
	return nil
}

func (p Diagonal[S]) CrossG(gxy *mat.Dense, _, _ []float64, _ []S) error {
	gxy.Zero()
	for i := range p.D {
		gxy.Set(i, i, -1)
	}
	return nil
}

func (p Diagonal[S]) HessG(gyy *mat.Sym, _, _ []float64, _ []S) error {
	for i := range p.D {
		r := gyy.Row(i)
		for j := range r {
			r[j] = 1 / float64(p.D)
		}
		r[i] += 1 + float64(i)/float64(p.D)
	}
	return nil
}

func (p Diagonal[S]) HessVecG(dst, _, _, v []float64, _ []S) error { p.hess(dst, v); return nil }

func (p Diagonal[S]) CrossVecG(dst, _, _, v []float64, _ []S) error {
	for i := range dst {
		dst[i] = -v[i]
	}
	return nil
}

func (p Diagonal[S]) GradXG(gx, _, y []float64, _ []S) error {
	for i := range gx {
		gx[i] = -y[i]
	}
	return nil
}

func (p Diagonal[S]) hess(dst, v []float64) {
	sum := 0.0
	for _, a := range v {
		sum += a
	}
	for i, a := range v {
		dst[i] = (1+float64(i)/float64(p.D))*a + sum/float64(p.D)
	}
}
