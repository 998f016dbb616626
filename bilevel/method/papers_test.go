package method

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/compose"
	"stable/mat"
)

const plainInner = 3

func TestMethodsFollowTheirPapers(t *testing.T) {
	a, b, c, tx, ty, n := alphaOf, betaOf, gammaOf, tauXOf, tauYOf, seriesOf
	storm := bilevel.Power{C: 1, P: 2.0 / 3}
	times := func(n int) func(int) int { return func(int) int { return n } }
	root := func(k int) int { return int(math.Ceil(math.Sqrt(float64(k + 1)))) }
	for _, c := range []struct {
		m bilevel.Method
		p plain
	}{
		{BSA{Alpha: a, Beta: b, Neumann: n}, plainAlternating{root, true, true}},
		{BSA{Alpha: a, Beta: b, Inner: bilevel.Constant(2.5), Neumann: n}, plainAlternating{times(3), true, true}},
		{BSA{Alpha: a, Beta: b, Inner: bilevel.Constant(1e-300), Neumann: n}, plainAlternating{times(1), true, true}},
		{TTSA{Alpha: a, Beta: b, Neumann: n}, plainAlternating{times(1), false, true}},
		{StocBiO{Alpha: a, Beta: b, Inner: 3, Neumann: n}, plainAlternating{times(3), false, false}},
		{ALSET{Alpha: a, Beta: b, Inner: 2, Neumann: n}, plainAlternating{times(2), false, true}},
		{SUSTAIN{Alpha: a, Beta: b, TauX: tx, TauY: ty, Neumann: n}, &plainMomentum{tauX: tx, tauY: ty, random: true}},
		{SUSTAIN{Alpha: a, Beta: b, Neumann: n}, &plainMomentum{tauX: storm, tauY: storm, random: true}},
		{MSTSA{Alpha: a, Beta: b, Tau: tx, Neumann: n}, &plainMomentum{tauX: tx, random: true}},
		{MRBO{Alpha: a, Beta: b, TauX: tx, TauY: ty, Neumann: n}, &plainMomentum{tauX: tx, tauY: ty}},
		{VRBO{Alpha: a, Beta: b, Period: 3, Inner: 1, LargeBatch: 5, Neumann: n},
			&plainVRBO{period: 3, inner: 1, large: 5}},
		{VRBO{Alpha: a, Beta: b, Period: 3, Inner: 2, Neumann: n}, &plainVRBO{period: 3, inner: 2}},
		{VRBO{Alpha: a, Beta: b, Period: 1, Inner: 1, Neumann: n}, &plainVRBO{period: 1, inner: 1}},
		{RSVRB{Alpha: a, Beta: b, Tau: tx, MuG: 0.9, CGxy: 2.2, InitBatch: 5}, &plainRSVRB{}},
		{SOBA{Alpha: a, Beta: b}, &plainSOBA{gamma: b, theta: 1}},
		{SOBA{Alpha: a, Beta: b, Gamma: c}, &plainSOBA{gamma: c, theta: 1}},
		{MASOBA{Alpha: a, Beta: b, Gamma: c, Theta: bilevel.Constant(0.3)}, &plainSOBA{gamma: c, theta: 0.3}},
		{STFBO{A: 2, B: 3, C: 0.5}, &plainSTFBO{first: [3]float64{4, 9, 0.25}}},
		{STFBO{A: 2, B: 0.5, C: 9}, &plainSTFBO{first: [3]float64{4, 0.25, 81}}},
		{SABA{Alpha: a, Beta: b, Gamma: c}, &plainSABA{}},
		{SRBA{Alpha: a, Beta: b, Gamma: c, Period: 4, Large: 5}, &plainSRBA{period: 4, radius: math.Inf(1)}},
		{SPABA{Alpha: a, Beta: b, Gamma: c, Share: 0.3, Large: 5, Radius: 0.5}, &plainSRBA{radius: 0.5}},
		{FSLA{Alpha: a, Beta: b, Gamma: c, Eta: bilevel.Constant(0.3)}, &plainFSLA{}},
		{AmIGO{Alpha: a, Beta: b, Gamma: c, Inner: plainInner}, plainAmIGO{}},
		{F2SA{Alpha: a, Beta: b, Lambda: bilevel.Constant(7), Inner: plainInner}, &plainF2SA{}},
		{F2SAp{Alpha: a, Beta: b, Nu: 0.2, Inner: plainInner}, &plainF2SAp{}},
		{BOME{Alpha: a, Beta: b, Gamma: c, Inner: plainInner}, plainBOME{}},
		{compose.SCGD{Alpha: a, Beta: b}, &plainSCGD{}},
		{compose.SCSC{Alpha: a, Beta: b}, &plainSCGD{corrected: true}},
	} {
		follow(t, c.m, box, c.p)
	}
	// A half-space couples the entries of the metric.
	m := BiAdam{Alpha: a, Beta: b, Eta: c, TauX: tx, TauY: ty, Decay: 0.7, Rho: 0.05, Neumann: n}
	for _, set := range []bilevel.MetricSet{box, bilevel.HalfSpace{A: []float64{1, -2, 0.5}, B: 0.5}} {
		follow(t, m, set, &plainBiAdam{set: set})
		follow(t, VRBiAdam(m), set, &plainBiAdam{set: set, storm: true})
	}
}

type plainAlternating struct {
	inner           func(k int) int
	byInner, random bool
}

func (p plainAlternating) step(r *reader, k int, x, y, _ []float64) {
	r.shrink = !p.random
	for t := range p.inner(k) {
		if !p.byInner {
			t = k
		}
		mat.Axpy(y, -betaOf.At(t), r.gy(x, y))
	}
	mat.Axpy(x, -alphaOf.At(k), r.hyper(x, y, p.random))
}

type plainMomentum struct {
	tauX, tauY         bilevel.Schedule
	random             bool
	xOld, yOld, dx, dy []float64
}

func (p *plainMomentum) step(r *reader, k int, x, y, _ []float64) {
	h := func(x, y []float64) []float64 { return r.hyper(x, y, p.random) }
	if k == 0 {
		p.dy, p.dx = r.gy(x, y), h(x, y)
	} else {
		if p.tauY == nil {
			p.dy = r.gy(x, y)
		} else {
			p.dy = r.storm(p.dy, p.tauY.At(k), r.gy, p.xOld, p.yOld, x, y)
		}
		p.dx = r.storm(p.dx, p.tauX.At(k), h, p.xOld, p.yOld, x, y)
	}
	p.xOld, p.yOld = slices.Clone(x), slices.Clone(y)
	move(k, x, y, nil, p.dy, nil, p.dx, gammaOf)
}

type plainVRBO struct {
	period, inner, large int
	u, v                 []float64
}

func (p *plainVRBO) step(r *reader, k int, x, y, _ []float64) {
	h := func(x, y []float64) []float64 { return r.hyper(x, y, false) }
	if k%p.period == 0 {
		xi, phi := r.xi, r.phi
		if r.xi, r.phi = p.period*xi, p.period*phi; p.large > 0 {
			r.xi, r.phi = p.large, p.large
		}
		p.v, p.u = r.gy(x, y), h(x, y)
		r.xi, r.phi = xi, phi
	}
	change := func(xOld, yOld []float64) {
		p.v = r.storm(p.v, 0, r.gy, xOld, yOld, x, y)
		p.u = r.storm(p.u, 0, h, xOld, yOld, x, y)
	}
	xOld := slices.Clone(x)
	mat.Axpy(x, -alphaOf.At(k), p.u)
	r.project(box, x)
	change(xOld, y)
	for i := range p.inner {
		yOld := slices.Clone(y)
		mat.Axpy(y, -betaOf.At(k), p.v)
		if i < p.inner-1 || (k+1)%p.period != 0 {
			change(x, yOld)
		}
	}
}

type plainRSVRB struct {
	est                 *bilevel.Estimator
	xOld, yOld, u, w, d []float64
	acted               bilevel.Activity
}

func (p *plainRSVRB) step(r *reader, k int, x, y, _ []float64) {
	var fx, fy, g, fxOld, fyOld, gOld []float64
	var phi []bilevel.Sample
	tau, batch := tauXOf.At(k), r.phi
	r.one(func() {
		if k == 0 {
			r.phi = 5
		} else {
			fxOld, fyOld = r.f(p.xOld, p.yOld)
			gOld = r.gy(p.xOld, p.yOld)
			r.next("CrossG", p.xOld, p.yOld, r.phi)
		}
		phi = r.next("CrossG", x, y, r.phi)
		if k > 0 {
			r.next("HessG", p.xOld, p.yOld, r.phi)
		}
		r.next("HessG", x, y, r.phi)
		fx, fy = r.f(x, y)
		g = r.gy(x, y)
	})
	r.phi = batch

	var err error
	if k == 0 {
		*p = plainRSVRB{u: fx, w: fy, d: g}
		p.est, err = bilevel.NewEstimator(r.w, 0.9, 2.2)
		require.NoError(r.t, err)
		err = p.est.Init(x, y, phi)
	} else {
		p.u, p.w = lin(1, fx, 1-tau, p.u, tau-1, fxOld), lin(1, fy, 1-tau, p.w, tau-1, fyOld)
		p.d = lin(1, g, 1-tau, p.d, tau-1, gOld)
		err = p.est.Update(tau, x, y, phi)
	}
	require.NoError(r.t, err)
	if p.est.Report().Truncate.Clipped > 0 {
		p.acted.Truncated++
	}
	if p.est.Report().CrossNorm > 2.2 {
		p.acted.Shrunk++
	}
	p.xOld, p.yOld = slices.Clone(x), slices.Clone(y)
	v := make([]float64, 3)
	mat.MulVec(v, p.est.Hxy(), bileveltest.Solve(p.est.Hyy(), p.w))
	mat.Axpy(x, -alphaOf.At(k), lin(1, p.u, -1, v))
	mat.Axpy(y, -betaOf.At(k), p.d)
}

func (p *plainRSVRB) end(t *testing.T, s *bilevel.Solver) {
	assert.Greater(t, p.acted.Truncated, 5, "the eigenvalue truncation hardly acted")
	assert.Greater(t, p.acted.Shrunk, 5, "the Frobenius projection hardly acted")
	assert.Equal(t, p.acted, s.Activity())
}

func (r *reader) soba(x, y, v []float64) (dy, dv, dx []float64) {
	fx, fy := r.f(x, y)
	r.one(func() {
		dy, dv, dx = r.gy(x, y), lin(1, r.hessVec(x, y, v), 1, fy), lin(1, r.crossVec(x, y, v), 1, fx)
	})
	return dy, dv, dx
}

func move(k int, x, y, v, dy, dv, dx []float64, gamma bilevel.Schedule) {
	mat.Axpy(y, -betaOf.At(k), dy)
	mat.Axpy(v, -gamma.At(k), dv)
	mat.Axpy(x, -alphaOf.At(k), dx)
}

type plainSOBA struct {
	gamma bilevel.Schedule
	theta float64 // 1, or MA-SOBA's
	h     []float64
}

func (p *plainSOBA) step(r *reader, k int, x, y, v []float64) {
	dy, dv, dx := r.soba(x, y, v)
	if k > 0 {
		dx = lin(1-p.theta, p.h, p.theta, dx)
	}
	p.h = dx
	move(k, x, y, v, dy, dv, dx, p.gamma)
}

type plainSTFBO struct {
	first   [3]float64
	a, b, c float64
}

func (p *plainSTFBO) step(r *reader, k int, x, y, v []float64) {
	if k == 0 {
		p.a, p.b, p.c = p.first[0], p.first[1], p.first[2]
	}
	dy, dv, dx := r.soba(x, y, v)
	p.a, p.b, p.c = p.a+mat.Dot(dx, dx), p.b+mat.Dot(dy, dy), p.c+mat.Dot(dv, dv)
	slow := math.Max(math.Sqrt(p.b), math.Sqrt(p.c))
	mat.Axpy(y, -1/math.Sqrt(p.b), dy)
	mat.Axpy(v, -1/slow, dv)
	mat.Axpy(x, -1/math.Sqrt(p.a)/slow, dx)
}

type plainSABA struct {
	table [16][5][]float64 // of the terms of f_x, f_y, g_y, g_yy v, g_xy v
}

func (p *plainSABA) step(r *reader, k int, x, y, v []float64) {
	xi, phi := r.xi, r.phi
	defer func() { r.xi, r.phi = xi, phi }()
	sizes := [2]int{xi, phi}
	if k == 0 {
		sizes = [2]int{16, 16}
	}
	r.xi, r.phi = 1, 1
	next := p.table
	part := [5][]float64{lin(0, x), lin(0, y), lin(0, y), lin(0, y), lin(0, x)}
	for c := range part {
		for i := range p.table {
			if k > 0 {
				mat.Axpy(part[c], 1.0/16, p.table[i][c])
			}
		}
	}
	add := func(size, c int, now []float64) {
		i := r.used[len(r.used)-1].Batch[0]
		mat.Axpy(part[c], 1/float64(size), now)
		if k > 0 {
			mat.Axpy(part[c], -1/float64(size), p.table[i][c])
		}
		next[i][c] = now
	}
	for range sizes[0] {
		fx, fy := r.f(x, y)
		add(sizes[0], 0, fx)
		add(sizes[0], 1, fy)
	}
	for range sizes[1] {
		r.one(func() {
			add(sizes[1], 2, r.gy(x, y))
			add(sizes[1], 3, r.hessVec(x, y, v))
			add(sizes[1], 4, r.crossVec(x, y, v))
		})
	}
	p.table = next
	move(k, x, y, v, part[2], lin(1, part[3], 1, part[1]), lin(1, part[0], 1, part[4]), gammaOf)
}

// Columns that are +0 so far are passed over, those of −0 never.
func TestSABAPassesOverZeros(t *testing.T) {
	run := func(zero float64) bilevel.Result {
		m, opt := SABA{Alpha: alphaOf, Beta: betaOf}, bilevel.Options{LowerBatch: 2}
		r := ends(t, late{newProducts(0.3), zero}, m, opt, bilevel.Run{Steps: 60})
		r.Elapsed = 0
		return r
	}
	assert.Equal(t, run(math.Copysign(0, -1)), run(0))
}

type late struct {
	withProducts
	zero float64
}

func (p late) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	err := p.withProducts.GradF(fx, fy, x, y, xi)
	if y[0] == 0 {
		fx[0], fx[1] = p.zero, p.zero
	}
	return err
}

type plainSRBA struct {
	period                       int // 0: a coin tells when the directions are full
	radius                       float64
	vOld, xOld, yOld, dy, dv, dx []float64
}

func (p *plainSRBA) step(r *reader, k int, x, y, v []float64) {
	full := k == 0 || p.period == 0 && len(r.log[0].Batch) == 5
	if p.period > 0 {
		full = k%p.period == 0
	}
	if xi, phi := r.xi, r.phi; full {
		r.xi, r.phi = 5, 5
		p.dy, p.dv, p.dx = r.soba(x, y, v)
		r.xi, r.phi = xi, phi
	} else {
		var dy, dv, dx, oy, ov, ox []float64
		r.same(func() { dy, dv, dx = r.soba(x, y, v) }, func() { oy, ov, ox = r.soba(p.xOld, p.yOld, p.vOld) })
		p.dy, p.dv, p.dx = lin(1, p.dy, 1, dy, -1, oy), lin(1, p.dv, 1, dv, -1, ov), lin(1, p.dx, 1, dx, -1, ox)
	}
	p.xOld, p.yOld, p.vOld = slices.Clone(x), slices.Clone(y), slices.Clone(v)
	move(k, x, y, v, p.dy, p.dv, p.dx, gammaOf)
	if n := mat.Norm(v); n > p.radius {
		copy(v, lin(p.radius/n, v))
	}
}

type plainFSLA struct{ m, xOld []float64 }

func (p *plainFSLA) step(r *reader, k int, x, y, v []float64) {
	yOld, vOld := slices.Clone(y), slices.Clone(v)
	mat.Axpy(y, -betaOf.At(k), r.gy(x, y))
	hv := r.hessVec(x, y, v)
	_, fy := r.f(x, y)
	mat.Axpy(v, -gammaOf.At(k), lin(1, hv, -1, fy))
	direction := func(x, y, v []float64) []float64 {
		fx, _ := r.f(x, y)
		return lin(1, fx, -1, r.crossVec(x, y, v))
	}
	if k == 0 {
		p.m = direction(x, y, v)
	} else {
		var old, now []float64
		r.same(func() { old = direction(p.xOld, yOld, vOld) }, func() { now = direction(x, y, v) })
		p.m = lin(1, now, 0.7, p.m, -0.7, old)
	}
	p.xOld = slices.Clone(x)
	mat.Axpy(x, -alphaOf.At(k), p.m)
}

type plainAmIGO struct{}

func (plainAmIGO) step(r *reader, k int, x, y, v []float64) {
	for range plainInner {
		mat.Axpy(y, -betaOf.At(k), r.gy(x, y))
	}
	fx, fy := r.f(x, y)
	for range plainInner {
		mat.Axpy(v, -gammaOf.At(k), lin(1, r.hessVec(x, y, v), 1, fy))
	}
	mat.Axpy(x, -alphaOf.At(k), lin(1, fx, 1, r.crossVec(x, y, v)))
}

type plainF2SA struct{ z []float64 }

func (p *plainF2SA) step(r *reader, k int, x, y, _ []float64) {
	const lambda = 7
	if k == 0 {
		p.z = slices.Clone(y)
	}
	for range plainInner {
		_, fy := r.f(x, p.z)
		mat.Axpy(p.z, -betaOf.At(k), lin(1.0/lambda, fy, 1, r.gy(x, p.z)))
		mat.Axpy(y, -betaOf.At(k), r.gy(x, y))
	}
	fx, _ := r.f(x, p.z)
	mat.Axpy(x, -alphaOf.At(k), lin(1, fx, lambda, r.gx(x, p.z), -lambda, r.gx(x, y)))
}

type plainF2SAp struct{ up, low []float64 }

func (p *plainF2SAp) step(r *reader, k int, x, y, _ []float64) {
	const nu = 0.2
	if k == 0 {
		p.up, p.low = slices.Clone(y), slices.Clone(y)
	}
	var up, low []float64
	side := func(dst *[]float64, z []float64, nu float64) func() {
		return func() {
			_, fy := r.f(x, z)
			*dst = lin(1, r.gy(x, z), nu, fy)
		}
	}
	for range plainInner {
		r.same(side(&up, p.up, nu), side(&low, p.low, -nu))
		mat.Axpy(p.up, -betaOf.At(k), up)
		mat.Axpy(p.low, -betaOf.At(k), low)
	}
	r.one(func() {
		fx, _ := r.f(x, p.up)
		fLow, _ := r.f(x, p.low)
		h := lin(0.5/nu, r.gx(x, p.up), 0.5, fx, -0.5/nu, r.gx(x, p.low), 0.5, fLow)
		mat.Axpy(x, -alphaOf.At(k), h)
	})
	copy(y, lin(0.5, p.up, 0.5, p.low))
}

type plainBOME struct{}

func (plainBOME) step(r *reader, k int, x, y, _ []float64) {
	hat := slices.Clone(y)
	for range plainInner {
		mat.Axpy(hat, -gammaOf.At(k), r.gy(x, hat))
	}
	fx, fy := r.f(x, y)
	var qx, qy []float64
	r.one(func() { qy, qx = r.gy(x, y), lin(1, r.gx(x, y), -1, r.gx(x, hat)) })
	square := mat.Dot(qx, qx) + mat.Dot(qy, qy)
	lambda := max(0, 0.5*square-mat.Dot(fx, qx)-mat.Dot(fy, qy)) / square
	mat.Axpy(x, -alphaOf.At(k), lin(1, fx, lambda, qx))
	mat.Axpy(y, -betaOf.At(k), lin(1, fy, lambda, qy))
}

type plainSCGD struct {
	corrected bool // SCSC
	xOld      []float64
}

func (p *plainSCGD) step(r *reader, k int, x, y, _ []float64) {
	beta := betaOf.At(k)
	h := func(x []float64) []float64 { return lin(1, y, -1, r.gy(x, y)) } // g_y = y − h(x)
	var yNext, dx []float64
	r.one(func() {
		now := h(x)
		yNext = lin(1-beta, y, beta, now)
		if p.corrected && k > 0 {
			yNext = lin(1-beta, y, 1-beta, now, beta-1, h(p.xOld), beta, now)
		}
		fx, fy := r.f(x, yNext)
		dx = lin(1, fx, -1, r.crossVec(x, y, fy)) // g_xy = −∇h
	})
	p.xOld = slices.Clone(x)
	mat.Axpy(x, -alphaOf.At(k), dx)
	copy(y, yNext)
}

func (*plainSCGD) end(t *testing.T, s *bilevel.Solver) {
	c := s.Counts()
	assert.Equal(t, []uint64{c.GradF, c.CrossG}, []uint64{c.Xi, c.Phi}, "one batch of each a step")
}

type plainBiAdam struct {
	set                      bilevel.MetricSet
	storm                    bool
	xOld, yOld, dx, dy, a, b []float64
}

func (p *plainBiAdam) step(r *reader, k int, x, y, _ []float64) {
	h := func(x, y []float64) []float64 { return r.hyper(x, y, true) }
	c := max(0.3, 1/float64(k+1)) // 1/(1 − 0.7) is 3.33 steps
	both := func(d []float64, tau float64, at func(x, y []float64) []float64, square []float64) (_, _ []float64) {
		var now []float64
		switch {
		case k == 0:
			now = at(x, y)
			d, square = now, make([]float64, len(now))
		case p.storm:
			d = r.storm(d, tau, func(x, y []float64) []float64 { now = at(x, y); return now }, p.xOld, p.yOld, x, y)
		default:
			now = at(x, y)
			d = lin(tau, now, 1-tau, d)
		}
		square = lin(1-c, square)
		for i, v := range now {
			square[i] += c * v * v
		}
		return d, square
	}
	p.dy, p.b = both(p.dy, tauYOf.At(k), r.gy, p.b)
	p.dx, p.a = both(p.dx, tauXOf.At(k), h, p.a)
	p.xOld, p.yOld = slices.Clone(x), slices.Clone(y)
	tilde, metric := slices.Clone(x), make([]float64, len(x))
	for i := range x {
		metric[i] = math.Sqrt(p.a[i]) + 0.05
		tilde[i] -= alphaOf.At(k) * p.dx[i] / metric[i]
	}
	free := slices.Clone(tilde)
	if p.set.ProjectMetric(tilde, tilde, metric); !slices.Equal(free, tilde) {
		r.acted++
	}
	eta := gammaOf.At(k)
	copy(x, lin(1-eta, x, eta, tilde))
	for j := range y {
		y[j] -= eta * betaOf.At(k) * p.dy[j] / (math.Sqrt(p.b[j]) + 0.05)
	}
}
