package bilevel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/eig"
	"stable/mat"
)

// paper is the recursion of the paper, from its equations.
type paper struct {
	wavy                   *wavy
	alpha, beta, tau       Schedule
	mu, c, lo, hi          float64
	hxy, hyy               [][]float64
	clipped, shrunk, boxed int
	x, y, xOld, yOld       []float64
}

func (p *paper) step(t *testing.T, k int, phi, xi []Sample) {
	w, dx, dy := p.wavy, p.wavy.Dx, p.wavy.Dy
	at := func(x, y []float64) (hxy, hyy [][]float64) {
		a, b := mat.NewDense(dx, dy), mat.NewSym(dy)
		require.NoError(t, w.CrossG(a, x, y, phi))
		require.NoError(t, w.HessG(b, x, y, phi))
		return bileveltest.Full(a, dx, dy), bileveltest.Full(b, dy, dy)
	}
	recur := func(now, past, old [][]float64) {
		for i := range now {
			for j := range now[i] {
				now[i][j] += (1 - p.tau.At(k)) * (past[i][j] - old[i][j])
			}
		}
	}
	nxy, nyy := at(p.x, p.y)
	if k > 0 {
		oxy, oyy := at(p.xOld, p.yOld)
		recur(nxy, p.hxy, oxy)
		recur(nyy, p.hyy, oyy)
	}
	var norm float64
	for _, r := range nxy {
		norm = math.Hypot(norm, mat.Norm(r))
	}
	if norm > p.c {
		p.shrunk++
		for _, r := range nxy {
			for j := range r {
				r[j] *= p.c / norm
			}
		}
	}
	p.hxy, p.hyy = nxy, p.truncate(t, nyy)
	inv := bileveltest.Invert(p.hyy)

	fx, fy, gy := make([]float64, dx), make([]float64, dy), make([]float64, dy)
	require.NoError(t, w.GradF(fx, fy, p.x, p.y, xi))
	require.NoError(t, w.GradG(gy, p.x, p.y, phi))
	xNew, yNew := make([]float64, dx), make([]float64, dy)
	for i := range dx {
		v := p.x[i] - p.alpha.At(k)*(fx[i]-mat.Dot(p.hxy[i], bileveltest.Apply(inv, fy)))
		xNew[i] = math.Max(p.lo, math.Min(p.hi, v))
		if xNew[i] != v {
			p.boxed++
		}
	}
	for j := range dy {
		yNew[j] = p.y[j] - p.beta.At(k)*gy[j]
		for i, row := range p.hxy {
			yNew[j] -= mat.Dot(inv[j], row) * (xNew[i] - p.x[i])
		}
	}
	p.xOld, p.yOld, p.x, p.y = p.x, p.y, xNew, yNew
}

// truncate is Σ max(λ, μ) v vᵀ.
func (p *paper) truncate(t *testing.T, a [][]float64) [][]float64 {
	n := len(a)
	s := mat.NewSym(n)
	for i := range n {
		for j := range i + 1 {
			s.Set(i, j, a[i][j])
		}
	}
	var e eig.Jacobi
	require.NoError(t, e.Factor(s))
	out := make([][]float64, n)
	for i := range n {
		out[i] = make([]float64, n)
		for j := range n {
			for l, lambda := range e.Values() {
				out[i][j] += math.Max(lambda, p.mu) * e.VectorsT().At(l, i) * e.VectorsT().At(l, j)
			}
		}
	}
	if e.Values()[0] < p.mu {
		p.clipped++
	}
	return out
}

// Both matrix projections and the box act.
func TestSTABLEFollowsThePaper(t *testing.T) {
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprintf("batch=%d", batch), func(t *testing.T) {
			w := newWavy(0.5)
			p := &paper{wavy: newWavy(0.5), alpha: Power{C: 0.3, P: 0.5}, beta: Power{C: 0.2, K0: 2, P: 1},
				tau: Power{C: 0.9, P: 0.5}, mu: 0.9, c: 2.2, lo: -0.2, hi: 0.4,
				x: []float64{0.1, -0.1, 0.2}, y: []float64{1, 0, -1, 2}}
			s := newSolver(t, w,
				STABLE{Alpha: p.alpha, Beta: p.beta, Tau: p.tau, MuG: p.mu, CGxy: p.c, InitBatch: 5, Plain: true},
				Options{Set: UniformBox(3, p.lo, p.hi), X0: p.x, Y0: p.y, Seed: 3, UpperBatch: batch, LowerBatch: batch})
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				phi, xi := samplesOf(t, w.Log, k, batch)
				p.step(t, k, phi, xi)
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

// samplesOf returns a step's samples: one φ for all of the lower level, at two points, one ξ at
// one.
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

// The correction of y is never longer than r·max(1, ‖y‖), and x stays in the box.
func TestSTABLETrust(t *testing.T) {
	const r, beta = 0.05, 0.1
	w := newWavy(0.5)
	s := newSolver(t, w, STABLE{Alpha: Constant(1), Beta: Constant(beta), MuG: 0.05, Trust: r},
		Options{Set: UniformBox(3, -0.2, 0.4), Seed: 4, Y0: []float64{3, 0, 0, 0}})
	gy := make([]float64, 4)
	for range 200 {
		x, y := slices.Clone(s.X()), slices.Clone(s.Y())
		w.Log = []call{}
		cuts := s.Activity().Cut
		require.NoError(t, s.Step())
		require.NoError(t, w.GradG(gy, x, y, w.Log[len(w.Log)-2].Batch))

		// drift = y^k − β g_y − y^{k+1} is the estimator's for the displacement that x has made.
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

// The bound on β is 2/(μ_g + the largest ‖g_yy‖ of a batch so far).
func TestSTABLEBetaBound(t *testing.T) {
	const mu = 0.3
	schedule := Power{C: 0.6, P: 0.25}
	w := newWavy(0.5)
	s := newSolver(t, w, STABLE{Alpha: Constant(0), Beta: schedule, MuG: mu, InitBatch: 1},
		Options{Seed: 4, Y0: []float64{1, 1, 1, 1}})
	gy, gyy := make([]float64, 4), mat.NewSym(4)
	largest, slowed := 0.0, 0
	for k := range 50 {
		y := slices.Clone(s.Y())
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

func TestSTABLEDefaultSteps(t *testing.T) {
	box := Box{[]float64{-1, 0, 0}, []float64{1, 0.5, math.Inf(1)}}
	for name, c := range map[string]struct {
		set   Set
		width []float64
	}{
		"box":    {box, []float64{2, 0.5, 1}},
		"euclid": {onlyEuclid{box}, []float64{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(t, newWavy(0.3), STABLE{MuG: 0.3, Plain: true}, Options{Set: c.set, Seed: 1})
			r := s.stepper.(*stable)
			var h2 [3][]float64 // of every step so far
			var y2 []float64
			for k := range 50 {
				x, y := slices.Clone(s.X()), slices.Clone(s.Y())
				require.NoError(t, s.Step())
				y2 = append(y2, mat.Dot(r.gy, r.gy))
				steps := math.Sqrt(float64(k) + 1)
				all := 0.0
				for i, h := range r.h {
					h2[i] = append(h2[i], h*h)
					all += cubicMean(h2[i]) / 3
				}
				least, most := math.Inf(1), 0.0
				for i, h := range r.h {
					step := 0.1 * c.width[i] / (steps * math.Sqrt(cubicMean(h2[i])))
					if name == "euclid" {
						step = 0.1 * c.width[i] / (steps * math.Sqrt(all))
					}
					least, most = min(least, step), max(most, step)
					v := x[i] - step*h
					assert.InDelta(t, min(max(v, box.Lo[i]), box.Hi[i]), s.X()[i], 1e-13)
				}
				beta := 0.5 / (steps * math.Sqrt(cubicMean(y2)))
				assert.InEpsilon(t, beta, s.it.beta, 1e-12)
				assert.InDelta(t, (least+most)/2, s.it.alpha, (most-least)/2+1e-12*most)
				for j, g := range r.gy {
					assert.InDelta(t, y[j]-beta*g-r.drift[j], s.Y()[j], 1e-13)
				}
			}
		})
	}
}

// cubicMean has weights (j+1)(j+2)(j+3).
func cubicMean(v []float64) float64 {
	var sum, weights float64
	for j, x := range v {
		w := float64(j+1) * float64(j+2) * float64(j+3)
		sum += w * x
		weights += w
	}
	return sum / weights
}

// onlyEuclid hides a box's metric projection and width.
type onlyEuclid struct{ box Box }

func (o onlyEuclid) Project(dst, x []float64) { o.box.Project(dst, x) }
func (o onlyEuclid) Validate(d int) error     { return o.box.Validate(d) }

// An entry whose derivative has always been 0 does not move of itself, and has the weight 1/c_i
// where the projection moves it.
func TestAdagradZero(t *testing.T) {
	next, x := make([]float64, 2), []float64{0.5, 0.25}
	for _, set := range []Set{UniformBox(2, -1, 1), onlyEuclid{UniformBox(2, -1, 1)}} {
		a := newAdagrad(set, 2, 0.1)
		a.move(next, x, []float64{0, 0})
		assert.Equal(t, x, next)
		a.move(next, x, []float64{3, 0})
		assert.Less(t, next[0], 0.5)
		assert.Equal(t, 0.25, next[1])
	}
	a := newAdagrad(HalfSpace{A: []float64{1, 1}}, 2, 0.1)
	step := a.move(next, []float64{0, 0}, []float64{-3, 0}) // to (0.1, 0), with the weights 30 and 10
	assert.InDeltaSlice(t, []float64{0.075, -0.075}, next, 1e-15)
	assert.InEpsilon(t, math.Hypot(30*0.075, 10*0.075), math.Hypot(0.075, 0.075)/step, 1e-14)
	assert.Equal(t, math.Inf(1), MetricStep(next, x, []float64{0, 1}))
}

// The least eigenvalue that clippings tell is a mean with its standard error, along a vector that
// other samples have chosen.
func TestClippings(t *testing.T) {
	c, yy := newClippings(1), mat.NewSym(1)
	for k := range 36 {
		yy.Set(0, 0, float64(k%2))
		require.NoError(t, c.add(k, true, yy))
	}
	assert.InDelta(t, 0.5, c.least, 1e-15)
	assert.InDelta(t, math.Sqrt(0.25/19), c.err, 1e-15)
}
