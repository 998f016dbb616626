package bilevel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/bilevel/option"
	"stable/eig"
	"stable/mat"
)

// paper is STABLE from its equations: those of the paper, and of what Plain leaves out.
type paper struct {
	STABLE
	wavy             *wavy
	box              Box
	width            []float64 // of the default steps
	shared           bool      // one default step for all entries of x
	hxy              *mat.Dense
	hyy              *mat.Sym
	x, y, xOld, yOld []float64
	largest          float64      // ‖g_yy‖_F of a batch
	h2               [4][]float64 // h_i² of all steps, and ‖g_y‖²
	least, most      float64      // α_i, where x moves by all of it
	beta             float64
	acted            Activity
	boxed            int
}

func (p *paper) step(t *testing.T, k int, phi, xi []Sample) {
	at := func(x, y []float64) (*mat.Dense, *mat.Sym) {
		hxy, hyy := mat.NewDense(3, 4), mat.NewSym(4)
		require.NoError(t, p.wavy.CrossG(hxy, x, y, phi))
		require.NoError(t, p.wavy.HessG(hyy, x, y, phi))
		return hxy, hyy
	}
	recur := func(now, past, old []float64) {
		for i := range now {
			now[i] += (1 - p.Tau.At(k)) * (past[i] - old[i])
		}
	}
	hxy, hyy := at(p.x, p.y)
	p.largest = max(p.largest, mat.NormFrobSym(hyy))
	if k > 0 {
		oxy, oyy := at(p.xOld, p.yOld)
		recur(hxy.Data, p.hxy.Data, oxy.Data)
		recur(hyy.Data, p.hyy.Data, oyy.Data)
	}
	if norm := mat.NormFrob(hxy); norm > p.CGxy {
		p.acted.Shrunk++
		mat.Scale(hxy, p.CGxy/norm, hxy)
	}
	var e eig.Jacobi
	require.NoError(t, e.Factor(hyy))
	if e.Values()[0] < p.MuG {
		p.acted.Truncated++
	}
	hyy.Zero()
	for l, lambda := range e.Values() {
		mat.RankOne(hyy, max(lambda, p.MuG), e.VectorsT().Row(l))
	}

	vec := func(n int) []float64 { return make([]float64, n) }
	fx, dx, fy, gy, drift := vec(3), vec(3), vec(4), vec(4), vec(4)
	require.NoError(t, p.wavy.GradF(fx, fy, p.x, p.y, xi))
	require.NoError(t, p.wavy.GradG(gy, p.x, p.y, phi))
	v, h := bileveltest.Solve(hyy, fy), fx
	for i := range h {
		h[i] -= mat.Dot(hxy.Row(i), v)
	}
	alpha := p.steps(k, h, gy)
	p.hxy, p.hyy, p.xOld, p.yOld, p.x, p.y = hxy, hyy, p.x, p.y, slices.Clone(p.x), slices.Clone(p.y)
	for i, x := range p.xOld {
		to := x - alpha[i]*h[i]
		p.x[i] = max(p.box.Lo[i], min(p.box.Hi[i], to))
		if dx[i] = p.x[i] - x; p.x[i] != to {
			p.boxed++
		}
	}
	mat.MulVecTrans(drift, hxy, dx)
	drift = bileveltest.Solve(hyy, drift)
	if radius := p.Trust * max(1, mat.Norm(p.y)); mat.Norm(drift) > radius && !p.Plain {
		p.acted.Cut++
		theta := radius / mat.Norm(drift)
		copy(p.x, p.xOld)
		mat.Axpy(p.x, theta, dx)
		mat.Axpy(drift, theta-1, drift)
		p.least, p.most = theta*p.least, theta*p.most
	}
	mat.Axpy(p.y, -p.beta, gy)
	mat.Axpy(p.y, -1, drift)
}

func (p *paper) steps(k int, h, gy []float64) (alpha []float64) {
	p.h2[3] = append(p.h2[3], mat.Dot(gy, gy))
	p.beta = 0.5 / math.Sqrt(float64(k+1)*cubicMean(p.h2[3]))
	if p.Beta != nil {
		p.beta = p.Beta.At(k)
	}
	if bound := 2 / (p.MuG + p.largest); p.beta > bound && !p.Plain {
		p.acted.Slowed++
		p.beta = bound
	}
	all := 0.0
	for i, v := range h {
		p.h2[i] = append(p.h2[i], v*v)
		all += cubicMean(p.h2[i]) / 3
	}
	for i := range h {
		mean := cubicMean(p.h2[i])
		if p.shared {
			mean = all
		}
		alpha = append(alpha, 0.1*p.width[i]/math.Sqrt(float64(k+1)*mean))
		if p.Alpha != nil {
			alpha[i] = p.Alpha.At(k)
		}
	}
	p.least, p.most = slices.Min(alpha), slices.Max(alpha)
	return alpha
}

func cubicMean(v []float64) float64 {
	var sum, weights float64
	for j, x := range v {
		w := float64(j+1) * float64(j+2) * float64(j+3)
		sum += w * x
		weights += w
	}
	return sum / weights
}

type onlyEuclid struct{ Set }

func TestSTABLEFollowsThePaper(t *testing.T) {
	inf, box := math.Inf(1), UniformBox(3, -0.2, 0.4)
	mixed := Box{[]float64{-1, 0, 0}, []float64{1, 0.5, inf}}
	equations := STABLE{Alpha: Power{C: 0.3, P: 0.5}, Beta: Power{C: 0.2, K0: 2, P: 1}, Tau: Power{C: 0.9, P: 0.5}, MuG: 0.9,
		CGxy: 2.2, InitBatch: 5, Plain: true}
	var acted [5]int
	for name, c := range map[string]struct {
		STABLE
		box    Box
		shared bool
		batch  int
	}{
		"equations": {equations, box, false, 1},
		"batches":   {equations, box, false, 3},
		"trust":     {STABLE{Alpha: Constant(1), Beta: Constant(0.1), MuG: 0.05, Trust: 0.05}, box, false, 1},
		"bound of β": {STABLE{Alpha: Constant(0), Beta: Power{C: 0.6, P: 0.25}, MuG: 0.3, Trust: inf, InitBatch: 1},
			box, false, 1},
		"default steps":    {STABLE{MuG: 0.3}, mixed, false, 1},
		"one default step": {STABLE{Beta: Power{C: 0.6, P: 0.25}, MuG: 0.3, Plain: true}, mixed, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := &paper{STABLE: c.STABLE, wavy: newWavy(0.5), box: c.box, shared: c.shared, width: []float64{2, 0.5, 1},
				x: []float64{0.1, 0.1, 0.2}, y: []float64{1, 0, -1, 2}}
			opt := Options{Set: c.box, X0: p.x, Y0: p.y, Seed: 3, UpperBatch: c.batch, LowerBatch: c.batch}
			if c.shared {
				opt.Set, p.width = onlyEuclid{c.box}, []float64{1, 1, 1}
			}
			option.Default(&p.Tau, Schedule(Power{C: 1, P: 0.5}))
			option.Default(&p.CGxy, inf)
			option.Default(&p.Trust, 0.1)
			w := newWavy(0.5)
			s := newSolver(t, w, c.STABLE, opt)
			require.Equal(t, p.x, s.Mean())
			var path [3][]float64
			for k := range 60 {
				w.Log = []call{}
				require.NoError(t, s.Step())
				phi, xi := samplesOf(t, w.Log, k, c.batch)
				p.step(t, k, phi, xi)
				require.InDeltaSlice(t, p.x, s.X(), 1e-11, "x at step %d", k)
				require.InDeltaSlice(t, p.y, s.Y(), 1e-11, "y at step %d", k)
				for i, x := range s.X() {
					path[i] = append(path[i], x)
					require.InDelta(t, cubicMean(path[i]), s.Mean()[i], 1e-13)
				}
				require.InEpsilon(t, p.beta, s.it.beta, 1e-9)
				require.InDelta(t, (p.least+p.most)/2, s.it.alpha, (p.most-p.least)/2+1e-9*p.most)
			}
			assert.Equal(t, p.acted, s.Activity())
			for i, n := range [...]int{p.acted.Truncated, p.acted.Shrunk, p.acted.Cut, p.acted.Slowed, p.boxed} {
				acted[i] += n
			}
			n, first := uint64(c.batch), cmp.Or(uint64(c.InitBatch), 4)
			assert.Equal(t, Counts{Xi: 60 * n, Phi: first + 59*n, GradF: 60 * n, GradG: first + 59*n,
				CrossG: first + 118*n, HessG: first + 118*n}, s.Counts())
		})
	}
	assert.Greater(t, slices.Min(acted[:]), 10, "%v", acted)
	full := newSolver(t, newWavy(0), plain, Options{LowerBatch: Full})
	steps(t, full, 1)
	assert.EqualValues(t, 16, full.Counts().Phi, "H⁰ is exact, too")
}

// samplesOf returns a step's samples: one φ for the lower level, at two points, one ξ at one.
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

// An entry whose derivative was always 0 stays; where the projection moves it, its weight is 1/c_i.
func TestAdagradZero(t *testing.T) {
	next, x := make([]float64, 2), []float64{0.5, 0.25}
	for _, set := range []Set{UniformBox(2, -1, 1), onlyEuclid{UniformBox(2, -1, 1)}} {
		a := newAdagrad(set, func(x []float64) { set.Project(x, x) }, 2, 0.1)
		a.move(next, x, []float64{0, 0})
		assert.Equal(t, x, next)
		a.move(next, x, []float64{3, 0})
		assert.Less(t, next[0], 0.5)
		assert.Equal(t, 0.25, next[1])
	}
	a := newAdagrad(HalfSpace{A: []float64{1, 1}}, nil, 2, 0.1)
	step := a.move(next, []float64{0, 0}, []float64{-3, 0}) // to (0.1, 0), with the weights 30 and 10
	assert.InDeltaSlice(t, []float64{0.075, -0.075}, next, 1e-15)
	assert.InEpsilon(t, math.Hypot(30*0.075, 10*0.075), math.Hypot(0.075, 0.075)/step, 1e-14)
	assert.Equal(t, math.Inf(1), MetricStep(next, x, []float64{0, 1}))
}

// The least eigenvalue told is a mean with its standard error, along a vector of other samples.
func TestClippings(t *testing.T) {
	c, yy := newClippings(1), mat.NewSym(1)
	for k := range 36 {
		yy.Set(0, 0, float64(k%2))
		require.NoError(t, c.add(k, true, yy))
	}
	assert.InDelta(t, 0.5, c.least, 1e-15)
	assert.InDelta(t, math.Sqrt(0.25/19), c.err, 1e-15)
}
