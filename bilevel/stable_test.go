package bilevel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/eig"
	"stable/mat"
)

// paper is the recursion of the paper, written from its equations with full matrices and plain
// loops.
type paper struct {
	hxy, hyy         [][]float64
	clipped, shrunk  int
	boxed            int
	x, y, xOld, yOld []float64
}

func (p *paper) step(t *testing.T, w *wavy, k int, alpha, beta, tau, mu, c, lo, hi float64, phi, xi []Sample) {
	dx, dy := w.Dx, w.Dy
	at := func(x, y []float64) (hxy, hyy [][]float64) {
		a, b := mat.NewDense(dx, dy), mat.NewSym(dy)
		require.NoError(t, w.CrossG(a, x, y, phi))
		require.NoError(t, w.HessG(b, x, y, phi))
		return bileveltest.Full(a, dx, dy), bileveltest.Full(b, dy, dy)
	}
	nxy, nyy := at(p.x, p.y)
	if k > 0 {
		oxy, oyy := at(p.xOld, p.yOld)
		for i := range dx {
			for j := range dy {
				nxy[i][j] += (1 - tau) * (p.hxy[i][j] - oxy[i][j])
			}
		}
		for i := range dy {
			for j := range dy {
				nyy[i][j] += (1 - tau) * (p.hyy[i][j] - oyy[i][j])
			}
		}
	}
	var norm float64
	for _, r := range nxy {
		for _, v := range r {
			norm += v * v
		}
	}
	if norm = math.Sqrt(norm); norm > c {
		p.shrunk++
		for _, r := range nxy {
			for j := range r {
				r[j] *= c / norm
			}
		}
	}
	p.hxy, p.hyy = nxy, p.truncate(t, nyy, mu)
	inv := bileveltest.Invert(p.hyy)

	fx, fy, gy := make([]float64, dx), make([]float64, dy), make([]float64, dy)
	require.NoError(t, w.GradF(fx, fy, p.x, p.y, xi))
	require.NoError(t, w.GradG(gy, p.x, p.y, phi))
	xNew, yNew := make([]float64, dx), make([]float64, dy)
	for i := range dx {
		h := fx[i]
		for j := range dy {
			for l := range dy {
				h -= p.hxy[i][j] * inv[j][l] * fy[l]
			}
		}
		v := p.x[i] - alpha*h
		xNew[i] = math.Max(lo, math.Min(hi, v))
		if xNew[i] != v {
			p.boxed++
		}
	}
	for j := range dy {
		yNew[j] = p.y[j] - beta*gy[j]
		for l := range dy {
			for i := range dx {
				yNew[j] -= inv[j][l] * p.hxy[i][l] * (xNew[i] - p.x[i])
			}
		}
	}
	p.xOld, p.yOld, p.x, p.y = p.x, p.y, xNew, yNew
}

// truncate raises the eigenvalues below mu to mu, by the plain formula Σ max(λ, μ) v vᵀ.
func (p *paper) truncate(t *testing.T, a [][]float64, mu float64) [][]float64 {
	n := len(a)
	s := mat.NewSym(n)
	for i := range n {
		for j := range i + 1 {
			s.Set(i, j, a[i][j])
		}
	}
	var e eig.Jacobi
	_, err := e.Factor(s)
	require.NoError(t, err)
	out := make([][]float64, n)
	for i := range n {
		out[i] = make([]float64, n)
		for j := range n {
			for l, lambda := range e.Values() {
				out[i][j] += math.Max(lambda, mu) * e.VectorsT().At(l, i) * e.VectorsT().At(l, j)
			}
		}
	}
	if e.Values()[0] < mu {
		p.clipped++
	}
	return out
}

// The whole method against the paper's equations, on a run in which both matrix projections and the
// box act, with batches of 1 and more.
func TestSTABLEFollowsThePaper(t *testing.T) {
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprintf("batch=%d", batch), func(t *testing.T) {
			const mu, c, lo, hi = 0.9, 2.2, -0.2, 0.4
			w := newWavy(0.5)
			alpha, beta, tau := Power{C: 0.3, P: 0.5}, Power{C: 0.2, K0: 2, P: 1}, Power{C: 0.9, P: 0.5}
			s, err := New(w, STABLE{Alpha: alpha, Beta: beta, Tau: tau, MuG: mu, CGxy: c, InitBatch: 5, Plain: true},
				Options{Set: UniformBox(3, lo, hi), X0: []float64{0.1, -0.1, 0.2}, Y0: []float64{1, 0, -1, 2}, Seed: 3,
					UpperBatch: batch, LowerBatch: batch})
			require.NoError(t, err)
			p := &paper{x: []float64{0.1, -0.1, 0.2}, y: []float64{1, 0, -1, 2}}
			mirror := newWavy(0.5)
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				phi, xi := samplesOf(t, w.Log, k, batch)
				p.step(t, mirror, k, alpha.At(k), beta.At(k), tau.At(k), mu, c, lo, hi, phi, xi)
				require.InDeltaSlice(t, p.x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, p.y, s.Y(), 1e-11, "y at step %d", k)
			}
			assert.Greater(t, p.clipped, 5, "the eigenvalue truncation hardly acted")
			assert.Less(t, p.clipped, 60, "the eigenvalue truncation acted at every step")
			assert.Greater(t, p.shrunk, 5, "the Frobenius projection hardly acted")
			assert.Greater(t, p.boxed, 5, "the box hardly acted")
			assert.Equal(t, Activity{Truncated: p.clipped, Shrunk: p.shrunk}, s.Activity())
			wantPhi := uint64(5 + 59*batch)
			assert.Equal(t, Counts{Xi: uint64(60 * batch), Phi: wantPhi, GradF: uint64(60 * batch), GradG: wantPhi,
				CrossG: uint64(5 + 2*59*batch), HessG: uint64(5 + 2*59*batch)}, s.Counts())
		})
	}
}

// samplesOf holds the log of a step to what the paper asks for, and returns the step's samples: one
// φ for everything of the lower level, at two points; one ξ, at one point.
func samplesOf(t *testing.T, log []call, k, batch int) (phi, xi []Sample) {
	want := []string{"CrossG", "CrossG", "HessG", "HessG", "GradG", "GradF"}
	if k == 0 {
		want = []string{"CrossG", "HessG", "GradG", "GradF"}
	}
	var got []string
	points := map[string]bool{}
	for _, c := range log {
		got = append(got, c.Oracle)
		if c.Oracle == "GradF" {
			xi = c.Batch
			continue
		}
		if phi == nil {
			phi = c.Batch
		}
		require.Equal(t, phi, c.Batch, "step %d: %s draws another φ", k, c.Oracle)
		points[fmt.Sprint(c.X, c.Y)] = true
	}
	require.Equal(t, want, got)
	require.Len(t, xi, batch)
	if k > 0 {
		require.Len(t, phi, batch)
		require.Len(t, points, 2)
	}
	return phi, xi
}

// The trust region: the correction of y is never longer than r·max(1, ‖y‖), x stays in the box, and
// where it cuts, both move along the directions of the uncut step.
func TestSTABLETrust(t *testing.T) {
	const r, beta = 0.05, 0.1
	opt := Options{Set: UniformBox(3, -0.2, 0.4), Seed: 4}
	w := newWavy(0.5)
	s, err := New(w, STABLE{Alpha: Constant(1), Beta: Constant(beta), MuG: 0.05, Trust: r}, opt)
	require.NoError(t, err)
	gy := make([]float64, 4)
	for range 200 {
		x, y := append([]float64(nil), s.X()...), append([]float64(nil), s.Y()...)
		w.Log = []call{}
		cuts := s.Activity().Cut
		require.NoError(t, s.Step())
		require.NoError(t, w.GradG(gy, x, y, w.Log[len(w.Log)-2].Batch))

		// drift = y^k − β g_y − y^{k+1}, and it is the estimator's for the displacement that x has
		// made.
		dx, drift, want := make([]float64, 3), make([]float64, 4), make([]float64, 4)
		for i := range x {
			dx[i] = s.X()[i] - x[i]
			assert.True(t, s.X()[i] >= -0.2 && s.X()[i] <= 0.4)
		}
		for i := range y {
			drift[i] = y[i] - beta*gy[i] - s.Y()[i]
		}
		require.NoError(t, s.stepper.(*stable).est.Drift(want, dx))
		assert.InDeltaSlice(t, want, drift, 1e-12)
		radius := r * max(1, mat.Norm(y))
		assert.LessOrEqual(t, mat.Norm(drift), radius*(1+1e-12))
		if s.Activity().Cut > cuts {
			assert.InEpsilon(t, radius, mat.Norm(drift), 1e-9)
		}
	}
	assert.Greater(t, s.Activity().Cut, 10)
	assert.Less(t, s.Activity().Cut, 190)
}

// The bound on β: 2/(μ_g + the largest sample Hessian so far), at every step at which β is above
// it.
func TestSTABLEBetaBound(t *testing.T) {
	const mu = 0.3
	schedule := Power{C: 0.6, P: 0.25}
	w := newWavy(0.5)
	s, err := New(w, STABLE{Alpha: Constant(0), Beta: schedule, MuG: mu, InitBatch: 1},
		Options{Seed: 4, Y0: []float64{1, 1, 1, 1}})
	require.NoError(t, err)
	gy, gyy := make([]float64, 4), mat.NewSym(4)
	largest, slowed := 0.0, 0
	for k := range 50 {
		y := append([]float64(nil), s.Y()...)
		w.Log = []call{}
		require.NoError(t, s.Step())
		phi := w.Log[0].Batch
		require.NoError(t, w.GradG(gy, s.X(), y, phi))
		require.NoError(t, w.HessG(gyy, s.X(), y, phi))
		largest = max(largest, mat.NormFrobSym(gyy))
		beta := schedule.At(k)
		if 2/(mu+largest) < beta {
			beta = 2 / (mu + largest)
			slowed++
		}
		mat.Axpy(y, -beta, gy)
		assert.InDeltaSlice(t, y, s.Y(), 1e-13)
	}
	assert.Greater(t, slowed, 10)
	assert.Less(t, slowed, 50)
	assert.Equal(t, slowed, s.Activity().Slowed)
}
