package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/mat"
	"stable/mat/kernel"
)

// species is a problem and what the generator has to know of it.
type species struct {
	*sum
	twin  *sum // the simulator with normal numbers of the same second moments; nil: the sum
	about string
	law   law
	boxed bilevel.Set // the one set that makes sense; nil: any
	reach float64     // bound on x⁰ and y⁰; 0: none
	noise *float64    // of a simulator; nil: none to choose
}

// kind draws a species of n terms in f and g; 0 for a simulator, or for a stream of a table's rows.
type kind struct {
	name string
	draw func(r *rand.Rand, nf, ng uint64) species
}

var kinds = []kind{
	{"quadratic", drawQuadratic}, {"rare", drawRare}, {"toll", drawToll},
	{"ridge", weighted(ridge, 3, 0)}, {"logistic", weighted(logistic, 3, 0)}, {"poisson", weighted(counts, 0, 1)},
	{"softmax", drawSoftmax}, {"cleaning", drawCleaning}, {"portfolio", drawPortfolio},
	{"newsvendor", drawNewsvendor}, {"factorisation", drawFactorisation}, {"features", drawFeatures},
}

func rows(r *rand.Rand, n uint64) int {
	if n == 0 {
		n = 500 + r.Uint64N(1500)
	}
	return int(n)
}

// table is rows of features whose sizes follow a law; feature j counts scale[j].
func table(r *rand.Rand, n uint64, d int, size func(r *rand.Rand) float64, scale []float64) [][]float64 {
	return drawn(rows(r, n), func() []float64 {
		v := gaussians(r, d, size(r))
		for j, s := range scale {
			v[j] *= s
		}
		return v
	})
}

// tabled is a loss φ(c + aᵀy), a a row of a table; c may be nil.
func tabled(a [][]float64, c []float64, phi link) loss {
	if c == nil {
		c = make(vector, len(a))
	}
	return loss{terms: uint64(len(a)), width: 1, psi: first(phi), read: func(t *term, _ []float64, i bilevel.Sample) {
		t.a[0].v, t.c[0] = a[i], c[i]
	}}
}

// decaying gives g weights in ½Σ w(x_i)y_i², with a box of four decades.
func decaying(r *rand.Rand, s *sum, law law, about string) species {
	lo := between(r, 1e-4, 1e-2)
	form, box := "exp", bilevel.UniformBox(s.dx, math.Log(2*lo), math.Log(2e4*lo))
	s.g.decay = func(x float64) (w, dw float64) { e := math.Exp(x); return e, e }
	if r.IntN(2) == 0 {
		form, box = "raw", bilevel.UniformBox(s.dx, lo, 1e4*lo)
		s.g.decay = func(x float64) (w, dw float64) { return 2 * x, 2 }
	}
	return species{sum: s, law: law, boxed: box, about: fmt.Sprintf(about, form)}
}

type link func(u float64) (v, d1, d2 float64)

func softplus(u float64) (v, d1, d2 float64) {
	s := 1 / (1 + math.Exp(-u))
	return max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))), s, s * (1 - s)
}

func halfSquare(u float64) (v, d1, d2 float64) { return u * u / 2, u, 1 }

// first makes ψ(u) = φ(u_0) + u_1 + ….
func first(phi link) func(t *term) {
	return func(t *term) {
		t.val, t.g[0], t.h[0] = phi(t.u[0])
		for k := 1; k < len(t.u); k++ {
			t.val += t.u[k]
			t.g[k] = 1
		}
	}
}

// weighted draws the paper's test problem: one output, a penalty weighed by x. half makes a loss of
// the rows a and their outputs u, both of which it may change.
func weighted(half func(r *rand.Rand, a [][]float64, u []float64, noise law) loss, decades, reach float64) func(
	r *rand.Rand, nf, ng uint64) species {
	return func(r *rand.Rand, nf, ng uint64) species {
		d, size, over := dims(r, 1), drawSizes(r), decades
		if over > 0 {
			over *= r.Float64()
		}
		scale := scales(r, d, over)
		truth := gaussians(r, d, between(r, 0.5, 3)/math.Sqrt(float64(d)))
		noise := drawLaw(r)
		side := func(n uint64) loss {
			a := table(r, n, d, size.draw, scale)
			u := make(vector, len(a))
			for i, v := range a {
				for j := range v {
					u[i] += v[j] / scale[j] * truth[j]
				}
			}
			return half(r, a, u, noise)
		}
		s := decaying(r, &sum{dx: d, dy: d, f: side(nf), g: side(ng)}, size,
			fmt.Sprintf("%%s weights, features over %.1f decades", over))
		s.reach = reach
		return s
	}
}

func ridge(r *rand.Rand, a [][]float64, u []float64, noise law) loss {
	for i := range u {
		u[i] = -u[i] - 0.5*noise.draw(r)
	}
	return tabled(a, u, halfSquare)
}

func logistic(r *rand.Rand, a [][]float64, u []float64, noise law) loss {
	for i, v := range a {
		kernel.Scale(v, -math.Copysign(1, u[i]+0.5*noise.draw(r)), v)
	}
	return tabled(a, nil, softplus)
}

func counts(r *rand.Rand, a [][]float64, u []float64, _ law) loss {
	minus := make([][]float64, len(a)) // −k times the row, for the part −ku of the loss
	for i, v := range a {
		if long := mat.Norm(v) / 2; long > 1 {
			for j := range v {
				v[j] /= long
			}
			u[i] /= long
		}
		minus[i] = slices.Clone(v)
		kernel.Scale(minus[i], -float64(poisson(r, math.Exp(min(u[i], 3)))), minus[i])
	}
	exp := func(u float64) (v, d1, d2 float64) { e := math.Exp(u); return e, e, e }
	return loss{terms: uint64(len(a)), width: 2, psi: first(exp), read: func(t *term, _ []float64, i bilevel.Sample) {
		t.a[0].v, t.a[1].v = a[i], minus[i]
	}}
}

func drawSoftmax(r *rand.Rand, nf, ng uint64) species {
	classes, p := 2+r.IntN(4), 1+r.IntN(12)
	size := drawSizes(r)
	truth := gaussians(r, classes*p, between(r, 0.5, 3)/math.Sqrt(float64(p)))
	side := func(n uint64) loss {
		a := table(r, n, p, size.draw, nil)
		label := make([]int, len(a))
		for i, v := range a {
			best := math.Inf(-1)
			for k := range classes {
				if u := mat.Dot(v, truth[k*p:(k+1)*p]) - math.Log(-math.Log(r.Float64())); u > best {
					best, label[i] = u, k
				}
			}
		}
		return loss{terms: uint64(len(a)), width: classes, psi: softmax, read: func(t *term, _ []float64, i bilevel.Sample) {
			for k := range t.a {
				t.a[k] = row{k * p, a[i]}
			}
			t.label = label[i]
		}}
	}
	return decaying(r, &sum{dx: classes * p, dy: classes * p, f: side(nf), g: side(ng)}, size,
		fmt.Sprintf("%d classes, %%s weights", classes))
}

func softmax(t *term) {
	top, total := slices.Max(t.u), 0.0
	for k, u := range t.u {
		t.g[k] = math.Exp(u - top)
		total += t.g[k]
	}
	for k := range t.g {
		t.g[k] /= total
	}
	for k := range t.g {
		for l := range t.g {
			t.h[k*len(t.g)+l] = -t.g[k] * t.g[l]
		}
		t.h[k*len(t.g)+k] += t.g[k]
	}
	t.val = top + math.Log(total) - t.u[t.label]
	t.g[t.label]--
}

// drawCleaning draws groups of rows weighed by σ(x_group), some labels flipped; the rarest has one row in up to 1,000.
func drawCleaning(r *rand.Rand, nf, ng uint64) species {
	groups, d := dims(r, 2), dims(r, 1)
	size := drawSizes(r)
	truth := gaussians(r, d, 2/math.Sqrt(float64(d)))
	share, total := make(vector, groups), 0.0
	for k := range share {
		total += between(r, 3e-3, 1)
		share[k] = total
	}
	bad := drawn(groups, func() bool { return r.IntN(3) == 0 })
	side := func(n uint64, upper bool) loss {
		a := table(r, n, d, size.draw, nil)
		group := make([]int, len(a))
		for i, v := range a {
			for q := r.Float64() * total; group[i] < groups-1 && share[group[i]] < q; group[i]++ {
			}
			label := math.Copysign(1, mat.Dot(v, truth)+0.3*r.NormFloat64())
			if bad[group[i]] && !upper && r.IntN(5) > 0 {
				label = -label
			}
			kernel.Scale(v, -label, v)
		}
		if upper {
			return tabled(a, nil, softplus)
		}
		return loss{terms: uint64(len(a)), width: 2, psi: weighed, read: func(t *term, _ []float64, i bilevel.Sample) {
			t.a[0].v, t.b[1] = a[i], row{group[i], one}
		}}
	}
	s := withQuads(groups, d, side(nf, true), side(ng, false))
	ridge := between(r, 1e-2, 1)
	mat.AddIdentity(s.f.quad.xx, between(r, 1e-4, 1e-2))
	mat.AddIdentity(s.g.quad.yy, ridge)
	return species{sum: s, law: size, boxed: bilevel.UniformBox(groups, -4, 4),
		about: fmt.Sprintf("%d groups, ridge %.2g", groups, ridge)}
}

func weighed(t *term) {
	v, d1, d2 := softplus(t.u[0])
	_, w, dw := softplus(t.u[1])
	t.val, t.g[0], t.g[1] = w*v, w*d1, dw*v
	t.h[0], t.h[2] = w*d2, dw*d1 // of what g_yy and g_xy need
}

// drawPortfolio draws returns; g is risk less return and the distance from x, f the downside.
func drawPortfolio(r *rand.Rand, nf, ng uint64) species {
	d := dims(r, 1)
	size := drawSizes(r)
	mean := gaussians(r, d, 0.3)
	vol := scales(r, d, 1)
	side := func(n uint64, phi link, sign float64) loss {
		a := table(r, n, d, size.draw, vol)
		for _, v := range a {
			mat.Axpy(v, 1, mean)
			kernel.Scale(v, sign, v)
		}
		return tabled(a, nil, phi)
	}
	risk := func(u float64) (v, d1, d2 float64) { return u*u/2 - u, u - 1, 1 }
	s := withQuads(d, d, side(nf, softplus, -1), side(ng, risk, 1))
	near := between(r, 0.1, 3)
	mat.AddIdentity(s.f.quad.xx, between(r, 1e-2, 1))
	mat.AddIdentity(s.g.quad.yy, near)
	for i := range d {
		s.g.quad.xy.Set(i, i, -near)
	}
	return species{sum: s, law: size, about: fmt.Sprintf("tied to x by %.2g", near)}
}

// drawNewsvendor draws demands; y are orders of least expected cost, x prices, which lower demand,
// f the loss: sales are y − h softplus(u/h), u the excess of supply.
func drawNewsvendor(r *rand.Rand, nf, ng uint64) species {
	d := dims(r, 1)
	noise := drawLaw(r)
	base, slope := make(vector, d), make(vector, d)
	for j := range base {
		base[j], slope[j] = between(r, 2, 8), between(r, 0.3, 2)
	}
	h, over, under, spread := between(r, 0.2, 1), between(r, 0.3, 2), between(r, 0.5, 3), between(r, 0.1, 0.5)
	side := func(n uint64, k int, psi func(t *term)) loss {
		demand := drawn(rows(r, n), func() []float64 {
			return kit.Map(base, func(b float64) float64 { return max(b*(1+spread*noise.draw(r)), 0) })
		})
		return loss{terms: uint64(len(demand)), width: k * d, psi: psi, read: func(t *term, _ []float64, i bilevel.Sample) {
			for j := range d {
				t.a[j], t.b[j], t.c[j] = row{j, one}, row{j, slope[j : j+1]}, -demand[i][j]
				if k == 3 {
					t.a[d+j], t.b[2*d+j] = row{j, one}, row{j, one}
				}
			}
		}}
	}
	lower := func(t *term) {
		t.val = 0
		for j := range d {
			v, d1, d2 := softplus(t.u[j] / h)
			t.val += (over+under)*h*v - under*t.u[j]
			t.g[j], t.h[j*d+j] = (over+under)*d1-under, (over+under)*d2/h
		}
	}
	upper := func(t *term) {
		t.val = 0
		for j := range d {
			v, d1, _ := softplus(t.u[j] / h)
			y, x := t.u[d+j], t.u[2*d+j]
			t.val -= x * (y - h*v)
			t.g[j], t.g[d+j], t.g[2*d+j] = x*d1, -x, h*v-y
		}
	}
	s := withQuads(d, d, side(nf, 3, upper), side(ng, 1, lower))
	mat.AddIdentity(s.f.quad.xx, between(r, 0.3, 1))
	mat.AddIdentity(s.g.quad.yy, between(r, 1e-2, 0.3))
	for j := range d {
		s.f.quad.y[j] = 0.2
	}
	return species{sum: s, law: noise, reach: 10, about: fmt.Sprintf("smoothed by %.2g", h)}
}

// drawFactorisation draws noisy entries of W·Zᵀ, x = W, y = Z; ridges by column fix the rotation.
func drawFactorisation(r *rand.Rand, nf, ng uint64) species {
	rank := 1 + r.IntN(4)
	m, n := 2+r.IntN(60/rank-1), 2+r.IntN(60/rank-1)
	noise := drawLaw(r)
	level := between(r, 1e-2, 1)
	w, z := gaussians(r, m*rank, 1), gaussians(r, n*rank, 1)
	side := func(count uint64) loss {
		list := drawn(rows(r, count), func() entry {
			i, j := rank*r.IntN(m), rank*r.IntN(n)
			return entry{i, j, mat.Dot(w[i:i+rank], z[j:j+rank]) + level*noise.draw(r)}
		})
		return loss{terms: uint64(len(list)), width: 1, psi: first(halfSquare), read: func(t *term, x []float64, s bilevel.Sample) {
			e := list[s]
			t.a[0], t.c[0] = row{e.j, x[e.i : e.i+rank]}, -e.v
			for l := range rank {
				t.jac = append(t.jac, entry{e.i + l, e.j + l, 1})
			}
		}}
	}
	s := withQuads(m*rank, n*rank, side(nf), side(ng))
	ridge := between(r, 1e-2, 0.3)
	for i := range s.dx {
		s.f.quad.xx.Set(i, i, ridge/float64(m)*float64(1+i%rank))
	}
	for j := range s.dy {
		s.g.quad.yy.Set(j, j, ridge/float64(n)*(1+0.5*float64(j%rank)))
	}
	return species{sum: s, law: noise, reach: 3, about: fmt.Sprintf("%d × %d of rank %d, ridge %.2g", m, n, rank, ridge)}
}

// drawFeatures draws a regression on y_k cos(ω_kᵀ(eˣ∘z) + β_k), eˣ the inputs' scales.
func drawFeatures(r *rand.Rand, nf, ng uint64) species {
	p, d := 1+r.IntN(4), dims(r, 4)
	omega := gaussians(r, d*p, 1)
	beta := drawn(d, func() float64 { return 2 * math.Pi * r.Float64() })
	noise, level := drawLaw(r), between(r, 0.05, 1)
	scale := scales(r, p, 1)
	unit := math.Sqrt(2 / float64(d))
	side := func(n uint64) loss {
		in := table(r, n, p, always1, nil)
		out := make(vector, len(in))
		for i, v := range in {
			out[i] = level * noise.draw(r)
			for l := range v {
				out[i] += math.Sin(2 * scale[l] * v[l])
			}
		}
		return loss{terms: uint64(len(in)), width: 1, psi: first(halfSquare), read: func(t *term, x []float64, s bilevel.Sample) {
			a, e := t.scratch(0, d), t.scratch(1, p)
			for l := range e {
				e[l] = math.Exp(x[l]) * in[s][l]
			}
			for k := range a {
				sin, cos := math.Sincos(mat.Dot(omega[k*p:(k+1)*p], e) + beta[k])
				a[k] = unit * cos
				for l := range e {
					t.jac = append(t.jac, entry{l, k, -unit * sin * omega[k*p+l] * e[l]})
				}
			}
			t.a[0].v, t.c[0] = a, -out[s]
		}}
	}
	s := withQuads(p, d, side(nf), side(ng))
	ridge := between(r, 1e-3, 1e-1)
	mat.AddIdentity(s.f.quad.xx, 1e-3)
	mat.AddIdentity(s.g.quad.yy, ridge)
	return species{sum: s, law: noise, boxed: bilevel.UniformBox(p, -2, 2), about: fmt.Sprintf("%d inputs, ridge %.2g", p, ridge)}
}
